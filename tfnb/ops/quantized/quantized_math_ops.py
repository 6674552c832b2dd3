"""Arithmetic on quantized numbers: sums, products, matrix products, joining and reshaping.

Each op returns its numbers and their range. Corresponds to TensorFlow's
``quantized_add_op.cc``, ``quantized_mul_op.cc``, ``quantized_matmul_op.cc``,
``quantized_concat_op.cc`` and ``quantized_reshape_op.cc``.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext, broadcast_shape
from tfnb.ops.array.concat_ops import concat_shape, joined
from tfnb.ops.array.shape_ops import reshape_op, reshape_shape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.quantized_values import (
    LARGEST,
    dequantized,
    float_of,
    floats_of,
    limits,
    number_of,
    numbers_of,
    quantized,
    range_of_products,
    single,
    unclamped_number,
    with_scalar_range,
)
from tfnb.ops.math.matmul_ops import matmul_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"tf": ["quantized_concat"], "quantization": ["quantized_concat"]}

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_TWO = "x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float"
_TWO_OUT = " -> z: Toutput, min_z: float, max_z: float"
_TYPES = ("T1: quantizedtype", "T2: quantizedtype", "Toutput: quantizedtype = DT_QINT32")


def wrapped(values: Array, dtype: Attr = np.int32) -> Array:
    """Return whole numbers, floats or int64, converted to a type that keeps their lowest bits."""
    return values.astype(np.int64).astype(dtype)


def quotient(values: Array, divisor: int) -> Array:
    """Return quotients of whole numbers, rounded towards zero as in C."""
    return np.where(values < 0, -(-values // divisor), values // divisor)


def less_zeros(
    x: Array, range_x: tuple[Array, Array], y: Array, range_y: tuple[Array, Array]
) -> tuple[Array, Array, int]:
    """Return both inputs minus their zeros, so that sums of products are exact, and the first zero.

    The zero is the integer that stands for 0. Double precision holds the sum of 2 ** 28 products;
    where a zero is far away, in ranges that are narrow or infinite, the lowest bits of int64 are
    exact.
    """
    zeros = [
        int(wrapped(np.int64(unclamped_number(0.0, *ends, values.dtype))))
        for values, ends in ((x, range_x), (y, range_y))
    ]
    kind = np.float64 if max(map(abs, zeros)) < 1 << 12 else np.int64
    return x.astype(kind) - zeros[0], y.astype(kind) - zeros[1], zeros[0]


def proper_range(
    low: Array,
    high: Array,
    name: str,
    find_low: Callable[..., Array] = number_of,
    find_high: Callable[..., Array] = number_of,
) -> tuple[np.float32, np.float32]:
    """Return a range whose limits are scalars and differ.

    Raises:
      InvalidArgumentError: a limit is not a scalar, or the maximum is not the larger one.
    """
    ends = find_low(low, f"min_{name}"), find_high(high, f"max_{name}")
    if not ends[1] > ends[0]:
        raise errors.invalid_argument(f"max_{name} must be larger than min_{name}.")
    return ends


def _require_broadcast(x: Array, y: Array) -> int:
    """Return the rank to which the broadcast can be reduced; TensorFlow supports at most two."""
    try:
        whole = np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        raise errors.invalid_argument(
            f"Incompatible shapes: {shape_text(x.shape)} vs. {shape_text(y.shape)}"
        ) from None
    pairs = zip(
        (1,) * (len(whole) - x.ndim) + x.shape, (1,) * (len(whole) - y.ndim) + y.shape, strict=True
    )
    runs = [kind for kind, _ in groupby((a == 1, b == 1) for a, b in pairs if (a, b) != (1, 1))]
    if len(runs) > 2:
        raise errors.unimplemented(
            f"Broadcast between {shape_text(x.shape)} and {shape_text(y.shape)} not supported yet."
        )
    return len(runs)


def _moved(
    x: Array, low: Array, high: Array, end: np.float32, dtype: Attr, *, is_exact: bool = False
) -> Array:
    """Return the numbers converted to the range [-end, end].

    The conversion is coarse: all steps are the same whole number. With ``is_exact`` each number is
    converted separately.
    """
    if is_exact:
        return numbers_of(floats_of(x, low, high), -end, end, dtype).astype(np.int64)
    zero, one = (
        unclamped_number(float(float_of(n, low, high, x.dtype)), -end, end, dtype) for n in (0, 1)
    )
    return np.clip(zero + x.astype(np.int64) * (one - zero), *limits(dtype))


@register_op(
    "QuantizedAdd",
    _TWO + _TWO_OUT,
    *_TYPES,
    shape=lambda c: with_scalar_range(c, broadcast_shape(c), 2),
    **_CPU,
)
def quantized_add(
    xp: Xp,
    x: Array,
    y: Array,
    min_x: Array,
    max_x: Array,
    min_y: Array,
    max_y: Array,
    *,
    Toutput: DType,
) -> Outputs:
    """Return sums, in a range around zero that leaves room for further sums."""
    range_x, range_y = proper_range(min_x, max_x, "x"), proper_range(min_y, max_y, "y")
    runs = _require_broadcast(x, y)
    if runs == 2 and not (x.size and y.size):
        raise errors.invalid_argument("Must have some elements to add")
    widest = max(abs(min(range_x[0], range_y[0])), abs(max(range_x[1], range_y[1])))
    high = np.float32(widest * np.float32(1 << 14))
    dtype = Toutput.as_numpy_dtype
    is_first = runs <= 1 and x.size == 1
    is_second = runs <= 1 and y.size == 1 and not is_first
    total = _moved(x, *range_x, high, dtype, is_exact=is_first)
    total = total + _moved(y, *range_y, high, dtype, is_exact=is_second)
    return wrapped(total, dtype), -high, high


@register_op(
    "QuantizedMul",
    _TWO + _TWO_OUT,
    *_TYPES,
    shape=lambda c: _ranges_out(broadcast_shape(c)),
    **_CPU,
)
def quantized_mul(
    xp: Xp,
    x: Array,
    y: Array,
    min_x: Array,
    max_x: Array,
    min_y: Array,
    max_y: Array,
    *,
    Toutput: DType,
) -> Outputs:
    """Return products; the range is that of all possible products."""
    range_x, range_y = proper_range(min_x, max_x, "x"), proper_range(min_y, max_y, "y")
    if _require_broadcast(x, y) == 2 and not (x.size and y.size):
        raise errors.invalid_argument("vector must have at least 1 element")
    left, right, _ = less_zeros(x, range_x, y, range_y)
    dtype = Toutput.as_numpy_dtype
    ends = range_of_products(range_x, x.dtype, range_y, y.dtype, dtype)
    return wrapped(left * right, dtype), *ends


@register_op(
    "QuantizedMatMul",
    "a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float -> out: Toutput, "
    "min_out: float, max_out: float",
    *_TYPES,
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "Tactivation: quantizedtype = DT_QUINT8",
    shape=lambda c: with_scalar_range(c, matmul_shape(c), 2),
    **_CPU,
)
def quantized_mat_mul(
    xp: Xp,
    a: Array,
    b: Array,
    min_a: Array,
    max_a: Array,
    min_b: Array,
    max_b: Array,
    *,
    Toutput: dtypes.DType,
    transpose_a: bool,
    transpose_b: bool,
) -> Outputs:
    """Return the matrix product of quantized numbers, as sums of products of integers."""
    # TensorFlow requires a scalar only for the first limit.
    range_a = proper_range(min_a, max_a, "a", number_of, single)
    range_b = proper_range(min_b, max_b, "b", single, single)
    left, right = matrices(a, b, transpose_a, transpose_b)
    left, right, _ = less_zeros(left, range_a, right, range_b)
    dtype, product = Toutput.as_numpy_dtype, left @ right
    return wrapped(product, dtype), *range_of_products(range_a, a.dtype, range_b, b.dtype, dtype)


def matrices(a: Array, b: Array, transpose_a: bool, transpose_b: bool) -> tuple[Array, Array]:
    """Return the factors of a matrix product, transposed as requested.

    Raises:
      InvalidArgumentError: a factor is not a matrix, or their inner sizes differ.
    """
    for name, matrix in (("a", a), ("b", b)):
        if matrix.ndim != 2:
            raise errors.invalid_argument(f"{name} is not a matrix: {shape_text(matrix.shape)}")
    left, right = a.T if transpose_a else a, b.T if transpose_b else b
    if left.shape[1] != right.shape[0]:
        raise errors.invalid_argument(
            f"Matrix size-compatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}"
        )
    return left, right


# ------------------------------------------------------------------------------- Concat and Reshape


def _ranges_out(shape: TensorShape) -> list[TensorShape]:
    return [shape, SCALAR_SHAPE, SCALAR_SHAPE]


def _concat_shape(c: InferenceContext, axis_index: int) -> list[TensorShape]:
    parts = c.inputs[c.input_range("values")]
    for name in ("input_mins", "input_maxes"):
        found = c.input_range(name)
        for index in range(found.start, found.stop):
            c.with_rank(index, 0)
    return _ranges_out(concat_shape(c, list(parts), axis_index))


def _joined(
    values: Sequence[Array],
    axis: Attr,
    lows: Sequence[Array],
    highs: Sequence[Array],
    argument: str,
    *,
    scaled: bool,
) -> Outputs:
    """Return the tensors joined, in one range.

    With `scaled`, the range begins at zero or is symmetric.
    """
    starts, ends = ([single(end, "input range") for end in found] for found in (lows, highs))
    low, high = min(np.float32(0), *starts), max(-LARGEST, *ends)  # in an order that skips NaN
    dtype = values[0].dtype
    is_signed = np.iinfo(dtype).min < 0
    if is_signed:
        high = max(abs(low), abs(high))
        low = np.float32(-high)
    elif scaled:
        low = np.float32(0)
    # As in TensorFlow, the first range belongs to the first tensor that is not empty, and so on.
    ranges = zip(starts, ends, strict=True)
    olds = [next(ranges) if value.size else (low, high) for value in values]
    parts = [
        value if old == (low, high) else quantized(dequantized(value, *old), low, high, dtype)
        for value, old in zip(values, olds, strict=True)
    ]
    return joined(np, axis, parts, argument), low, high


_MANY = "values: N * T"
_MANY_RANGES = "input_mins: N * float, input_maxes: N * float"
_CONCAT_OUT = " -> output: T, output_min: float, output_max: float"


@register_op(
    "QuantizedConcat",
    f"concat_dim: int32, {_MANY}, {_MANY_RANGES}{_CONCAT_OUT}",
    "N: int >= 2",
    "T: type",
    shape=lambda c: _concat_shape(c, 0),
    **_CPU,
)
def quantized_concat_op(
    xp: Xp, concat_dim: Array, values: Array, input_mins: Array, input_maxes: Array
) -> Outputs:
    """Return tensors joined along a dimension, converted to one range that contains zero."""
    rank = values[0].ndim
    if concat_dim.ndim:
        raise errors.invalid_argument(
            f"Concat dim tensor should be a scalar integer, but got shape {concat_dim.shape}"
        )
    if not 0 <= int(concat_dim.reshape(())) < rank:
        raise errors.invalid_argument(
            f"ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but got "
            f"{int(concat_dim.reshape(()))}"
        )
    return _joined(values, concat_dim, input_mins, input_maxes, "concat_dim", scaled=False)


@register_op(
    "QuantizedConcatV2",
    f"{_MANY}, axis: Tidx, {_MANY_RANGES}{_CONCAT_OUT}",
    "N: int >= 2",
    "T: type",
    "Tidx: {int32, int64} = DT_INT32",
    shape=lambda c: _concat_shape(c, c.input_range("axis").start),
    **_CPU,
)
def quantized_concat_v2(
    xp: Xp, values: Array, axis: Array, input_mins: Array, input_maxes: Array
) -> Outputs:
    """Return tensors joined along a dimension, converted to one range.

    The range begins at zero; for signed numbers it is symmetric.
    """
    return _joined(values, axis, input_mins, input_maxes, "axis", scaled=True)


def _reshape_shape(c: InferenceContext) -> list[TensorShape]:
    shape = reshape_shape(c)
    c.with_rank(2, 0)
    c.with_rank(3, 0)
    return _ranges_out(shape)


@register_op(
    "QuantizedReshape",
    "tensor: T, shape: Tshape, input_min: float, input_max: float -> output: T, "
    "output_min: float, output_max: float",
    "T: type",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_reshape_shape,
    **_CPU,
)
def quantized_reshape(
    xp: Xp, tensor: Array, shape: Array, input_min: Array, input_max: Array
) -> Outputs:
    """Return the same numbers in another shape, with their range."""
    low, high = single(input_min, "input_min"), single(input_max, "input_max")
    return reshape_op.kernels["CPU"](np, tensor, shape), low, high


# ------------------------------------------------------------------------------ functions of users


def quantized_concat(
    concat_dim: TensorLike,
    values: TensorLike,
    input_mins: TensorLike,
    input_maxes: TensorLike,
    name: str | None = None,
) -> TensorResult:
    """Return quantized tensors joined along a dimension.

    Args:
      concat_dim: int32 scalar, the dimension.
      values: at least two tensors of one quantized dtype, whose shapes differ only in that
        dimension.
      input_mins: per tensor, the float that its lowest number stands for.
      input_maxes: per tensor, the float that its highest number stands for.
      name: the name of the op.

    Returns:
      (output, output_min, output_max).
    """
    return quantized_concat_op(concat_dim, values, input_mins, input_maxes, name=name)
