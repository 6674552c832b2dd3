"""Windows over images: patches as channels, and dilation (the maximum of pixel plus filter).

Corresponds to TensorFlow's ``extract_image_patches_op.cc``, ``extract_volume_patches_op.cc`` and
``dilation_ops.cc``.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors, float_ops
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.conv.windows import Window, pad_spatial, window
from tfnb.ops.math.cwise_unary_ops import neg
from tfnb.ops.math.reduction_ops import reduce_prod
from tfnb.ops.math.segment_ops import unsorted_segment_sum
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, IntsLike, TensorLike, TensorResult

EXPORTS = {"nn": ["dilation2d", "erosion2d"], "tf": ["extract_volume_patches"]}

_PADDING = "padding: {'SAME', 'VALID'}"


# ------------------------------------------------------------------------------------------ patches


def _positions(
    size: int | None, filter_size: int | None, stride: int, rate: int, padding: str
) -> int | None:
    """Return the static number of positions; it can be 0."""
    if size is None or filter_size is None:
        return None
    try:
        return window(size, filter_size, stride, rate, padding).output
    except errors.InvalidArgumentError as error:
        raise ValueError(error.message) from None


def _patches_shape(c: InferenceContext) -> TensorShape:
    ksizes, strides = c.attr("ksizes"), c.attr("strides")
    rank = 4 if "rates" in c.attrs else 5
    rates = c.attr("rates") if "rates" in c.attrs else [1] * rank
    dims = c.with_rank(0, rank).dim_values
    for name, values in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if len(values) != rank:
            raise ValueError(f"{name} attribute must contain {rank} values, but got: {len(values)}")
    # TensorFlow returns this rank for volumes, too, if a side is unknown.
    sizes: list[int | None] = [None] * 2
    if dims is None:
        return TensorShape([None, *sizes, None])
    # As in TensorFlow, the kernel checks empty windows and unknown sizes.
    if None not in dims[1:-1]:
        sizes = [None] * (rank - 2)
        if min(*ksizes, *rates) > 0:
            sizes = [
                _positions(dims[a], ksizes[a], strides[a], rates[a], c.attr("padding"))
                for a in range(1, rank - 1)
            ]
    depth = dims[-1]
    for size in ksizes[1:-1]:
        depth = None if depth is None else depth * size
    return TensorShape([dims[0], *sizes, depth])


def _windows(
    shape: Sequence[int],
    ksizes: Sequence[int],
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
) -> list[Window]:
    rank = len(ksizes)
    if len(shape) != rank:
        raise errors.invalid_argument(f"input must be {rank}-dimensional")
    for name, values in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
        if len(values) != rank:
            raise errors.invalid_argument(
                f"{name} must contain {rank} values, but got: {len(values)}"
            )
        if values[0] != 1 or values[-1] != 1:
            raise errors.unimplemented(
                f"Only support {name} across space: its first and last value must be 1"
            )
        if min(values) <= 0:
            raise errors.out_of_range(f"{name} is out of range.")
    axes = range(1, rank - 1)
    return [window(shape[a], ksizes[a], strides[a], rates[a], padding) for a in axes]


def _patches(xp: Xp, x: Array, windows: list[Window]) -> Array:
    shape = (x.shape[0], *(w.output for w in windows))
    count = 1
    for w in windows:
        count *= w.filter
    check_fits(xp, (*shape, count * x.shape[-1]), x.dtype)
    padded = pad_spatial(xp, x, windows, 1, 0)
    if 0 in shape:
        return xp.zeros((*shape, count * x.shape[-1]), x.dtype)
    parts = [
        padded[(slice(None), *(w.slice_at(i) for w, i in zip(windows, place, strict=True)))]
        for place in product(*(range(w.filter) for w in windows))
    ]
    return xp.concatenate(parts, axis=-1)


@register_op(
    "ExtractImagePatches",
    "images: T -> patches: T",
    "ksizes: list(int) >= 4",
    "strides: list(int) >= 4",
    "rates: list(int) >= 4",
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "complex64, complex128, bool}",
    _PADDING,
    shape=_patches_shape,
    traits="rearranges",
)
def extract_image_patches_op(
    xp: Xp,
    images: Array,
    *,
    ksizes: list[int],
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Array:
    """Return every window of the images, with its pixels along the channels."""
    return _patches(xp, images, _windows(images.shape, ksizes, strides, rates, padding))


@register_op(
    "ExtractVolumePatches",
    "input: T -> patches: T",
    "ksizes: list(int) >= 5",
    "strides: list(int) >= 5",
    "T: realnumbertype",
    _PADDING,
    shape=_patches_shape,
)
def extract_volume_patches(
    xp: Xp, volumes: Array, *, ksizes: list[int], strides: list[int], padding: str
) -> Array:
    """Return every window of volumes, with its cells along the channels."""
    return _patches(xp, volumes, _windows(volumes.shape, ksizes, strides, [1] * 5, padding))


def _spread_back(op: Operation, grad: Tensor, extract: Callable[..., TensorResult]) -> TensorResult:
    """Add each patch's gradient to the pixels from which it was extracted."""
    image = op.inputs[0]
    shape = array_ops.shape(image, out_type=dtypes.int64)
    space, channels = shape[1:-1], shape[-1:]
    pixels = reduce_prod(space)
    one = array_ops.constant([1], dtypes.int64)
    # An image of pixel numbers shows the source of each value of a patch; 0 is padding.
    numbers = array_ops.reshape(range_(pixels) + 1, array_ops.concat([one, space, one], 0))
    sources = array_ops.reshape(extract(numbers), [-1])
    count = array_ops.shape(sources, out_type=dtypes.int64)
    rows = array_ops.reshape(grad, array_ops.concat([shape[:1], count, channels], 0))
    by_place = array_ops.transpose(rows, [1, 0, 2])
    total = unsorted_segment_sum(by_place, sources, pixels + 1)[1:]
    result = array_ops.reshape(array_ops.transpose(total, [1, 0, 2]), shape)
    result.set_shape(image.shape)
    return result


@extract_image_patches_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    batch, rows, columns, channels = array_ops.unstack(
        array_ops.shape(op.inputs[0], out_type=dtypes.int64)
    )
    out_rows, out_columns = array_ops.unstack(
        array_ops.shape(op.outputs[0], out_type=dtypes.int64)[1:3]
    )
    attrs = {name: op.get_attr(name) for name in ("ksizes", "strides", "rates", "padding")}
    _, patch_rows, patch_columns, _ = attrs["ksizes"]
    pixels = rows * columns
    # An image of pixel numbers shows the source of each value of a patch; 0 is padding.
    numbers = array_ops.reshape(range_(1, pixels + 1, dtype=dtypes.float32), (1, rows, columns, 1))
    sources = cast(extract_image_patches_op(numbers, **attrs), dtypes.int64)
    parts = array_ops.reshape(
        grad, (batch, out_rows, out_columns, patch_rows, patch_columns, channels)
    )
    by_place = array_ops.transpose(parts, (1, 2, 3, 4, 0, 5))
    flat = array_ops.reshape(by_place, (-1, batch * channels))
    places = array_ops.reshape(sources, [-1]) - 1
    total = unsorted_segment_sum(flat, places, num_segments=pixels)
    total = array_ops.reshape(total, (rows, columns, batch, channels))
    return array_ops.transpose(total, (2, 0, 1, 3))


@extract_volume_patches.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = {name: op.get_attr(name) for name in ("ksizes", "strides", "padding")}
    return _spread_back(op, grad, lambda x: extract_volume_patches(x, **attrs))


# ----------------------------------------------------------------------------------------- dilation

_DILATION_ATTRS = (
    "T: realnumbertype",
    "strides: list(int) >= 4",
    "rates: list(int) >= 4",
    _PADDING,
)


def _dilation_shape(c: InferenceContext) -> TensorShape:
    x, kernel = c.with_rank(0, 4).dim_values, c.with_rank(1, 3).dim_values
    strides, rates = c.attr("strides"), c.attr("rates")
    for name, values in (("stride", strides), ("rates", rates)):
        if len(values) != 4:
            raise ValueError(
                f"Dilation2D requires the {name} attribute to contain 4 values, but got: "
                f"{len(values)}"
            )
    if x is None or kernel is None:
        return TensorShape([None] * 4)
    sides = [
        _positions(x[a], kernel[a - 1], strides[a], rates[a], c.attr("padding")) for a in (1, 2)
    ]
    depth = x[3]
    if depth is not None and kernel[2] is not None and depth != kernel[2]:
        raise ValueError(f"Dimensions must be equal, but are {depth} and {kernel[2]}")
    return TensorShape([x[0], *sides, depth if depth is not None else kernel[2]])


def _dilation_windows(
    x: Array, kernel: Array, strides: Sequence[int], rates: Sequence[int], padding: str
) -> list[Window]:
    if x.ndim != 4:
        raise errors.invalid_argument("input must be 4-dimensional")
    if kernel.ndim != 3:
        raise errors.invalid_argument("filter must be 3-dimensional")
    if x.shape[3] != kernel.shape[2]:
        raise errors.invalid_argument("input and filter must have the same depth")
    for name, values in (("strides", strides), ("rates", rates)):
        if len(values) != 4:
            raise errors.invalid_argument(f"{name} must contain 4 values")
        if values[0] != 1 or values[3] != 1:
            raise errors.unimplemented(
                "Stride and rate are only supported across spatial dimensions."
            )
    ksizes = (1, *kernel.shape[:2], 1)
    return [window(x.shape[a], ksizes[a], strides[a], rates[a], padding) for a in (1, 2)]


def _candidates(xp: Xp, x: Array, kernel: Array, windows: list[Window]) -> Iterator[Array]:
    """Yield for each element of the window: its number, its positions in the image, the sums.

    The array of sums is reused for the next element.
    """
    rows, columns = windows
    room = xp.empty((x.shape[0], rows.output, columns.output, x.shape[3]), x.dtype)
    for number, (i, j) in enumerate(product(range(rows.filter), range(columns.filter))):
        (to_rows, from_rows), (to_columns, from_columns) = rows.cells_at(i), columns.cells_at(j)
        here = (slice(None), to_rows, to_columns)
        sums = room[here]
        xp.add(x[:, from_rows, from_columns], kernel[i, j], out=sums)
        yield number, here, sums


def _largest(xp: Xp, x: Array, kernel: Array, windows: list[Window]) -> Array:
    """Return the largest sum of pixel and filter in each window, or the lowest number."""
    best = xp.full((x.shape[0], *(w.output for w in windows), x.shape[3]), _lowest(x), x.dtype)
    # NaN is never the largest.
    larger = xp.maximum if np.issubdtype(x.dtype, np.integer) else xp.fmax
    for _, here, sums in _candidates(xp, x, kernel, windows):
        larger(best[here], sums, out=best[here])
    return best


def _largest_places(x: Array, kernel: Array, windows: list[Window]) -> Array:
    """Return the number of the first element of each window with the largest sum, or 0."""
    best = _largest(np, x, kernel, windows)
    # Narrow integers make the passes fast; the largest number means "not here".
    narrow = np.uint8 if windows[0].filter * windows[1].filter < 255 else np.uint64
    places = np.full(best.shape, np.iinfo(narrow).max, narrow)
    for number, here, sums in _candidates(np, x, kernel, windows):
        elsewhere = np.equal(sums, best[here]).astype(narrow)
        elsewhere -= narrow(1)
        elsewhere |= narrow(number)
        np.minimum(places[here], elsewhere, out=places[here])
    places[best == _lowest(x)] = 0
    return places.astype(np.int64)


def _lowest(x: Array) -> Array:
    return dtypes.as_dtype(x.dtype).min


@register_op(
    "Dilation2D", "input: T, filter: T -> output: T", *_DILATION_ATTRS, shape=_dilation_shape
)
def dilation2d_op(
    xp: Xp, x: Array, kernel: Array, *, strides: list[int], rates: list[int], padding: str
) -> Array:
    """Return the largest sum of pixel and filter in every window, per channel."""
    windows = _dilation_windows(x, kernel, strides, rates, padding)
    return _largest(xp, x, kernel, windows)


dilation2d_op.float_ops(float_ops.convolution(2))


@register_op(
    "Dilation2DBackpropInput",
    "input: T, filter: T, out_backprop: T -> in_backprop: T",
    *_DILATION_ATTRS,
    shape=lambda c: c.inputs[0],
    devices=("CPU",),
)
def dilation2d_backprop_input(
    xp: Xp,
    x: Array,
    kernel: Array,
    grad: Array,
    *,
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Array:
    """Return the gradient, which goes to the pixel with the largest sum."""
    windows = _dilation_windows(x, kernel, strides, rates, padding)
    row, column = np.divmod(_winners(x, kernel, grad, windows), windows[1].filter)
    batch, height, width, depth = (
        np.arange(size).reshape([-1 if axis == a else 1 for a in range(4)])
        for axis, size in enumerate(grad.shape)
    )
    # Before the image's first pixel, the window begins at the first one inside.
    y = np.maximum(
        height * windows[0].stride + row * windows[0].dilation - windows[0].pad_before, 0
    )
    z = np.maximum(
        width * windows[1].stride + column * windows[1].dilation - windows[1].pad_before, 0
    )
    place = ((batch * x.shape[1] + y) * x.shape[2] + z) * x.shape[3] + depth
    return _added_up(x, place, grad)


@register_op(
    "Dilation2DBackpropFilter",
    "input: T, filter: T, out_backprop: T -> filter_backprop: T",
    *_DILATION_ATTRS,
    shape=lambda c: c.inputs[1],
    devices=("CPU",),
)
def dilation2d_backprop_filter(
    xp: Xp,
    x: Array,
    kernel: Array,
    grad: Array,
    *,
    strides: list[int],
    rates: list[int],
    padding: str,
) -> Array:
    """Return the gradient, which goes to the filter element with the largest sum."""
    windows = _dilation_windows(x, kernel, strides, rates, padding)
    place = _winners(x, kernel, grad, windows) * x.shape[3] + np.arange(x.shape[3])
    return _added_up(kernel, place, grad)


def _added_up(like: Array, place: Array, grad: Array) -> Array:
    """Return a tensor like another with each gradient added at its flat position."""
    total = np.zeros(like.shape, like.dtype)
    if total.size:
        np.add.at(total.reshape(-1), place.reshape(-1), grad.reshape(-1))
    return total


def _winners(x: Array, kernel: Array, grad: Array, windows: list[Window]) -> Array:
    expected = (x.shape[0], windows[0].output, windows[1].output, x.shape[3])
    if grad.shape != expected:
        raise errors.invalid_argument(
            f"out_backprop has shape {shape_text(grad.shape)}, but the output has "
            f"{shape_text(expected)}"
        )
    return _largest_places(x, kernel, windows)


@dilation2d_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = {name: op.get_attr(name) for name in ("strides", "rates", "padding")}
    x, kernel = op.inputs
    return (
        dilation2d_backprop_input(x, kernel, grad, **attrs),
        dilation2d_backprop_filter(x, kernel, grad, **attrs),
    )


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: IntsLike | None = None,
    rates: IntsLike | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: IntsLike | None = None,
) -> TensorResult:
    """Return the largest sum of pixel and filter in every window, per channel.

    Args:
      input: images, NHWC.
      filter: the numbers to add, of shape (rows, columns, channels); `filters` is its newer name.
      strides: the window's steps, one per axis.
      rates: the steps within the window, one per axis; `dilations` is its newer name.
      padding: "SAME" or "VALID".
      name: the name of the op.
      filters: see `filter`.
      dilations: see `rates`.
    """
    return dilation2d_op(
        input,
        filter if filters is None else filters,
        strides=strides,
        rates=rates if dilations is None else dilations,
        padding=padding,
        name=name,
    )


def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: IntsLike,
    rates: IntsLike,
    padding: str,
    name: str | None = None,
) -> TensorResult:
    """Return the smallest difference of pixel and mirrored kernel in every window, per channel.

    Args:
      value: images, NHWC.
      kernel: the numbers to subtract, of shape (rows, columns, channels).
      strides: the window's steps, one per axis.
      rates: the steps within the window, one per axis.
      padding: "SAME" or "VALID".
      name: the name of the op.
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        negated = neg(value)
        turned = array_ops.reverse(kernel, [0, 1])
        found = dilation2d_op(
            negated, turned, strides=strides, rates=rates, padding=padding, name=scope
        )
        return neg(found)
