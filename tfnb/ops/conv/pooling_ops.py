"""Max and average pooling in two and three dimensions, and their gradients: the ops.

The computation is in ``pooling_kernels.py``; the functions that users call are in ``pooling.py``.
Corresponds to TensorFlow's ``maxpooling_op.cc``, ``avgpooling_op.cc`` and ``pooling_ops_3d.cc``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors, float_ops
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.process.records import replace
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    merge_shapes,
    require_rank,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.conv.channels_first import also_channels_first, refuses_channel_vectors
from tfnb.ops.conv.windows import (
    Window,
    centred,
    check_depth_window,
    check_explicit,
    explicit_pairs,
    output_dim,
    spatial_axes,
    window,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients
    from tfnb.ops.conv import pooling_kernels as kernels
else:
    kernels = later("tfnb.ops.conv.pooling_kernels", in_step=True)

# ------------------------------------------------------------------------------------------- shapes


def _pool_shape(
    c: InferenceContext, rank: int, ksize: Sequence[int], strides: Sequence[int], what: str
) -> TensorShape:
    data_format = c.attr("data_format") if "data_format" in c.attrs else "NHWC"
    padding = c.attr("padding")
    dims = require_rank(c.inputs[0], rank).dim_values
    assert dims is not None
    for name, values in (("stride", strides), ("ksize", ksize)):
        if len(values) != rank:
            raise ValueError(
                f"{what} requires the {name} attribute to contain {rank} values, but got: "
                f"{len(values)}"
            )
    check_explicit(c, rank, padding, data_format)
    pairs = explicit_pairs(c.attrs.get("explicit_paddings", ()), rank)
    out = list(dims)
    axes = range(1, rank)
    if what in ("AvgPool", "Pool3D"):
        axes = spatial_axes(data_format, rank)
    for axis in axes:
        size = None if ksize[axis] == -1 else ksize[axis]  # TensorFlow reads it as unknown
        out[axis] = output_dim(dims[axis], size, strides[axis], 1, padding, pairs[axis])
    return TensorShape(out)


def _attr_pool_shape(rank: int, what: str) -> Any:
    return lambda c: _pool_shape(c, rank, c.attr("ksize"), c.attr("strides"), what)


def _input_pool_shape(c: InferenceContext, first: int = 1) -> TensorShape:
    for index in (first, first + 1):
        if (dims := c.with_rank(index, 1).dim_values) and dims[0] not in (None, 4):
            raise ValueError(f"Dimension must be 4 but is {dims[0]}")
    c.with_rank(0, 4)
    ksize, strides = c.constant_value(first), c.constant_value(first + 1)
    if ksize is None or strides is None:
        return UNKNOWN_SHAPE
    return _pool_shape(c, 4, ksize.tolist(), strides.tolist(), "MaxPoolV2")


def _input_pool_shape_of_gradient(c: InferenceContext) -> TensorShape:
    found = _input_pool_shape(c, 3)
    merge_shapes(c.inputs[0], c.inputs[2])
    merge_shapes(c.inputs[1], found)
    return found


def _pool_shape_of_second_gradient(rank: int, name: str) -> Any:
    def shape(c: InferenceContext) -> TensorShape:
        found = _pool_shape(c, rank, c.attr("ksize"), c.attr("strides"), name)
        merge_shapes(c.inputs[0], c.inputs[2])
        merge_shapes(c.inputs[1], found)
        return found

    return shape


def _first_with_rank(rank: int) -> Any:
    return lambda c: c.with_rank(0, rank)


# ------------------------------------------------------------------------------------------ kernels


def _check_pool(
    x: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    rank: int,
    op_name: str,
) -> None:
    for name, values in (("ksize", ksize), ("strides", strides)):
        if len(values) != rank:
            raise errors.invalid_argument(
                f"Sliding window {name} field must specify {rank} dimensions"
            )
    # Gradients of windows without cells are zeros.
    is_gradient = op_name.endswith("Grad") and (rank == 4 or op_name.startswith("Max"))
    wrong = next((size for size in ksize if size <= 0), None)
    if wrong is not None and not is_gradient:
        raise errors.invalid_argument(
            f"ksize must be a positive int32 value, got:{wrong}"
            if rank == 4 and op_name == "AvgPooling"
            else "Sliding window ksize must be positive. The specified or inferred ksize is: "
            + ",".join(map(str, ksize))
        )
    if ksize[0] != 1 or strides[0] != 1:
        raise errors.unimplemented("Pooling is not yet supported on the batch dimension.")
    if len(x) != rank:
        raise errors.invalid_argument(f"tensor_in must be {rank}-dimensional")


def _windows(
    shape: Sequence[int],
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int] = (),
) -> Sequence[Window]:
    return _known_windows(padding, *map(tuple, (shape, ksize, strides, explicit)))


@lru_cache(maxsize=512)
def _known_windows(
    padding: str,
    shape: tuple[int, ...],
    ksize: tuple[int, ...],
    strides: tuple[int, ...],
    explicit: tuple[int, ...],
) -> tuple[Window, ...]:
    rank = len(shape)
    pairs = explicit_pairs(explicit, rank)
    for axis, pair in enumerate(pairs if padding == "EXPLICIT" else ()):
        if max(pair) >= ksize[axis] and any(pair):
            # Channels have no padding: if the last dimension has some, the format is NCHW, and axis
            # 2 holds rows.
            is_rows = axis == 1 or (axis == 2 and any(pairs[-1]))
            sides = ("Top", "Bottom") if is_rows else ("Left", "Right")
            side, size = next(one for one in zip(sides, pair) if one[1] >= ksize[axis])
            raise errors.invalid_argument(
                f"{side} padding {size} needs to be smaller than the window size {ksize[axis]}"
            )
    return tuple(
        window(shape[axis], ksize[axis], strides[axis], 1, padding, pairs[axis]).trimmed()
        for axis in range(1, rank - 1)
    )


def _rank_of(ksize: Sequence[int]) -> int:
    return 5 if len(ksize) == 5 else 4


def _numbers(sizes: Array) -> list[int]:
    found: list[int] = sizes.reshape(-1).tolist()
    return found


def _max_pool(
    xp: Xp,
    x: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int],
) -> Array:
    _check_pool(x.shape, ksize, strides, _rank_of(ksize), "MaxPooling")
    if ksize[-1] > 1:
        check_depth_window(x.shape, ksize, strides)
        return kernels.max_pool_depth(x, ksize[-1])
    windows: Sequence[Window] = _windows(x.shape, ksize, strides, padding, explicit)
    if x.ndim == 5:
        x, windows = centred(xp, x, windows, padding)
    return kernels.max_pool(xp, x, windows)


def _max_pool_grad(
    xp: Xp,
    x: Array,
    output: Array,
    grad: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[int],
) -> Array:
    rank = _rank_of(ksize)
    _check_pool(x.shape, ksize, strides, rank, "MaxPoolingGrad")
    if ksize[-1] != 1 or strides[-1] != 1:
        what = "MaxPoolingGrad" if rank == 4 else "Pooling"
        raise errors.unimplemented(f"{what} is not yet supported on the depth dimension.")
    windows = _windows(x.shape, ksize, strides, padding, explicit)
    _check_output(output, windows, x.shape, "orig_output")
    _check_output(grad, windows, x.shape, "grad")
    if min(ksize) < 1:
        return xp.zeros_like(x)
    if rank == 5 and xp is np:
        # For volumes, TensorFlow's CPU kernel gives the gradient to all elements equal to the
        # maximum.
        return kernels.spread_to_equals(xp, x, output, grad, windows)
    return kernels.max_pool_grad(xp, x, grad, windows)


def _check_output(value: Array, windows: Sequence[Window], shape: Sequence[int], name: str) -> None:
    expected = (shape[0], *(w.output for w in windows), shape[-1])
    if value.shape != expected:
        raise errors.invalid_argument(
            f"Expected {name} shape to be {shape_text(expected)}, but got {shape_text(value.shape)}"
        )


def _max_pool_grad_grad(
    xp: Xp,
    x: Array,
    output: Array,
    grad: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str,
) -> Any:
    rank = _rank_of(ksize)
    _check_pool(x.shape, ksize, strides, rank, "MaxPoolingGradGrad")
    if ksize[-1] != 1 or strides[-1] != 1:
        raise errors.unimplemented(f"{name} is not yet supported on the depth dimension.")
    windows = _windows(x.shape, ksize, strides, padding)
    _check_output(output, windows, x.shape, "orig_output")
    if grad.shape != x.shape:
        raise errors.invalid_argument(
            f"Expected grad shape to be {shape_text(x.shape)}, but got {shape_text(grad.shape)}"
        )
    if min(ksize) < 1:
        return xp.zeros_like(output)
    return kernels.take_from_equals(xp, x, output, grad, windows)


# ----------------------------------------------------------------------------------------- max, 2-D

_MAX_TYPES = (
    "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT"
)
_POOL4 = ("ksize: list(int) >= 4", "strides: list(int) >= 4")
_EXPLICIT_PADDING = (
    "padding: {'SAME', 'VALID', 'EXPLICIT'}",
    "explicit_paddings: list(int) = []",
)
_PADDING = "padding: {'SAME', 'VALID'}"
_FORMAT = "data_format: {'NHWC', 'NCHW'} = 'NHWC'"
_FORMAT_VECT = "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'"


def _attrs(op: Operation, *names: str) -> dict[str, Any]:
    return {name: op.get_attr(name) for name in names}


@register_op(
    "MaxPool",
    "input: T -> output: T",
    _MAX_TYPES,
    *_POOL4,
    *_EXPLICIT_PADDING,
    _FORMAT_VECT,
    shape=_attr_pool_shape(4, "MaxPool"),
)
def max_pool_op(
    xp: Xp,
    x: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
) -> Array:
    """Return the largest element of every window."""
    return _max_pool(xp, x, ksize, strides, padding, explicit_paddings)


also_channels_first(max_pool_op, images="x")
refuses_channel_vectors(max_pool_op)


max_pool_op.float_ops(float_ops.pool("outputs", 0))


@max_pool_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _attrs(op, "ksize", "strides", "padding", "explicit_paddings", "data_format")
    return max_pool_grad(op.inputs[0], op.outputs[0], grad, **attrs)


@register_op(
    "MaxPoolV2",
    "input: T, ksize: int32, strides: int32 -> output: T",
    _MAX_TYPES,
    _PADDING,
    _FORMAT_VECT,
    shape=_input_pool_shape,
    host_memory=("ksize", "strides"),
)
def max_pool_v2_op(xp: Xp, x: Array, ksize: Array, strides: Array, *, padding: str) -> Array:
    """Return the largest element of every window, whose size is an input."""
    return _max_pool(xp, x, _numbers(ksize), _numbers(strides), padding, ())


also_channels_first(max_pool_v2_op, images="x", sizes="ksize strides")
refuses_channel_vectors(max_pool_v2_op)


@max_pool_v2_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, ksize, strides = op.inputs
    attrs = _attrs(op, "padding", "data_format")
    return max_pool_grad_v2(x, op.outputs[0], grad, ksize, strides, **attrs), None, None


@register_op(
    "MaxPoolGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    *_POOL4,
    *_EXPLICIT_PADDING,
    _FORMAT,
    "T: realnumbertype = DT_FLOAT",
    shape=_first_with_rank(4),
    traits="input_gradient",
)
def max_pool_grad(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
) -> Array:
    """Return the gradient of MaxPool, which goes to the first of the largest elements."""
    return _max_pool_grad(
        xp, orig_input, orig_output, grad, ksize, strides, padding, explicit_paddings
    )


also_channels_first(max_pool_grad, images="orig_input orig_output grad")


max_pool_grad.float_ops(float_ops.pool("inputs", 1, 1, 1))


@max_pool_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y, _ = op.inputs
    attrs = _attrs(op, "ksize", "strides", "padding", "data_format")
    nothing = array_ops.zeros_like(x), array_ops.zeros_like(y)
    return *nothing, max_pool_grad_grad(x, y, grad, **attrs)


@register_op(
    "MaxPoolGradV2",
    "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    _PADDING,
    _FORMAT,
    "T: realnumbertype = DT_FLOAT",
    shape=_first_with_rank(4),
    host_memory=("ksize", "strides"),
)
def max_pool_grad_v2(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
) -> Array:
    """Return the gradient of MaxPoolV2."""
    return _max_pool_grad(
        xp,
        orig_input,
        orig_output,
        grad,
        _numbers(ksize),
        _numbers(strides),
        padding,
        (),
    )


also_channels_first(max_pool_grad_v2, images="orig_input orig_output grad", sizes="ksize strides")


@max_pool_grad_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y, _, ksize, strides = op.inputs
    attrs = _attrs(op, "padding", "data_format")
    nothing = array_ops.zeros_like(x), array_ops.zeros_like(y)
    return *nothing, max_pool_grad_grad_v2(x, y, grad, ksize, strides, **attrs), None, None


@register_op(
    "MaxPoolGradGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    *_POOL4,
    _PADDING,
    _FORMAT,
    "T: realnumbertype",
    shape=_pool_shape_of_second_gradient(4, "MaxPoolGradGrad"),
)
def max_pool_grad_grad(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Array:
    """Return the second derivative of MaxPool.

    For each window it is the value at the position of the largest element.
    """
    return _max_pool_grad_grad(
        xp,
        orig_input,
        orig_output,
        grad,
        ksize,
        strides,
        padding,
        "MaxPoolingGradGrad",
    )


also_channels_first(max_pool_grad_grad, images="orig_input orig_output grad")


@max_pool_grad_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y, _ = op.inputs
    attrs = _attrs(op, "ksize", "strides", "padding", "data_format")
    return array_ops.zeros_like(x), array_ops.zeros_like(y), max_pool_grad(x, y, grad, **attrs)


@register_op(
    "MaxPoolGradGradV2",
    "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32 -> output: T",
    _PADDING,
    _FORMAT,
    "T: realnumbertype",
    shape=_input_pool_shape_of_gradient,
    host_memory=("ksize", "strides"),
)
def max_pool_grad_grad_v2(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Array,
    strides: Array,
    *,
    padding: str,
) -> Array:
    """Return the second derivative of MaxPoolV2."""
    return _max_pool_grad_grad(
        xp,
        orig_input,
        orig_output,
        grad,
        _numbers(ksize),
        _numbers(strides),
        padding,
        "MaxPoolingGrad",
    )


also_channels_first(
    max_pool_grad_grad_v2, images="orig_input orig_output grad", sizes="ksize strides"
)


# -------------------------------------------------------------------------------- max with places


@register_op(
    "MaxPoolWithArgmax",
    "input: T -> output: T, argmax: Targmax",
    *_POOL4,
    "Targmax: {int32, int64} = DT_INT64",
    _PADDING,
    "include_batch_in_index: bool = false",
    "T: realnumbertype",
)
def max_pool_with_argmax_op(
    xp: Xp,
    x: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    include_batch_in_index: bool,
    Targmax: DType,
) -> Outputs:
    """Return the largest element of every window, and its position in the flattened image."""
    _check_pool(x.shape, ksize, strides, 4, "MaxPooling")
    check_depth_window(x.shape, ksize, strides)
    if ksize[3] != 1:
        raise errors.unimplemented("Pooling is not yet supported on the depth dimension.")
    if x.size == 0:
        raise errors.invalid_argument("tensor_in must not be empty (2)")
    windows = _windows(x.shape, ksize, strides, padding)
    place = kernels.winners(xp, x, windows)
    where = kernels.flat_places(xp, place, windows, x.shape, include_batch_in_index)
    values = kernels.take_from_winners(xp, x, place, windows)
    return values, where.astype(Targmax.as_numpy_dtype)


@max_pool_with_argmax_op.shape
def _(c: InferenceContext) -> list[TensorShape]:
    return [_attr_pool_shape(4, "MaxPool")(c)] * 2


@max_pool_with_argmax_op.gradient
def _(op: Operation, grad: Tensor, _: Tensor) -> Gradients:
    attrs = _attrs(op, "ksize", "strides", "padding", "include_batch_in_index")
    return max_pool_grad_with_argmax(op.inputs[0], grad, op.outputs[1], **attrs)


def _check_argmax(x: Array, grad: Array, argmax: Array, expected_grad: Array) -> None:
    if x.ndim != 4:
        raise errors.invalid_argument("tensor_in must be 4-dimensional 2")
    if expected_grad is not None and grad.shape != expected_grad:
        raise errors.invalid_argument(
            f"Expected grad shape to be {shape_text(expected_grad)}, but got "
            f"{shape_text(grad.shape)}"
        )


def _flat_argmax(xp: Xp, argmax: Array, shape: Sequence[int], include_batch: bool) -> Array:
    positions = argmax.astype(np.int64)
    if not include_batch:
        image = int(np.prod(shape[1:]))
        offsets = xp.arange(shape[0]) * image
        positions = positions + offsets.reshape((-1,) + (1,) * (argmax.ndim - 1))
    total = int(np.prod(shape))
    if positions.size and (int(positions.min()) < 0 or int(positions.max()) >= total):
        raise errors.invalid_argument(
            f"Invalid input index, it must lie in [0, {total}): {int(positions.max())}"
        )
    return positions.reshape(-1)


_WITH_ARGMAX = (
    *_POOL4,
    _PADDING,
    "include_batch_in_index: bool = false",
    "Targmax: {int32, int64}",
    "T: realnumbertype",
)


@register_op(
    "MaxPoolGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    *_WITH_ARGMAX,
    shape=_first_with_rank(4),
)
def max_pool_grad_with_argmax(
    xp: Xp,
    x: Array,
    grad: Array,
    argmax: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    include_batch_in_index: bool,
) -> Array:
    """Return the gradient of MaxPoolWithArgmax."""
    expected = argmax.shape
    if x.ndim == 4:
        _check_pool(x.shape, ksize, strides, 4, "MaxPoolingGradWithArgmax")
        check_depth_window(x.shape, ksize, strides)
        windows = _windows(x.shape, ksize, strides, padding)
        expected = (x.shape[0], *(w.output for w in windows), x.shape[3] // ksize[3])
    _check_argmax(x, grad, argmax, expected)
    if grad.shape != argmax.shape:
        raise errors.invalid_argument(
            f"grad and argmax differ: {shape_text(grad.shape)}, {shape_text(argmax.shape)}"
        )
    positions = _flat_argmax(xp, argmax, x.shape, include_batch_in_index)
    total = xp.zeros(x.size, grad.dtype)
    xp.add.at(total, positions, grad.reshape(-1))
    return total.reshape(x.shape)


@register_op(
    "MaxPoolGradGradWithArgmax",
    "input: T, grad: T, argmax: Targmax -> output: T",
    *_WITH_ARGMAX,
    shape=_attr_pool_shape(4, "MaxPoolGradGradWithArgmax"),
)
def max_pool_grad_grad_with_argmax(
    xp: Xp,
    x: Array,
    grad: Array,
    argmax: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
    include_batch_in_index: bool,
) -> Array:
    """Return the second derivative of MaxPoolWithArgmax."""
    _check_argmax(x, grad, argmax, x.shape)
    positions = _flat_argmax(xp, argmax, x.shape, include_batch_in_index)
    return grad.reshape(-1)[positions].reshape(argmax.shape)


# ------------------------------------------------------------------------------------- average, 2-D

_FLOATS = "T: {half, bfloat16, float, double}"


def _avg_pool(
    xp: Xp, x: Array, ksize: Sequence[int], strides: Sequence[int], padding: str
) -> Array:
    rank = len(ksize)
    _check_pool(x.shape, ksize, strides, rank, "AvgPooling")
    if rank == 4:
        check_depth_window(x.shape, ksize, strides)
    _check_mean_depth(ksize, strides)
    windows: Sequence[Window] = _windows(x.shape, ksize, strides, padding)
    if rank == 5:
        x, windows = centred(xp, x, windows, padding)
    return kernels.avg_pool(xp, x, windows)


def _check_mean_depth(ksize: Sequence[int], strides: Sequence[int]) -> None:
    # As in TensorFlow, the stride over an image's channels has no effect.
    if len(ksize) == 4 and ksize[-1] != 1:
        raise errors.unimplemented("Non-spatial pooling is not yet supported. Volunteers? :)")
    if len(ksize) == 5 and (ksize[-1] != 1 or strides[-1] != 1):
        raise errors.unimplemented("Pooling is not yet supported on the depth dimension.")


def _avg_pool_grad(
    xp: Xp,
    shape: Array,
    grad: Array,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
) -> Array:
    rank = len(ksize)
    if shape.ndim != 1 or shape.shape[0] != rank:
        raise errors.invalid_argument(
            f"out_backprop must be {rank}-dimensional"
            if shape.ndim == 1
            else f"orig_input_shape must be 1-dimensional and {rank} elements"
        )
    if grad.ndim != rank:
        raise errors.invalid_argument(f"out_backprop must be {rank}-dimensional")
    sizes = tuple(shape.tolist())
    _check_pool(sizes, ksize, strides, rank, "AvgPoolingGrad")
    _check_mean_depth(ksize, strides)
    is_other = rank == 5 and (sizes[0], sizes[-1]) != (grad.shape[0], grad.shape[-1])
    if not (is_other and sizes[0] == 0):
        check_fits(xp, sizes, grad.dtype)
    windows = _windows(sizes, ksize, strides, padding)
    if is_other:
        raise errors.invalid_argument(
            f"Expected batch and channels of tensor_in_shape {shape_text(sizes)} and out_backprop "
            f"{shape_text(grad.shape)} to match"
        )
    counts = grad.shape[1:-1]
    if rank == 4 and (0 in sizes or not counts[0]):
        return xp.zeros(sizes, grad.dtype)
    if any((n - 1) * w.stride > w.size for n, w in zip(counts, windows, strict=True)):
        raise errors.invalid_argument("index * stride must be less than or equal to input size")
    if not grad.size or 0 in sizes or min(ksize) < 1:
        return xp.zeros(sizes, grad.dtype)
    if counts != tuple(w.output for w in windows):
        # TensorFlow distributes all given gradients; parts beyond the last cell are dropped.
        windows = [
            _with_positions(window(sizes[i], ksize[i], strides[i], 1, padding), n)
            for i, n in enumerate(counts, 1)
        ]
    if len(grad) < sizes[0]:
        grad = xp.concatenate([grad, xp.zeros((sizes[0] - len(grad), *grad.shape[1:]), grad.dtype)])
    _check_output(grad, windows, sizes, "grad")
    return kernels.avg_pool_grad(xp, grad, windows, sizes)


def _with_positions(w: Window, count: int) -> Window:
    reach = (count - 1) * w.stride + w.filter
    return replace(w, output=count, pad_after=max(0, reach - w.size - w.pad_before))


def _shape_from_first(rank: int) -> Any:
    return lambda c: require_rank(c.constant_value_as_shape(0), rank)


@register_op(
    "AvgPool",
    "value: T -> output: T",
    *_POOL4,
    _PADDING,
    _FORMAT,
    _FLOATS,
    shape=_attr_pool_shape(4, "AvgPool"),
)
def avg_pool_op(
    xp: Xp, value: Array, *, ksize: list[int], strides: list[int], padding: str
) -> Array:
    """Return the mean of every window without its padding."""
    return _avg_pool(xp, value, ksize, strides, padding)


also_channels_first(avg_pool_op, images="value")


avg_pool_op.float_ops(float_ops.pool("outputs", 0))


@avg_pool_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _attrs(op, "ksize", "strides", "padding", "data_format")
    return avg_pool_grad(array_ops.shape(op.inputs[0]), grad, **attrs)


@register_op(
    "AvgPoolGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    *_POOL4,
    _PADDING,
    _FORMAT,
    _FLOATS,
    shape=_shape_from_first(4),
    host_memory=("orig_input_shape",),
    traits="input_gradient",
)
def avg_pool_grad(
    xp: Xp,
    orig_input_shape: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Array:
    """Return the gradient of AvgPool."""
    return _avg_pool_grad(xp, orig_input_shape, grad, ksize, strides, padding)


also_channels_first(avg_pool_grad, images="grad", sizes="orig_input_shape")


avg_pool_grad.float_ops(float_ops.pool("inputs", 1, 2))


@avg_pool_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    attrs = _attrs(op, "ksize", "strides", "padding", "data_format")
    return array_ops.stop_gradient(op.inputs[0]), avg_pool_op(grad, **attrs)


# --------------------------------------------------------------------------------------------- 3-D

_POOL5 = (
    "ksize: list(int) >= 5",
    "strides: list(int) >= 5",
    _PADDING,
    "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
)
_POOL5_NAMES = ("ksize", "strides", "padding", "data_format")


@register_op(
    "AvgPool3D",
    "input: T -> output: T",
    *_POOL5,
    _FLOATS,
    shape=_attr_pool_shape(5, "Pool3D"),
)
def avg_pool3d_op(xp: Xp, x: Array, *, ksize: list[int], strides: list[int], padding: str) -> Array:
    """Return the mean of every window of a volume."""
    return _avg_pool(xp, x, ksize, strides, padding)


also_channels_first(avg_pool3d_op, images="x", rank=5)


@avg_pool3d_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return avg_pool3d_grad(array_ops.shape(op.inputs[0]), grad, **_attrs(op, *_POOL5_NAMES))


@register_op(
    "AvgPool3DGrad",
    "orig_input_shape: int32, grad: T -> output: T",
    *_POOL5,
    _FLOATS,
    shape=_shape_from_first(5),
    host_memory=("orig_input_shape",),
)
def avg_pool3d_grad(
    xp: Xp,
    orig_input_shape: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Array:
    """Return the gradient of AvgPool3D."""
    return _avg_pool_grad(xp, orig_input_shape, grad, ksize, strides, padding)


also_channels_first(avg_pool3d_grad, images="grad", sizes="orig_input_shape", rank=5)


@avg_pool3d_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    inner = avg_pool3d_op(grad, **_attrs(op, *_POOL5_NAMES))
    return array_ops.stop_gradient(op.inputs[0]), inner


@register_op(
    "MaxPool3D",
    "input: T -> output: T",
    *_POOL5,
    "T: {half, bfloat16, float}",
    shape=_attr_pool_shape(5, "Pool3D"),
)
def max_pool3d_op(xp: Xp, x: Array, *, ksize: list[int], strides: list[int], padding: str) -> Array:
    """Return the largest element of every window of a volume."""
    if ksize[-1] != 1 or strides[-1] != 1:
        raise errors.unimplemented("Pooling is not yet supported on the depth dimension.")
    return _max_pool(xp, x, ksize, strides, padding, ())


also_channels_first(max_pool3d_op, images="x", rank=5)


@max_pool3d_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return max_pool3d_grad(op.inputs[0], op.outputs[0], grad, **_attrs(op, *_POOL5_NAMES))


@register_op(
    "MaxPool3DGrad",
    "orig_input: TInput, orig_output: TInput, grad: T -> output: T",
    *_POOL5,
    "T: {half, bfloat16, float} = DT_FLOAT",
    "TInput: {half, bfloat16, float} = DT_FLOAT",
    shape=_first_with_rank(5),
)
def max_pool3d_grad(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Array:
    """Return the gradient of MaxPool3D.

    All cells of a window within 1e-5 of its largest one receive it; in TensorFlow, too, unless
    oneDNN computes it.
    """
    return _max_pool_grad(xp, orig_input, orig_output, grad, ksize, strides, padding, ())


also_channels_first(max_pool3d_grad, images="orig_input orig_output grad", rank=5)


@max_pool3d_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y, _ = op.inputs
    inner = max_pool3d_grad_grad(x, y, grad, **_attrs(op, *_POOL5_NAMES))
    return array_ops.zeros_like(x), array_ops.zeros_like(y), inner


@register_op(
    "MaxPool3DGradGrad",
    "orig_input: T, orig_output: T, grad: T -> output: T",
    *_POOL5,
    "T: realnumbertype",
    shape=_pool_shape_of_second_gradient(5, "Pool3D"),
)
def max_pool3d_grad_grad(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    *,
    ksize: list[int],
    strides: list[int],
    padding: str,
) -> Array:
    """Return the second derivative of MaxPool3D."""
    named = {"tensor_in": orig_input, "tensor_out": orig_output, "out_grad_backprop": grad}
    for name, array in named.items():
        if not array.size:
            raise errors.invalid_argument(
                f"received empty tensor {name}: {shape_text(array.shape)}"
            )
    return _max_pool_grad_grad(
        xp,
        orig_input,
        orig_output,
        grad,
        ksize,
        strides,
        padding,
        "MaxPooling3dGradGrad",
    )


also_channels_first(max_pool3d_grad_grad, images="orig_input orig_output grad", rank=5)


@max_pool3d_grad_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y, _ = op.inputs
    inner = max_pool3d_grad(x, y, grad, **_attrs(op, *_POOL5_NAMES))
    return array_ops.zeros_like(x), array_ops.zeros_like(y), inner
