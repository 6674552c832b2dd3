"""``tensorflow.python.ops.variables``: the class of variables that are in parts."""

from tfnb.library.variables.partitioned_variable import PartitionedVariable as PartitionedVariable
