"""Diagonals and bands of matrices.

Diagonals are numbered: 0 is the main one, positive numbers lie above it.  Several of them are
packed into rows, the highest first, all as long as the longest; ``align`` says on which side a
shorter row is padded, first for the diagonals above the main one, then for those below.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    require_rank,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.dispatch import dispatchable
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike

EXPORTS = {
    "tf": [
        "diag",
        "diag_part",
        "matrix_diag",
        "matrix_diag_part",
        "matrix_set_diag",
        "matrix_band_part",
    ],
    "linalg": [
        "diag:matrix_diag",
        "diag_part:matrix_diag_part",
        "set_diag:matrix_set_diag",
        "band_part:matrix_band_part",
        "tensor_diag:diag",
        "tensor_diag_part:diag_part",
    ],
}

_ALIGN = "align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'"

# ----------------------------------------------------------------------------------- where they lie


def _bounds(k: Array) -> tuple[int, int]:
    """Return the numbers of the lowest and the highest diagonal."""
    if k.ndim > 1:
        raise errors.invalid_argument(
            f"diag_index must be a scalar or vector, received shape: {shape_text(k.shape)}"
        )
    if k.size not in (1, 2):
        raise errors.invalid_argument(
            f"diag_index must have only one or two elements, received {k.size} elements."
        )
    numbers = k.reshape(-1).tolist()
    return numbers[0], numbers[-1]


def _length(k: int, rows: int, columns: int) -> int:
    return min(rows + min(k, 0), columns - max(k, 0))


def _is_left(k: int, align: str) -> bool:
    above, below = align.split("_")
    return (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")


def _check_range(low: int, high: int, rows: int, columns: int, comma: str = ".") -> None:
    for name, k in (("lower", low), ("upper", high)):
        if not (-rows < k < columns or k == 0):
            raise errors.invalid_argument(
                f"{name}_diag_index is out of bound: {k}{comma} It must be between {-rows} and "
                f"{columns}"
            )
    if low > high:
        raise errors.invalid_argument(
            f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}"
        )


def _elements(xp: Xp, k: int, rows: int, columns: int) -> tuple[Array, Array]:
    """Return the row and the column indices of the elements of one diagonal."""
    steps = xp.arange(max(_length(k, rows, columns), 0))
    return steps - min(k, 0), steps + max(k, 0)


def _longest(low: int, high: int, rows: int, columns: int) -> int:
    return min(rows + min(high, 0), columns - max(low, 0))


def _packed_slice(k: int, align: str, length: int, longest: int) -> slice:
    return slice(0, length) if _is_left(k, align) else slice(longest - length, longest)


# ----------------------------------------------------------------------------------- MatrixDiagPart


def _take(xp: Xp, input: Array, low: int, high: int, padding: Attr, align: str) -> Array:
    if input.ndim < 2:
        raise errors.invalid_argument(
            f"input must be at least 2-dim, received shape: {shape_text(input.shape)}"
        )
    rows, columns = input.shape[-2:]
    _check_range(low, high, rows, columns)
    if low == high:
        i, j = _elements(xp, low, rows, columns)
        return input[..., i, j]
    longest = _longest(low, high, rows, columns)
    out = xp.empty((*input.shape[:-2], high - low + 1, longest), input.dtype)
    out[...] = padding
    for k in range(low, high + 1):
        i, j = _elements(xp, k, rows, columns)
        out[..., high - k, _packed_slice(k, align, len(i), longest)] = input[..., i, j]
    return out


def _static_bounds(c: InferenceContext, index: int) -> tuple[int, int] | None:
    k = c.constant_value(index)
    if k is None:
        return None
    if k.size not in (1, 2):
        raise ValueError(
            f"diag_index must be a vector with one or two elements. It has {k.size} elements."
        )
    numbers = k.reshape(-1).tolist()
    if numbers[0] > numbers[-1]:
        raise ValueError("lower_diag_index is greater than upper_diag_index")
    return numbers[0], numbers[-1]


def _check_static_range(low: int, high: int, rows: int | None, columns: int | None) -> None:
    if rows is None or columns is None:
        return
    for name, k in (("lower", low), ("upper", high)):
        if not (-rows < k < columns or k == 0):
            raise ValueError(
                f"{name}_diag_index {k} is out of bound. It must be between {-rows} and {columns}"
            )


def _part_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(0, 2)
    if len(c.inputs) == 3:
        c.with_rank(2, 0)
    dims = c.inputs[0].dim_values
    if len(c.inputs) == 1:
        bounds: tuple[int, int] | None = (0, 0)
    else:
        bounds = _static_bounds(c, 1)
        if c.inputs[1].ndims is not None and c.inputs[1].ndims > 1:
            raise ValueError(f"Shape must be at most rank 1 but is rank {c.inputs[1].ndims}")
    if dims is None or bounds is None:
        return UNKNOWN_SHAPE
    low, high = bounds
    rows, columns = dims[-2:]
    if len(c.inputs) > 1:
        _check_static_range(low, high, rows, columns)
    longest: int | None = None
    if rows is not None and columns is not None:
        longest = _longest(low, high, rows, columns)
    head = list(dims[:-2])
    return TensorShape([*head, longest] if low == high else [*head, high - low + 1, longest])


@register_op(
    "MatrixDiagPart", "input: T -> diagonal: T", "T: type", shape=_part_shape, traits="rearranges"
)
def matrix_diag_part_op(xp: Xp, input: Array) -> Array:
    """Return the main diagonal of every matrix."""
    return _take(xp, input, 0, 0, 0, "LEFT_LEFT")


@register_op(
    "MatrixDiagPartV2",
    "input: T, k: int32, padding_value: T -> diagonal: T",
    "T: type",
    shape=_part_shape,
    host_memory=("k", "padding_value"),
)
def matrix_diag_part_v2(xp: Xp, input: Array, k: Array, padding_value: Array) -> Array:
    """Return some diagonals of every matrix, padded on the right."""
    return _take(xp, input, *_bounds(k), _scalar(padding_value), "LEFT_LEFT")


def _scalar(padding: Attr, most_dims: int = 64) -> Array:
    if padding.size != 1 or padding.ndim > most_dims:
        raise errors.invalid_argument(
            f"padding_value must be a scalar, received shape {shape_text(padding.shape)}"
        )
    return padding.reshape(-1)[0]


@register_op(
    "MatrixDiagPartV3",
    "input: T, k: int32, padding_value: T -> diagonal: T",
    "T: type",
    _ALIGN,
    shape=_part_shape,
    host_memory=("k", "padding_value"),
)
def matrix_diag_part_v3(
    xp: Xp, input: Array, k: Array, padding_value: Array, *, align: str
) -> Array:
    """Return some diagonals of every matrix."""
    return _take(xp, input, *_bounds(k), _scalar(padding_value), align)


def _part_gradient(op: Operation, grad: Tensor, align: str) -> Tensor:
    from tfnb.ops.array.constant_ops import zeros_like

    source, k = op.inputs[0], op.inputs[1]
    dims = source.shape.dim_values
    if dims is not None and None not in dims[-2:]:
        return matrix_diag(grad, k=k, num_rows=dims[-2], num_cols=dims[-1], align=align)
    return matrix_set_diag(zeros_like(source), grad, k=k, align=align)


@matrix_diag_part_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array.constant_ops import zeros_like

    source = op.inputs[0]
    dims = source.shape.dim_values
    if dims is not None and None not in dims[-2:] and dims[-2] == dims[-1]:
        return matrix_diag(grad)
    return matrix_set_diag(zeros_like(source), grad)


@matrix_diag_part_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _part_gradient(op, grad, "LEFT_LEFT"), None, None


@matrix_diag_part_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _part_gradient(op, grad, op.get_attr("align").decode()), None, None


# --------------------------------------------------------------------------------------- MatrixDiag


def _make(
    xp: Xp, diagonal: Array, low: int, high: int, sizes: tuple[int, int], padding: Attr, align: str
) -> Array:
    if diagonal.ndim < 1:
        raise errors.invalid_argument(
            f"diagonal must be at least 1-dim, received shape: {shape_text(diagonal.shape)}"
        )
    if low > high:
        raise errors.invalid_argument(
            f"lower_diag_index must not be larger than upper_diag_index: {low} > {high}"
        )
    packed = low != high
    if packed and (diagonal.ndim < 2 or diagonal.shape[-2] != high - low + 1):
        raise errors.invalid_argument(
            "The number of diagonals provided in the input does not match the lower_diag_index and "
            "upper_diag_index range."
        )
    try:
        rows, columns = _matrix_size(diagonal.shape[-1], low, high, *sizes)
    except ValueError as error:
        raise errors.invalid_argument(str(error)) from None
    head = diagonal.shape[:-2] if packed else diagonal.shape[:-1]
    check_fits(xp, (*head, rows, columns), diagonal.dtype)
    out = xp.empty((*head, rows, columns), diagonal.dtype)
    out[...] = padding
    _put(xp, out, diagonal, low, high, align)
    return out


def _matrix_size(longest: int, low: int, high: int, rows: int, columns: int) -> tuple[int, int]:
    least_rows, least_columns = longest - min(high, 0), longest + max(low, 0)
    if rows == -1 and columns == -1:
        size = max(least_rows, least_columns)
        return size, size
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows:
        raise ValueError("The number of rows is too small.")
    if columns < least_columns:
        raise ValueError("The number of columns is too small.")
    if rows != least_rows and columns != least_columns:
        raise ValueError(
            "The number of rows or columns is not consistent with the specified d_lower, d_upper, "
            "and diagonal."
        )
    return rows, columns


def _put(xp: Xp, out: Array, diagonal: Array, low: int, high: int, align: str) -> None:
    """Write packed diagonals into writable matrices."""
    rows, columns = out.shape[-2:]
    if low == high:
        i, j = _elements(xp, low, rows, columns)
        out[..., i, j] = diagonal
        return
    longest = diagonal.shape[-1]
    for k in range(low, high + 1):
        i, j = _elements(xp, k, rows, columns)
        out[..., i, j] = diagonal[..., high - k, _packed_slice(k, align, len(i), longest)]


def _make_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(0, 1)
    dims = c.inputs[0].dim_values
    if len(c.inputs) == 1:
        return UNKNOWN_SHAPE if dims is None else TensorShape([*dims, dims[-1]])
    bounds = _static_bounds(c, 1)
    sizes = [c.constant_value(index) for index in (2, 3)]
    for index in (2, 3, 4):
        c.with_rank(index, 0)
    if dims is None or bounds is None:
        return UNKNOWN_SHAPE
    low, high = bounds
    if low != high:
        c.with_rank_at_least(0, 2)
        if dims[-2] is not None and dims[-2] != high - low + 1:
            raise ValueError(
                "The number of rows of `diagonal` doesn't match the number of diagonals implied "
                "from `d_lower` and `d_upper`."
            )
    head = list(dims[:-2] if low != high else dims[:-1])
    rows, columns = (-1 if size is None else int(size) for size in sizes)
    if dims[-1] is None or None in sizes:
        return TensorShape([*head, rows if rows >= 0 else None, columns if columns >= 0 else None])
    return TensorShape([*head, *_matrix_size(dims[-1], low, high, rows, columns)])


@register_op(
    "MatrixDiag", "diagonal: T -> output: T", "T: type", shape=_make_shape, traits="rearranges"
)
def matrix_diag_op(xp: Xp, diagonal: Array) -> Array:
    """Return matrices with given main diagonals and zeros elsewhere."""
    return _make(xp, diagonal, 0, 0, (-1, -1), _zero(diagonal), "LEFT_LEFT")


def _zero(value: Array) -> Array:
    return b"" if value.dtype == object else 0


_MATRIX_DIAG = (
    "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T"
)
_HOST = ("k", "num_rows", "num_cols", "padding_value")


@register_op("MatrixDiagV2", _MATRIX_DIAG, "T: type", shape=_make_shape, host_memory=_HOST)
def matrix_diag_v2(
    xp: Xp, diagonal: Array, k: Array, num_rows: Array, num_cols: Array, padding_value: Array
) -> Array:
    """Return matrices with given diagonals, which are padded on the right."""
    bounds, sizes = _bounds(k), _given_sizes(num_rows, num_cols)
    return _make(xp, diagonal, *bounds, sizes, _scalar(padding_value, 0), "LEFT_LEFT")


def _given_sizes(num_rows: Array, num_cols: Array) -> tuple[int, int]:
    for name, value in (("num_rows", num_rows), ("num_cols", num_cols)):
        if value.ndim:
            raise errors.invalid_argument(f"{name} must be a scalar")
    return int(num_rows), int(num_cols)


@register_op("MatrixDiagV3", _MATRIX_DIAG, "T: type", _ALIGN, shape=_make_shape, host_memory=_HOST)
def matrix_diag_v3(
    xp: Xp,
    diagonal: Array,
    k: Array,
    num_rows: Array,
    num_cols: Array,
    padding_value: Array,
    *,
    align: str,
) -> Array:
    """Return matrices with given diagonals."""
    bounds, sizes = _bounds(k), _given_sizes(num_rows, num_cols)
    return _make(xp, diagonal, *bounds, sizes, _scalar(padding_value, 0), align)


@matrix_diag_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return matrix_diag_part(grad)


@matrix_diag_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return matrix_diag_part(grad, k=op.inputs[1], align="LEFT_LEFT"), None, None, None, None


@matrix_diag_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    align = op.get_attr("align").decode()
    return matrix_diag_part(grad, k=op.inputs[1], align=align), None, None, None, None


# ------------------------------------------------------------------------------------ MatrixSetDiag


def _set(xp: Xp, input: Array, diagonal: Array, low: int, high: int, align: str) -> Array:
    if input.ndim < 2:
        raise errors.invalid_argument(
            f"input must be at least 2-dim, received shape: {shape_text(input.shape)}"
        )
    if diagonal.ndim < 1:
        raise errors.invalid_argument(
            f"diagonal must be at least 1-dim, received shape: {shape_text(diagonal.shape)}"
        )
    rows, columns = input.shape[-2:]
    _check_range(low, high, rows, columns, "")
    longest = _longest(low, high, rows, columns)
    count = [] if low == high else [high - low + 1]
    wanted = (*input.shape[:-2], *count, longest)
    if diagonal.shape != wanted:
        raise errors.invalid_argument(
            "Either first dimensions of diagonal don't match input.shape[:-2], or "
            "diagonal.shape[:-1] is not equal to the longests diagonal in range "
            f"[lower_diag_index:upper_diag_index].\nInput shape: {shape_text(input.shape)}\n"
            f"Diagonal shape: {shape_text(diagonal.shape)}\n"
            f"Expected diagonal shape: {shape_text(wanted)}"
        )
    out = xp.array(input)
    _put(xp, out, diagonal, low, high, align)
    return out


def _set_shape(c: InferenceContext) -> TensorShape:
    c.with_rank_at_least(0, 2)
    c.with_rank_at_least(1, 1)
    dims, diagonal = c.inputs[0].dim_values, c.inputs[1].dim_values
    bounds = (0, 0) if len(c.inputs) == 2 else _static_bounds(c, 2)
    if dims is None:
        if diagonal is None or bounds is None:
            return UNKNOWN_SHAPE
        head = diagonal[:-1] if bounds[0] == bounds[1] else diagonal[:-2]
        return TensorShape([*head, None, None])
    if diagonal is None or bounds is None:
        return c.inputs[0]
    low, high = bounds
    rows, columns = dims[-2:]
    if len(c.inputs) > 2:
        _check_static_range(low, high, rows, columns)
        require_rank(c.inputs[1], len(dims) - (low == high))
        if None not in dims:
            return c.inputs[0]
        merged = merge_shapes(
            TensorShape(diagonal[: len(dims) - 2]), TensorShape(dims[:-2])
        ).dim_values
        assert merged is not None
        return TensorShape([*merged, rows, columns])
    longest = None
    if rows is not None and columns is not None:
        longest = _longest(low, high, rows, columns)
    count = [] if low == high else [high - low + 1]
    # TensorFlow compares the batches only while a dimension of the matrices is unknown.
    batch = dims[:-2] if None in dims else [None] * (len(dims) - 2)
    merged = merge_shapes(TensorShape([*batch, *count, longest]), TensorShape(diagonal)).dim_values
    assert merged is not None
    return TensorShape([*merged[: len(dims) - 2], rows, columns]) if None in dims else c.inputs[0]


@register_op(
    "MatrixSetDiag",
    "input: T, diagonal: T -> output: T",
    "T: type",
    shape=_set_shape,
    traits="rearranges",
)
def matrix_set_diag_op(xp: Xp, input: Array, diagonal: Array) -> Array:
    """Return matrices with their main diagonals replaced."""
    return _set(xp, input, diagonal, 0, 0, "LEFT_LEFT")


@register_op(
    "MatrixSetDiagV2",
    "input: T, diagonal: T, k: int32 -> output: T",
    "T: type",
    shape=_set_shape,
    host_memory=("k",),
)
def matrix_set_diag_v2(xp: Xp, input: Array, diagonal: Array, k: Array) -> Array:
    """Return matrices with some diagonals replaced by given ones, which are padded on the right."""
    return _set(xp, input, diagonal, *_bounds(k), "LEFT_LEFT")


@register_op(
    "MatrixSetDiagV3",
    "input: T, diagonal: T, k: int32 -> output: T",
    "T: type",
    _ALIGN,
    shape=_set_shape,
    host_memory=("k",),
)
def matrix_set_diag_v3(xp: Xp, input: Array, diagonal: Array, k: Array, *, align: str) -> Array:
    """Return matrices with some diagonals replaced."""
    return _set(xp, input, diagonal, *_bounds(k), align)


def _set_gradient(
    op: Operation, grad: Tensor, k: int | Tensor, align: str
) -> tuple[Tensor, Tensor]:
    from tfnb.ops.array.constant_ops import zeros, zeros_like

    diagonal = op.inputs[1]
    dims = diagonal.shape.dim_values
    if dims is not None and None not in dims:
        nothing = zeros(list(dims), dtype=grad.dtype)
    else:
        nothing = zeros_like(diagonal)
    kept = matrix_set_diag(grad, nothing, k=k, align=align)
    return kept, matrix_diag_part(grad, k=k, align=align)


@matrix_set_diag_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _set_gradient(op, grad, 0, "RIGHT_LEFT")


@matrix_set_diag_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return (*_set_gradient(op, grad, op.inputs[2], "LEFT_LEFT"), None)


@matrix_set_diag_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return (*_set_gradient(op, grad, op.inputs[2], op.get_attr("align").decode()), None)


# ----------------------------------------------------------------------------------- MatrixBandPart


@register_op(
    "MatrixBandPart",
    "input: T, num_lower: Tindex, num_upper: Tindex -> band: T",
    "T: type",
    "Tindex: {int32, int64} = DT_INT64",
    shape=unchanged_shape,
    host_memory=("num_lower", "num_upper"),
    traits="rearranges",
)
def matrix_band_part(xp: Xp, input: Array, num_lower: Array, num_upper: Array) -> Array:
    """Return matrices with zeros outside a band around the main diagonal; -1 keeps a whole side."""
    if input.ndim < 2:
        raise errors.invalid_argument(
            f"input must be at least 2-dim, received shape: {shape_text(input.shape)}"
        )
    rows, columns = input.shape[-2:]
    for name, value, limit, what in (
        ("num_lower", num_lower, rows, "rows"),
        ("num_upper", num_upper, columns, "columns"),
    ):
        if value.ndim:
            raise errors.invalid_argument(
                f"{name} must be scalar, got shape {shape_text(value.shape)}"
            )
        if value > limit:
            raise errors.invalid_argument(
                f"{name} must be negative or less or equal to number of {what} ({limit}) got: "
                f"{int(value)}"
            )
    distance = xp.arange(columns)[None, :] - xp.arange(rows)[:, None]
    kept = xp.ones((rows, columns), bool)
    if num_lower >= 0:
        kept &= distance >= -int(num_lower)
    if num_upper >= 0:
        kept &= distance <= int(num_upper)
    return xp.where(kept, input, input.dtype.type(0)).astype(input.dtype, copy=False)


@matrix_band_part.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return matrix_band_part(grad, op.inputs[1], op.inputs[2]), None, None


# -------------------------------------------------------------------------------- Diag and DiagPart

_DIAG_TYPES = "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}"


def _diag_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank_at_least(0, 1).dim_values
    return UNKNOWN_SHAPE if dims is None else TensorShape([*dims, *dims])


@register_op(
    "Diag", "diagonal: T -> output: T", _DIAG_TYPES, shape=_diag_shape, traits="rearranges"
)
def diag(xp: Xp, diagonal: Array) -> Array:
    """Return a tensor of twice the rank with the given tensor as its diagonal."""
    if diagonal.ndim < 1:
        raise errors.invalid_argument("Input must be at least rank 1, got 0")
    size = diagonal.size
    out = xp.zeros((size, size), diagonal.dtype)
    steps = xp.arange(size)
    out[steps, steps] = diagonal.reshape(-1)
    return out.reshape(diagonal.shape * 2)


@diag.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return diag_part(grad)


def _diag_part_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    if dims is None:
        return UNKNOWN_SHAPE
    if len(dims) % 2 or not dims:
        raise ValueError(f"Input must have even and non-zero rank, input rank is {len(dims)}")
    half = len(dims) // 2
    return merge_shapes(TensorShape(dims[:half]), TensorShape(dims[half:]))


@register_op(
    "DiagPart", "input: T -> diagonal: T", _DIAG_TYPES, shape=_diag_part_shape, traits="rearranges"
)
def diag_part(xp: Xp, input: Array) -> Array:
    """Return the diagonal of a tensor whose shape consists of two equal halves."""
    if input.ndim % 2:
        raise errors.invalid_argument(
            "The rank of the tensor should be even and positive, got shape "
            f"{shape_text(input.shape)}"
        )
    half = input.ndim // 2
    for i in range(half):
        if input.shape[i] != input.shape[half + i]:
            raise errors.invalid_argument(
                f"Invalid shape {shape_text(input.shape)}: dimensions {i} and {half + i} do not "
                "match."
            )
    size = math.prod(input.shape[:half])
    return xp.ascontiguousarray(input.reshape(size, size).diagonal()).reshape(input.shape[:half])


@diag_part.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return diag(grad)


# ----------------------------------------------------------------------------------- tf.matrix_diag


def _padding(value: TensorLike, padding_value: TensorLike) -> Any:
    dtype = getattr(value, "dtype", None)
    return bool(padding_value) if dtype is not None and dtype == dtypes.bool else padding_value


def matrix_diag(
    diagonal: TensorLike,
    name: str | None = "diag",
    k: TensorLike = 0,
    num_rows: TensorLike = -1,
    num_cols: TensorLike = -1,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with given diagonals.

    Args:
      diagonal: one diagonal, or several packed into rows.
      name: the name of the op.
      k: which diagonal, or the lowest and highest of several.
      num_rows: the number of rows; -1 is the least that fits.
      num_cols: the number of columns; -1 is the least that fits.
      padding_value: the value of all other elements.
      align: the side of shorter diagonals that is padded.
    """
    found: Tensor = matrix_diag_v3(
        diagonal, k, num_rows, num_cols, _padding(diagonal, padding_value), align=align, name=name
    )
    return found


@dispatchable
def matrix_diag_part(
    input: TensorLike,
    name: str | None = "diag_part",
    k: TensorLike = 0,
    padding_value: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return diagonals of matrices; arguments as in :func:`matrix_diag`."""
    found: Tensor = matrix_diag_part_v3(
        input, k, _padding(input, padding_value), align=align, name=name
    )
    return found


def matrix_set_diag(
    input: TensorLike,
    diagonal: TensorLike,
    name: str | None = "set_diag",
    k: TensorLike = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Return matrices with diagonals replaced; arguments as in :func:`matrix_diag`."""
    found: Tensor = matrix_set_diag_v3(input, diagonal, k, align=align, name=name)
    return found
