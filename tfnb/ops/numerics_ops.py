"""Checks that numbers are numbers: CheckNumerics and what is built of it."""

from __future__ import annotations

from typing import Any

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import unchanged_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import colocate_with, control_dependencies, name_scope

EXPORTS = {
    "tf": ["check_numerics", "verify_tensor_all_finite", "add_check_numerics_ops"],
    "debugging": ["check_numerics", "assert_all_finite:verify_tensor_all_finite"],
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
def check_numerics(xp: Any, tensor: Any, *, message: str) -> Any:
    """The input, which must hold no NaN and no infinity."""
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
def check_numerics_v2(xp: Any, tensor: Any, *, message: str) -> Any:
    """The input, which must hold no NaN and no infinity; tells infinities apart by sign."""
    if not bool(xp.isfinite(tensor).all()):
        infinite = xp.isinf(tensor)
        names = (
            ("-Inf", bool((infinite & (tensor < 0)).any())),
            ("+Inf", bool((infinite & (tensor > 0)).any())),
            ("NaN", bool(xp.isnan(tensor).any())),
        )
        _refuse(message, [name for name, there in names if there])
    return tensor


def _gradient_message(op: Any) -> str:
    return (
        "Not a number (NaN) or infinity (Inf) values detected in gradient. "
        f"{op.get_attr('message').decode()}"
    )


@check_numerics.gradient
def _(op: Any, grad: Any) -> Any:
    return check_numerics(grad, _gradient_message(op))


@check_numerics_v2.gradient
def _(op: Any, grad: Any) -> Any:
    return check_numerics_v2(grad, _gradient_message(op))


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Any:
    """A tensor that can only be computed where it holds no NaN and no infinity.

    Args:
      t: the tensor (``x`` is its newer name).
      msg: what the error says (``message`` is its newer name).
      name: the name of the ops.
      x: see ``t``.
      message: see ``msg``.
    """
    value = t if x is None else x
    text = msg if message is None else message
    with name_scope(name, "VerifyFinite", [value]):
        value = convert_to_tensor(value, name="x")
        with colocate_with(value):
            from tfnb.ops.with_dependencies import with_dependencies

            checked = check_numerics(value, message=text)
            return with_dependencies([checked], value)


def add_check_numerics_ops() -> Any:
    """An op that checks every tensor of floats in the graph.

    Raises:
      ValueError: there are ops inside a cond or loop.
    """
    from tfnb.ops.control_flow import group

    checks: list[Any] = []
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
