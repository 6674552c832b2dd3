"""The functions that lower rooms and folders call and upper ones define.

This module is above both and imports each on its first use; see :mod:`tfnb.core.provided`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Name -> (module, its name there).
PROVIDED: dict[str, tuple[str, str]] = {
    "dataset_class": ("tfnb.library.data.dataset", "dataset_class"),
    # There, since every class of specs is loaded then.
    "decode_type_spec": ("tfnb.library.data.type_specs", "decode_type_spec"),
    "encode_type_spec": ("tfnb.framework.structures.structure_protos", "encode_type_spec"),
    "export_meta_graph": ("tfnb.library.training.meta_graph", "export_meta_graph"),
    "infer_call_shapes": ("tfnb.framework.function_shapes", "infer_call_shapes"),
    "new_graph": ("tfnb.framework.graph", "Graph"),
    "operation_of_node_def": (
        "tfnb.framework.importing.node_def_operation",
        "operation_of_node_def",
    ),
    "set_tensor_operators": ("tfnb.ops.math.math_ops", "set_operators"),
    "type_spec_from_value": ("tfnb.library.data.type_specs", "type_spec_from_value"),
    "variant_dataset": ("tfnb.library.data.dataset", "VariantDataset"),
    "reshape": ("tfnb.ops.array.shape_ops", "reshape"),
    "shape_internal": ("tfnb.ops.array.shape_ops", "shape_internal"),
    "equal": ("tfnb.ops.math.math_ops", "equal"),
    "greater": ("tfnb.ops.math.comparison_ops", "greater"),
    "less": ("tfnb.ops.math.comparison_ops", "less"),
    "logical_and": ("tfnb.ops.math.comparison_ops", "logical_and"),
    "max_op": ("tfnb.ops.math.reduction_ops", "max_op"),
    "maximum": ("tfnb.ops.math.cwise_binary_ops", "maximum"),
    "prod_op": ("tfnb.ops.math.reduction_ops", "prod_op"),
    "range_": ("tfnb.ops.math.sequence_ops", "range_"),
    "range_op": ("tfnb.ops.math.sequence_ops", "range_op"),
    "reduce_prod": ("tfnb.ops.math.reduction_ops", "reduce_prod"),
    "reduce_sum": ("tfnb.ops.math.reduction_ops", "reduce_sum"),
    "select": ("tfnb.ops.math.select_ops", "select"),
    "select_v2": ("tfnb.ops.math.select_ops", "select_v2"),
    "sum_op": ("tfnb.ops.math.reduction_ops", "sum_op"),
    "unsorted_segment_sum": ("tfnb.ops.math.segment_ops", "unsorted_segment_sum"),
    "apply_sparse_operator": ("tfnb.library.sparse.sparse_functions", "apply_operator"),
    "sparse_add": ("tfnb.library.sparse.sparse_functions", "sparse_add"),
    "sparse_dense_cwise_mul": ("tfnb.ops.sparse.sparse_ops", "sparse_dense_cwise_mul"),
    "sparse_reduce_sum": ("tfnb.library.sparse.sparse_functions", "sparse_reduce_sum"),
    "sparse_reshape": ("tfnb.library.sparse.sparse_functions", "sparse_reshape"),
    "backprop": ("tfnb.library.gradients.backprop", "Backprop"),
    "choice_gradient": ("tfnb.library.control_flow.cond_v2", "choice_gradient"),
    "cond": ("tfnb.library.control_flow.cond", "cond"),
    "enter_gradient": ("tfnb.library.gradients.control_flow_grad", "enter_gradient"),
    "exit_gradient": ("tfnb.library.gradients.control_flow_grad", "exit_gradient"),
    "get_variable_scope": ("tfnb.library.variables.variable_scope", "get_variable_scope"),
    "gradients": ("tfnb.library.gradients.gradients", "gradients"),
    "map_fn_of_parts": ("tfnb.library.mapping.map_fn_of_parts", "map_fn_of_parts"),
    "merge_gradient": ("tfnb.library.gradients.control_flow_grad", "merge_gradient"),
    "switch_gradient": ("tfnb.library.gradients.control_flow_grad", "switch_gradient"),
    "tensor_array": ("tfnb.library.control_flow.tensor_array", "TensorArray"),
    "while_gradient": ("tfnb.library.control_flow.while_v2", "while_gradient"),
}


def find(name: str) -> Callable[..., Any]:
    """Return the function of this name.

    Raises:
      KeyError: there is none.
    """
    module, attribute = PROVIDED[name]
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
