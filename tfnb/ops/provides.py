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
    "equal": ("tfnb.ops.math_ops", "equal"),
    "greater": ("tfnb.ops.comparison_ops", "greater"),
    "less": ("tfnb.ops.comparison_ops", "less"),
    "logical_and": ("tfnb.ops.comparison_ops", "logical_and"),
    "max_op": ("tfnb.ops.reduction_ops", "max_op"),
    "maximum": ("tfnb.ops.cwise_binary_ops", "maximum"),
    "prod_op": ("tfnb.ops.reduction_ops", "prod_op"),
    "range_": ("tfnb.ops.sequence_ops", "range_"),
    "range_op": ("tfnb.ops.sequence_ops", "range_op"),
    "reduce_prod": ("tfnb.ops.reduction_ops", "reduce_prod"),
    "reduce_sum": ("tfnb.ops.reduction_ops", "reduce_sum"),
    "select": ("tfnb.ops.select_ops", "select"),
    "select_v2": ("tfnb.ops.select_ops", "select_v2"),
    "sum_op": ("tfnb.ops.reduction_ops", "sum_op"),
    "unsorted_segment_sum": ("tfnb.ops.segment_ops", "unsorted_segment_sum"),
    "apply_sparse_operator": ("tfnb.ops.sparse_functions", "apply_operator"),
    "sparse_add": ("tfnb.ops.sparse_functions", "sparse_add"),
    "sparse_dense_cwise_mul": ("tfnb.ops.sparse_ops", "sparse_dense_cwise_mul"),
    "sparse_reduce_sum": ("tfnb.ops.sparse_functions", "sparse_reduce_sum"),
    "sparse_reshape": ("tfnb.ops.sparse_functions", "sparse_reshape"),
    "backprop": ("tfnb.ops.backprop", "Backprop"),
    "choice_gradient": ("tfnb.ops.cond_v2", "choice_gradient"),
    "cond": ("tfnb.ops.cond", "cond"),
    "enter_gradient": ("tfnb.ops.control_flow_grad", "enter_gradient"),
    "exit_gradient": ("tfnb.ops.control_flow_grad", "exit_gradient"),
    "get_variable_scope": ("tfnb.ops.variable_scope", "get_variable_scope"),
    "gradients": ("tfnb.ops.gradients", "gradients"),
    "map_fn_of_parts": ("tfnb.ops.map_fn_of_parts", "map_fn_of_parts"),
    "merge_gradient": ("tfnb.ops.control_flow_grad", "merge_gradient"),
    "switch_gradient": ("tfnb.ops.control_flow_grad", "switch_gradient"),
    "tensor_array": ("tfnb.ops.tensor_array", "TensorArray"),
    "while_gradient": ("tfnb.ops.while_v2", "while_gradient"),
}


def find(name: str) -> Callable[..., Any]:
    """Return the function of this name.

    Raises:
      KeyError: there is none.
    """
    module, attribute = PROVIDED[name]
    found: Callable[..., Any] = getattr(import_module(module), attribute)
    return found
