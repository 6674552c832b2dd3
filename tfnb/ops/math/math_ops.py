"""The arithmetic functions of users: ``tf.add`` and others, and the operators of tensors.

The ops are in the ``cwise_*``, ``reduction``, ``matmul``, ``cast`` and ``sequence`` files; their
public functions are also available here, so that functions built of ops can use ``math_ops.cast``
or ``math_ops.range``.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.indexed_slices import (
    IndexedSlices,
    convert_n_to_tensor_or_indexed_slices,
)
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor, register_operator
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast as cast
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.math.add_n_ops import add_n_op
from tfnb.ops.math.comparison_ops import bitwise_and, bitwise_or, bitwise_xor
from tfnb.ops.math.comparison_ops import equal as equal_op
from tfnb.ops.math.comparison_ops import greater as greater
from tfnb.ops.math.comparison_ops import greater_equal as greater_equal
from tfnb.ops.math.comparison_ops import less as less
from tfnb.ops.math.comparison_ops import less_equal as less_equal
from tfnb.ops.math.comparison_ops import logical_and as logical_and
from tfnb.ops.math.comparison_ops import logical_or as logical_or
from tfnb.ops.math.comparison_ops import not_equal as not_equal_op
from tfnb.ops.math.complex_ops import angle as angle
from tfnb.ops.math.complex_ops import complex_ as complex_
from tfnb.ops.math.complex_ops import complex_abs
from tfnb.ops.math.complex_ops import imag as imag
from tfnb.ops.math.complex_ops import real as real
from tfnb.ops.math.cwise_binary_ops import (
    add_op,
    add_v2,
    div_no_nan_op,
    floor_div,
    floor_mod,
    mul,
    mul_no_nan,
    pow_op,
    real_div,
    sub,
    xdivy_op,
    xlog1py_op,
)
from tfnb.ops.math.cwise_binary_ops import maximum as maximum
from tfnb.ops.math.cwise_binary_ops import minimum as minimum
from tfnb.ops.math.cwise_binary_ops import squared_difference as squared_difference
from tfnb.ops.math.cwise_binary_ops import xlogy as xlogy
from tfnb.ops.math.cwise_unary_ops import (
    abs_op,
    acos_op,
    ceil_op,
    exp_op,
    floor_op,
    invert,
    logical_not,
    neg,
    round_op,
    rsqrt_op,
    sigmoid_op,
    sqrt_op,
)
from tfnb.ops.math.cwise_unary_ops import conj as conj
from tfnb.ops.math.cwise_unary_ops import log as log
from tfnb.ops.math.cwise_unary_ops import reciprocal as reciprocal
from tfnb.ops.math.cwise_unary_ops import sign as sign_op
from tfnb.ops.math.cwise_unary_ops import square as square
from tfnb.ops.math.cwise_unary_ops import tanh as tanh
from tfnb.ops.math.matmul_ops import matmul as matmul
from tfnb.ops.math.reduction_ops import reduce_all as reduce_all
from tfnb.ops.math.reduction_ops import reduce_any as reduce_any
from tfnb.ops.math.reduction_ops import reduce_max as reduce_max
from tfnb.ops.math.reduction_ops import reduce_mean as reduce_mean
from tfnb.ops.math.reduction_ops import reduce_prod as reduce_prod
from tfnb.ops.math.reduction_ops import reduce_sum as reduce_sum
from tfnb.ops.math.reduction_ops import reduced_shape as reduced_shape
from tfnb.ops.math.segment_ops import segment_sum as segment_sum
from tfnb.ops.math.segment_ops import unsorted_segment_sum as unsorted_segment_sum
from tfnb.ops.math.sequence_ops import cumprod as cumprod
from tfnb.ops.math.sequence_ops import cumsum as cumsum
from tfnb.ops.math.sequence_ops import range_ as range_

if TYPE_CHECKING:
    from tfnb.core.tensor_shape import ShapeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

range = range_

EXPORTS = {
    "tf": [
        "abs", "accumulate_n", "acos", "add", "add_n", "ceil", "div", "div_no_nan", "divide",
        "equal", "exp", "floor", "floordiv", "logical_not", "logical_xor",
        "multiply", "not_equal", "pow", "round", "rsqrt", "scalar_mul", "sigmoid", "sign", "sqrt",
        "subtract", "tensordot", "trace", "truediv",
    ],
    "math": [
        "abs", "accumulate_n", "acos", "add", "add_n", "ceil", "divide", "divide_no_nan:div_no_nan",
        "equal", "exp", "floor", "floordiv", "logical_not", "logical_xor",
        "multiply", "multiply_no_nan", "not_equal", "polyval", "pow", "reciprocal_no_nan", "round",
        "rsqrt", "scalar_mul", "sigmoid", "sign", "sqrt", "subtract", "truediv", "xdivy",
        "xlog1py", "xlogy",
    ],
    "nn": ["sigmoid"],
    "linalg": ["tensordot", "trace"],
}  # fmt: skip

# --------------------------------------------------------------------------------------- arithmetic


@dispatchable
def add(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """Compute x + y; strings are joined."""
    with name_scope(name, "Add", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
        return (add_op if x.dtype.base_dtype == dtypes.string else add_v2)(x, y, name=scope)


@dispatchable
def subtract(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x - y."""
    return sub(x, y, name=name)


@dispatchable
def multiply(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x * y."""
    return mul(x, y, name=name)


_TRUE_DIVISION_TYPES: dict[Any, Any] = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.uint32: dtypes.float64,
    dtypes.int32: dtypes.float64,
    dtypes.uint64: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.bfloat16: None,
    dtypes.float16: None,
    dtypes.float32: None,
    dtypes.float64: None,
    dtypes.complex64: None,
    dtypes.complex128: None,
}


def _same_types(x: TensorLike, y: TensorLike) -> Any:
    """Return the common dtype of two tensors.

    Raises:
      TypeError: the dtypes differ.
    """
    first, second = x.dtype.base_dtype, y.dtype.base_dtype
    if first != second:
        raise TypeError(f"`x` and `y` must have the same dtype, got {first!r} != {second!r}.")
    return first


def divisible(x: TensorLike, y: TensorLike, where: str) -> tuple[TensorResult, TensorResult]:
    """Return both operands as floating-point or complex numbers."""
    found = _same_types(x, y)
    if found not in _TRUE_DIVISION_TYPES:
        expected = ", ".join(repr(dtype) for dtype in _TRUE_DIVISION_TYPES)
        raise TypeError(f"Invalid dtype {found!r} in {where}. Expected one of {{{expected}}}.")
    target = _TRUE_DIVISION_TYPES[found]
    return (x, y) if target is None else (cast(x, target), cast(y, target))


@dispatchable
def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x / y as Python 3 does: integers become floating-point numbers first.

    Raises:
      TypeError: the dtypes differ or are not numeric.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
        x, y = divisible(x, y, "__truediv__")
        return real_div(x, y, name=scope)


@dispatchable
def div(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x / y as Python 2 did: the quotient of integers is rounded down.

    Raises:
      TypeError: the dtypes differ.
    """
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        found = _same_types(x, y)
        if found.is_floating or found.is_complex:
            return real_div(x, y, name=scope)
        return floor_div(x, y, name=scope)


@dispatchable
def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x / y."""
    if name is not None:
        return truediv(x, y, name=name)
    if not isinstance(x, Tensor):
        x = convert_to_tensor(x, dtype=y.dtype.base_dtype if isinstance(y, Tensor) else None)
    return x / y


@dispatchable
def div_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x / y, and 0 wherever y is 0.

    Raises:
      TypeError: the dtypes differ or are not numeric.
    """
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        if isinstance(y, Tensor) and not isinstance(x, Tensor):
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
        else:
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
        x, y = divisible(x, y, "tf.math.divide_no_nan")
        return div_no_nan_op(x, y, name=scope)


@dispatchable
def multiply_no_nan(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x * y, and 0 wherever y is 0, even where x is NaN or infinite.

    Raises:
      TypeError: the dtypes differ.
    """
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        _same_types(x, y)
        return mul_no_nan(x, y, name=scope)


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return 1 / x, and 0 wherever x is 0."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        one = convert_to_tensor(1, dtype=x.dtype.base_dtype, name="one")
        return div_no_nan_op(one, x, name=scope)


@dispatchable
def floordiv(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x / y rounded down."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return floor_div(x, y, name=scope)


@dispatchable
def pow(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Return x to the power y."""
    with name_scope(name, "Pow", [x]) as scope:
        return pow_op(x, y, name=scope)


def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """Return a scalar times a tensor or slices.

    Raises:
      ValueError: ``scalar`` has dimensions.
    """
    base_type = dtypes.as_dtype(x.dtype).base_dtype
    scalar = convert_to_tensor(scalar, dtype=base_type, name="scalar")
    if scalar.shape.ndims != 0:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {scalar.shape}.")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(mul(scalar, x.values, name=name), x.indices, x.dense_shape)
    return mul(scalar, x, name=name)


@dispatchable
def xdivy(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x / y, and 0 wherever x is 0."""
    with name_scope(name, "xdivy", [x]):
        return xdivy_op(x, y)


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Compute x * log1p(y), and 0 wherever x is 0."""
    with name_scope(name, "xlog1py", [x]):
        return xlog1py_op(x, y)


# ----------------------------------------------------------------------------- one tensor at a time


@dispatchable
def abs(x: TensorLike, name: str | None = None) -> Any:
    """Return the absolute value; the modulus of complex numbers."""
    if hasattr(x, "with_values"):  # a sparse tensor
        return x.with_values(abs(x.values, name=name))
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return complex_abs(x, Tout=x.dtype.real_dtype, name=scope)
        return abs_op(x, name=scope)


@dispatchable
def sign(x: TensorLike, name: str | None = None) -> Any:
    """Return -1, 0 or 1; x / |x| for complex numbers."""
    if hasattr(x, "with_values"):  # a sparse tensor
        return x.with_values(sign(x.values, name=name))
    x = convert_to_tensor(x)
    if x.dtype.is_complex:
        modulus = complex_abs(x, Tout=x.dtype.real_dtype)
        return div_no_nan_op(x, cast(modulus, dtype=x.dtype), name=name)
    return sign_op(x, name=name)


@dispatchable
def round(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the nearest whole number, halves to the even one; integers are returned unchanged."""
    x = convert_to_tensor(x, name="x")
    return x if x.dtype.is_integer else round_op(x, name=name)


@dispatchable
def ceil(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the smallest whole number not below x."""
    return ceil_op(x, name=name)


@dispatchable
def floor(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the largest whole number not above x."""
    return floor_op(x, name=name)


@dispatchable
def exp(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return e to the power x."""
    return exp_op(x, name=name)


@dispatchable
def sqrt(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the square root."""
    return sqrt_op(x, name=name)


@dispatchable
def rsqrt(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return 1 / sqrt(x)."""
    return rsqrt_op(x, name=name)


def acos(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the angle whose cosine is x."""
    return acos_op(x, name=name)


@dispatchable
def sigmoid(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return 1 / (1 + exp(-x))."""
    with name_scope(name, "Sigmoid", [x]) as scope:
        return sigmoid_op(convert_to_tensor(x, name="x"), name=scope)


# ----------------------------------------------------------------------------- comparison and logic


@dispatchable
def equal(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Return whether x and y are equal, element by element."""
    return equal_op(x, y, name=name)


@dispatchable
def not_equal(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    """Return whether x and y differ, element by element."""
    return not_equal_op(x, y, name=name)


@dispatchable
def logical_xor(x: TensorLike, y: TensorLike, name: str | None = "LogicalXor") -> TensorResult:
    """Return whether exactly one of the two is true."""
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


# ------------------------------------------------------------------------------------ sums of many


@dispatchable
def add_n(inputs: TensorLike, name: str | None = None) -> Any:
    """Return the sum of a list of tensors of one shape and dtype.

    Raises:
      ValueError: the list is empty, or an element is not a tensor.
    """
    message = (
        "Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and "
        "shape."
    )
    if not isinstance(inputs, Iterable) or isinstance(inputs, Tensor):
        raise ValueError(message)
    items = convert_n_to_tensor_or_indexed_slices(list(inputs))
    if not items or not all(isinstance(item, (Tensor, IndexedSlices)) for item in items):
        raise ValueError(message)
    if len(items) == 1:
        only = convert_to_tensor(items[0]) if isinstance(items[0], IndexedSlices) else items[0]
        return array_ops.identity(only, name=name) if name else only
    return add_n_op(items, name=name)


def accumulate_n(
    inputs: TensorLike,
    shape: ShapeLike | None = None,
    tensor_dtype: Any = None,
    name: str | None = None,
) -> Any:
    """Return the sum of a list of tensors, whose shape and dtype may be given.

    Raises:
      ValueError: the list is empty, or shapes or dtypes differ.
      TypeError: the tensors do not have the given dtype.
    """
    message = "inputs must be a list of at least one Tensor with the same dtype and shape"
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError(message)
    items = convert_n_to_tensor_or_indexed_slices(list(inputs))
    if not all(isinstance(item, Tensor) for item in items):
        raise ValueError(message)
    if not all(item.dtype == items[0].dtype for item in items):
        raise ValueError(message)
    merged = TensorShape(None) if shape is None else TensorShape(shape)
    for item in items:
        merged = merged.merge_with(item.shape)
    if tensor_dtype is not None and tensor_dtype != items[0].dtype:
        raise TypeError(
            f"The `tensor_dtype` argument is {tensor_dtype}, but `input` is of type "
            f"{items[0].dtype}. These must be equal. Try casting the input to the desired type."
        )
    if len(items) == 1:
        return items[0] if name is None else array_ops.identity(items[0], name=name)
    return add_n(items, name=name)


# --------------------------------------------------------------------- contractions and polynomials


def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: str | None = None) -> Any:
    """Return the sums of products of elements of a and b over pairs of axes.

    Args:
      a: a tensor.
      b: a tensor.
      axes: N for the last N axes of a and the first N of b; or the axes of each.
      name: the name of the op.

    Raises:
      ValueError: the axes do not fit.
    """
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, name="b")
        axes_a, axes_b = _contraction_axes(a, axes)
        matrix_a, free_a, static_a = _as_matrix(a, axes_a, axes_first=False)
        matrix_b, free_b, static_b = _as_matrix(b, axes_b, axes_first=True)
        product = matmul(matrix_a, matrix_b)
        if isinstance(free_a, list) and isinstance(free_b, list):
            if product.shape.is_fully_defined() and product.shape.as_list() == free_a + free_b:
                return product
            return array_ops.reshape(product, free_a + free_b, name=scope)
        free_a = convert_to_tensor(free_a, dtype=dtypes.int32)
        free_b = convert_to_tensor(free_b, dtype=dtypes.int32)
        result = array_ops.reshape(product, array_ops.concat([free_a, free_b], 0), name=scope)
        if static_a is not None and static_b is not None:
            result.set_shape(static_a + static_b)
        return result


def _contraction_axes(a: TensorLike, axes: TensorLike) -> tuple[TensorResult, TensorResult]:
    rank = a.shape.ndims
    if isinstance(axes, (int, np.integer)):
        if axes < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {axes}.")
        if rank is None:
            dynamic_rank = array_ops.rank(a)
            return (
                range_(dynamic_rank - axes, dynamic_rank, dtype=dtypes.int32),
                range_(axes, dtype=dtypes.int32),
            )
        if axes > rank:
            raise ValueError(
                f"`axes` must not be larger than the number of dimensions of tensor {a}.  "
                f"Received {axes}, vs tensor dimensions {rank}."
            )
        return list(builtins.range(rank - axes, rank)), list(builtins.range(axes))
    if isinstance(axes, (list, tuple)):
        if len(axes) != 2:
            raise ValueError(f"`axes` must be an integer or have length 2. Received {axes}.")
        axes_a, axes_b = axes
        if isinstance(axes_a, (int, np.integer)) and isinstance(axes_b, (int, np.integer)):
            axes_a, axes_b = [axes_a], [axes_b]
        if len(axes_a) != len(axes_b):
            raise ValueError(
                f"Different number of contraction axes `a` and `b`, {len(axes_a)} != {len(axes_b)}."
            )
        return axes_a, axes_b
    axes = convert_to_tensor(axes, name="axes", dtype=dtypes.int32)
    return axes[0], axes[1]


def _as_matrix(
    a: TensorLike, axes: TensorLike, *, axes_first: bool
) -> tuple[TensorResult, TensorResult, TensorResult]:
    """Return `a` as a matrix, and its free dimensions.

    The contracted axes are on one side, the free ones on the other.
    """
    dims = a.shape.dim_values
    static = None
    free: Any
    shape: TensorLike
    if dims is not None and isinstance(axes, (list, tuple)):
        axes = [int(i) % len(dims) if i < 0 else int(i) for i in axes]
        free = [i for i in builtins.range(len(dims)) if i not in axes]
        static = [dims[i] for i in free]
        if None not in dims:
            perm = axes + free if axes_first else free + axes
            sizes = [
                int(np.prod([dims[i] for i in axes], dtype=np.int64)),
                int(np.prod(static, dtype=np.int64)),
            ]
            matrix = array_ops.transpose(a, perm) if perm != sorted(perm) else a
            shape = sizes if axes_first else sizes[::-1]
            if matrix.shape.as_list() != shape:
                matrix = array_ops.reshape(matrix, shape)
            return matrix, static, static
        axes = convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        free = convert_to_tensor(free, dtype=dtypes.int32, name="free")
    else:
        rank = array_ops.rank(a)
        axes = convert_to_tensor(axes, dtype=dtypes.int32, name="axes")
        axes = array_ops.where(axes >= 0, axes, axes + rank)
        free, _ = array_ops.setdiff1d(range_(rank), axes)
    shape_a = array_ops.shape(a)
    free_dims = array_ops.gather(shape_a, free)
    axes_dims = array_ops.gather(shape_a, axes)
    free_size = reduce_prod(free_dims)
    axes_size = reduce_prod(axes_dims)
    order = array_ops.concat([axes, free] if axes_first else [free, axes], 0)
    shape = array_ops.stack([axes_size, free_size] if axes_first else [free_size, axes_size])
    return array_ops.reshape(array_ops.transpose(a, order), shape), free_dims, static


@dispatchable
def trace(x: TensorLike, name: str | None = None) -> Any:
    """Return the sum along the main diagonal of each inner-most matrix."""
    with name_scope(name, "Trace", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return reduce_sum(array_ops.matrix_diag_part(x), [-1], name=scope)


def polyval(coeffs: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """Return the value of a polynomial, coefficients from the highest power down.

    Raises:
      ValueError: the coefficients are not a list.
    """
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with name_scope(name, "polyval", [*coeffs, x]) as scope:
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return array_ops.zeros_like(x, name=scope)
        tensors = [convert_to_tensor(c, name=f"coeff_{i}") for i, c in enumerate(coeffs)]
        value = tensors[0]
        for coefficient in tensors[1:]:
            value = coefficient + value * x
        return value


# ----------------------------------------------------------------------------- operators of tensors


def _add(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    if not isinstance(y, (Tensor, SparseTensor)):
        y = convert_to_tensor(y, preferred_dtype=x.dtype.base_dtype, name="y")
    return (add_op if x.dtype.base_dtype == dtypes.string else add_v2)(x, y, name=name)


def _mul(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    if isinstance(y, SparseTensor):
        values = provided.sparse_dense_cwise_mul(y.indices, y.values, y.dense_shape, x, name=name)
        return SparseTensor(y.indices, values, y.dense_shape)
    if any(isinstance(v, Tensor) and v.dtype.base_dtype == dtypes.bool for v in (x, y)):
        product = multiply(cast(x, dtypes.int32), cast(y, dtypes.int32), name=name)
        return cast(product, dtypes.bool)
    return multiply(x, y, name=name)


def _mod(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    with name_scope(name, "mod", [x, y]) as scope:
        return floor_mod(x, y, name=scope)


def _and(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    if x.dtype.base_dtype == dtypes.bool:
        return logical_and(x, y, name=name)
    return bitwise_and(x, y)


def _or(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    if x.dtype.base_dtype == dtypes.bool:
        return logical_or(x, y, name=name)
    return bitwise_or(x, y)


def _xor(x: TensorLike, y: TensorLike, name: str | None = None) -> TensorResult:
    if x.dtype.base_dtype == dtypes.bool:
        return logical_xor(x, y, name=name)
    return bitwise_xor(x, y)


def _invert(x: TensorLike, name: str | None = None) -> TensorResult:
    if x.dtype.base_dtype == dtypes.bool:
        return logical_not(x, name=name)
    return invert(x, name=name)


def _matmul(a: TensorLike, b: TensorLike, name: str | None = None) -> Any:
    return matmul(a, b, name=name)


def _install_binary(function: Callable[..., Nested], word: str) -> None:
    """Register ``function`` as the operator ``word`` of tensors, with a tensor on either side."""

    def operator(x: TensorLike, y: TensorLike) -> Any:
        with name_scope(None, word, [x, y]) as scope:
            try:
                return function(x, y, name=scope)
            except (TypeError, ValueError):
                # The type of the other operand may define the operation with a tensor.
                reflected = getattr(y, f"__r{word}__", None)
                if reflected is None or isinstance(y, (Tensor, np.ndarray, np.generic, int, float)):
                    raise
                try:
                    result = reflected(x)
                except (TypeError, ValueError):
                    result = NotImplemented
                if result is NotImplemented:
                    raise
                return result

    def reflected_operator(y: TensorLike, x: TensorLike) -> Any:
        with name_scope(None, word, [x, y]) as scope:
            x = convert_to_tensor(x, dtype=y.dtype.base_dtype, name="x")
            return function(x, y, name=scope)

    register_operator(Tensor, f"__{word}__", operator)
    register_operator(Tensor, f"__r{word}__", reflected_operator)


def set_operators() -> None:
    """Set the operators of tensors and sparse tensors."""
    for function, word in (
        (_add, "add"),
        (subtract, "sub"),
        (_mul, "mul"),
        (div, "div"),
        (truediv, "truediv"),
        (floordiv, "floordiv"),
        (_mod, "mod"),
        (pow, "pow"),
        (_and, "and"),
        (_or, "or"),
        (_xor, "xor"),
        (_matmul, "matmul"),
    ):
        _install_binary(function, word)
    for unary, word in ((neg, "neg"), (abs, "abs"), (_invert, "invert")):
        register_operator(Tensor, f"__{word}__", lambda x, function=unary: function(x))
    for compare, word in (
        (less, "lt"),
        (less_equal, "le"),
        (greater, "gt"),
        (greater_equal, "ge"),
    ):
        register_operator(Tensor, f"__{word}__", lambda x, y, function=compare: function(x, y))
    for word in ("mul", "truediv"):
        register_operator(
            SparseTensor, f"__{word}__", lambda x, y, word=word: _apply_to_sparse(word, x, y)
        )


def _apply_to_sparse(word: str, sparse: SparseTensor, dense: Any) -> SparseTensor:
    found: SparseTensor = provided.apply_sparse_operator(word, sparse, dense)
    return found


set_operators()
