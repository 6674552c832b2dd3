"""Ops that compare two tensors element by element, and ops of logic and bits.

All but ApproximateEqual broadcast. Corresponds to TensorFlow's ``cwise_op_*.cc`` files for these
ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    broadcast_shape,
    broadcast_shapes,
    merge_shapes,
)
from tfnb.ops.base.broadcasting import incompatible_shapes, shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.tensor_shape import TensorShape

EXPORTS = {
    "tf": ["greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or"],
    "math": ["greater", "greater_equal", "less", "less_equal", "logical_and", "logical_or"],
    "bitwise": ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"],
}

_INTEGER = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"

# -------------------------------------------------------------------------------------- comparison


@register_op("Less", "x: T, y: T -> z: bool", "T: realnumbertype", shape=broadcast_shape)
def less(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x < y."""
    try:
        return x < y
    except ValueError:
        raise incompatible_shapes(x, y) from None


less.float_ops(float_ops.per_output())


less.expression("{x} < {y}")


less.not_differentiable()


@register_op("LessEqual", "x: T, y: T -> z: bool", "T: realnumbertype", shape=broadcast_shape)
def less_equal(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x <= y."""
    try:
        return x <= y
    except ValueError:
        raise incompatible_shapes(x, y) from None


less_equal.float_ops(float_ops.per_output())


less_equal.expression("{x} <= {y}")


less_equal.not_differentiable()


@register_op("Greater", "x: T, y: T -> z: bool", "T: realnumbertype", shape=broadcast_shape)
def greater(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x > y."""
    try:
        return x > y
    except ValueError:
        raise incompatible_shapes(x, y) from None


greater.float_ops(float_ops.per_output())


greater.expression("{x} > {y}")


greater.not_differentiable()


@register_op("GreaterEqual", "x: T, y: T -> z: bool", "T: realnumbertype", shape=broadcast_shape)
def greater_equal(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x >= y."""
    try:
        return x >= y
    except ValueError:
        raise incompatible_shapes(x, y) from None


greater_equal.float_ops(float_ops.per_output())


greater_equal.expression("{x} >= {y}")


greater_equal.not_differentiable()


def _equality_shape(c: InferenceContext) -> TensorShape:
    x, y = c.inputs
    if c.attr("incompatible_shape_error"):
        return broadcast_shapes(x, y)
    try:
        shape = broadcast_shapes(x, y)
    except ValueError:
        return SCALAR_SHAPE
    # Unknown dimensions may turn out to be incompatible; then the result is a scalar.
    return shape if x.is_fully_defined() and y.is_fully_defined() else UNKNOWN_SHAPE


@register_op(
    "Equal",
    "x: T, y: T -> z: bool",
    "T: type",
    "incompatible_shape_error: bool = true",
    shape=_equality_shape,
    commutative=True,
)
def equal(xp: Xp, x: Array, y: Array, *, incompatible_shape_error: bool) -> Array:
    """Return x == y; without `incompatible_shape_error`, incompatible shapes are not equal."""
    try:
        return x == y
    except ValueError:
        if incompatible_shape_error:
            raise incompatible_shapes(x, y) from None
        return xp.asarray(False)[()]


equal.float_ops(float_ops.per_output())


equal.expression("{x} == {y}", scalars_only=True)


equal.not_differentiable()


@register_op(
    "NotEqual",
    "x: T, y: T -> z: bool",
    "T: type",
    "incompatible_shape_error: bool = true",
    shape=_equality_shape,
    commutative=True,
)
def not_equal(xp: Xp, x: Array, y: Array, *, incompatible_shape_error: bool) -> Array:
    """Return x != y; without `incompatible_shape_error`, incompatible shapes are not equal."""
    try:
        return x != y
    except ValueError:
        if incompatible_shape_error:
            raise incompatible_shapes(x, y) from None
        return xp.asarray(True)[()]


not_equal.float_ops(float_ops.per_output())


not_equal.expression("{x} != {y}", scalars_only=True)


not_equal.not_differentiable()


def _same_shape(c: InferenceContext) -> TensorShape:
    return merge_shapes(c.inputs[0], c.inputs[1])


@register_op(
    "ApproximateEqual",
    "x: T, y: T -> z: bool",
    "T: numbertype",
    "tolerance: float = 9.99999975e-06",
    shape=_same_shape,
    commutative=True,
)
def approximate_equal(xp: Xp, x: Array, y: Array, *, tolerance: float) -> Array:
    """Return abs(x - y) < tolerance."""
    if x.shape != y.shape:
        raise errors.invalid_argument(
            f"x and y must be of the same shape. x shape: {shape_text(x.shape)}. "
            f"y shape: {shape_text(y.shape)}"
        )
    return abs(x - y) < x.dtype.type(tolerance)


approximate_equal.not_differentiable()

# ------------------------------------------------------------------------------------- logic, bits


@register_op("LogicalAnd", "x: bool, y: bool -> z: bool", shape=broadcast_shape, commutative=True)
def logical_and(xp: Xp, x: Array, y: Array) -> Array:
    """Return x and y."""
    try:
        return x & y
    except ValueError:
        raise incompatible_shapes(x, y) from None


logical_and.expression("{x} & {y}")


logical_and.not_differentiable()


@register_op("LogicalOr", "x: bool, y: bool -> z: bool", shape=broadcast_shape, commutative=True)
def logical_or(xp: Xp, x: Array, y: Array) -> Array:
    """Return x or y."""
    try:
        return x | y
    except ValueError:
        raise incompatible_shapes(x, y) from None


logical_or.expression("{x} | {y}")


logical_or.not_differentiable()


@register_op("BitwiseAnd", "x: T, y: T -> z: T", _INTEGER, shape=broadcast_shape, commutative=True)
def bitwise_and(xp: Xp, x: Array, y: Array) -> Array:
    """Return the bits that are set in both."""
    try:
        return x & y
    except ValueError:
        raise incompatible_shapes(x, y) from None


bitwise_and.expression("{x} & {y}")


bitwise_and.not_differentiable()


@register_op("BitwiseOr", "x: T, y: T -> z: T", _INTEGER, shape=broadcast_shape, commutative=True)
def bitwise_or(xp: Xp, x: Array, y: Array) -> Array:
    """Return the bits that are set in one or both."""
    try:
        return x | y
    except ValueError:
        raise incompatible_shapes(x, y) from None


bitwise_or.expression("{x} | {y}")


bitwise_or.not_differentiable()


@register_op("BitwiseXor", "x: T, y: T -> z: T", _INTEGER, shape=broadcast_shape, commutative=True)
def bitwise_xor(xp: Xp, x: Array, y: Array) -> Array:
    """Return the bits that are set in exactly one of the two."""
    try:
        return x ^ y
    except ValueError:
        raise incompatible_shapes(x, y) from None


bitwise_xor.expression("{x} ^ {y}")


bitwise_xor.not_differentiable()


@register_op("LeftShift", "x: T, y: T -> z: T", _INTEGER, shape=broadcast_shape)
def left_shift(xp: Xp, x: Array, y: Array) -> Array:
    """Return x shifted left by y bits; y is limited to the width of the type."""
    try:
        return x << xp.clip(y, 0, x.itemsize * 8 - 1)
    except ValueError:
        raise incompatible_shapes(x, y) from None


left_shift.not_differentiable()


@register_op("RightShift", "x: T, y: T -> z: T", _INTEGER, shape=broadcast_shape)
def right_shift(xp: Xp, x: Array, y: Array) -> Array:
    """Return x shifted right by y bits with its sign; y is limited to the width of the type."""
    try:
        return x >> xp.clip(y, 0, x.itemsize * 8 - 1)
    except ValueError:
        raise incompatible_shapes(x, y) from None


right_shift.not_differentiable()
