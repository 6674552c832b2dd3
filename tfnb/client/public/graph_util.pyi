# The names of tf.graph_util; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.importing.graph_util import (
    tensor_shape_from_node_def_name as tensor_shape_from_node_def_name,
)
from tfnb.framework.importing.graph_util import extract_sub_graph as extract_sub_graph
from tfnb.framework.importing.graph_util import must_run_on_cpu as must_run_on_cpu
from tfnb.framework.importing.graph_util import remove_training_nodes as remove_training_nodes
from tfnb.framework.importing.importer import import_graph_def as import_graph_def
from tfnb.framework.importing.old_producers import repair_graph_def as repair_graph_def
from tfnb.library.variables.freezing import (
    convert_variables_to_constants as convert_variables_to_constants,
)
