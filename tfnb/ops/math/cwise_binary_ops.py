"""Ops that combine two tensors element by element: arithmetic, powers, the larger of two.

All broadcast; incompatible shapes raise ``Incompatible shapes: [2,3] vs. [4]``. Integers wrap
around. Corresponds to TensorFlow's ``cwise_op_*.cc`` with two inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    broadcast_shape,
)
from tfnb.framework.scopes import control_dependencies
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import (
    incompatible_shapes,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.array import cast_ops
    from tfnb.ops.base import large_arrays
    from tfnb.ops.math import comparison_ops, cwise_unary_ops, select_ops, unbroadcast
else:
    cast_ops = later("tfnb.ops.array.cast_ops")
    comparison_ops = later("tfnb.ops.math.comparison_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")
    select_ops = later("tfnb.ops.math.select_ops")
    unbroadcast = later("tfnb.ops.math.unbroadcast")
    large_arrays = later("tfnb.ops.base.large_arrays", in_step=True)

EXPORTS = {
    "tf": [
        "atan2", "maximum", "minimum", "squared_difference", "truncatediv:truncate_div",
        "truncatemod:truncate_mod", "realdiv:real_div", "floor_div", "floormod:floor_mod",
        "mod:floor_mod",
    ],
    "math": [
        "atan2", "maximum", "minimum", "squared_difference", "floormod:floor_mod", "mod:floor_mod",
        "xdivy:xdivy_op", "nextafter:next_after",
    ],
}  # fmt: skip

_ARITHMETIC = (
    "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, "
    "complex64, complex128}"
)
_INTEGER = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"

_INTEGER_TYPES = (
    dtypes.int8,
    dtypes.int16,
    dtypes.int32,
    dtypes.int64,
    dtypes.uint8,
    dtypes.uint16,
    dtypes.uint32,
    dtypes.uint64,
)


def _gives_second_of_equal(ufunc: np.ufunc) -> bool:
    """Return whether the ufunc returns its second argument for 0 and -0; processors differ."""
    return all(
        bool(np.signbit(ufunc(dtype(x), dtype(y)))) == bool(np.signbit(dtype(y)))
        for dtype in (np.float32, np.float64)
        for x, y in ((0.0, -0.0), (-0.0, 0.0))
    )


# -------------------------------------------------------------------------------------- arithmetic


@register_op(
    "Add",
    "x: T, y: T -> z: T",
    "T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, "
    "string}",
    shape=broadcast_shape,
    traits="same_layout",
)
def add_op(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x + y; strings are joined."""
    try:
        return x + y
    except ValueError:
        raise incompatible_shapes(x, y) from None


add_op.float_ops(float_ops.per_output())


add_op.expression("{x} + {y}")
add_op.tile("{add}({x}, {y}, out={out})", add=np.add)


@add_op.kernel("CPU", T=dtypes.string)
def _(xp: Xp, x: Array, y: Array) -> Array:
    try:
        # NumPy returns the bare element if the sum has no dimensions.
        return np.asarray(x + y, dtype=object)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@add_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return unbroadcast.unbroadcast(op.inputs[0], op.inputs[1], grad, grad, skips_equal=True)


@register_op(
    "AddV2",
    "x: T, y: T -> z: T",
    "T: {bfloat16, half, float, double, uint8, uint16, uint32, uint64, int8, int16, int32, int64, "
    "complex64, complex128}",
    shape=broadcast_shape,
    commutative=True,
    aggregate=True,
    traits="same_layout",
)
def add_v2(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x + y."""
    try:
        return x + y
    except ValueError:
        raise incompatible_shapes(x, y) from None


add_v2.float_ops(float_ops.per_output())


add_v2.expression("{x} + {y}")
add_v2.tile("{add}({x}, {y}, out={out})", add=np.add)


@add_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return unbroadcast.unbroadcast(op.inputs[0], op.inputs[1], grad, grad, skips_equal=True)


@register_op(
    "Sub",
    "x: T, y: T -> z: T",
    "T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, "
    "complex128, uint32, uint64}",
    shape=broadcast_shape,
    traits="same_layout",
)
def sub(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x - y."""
    try:
        return x - y
    except ValueError:
        raise incompatible_shapes(x, y) from None


sub.float_ops(float_ops.per_output())


sub.expression("{x} - {y}")
sub.tile("{subtract}({x}, {y}, out={out})", subtract=np.subtract)


@sub.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return unbroadcast.unbroadcast(op.inputs[0], op.inputs[1], grad, -grad, skips_equal=True)


@register_op(
    "Mul",
    "x: T, y: T -> z: T",
    _ARITHMETIC,
    shape=broadcast_shape,
    commutative=True,
    traits="same_layout",
)
def mul(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x * y."""
    try:
        return x * y
    except ValueError:
        raise incompatible_shapes(x, y) from None


mul.float_ops(float_ops.per_output())


mul.expression("{x} * {y}")
mul.tile("{multiply}({x}, {y}, out={out})", multiply=np.multiply)


@mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    dims = x.shape.dim_values
    if (
        dims is not None
        and None not in dims
        and dims == y.shape.dim_values == grad.shape.dim_values
        and grad.dtype in (dtypes.int32, dtypes.float32)
    ):
        return mul(grad, y), mul(grad, x)
    return unbroadcast.unbroadcast(
        x, y, mul(grad, cwise_unary_ops.conj(y)), mul(cwise_unary_ops.conj(x), grad)
    )


_FLOAT_OR_COMPLEX = "T: {bfloat16, half, float, double, complex64, complex128}"


@register_op("MulNoNan", "x: T, y: T -> z: T", _FLOAT_OR_COMPLEX, shape=broadcast_shape)
def mul_no_nan(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x * y, and 0 wherever y is 0, whatever x is."""
    try:
        return xp.where(y == 0, x.dtype.type(0), x * y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@mul_no_nan.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    return unbroadcast.unbroadcast(x, y, mul_no_nan(grad, y), mul_no_nan(x, grad), skips_equal=True)


@register_op(
    "RealDiv", "x: T, y: T -> z: T", _ARITHMETIC, shape=broadcast_shape, traits="same_layout"
)
def real_div(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x / y."""
    try:
        return x / y
    except ValueError:
        raise incompatible_shapes(x, y) from None


real_div.float_ops(float_ops.per_output())


real_div.expression("{x} / {y}")
real_div.tile("{divide}({x}, {y}, out={out})", divide=np.divide)


@real_div.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    cx, cy = cwise_unary_ops.conj(x), cwise_unary_ops.conj(y)
    return unbroadcast.unbroadcast(x, y, real_div(grad, cy), grad * real_div(real_div(-cx, cy), cy))


@register_op("Div", "x: T, y: T -> z: T", _ARITHMETIC, shape=broadcast_shape, traits="same_layout")
def div_op(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Compute x / y; integers are cut towards zero."""
    try:
        return _truncated_quotient(x, y) if T.is_integer else x / y
    except ValueError:
        raise incompatible_shapes(x, y) from None


@div_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    cx, cy = cwise_unary_ops.conj(x), cwise_unary_ops.conj(y)
    return unbroadcast.unbroadcast(x, y, grad / cy, grad * (-cx / cy / cy))


@register_op("TruncateDiv", "x: T, y: T -> z: T", _ARITHMETIC, shape=broadcast_shape)
def truncate_div(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Compute x / y cut towards zero."""
    try:
        if T.is_integer:
            _refuse_zero_unexpectedly(x, y)
            return _truncated_quotient(x, y)
        return xp.trunc(x / y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@truncate_div.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None, None


@register_op("FloorDiv", "x: T, y: T -> z: T", _ARITHMETIC, shape=broadcast_shape)
def floor_div(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Compute x / y rounded down."""
    try:
        if T.is_integer:
            _refuse_zero(x, y)
            return x // y
        quotient = x / y
        return xp.floor(quotient, out=quotient if quotient.ndim else None)
    except ValueError:
        raise incompatible_shapes(x, y) from None


floor_div.expression("{x} // {y} if {y} else {kernel}", types=_INTEGER_TYPES, scalars_only=True)


@floor_div.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None, None


@register_op(
    "DivNoNan",
    "x: T, y: T -> z: T",
    "T: {half, float, bfloat16, double, complex64, complex128}",
    shape=broadcast_shape,
)
def div_no_nan_op(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x / y, and 0 wherever y is 0."""
    try:
        return xp.where(y == 0, x.dtype.type(0), x / y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@div_no_nan_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.math.math_ops import div_no_nan

    x, y = op.inputs
    cx, cy = cwise_unary_ops.conj(x), cwise_unary_ops.conj(y)
    grad_x = div_no_nan(grad, cy)
    return unbroadcast.unbroadcast(x, y, grad_x, grad * div_no_nan(div_no_nan(-cx, cy), cy))


@register_op(
    "Mod",
    "x: T, y: T -> z: T",
    "T: {int32, int64, half, half, bfloat16, float, double}",
    shape=broadcast_shape,
)
def mod_op(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Return the remainder of a division cut towards zero; it has the sign of x."""
    try:
        if T.is_integer:
            _refuse_zero(x, y)
        return xp.fmod(x, y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@register_op(
    "TruncateMod",
    "x: T, y: T -> z: T",
    "T: {int32, int64, bfloat16, half, float, double}",
    shape=broadcast_shape,
)
def truncate_mod(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Return the remainder of a division cut towards zero; it has the sign of x."""
    try:
        if T.is_integer:
            _refuse_zero_unexpectedly(x, y)
        return xp.fmod(x, y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@register_op(
    "FloorMod",
    "x: T, y: T -> z: T",
    "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64, bfloat16, half, float, double}",
    shape=broadcast_shape,
)
def floor_mod(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Return the remainder of a division rounded down; it has the sign of y."""
    try:
        if T.is_integer:
            _refuse_zero(x, y)
            return x % y
        rest = xp.fmod(x, y)
        return xp.where((rest != 0) & ((y < 0) != (rest < 0)), rest + y, rest)
    except ValueError:
        raise incompatible_shapes(x, y) from None


floor_mod.expression("{x} % {y} if {y} else {kernel}", types=_INTEGER_TYPES, scalars_only=True)


@floor_mod.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    return unbroadcast.unbroadcast(x, y, grad, grad * -floor_div(x, y))


def _refuse_zero(x: Array, y: Array) -> None:
    if not (y.all() if y.ndim else y) and x.size:
        raise errors.invalid_argument("Integer division by zero")


def _refuse_zero_unexpectedly(x: Array, y: Array) -> None:
    # TensorFlow's message and class for a zero divisor in ops that truncate.
    if not (y.all() if y.ndim else y) and x.size:
        raise errors.internal(
            "Unexpected error in binary operator (only integer div and mod should have errors)"
        )


def _truncated_quotient(x: Array, y: Array) -> Array:
    _refuse_zero(x, y)
    return cut_quotient(x, y)


def cut_quotient(x: Array, y: Array) -> Array:
    """Return the quotient of integers, truncated towards zero."""
    down = x // y
    if x.dtype.kind == "u":
        return down
    # Rounding down and truncating differ by one if there is a remainder and the signs differ.
    return down + ((down * y != x) & ((x < 0) != (y < 0))).astype(x.dtype)


@register_op(
    "SquaredDifference",
    "x: T, y: T -> z: T",
    "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
    shape=broadcast_shape,
    commutative=True,
    traits="same_layout",
)
def squared_difference(xp: Xp, x: Array, y: Array) -> Array:
    """Return (x - y) * conj(x - y)."""
    try:
        difference = x - y
    except ValueError:
        raise incompatible_shapes(x, y) from None
    if difference.dtype.kind == "c":
        return difference * xp.conj(difference)
    return xp.multiply(difference, difference, out=difference if difference.ndim else None)


squared_difference.expression(
    "{square}({x} - {y})",
    types=[dtypes.float32, dtypes.float64],
    square=np.square,
)
squared_difference.float_ops(float_ops.per_output(2))


@squared_difference.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    with control_dependencies([grad]):
        twice = mul(array_ops.constant(2.0, dtype=grad.dtype, name="scalar"), grad)
        grad_x = twice * (x - y)
    return unbroadcast.unbroadcast(x, y, grad_x, -grad_x, skips_equal=True)


@register_op(
    "Pow",
    "x: T, y: T -> z: T",
    "T: {bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}",
    shape=broadcast_shape,
)
def pow_op(xp: Xp, x: Array, y: Array, *, T: DType) -> Array:
    """Return x to the power y; squares and cubes are products, as TensorFlow optimizes them."""
    if T.is_integer and x.size and (y < 0).any():
        raise errors.invalid_argument("Integers to negative integer powers are not allowed")
    if y.ndim == 0 and xp is np:
        if y == 2:
            return x * x
        if y == 3:
            return x * x * x
    try:
        return x**y
    except ValueError:
        raise incompatible_shapes(x, y) from None


pow_op.float_ops(float_ops.per_output())


@pow_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    cx, cy, cz = (
        cwise_unary_ops.conj(x),
        cwise_unary_ops.conj(y),
        cwise_unary_ops.conj(op.outputs[0]),
    )
    grad_x = grad * cy * pow_op(cx, cy - 1)
    # The logarithm of 1 is taken where x is not positive, so that no NaN enters the product.
    usable = comparison_ops.not_equal(cx, 0) if x.dtype.is_complex else cx > 0
    safe_x = array_ops.where(usable, cx, array_ops.ones_like(x))
    log_x = array_ops.where(usable, cwise_unary_ops.log(safe_x), array_ops.zeros_like(x))
    return unbroadcast.unbroadcast(x, y, grad_x, grad * cz * log_x)


_LOG_TYPES = "T: {half, bfloat16, float, double, complex64, complex128}"


def _nonzero(x: TensorLike) -> Any:
    return cast_ops.cast(comparison_ops.not_equal(x, cast_ops.cast(0.0, x.dtype)), x.dtype)


@register_op("Xlogy", "x: T, y: T -> z: T", _LOG_TYPES, shape=broadcast_shape)
def xlogy(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x * log(y), and 0 wherever x is 0."""
    try:
        return xp.where(x == 0, x, x * xp.log(y))
    except ValueError:
        raise incompatible_shapes(x, y) from None


@xlogy.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs

    def gradients() -> tuple[TensorResult, TensorResult]:
        by_x, by_y = xlogy(_nonzero(x), y), xdivy_op(x, y)
        return by_x * grad, by_y * grad

    return unbroadcast.unbroadcast_by_axes(x, y, gradients, grad)


@register_op("Xlog1py", "x: T, y: T -> z: T", _LOG_TYPES, shape=broadcast_shape)
def xlog1py_op(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x * log1p(y), and 0 wherever x is 0."""
    try:
        return xp.where(x == 0, x, x * xp.log1p(y))
    except ValueError:
        raise incompatible_shapes(x, y) from None


@xlog1py_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs

    def gradients() -> tuple[TensorResult, TensorResult]:
        by_x, by_y = xlog1py_op(_nonzero(x), y), xdivy_op(x, y + 1.0)
        return by_x * grad, by_y * grad

    return unbroadcast.unbroadcast_by_axes(x, y, gradients, grad)


@register_op("Xdivy", "x: T, y: T -> z: T", _LOG_TYPES, shape=broadcast_shape)
def xdivy_op(xp: Xp, x: Array, y: Array) -> Array:
    """Compute x / y, and 0 wherever x is 0."""
    try:
        return xp.where(x == 0, x, x / y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@xdivy_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs

    def gradients() -> tuple[TensorResult, TensorResult]:
        by_x, by_y = xdivy_op(_nonzero(x), y), xdivy_op(-x, y**2)
        return by_x * grad, by_y * grad

    return unbroadcast.unbroadcast_by_axes(x, y, gradients, grad)


@register_op(
    "Atan2", "y: T, x: T -> z: T", "T: {bfloat16, half, float, double}", shape=broadcast_shape
)
def atan2(xp: Xp, y: Array, x: Array) -> Array:
    """Return the angle of the point (x, y), between -pi and pi."""
    try:
        return xp.arctan2(y, x)
    except ValueError:
        raise incompatible_shapes(y, x) from None


@atan2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    y, x = op.inputs
    with control_dependencies([grad]):
        scaled = grad / (cwise_unary_ops.square(y) + cwise_unary_ops.square(x))
        grad_y = x * scaled
        return unbroadcast.unbroadcast(y, x, grad_y, -y * scaled)


@register_op(
    "NextAfter", "x1: T, x2: T -> output: T", "T: {double, float} = DT_FLOAT", shape=broadcast_shape
)
def next_after(xp: Xp, x1: Array, x2: Array) -> Array:
    """Return the next representable number after x1 in the direction of x2."""
    try:
        return xp.nextafter(x1, x2)
    except ValueError:
        raise incompatible_shapes(x1, x2) from None


@next_after.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x1, x2 = op.inputs

    def gradients(shape_x: TensorLike, shape_y: TensorLike) -> tuple[TensorResult, TensorResult]:
        ones, zeros = array_ops.ones(shape_x, x1.dtype), array_ops.zeros(shape_y, x2.dtype)
        return ones * grad, zeros * grad

    return unbroadcast.unbroadcast_by_axes(x1, x2, gradients, grad, by_shape=True)


_ORDERED = (
    "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64}"
)


def _at_least(xp: Xp, x: Array, y: Array, out: Array) -> Array:
    return xp.maximum(x, y, out=out) if y.ndim else x.clip(y, xp.inf, out=out)


def _at_most(xp: Xp, x: Array, y: Array, out: Array) -> Array:
    return xp.minimum(x, y, out=out) if y.ndim else x.clip(-xp.inf, y, out=out)


@register_op("Maximum", "x: T, y: T -> z: T", _ORDERED, shape=broadcast_shape, traits="same_layout")
def maximum(xp: Xp, x: Array, y: Array) -> Array:
    """Return the larger of the two; NaN if either is NaN."""
    try:
        return xp.maximum(x, y) if y.ndim else large_arrays.at_least(xp, x, y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


maximum.float_ops(float_ops.per_output())


maximum.expression("{x} if {x} >= {y} else {y}", types=_INTEGER_TYPES, scalars_only=True)
if _gives_second_of_equal(np.maximum):
    maximum.expression(
        "{x} if {x} > {y} or {x} != {x} else {y}",
        types=(dtypes.float32, dtypes.float64),
        scalars_only=True,
    )
maximum.tile("{at_least}({np}, {x}, {y}, out={out})", at_least=_at_least, np=np)


@maximum.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    return _gradient_of_the_chosen(x, y, comparison_ops.greater_equal, grad)


@register_op("Minimum", "x: T, y: T -> z: T", _ORDERED, shape=broadcast_shape, traits="same_layout")
def minimum(xp: Xp, x: Array, y: Array) -> Array:
    """Return the smaller of the two; NaN if either is NaN."""
    try:
        return xp.minimum(x, y) if y.ndim else large_arrays.at_most(xp, x, y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


minimum.float_ops(float_ops.per_output())


minimum.expression("{x} if {x} <= {y} else {y}", types=_INTEGER_TYPES, scalars_only=True)
if _gives_second_of_equal(np.minimum):
    minimum.expression(
        "{x} if {x} < {y} or {x} != {x} else {y}",
        types=(dtypes.float32, dtypes.float64),
        scalars_only=True,
    )
minimum.tile("{at_most}({np}, {x}, {y}, out={out})", at_most=_at_most, np=np)


@minimum.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    return _gradient_of_the_chosen(x, y, comparison_ops.less_equal, grad)


def _gradient_of_the_chosen(x: TensorLike, y: TensorLike, chooses_x: Any, grad: TensorLike) -> Any:
    zero = array_ops.zeros_like(grad)
    x_is_chosen = chooses_x(x, y)
    return unbroadcast.unbroadcast(
        x,
        y,
        select_ops.select_v2(x_is_chosen, grad, zero),
        select_ops.select_v2(x_is_chosen, zero, grad),
    )
