"""Checks for NaN and infinity, of one tensor or of all tensors of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import colocate_with, control_dependencies, name_scope
from tfnb.library.control_flow.control_flow import group
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.math.numerics_ops import check_numerics

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["verify_tensor_all_finite", "add_check_numerics_ops"],
    "debugging": ["assert_all_finite:verify_tensor_all_finite"],
}


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> TensorResult:
    """Return the tensor; computing it fails if it has a NaN or an infinity.

    Args:
      t: the tensor (``x`` is its newer name).
      msg: the text of the error (``message`` is its newer name).
      name: the name of the ops.
      x: see ``t``.
      message: see ``msg``.
    """
    value = t if x is None else x
    text = msg if message is None else message
    with name_scope(name, "VerifyFinite", [value]):
        value = convert_to_tensor(value, name="x")
        with colocate_with(value):
            checked = check_numerics(value, message=text)
            return with_dependencies([checked], value)


def add_check_numerics_ops() -> TensorResult:
    """Return an op that checks every tensor of floats in the graph.

    Raises:
      ValueError: there are ops inside a cond or loop.
    """
    checks: list[TensorLike] = []
    for op in get_default_graph().get_operations():
        for output in op.outputs:
            if output.dtype in (dtypes.float16, dtypes.float32, dtypes.float64):
                if op._get_control_flow_context() is not None:
                    raise ValueError(
                        "`tf.add_check_numerics_ops() is not compatible with TensorFlow control "
                        "flow operations such as `tf.cond()` or `tf.while_loop()`."
                    )
                message = f"{op.name}:{output.value_index}"
                with control_dependencies(checks):
                    checks = [check_numerics(output, message=message)]
    return group(*checks)
