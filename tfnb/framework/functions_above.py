"""Functions of upper folders that the framework calls.

``tfnb.library.provides`` imports each when it is called for the first time.
"""

from __future__ import annotations

from tfnb.core.provided import Provided

decode_type_spec = Provided("decode_type_spec")
encode_type_spec = Provided("encode_type_spec")
infer_call_shapes = Provided("infer_call_shapes")
new_graph = Provided("new_graph")
operation_of_node_def = Provided("operation_of_node_def")
set_tensor_operators = Provided("set_tensor_operators")
type_spec_from_value = Provided("type_spec_from_value")
