"""``tensorflow.python.ops.resource_variable_ops``: the class of resource variables."""

from tfnb.library.variables.resource_variable import ResourceVariable as ResourceVariable
from tfnb.library.variables.resource_variable import is_resource_variable as is_resource_variable
