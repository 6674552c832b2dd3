"""Checks for NaN and infinity: CheckNumerics and the functions built of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import unchanged_shape

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

EXPORTS = {
    "tf": ["check_numerics"],
    "debugging": ["check_numerics"],
}

_FLOATS = "T: {bfloat16, half, float, double}"


def _refuse(message: str, found: list[str]) -> None:
    text = ", and ".join([", ".join(found[:-1]), found[-1]]) if found[2:] else " and ".join(found)
    raise errors.invalid_argument(f"{message} : Tensor had {text} values")


@register_op(
    "CheckNumerics",
    "tensor: T -> output: T",
    _FLOATS,
    "message: string",
    shape=unchanged_shape,
    stateful=True,
    traits="reports",
)
def check_numerics(xp: Xp, tensor: Array, *, message: str) -> Array:
    """Return the input; raise an error if it has a NaN or an infinity."""
    if not bool(xp.isfinite(tensor).all()):
        names = ("Inf", bool(xp.isinf(tensor).any())), ("NaN", bool(xp.isnan(tensor).any()))
        _refuse(message, [name for name, there in names if there])
    return tensor


@register_op(
    "CheckNumericsV2",
    "tensor: T -> output: T",
    _FLOATS,
    "message: string",
    shape=unchanged_shape,
    stateful=True,
    traits="reports",
)
def check_numerics_v2(xp: Xp, tensor: Array, *, message: str) -> Array:
    """Return the input; raise an error for NaN and infinity that names the infinity's sign."""
    if not bool(xp.isfinite(tensor).all()):
        infinite = xp.isinf(tensor)
        names = (
            ("-Inf", bool((infinite & (tensor < 0)).any())),
            ("+Inf", bool((infinite & (tensor > 0)).any())),
            ("NaN", bool(xp.isnan(tensor).any())),
        )
        _refuse(message, [name for name, there in names if there])
    return tensor


def _gradient_message(op: Operation) -> str:
    return (
        "Not a number (NaN) or infinity (Inf) values detected in gradient. "
        f"{op.get_attr('message').decode()}"
    )


@check_numerics.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return check_numerics(grad, _gradient_message(op))


@check_numerics_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return check_numerics_v2(grad, _gradient_message(op))
