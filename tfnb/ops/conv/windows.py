"""The geometry of sliding windows, shared by convolutions and pooling.

A window of some size moves over a spatial dimension in steps of ``stride``; ``dilation`` spreads
its elements. Padding is ``VALID`` (none), ``SAME`` (so that there are ceil(size / stride)
positions, the odd cell at the end) or ``EXPLICIT``. Spatial dimensions are those between batch and
channels; ``data_format`` defines the position of the channels.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.process.records import record, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext


@record(slots=True, frozen=True)
class Window:
    """One spatial dimension: the number of window positions and the padding that they need."""

    size: int
    filter: int
    stride: int
    dilation: int
    output: int
    pad_before: int
    pad_after: int

    @property
    def padded(self) -> int:
        """The size of the dimension with its padding."""
        return self.size + self.pad_before + self.pad_after

    def trimmed(self) -> Window:
        """Return the window without elements that meet only padding at all positions."""
        first = max(0, self.pad_before - (self.output - 1) * self.stride)
        last = max(0, self.filter - self.pad_before - self.size)
        if not (first or last) or not self.output or self.dilation != 1:
            return self
        if first + last >= self.filter:  # the window meets only padding
            before = (self.output - 1) * self.stride + 1
            return replace(self, filter=1, pad_before=before, pad_after=0)
        return replace(
            self,
            filter=self.filter - first - last,
            pad_before=self.pad_before - first,
            pad_after=max(0, self.pad_after - last),
        )

    @property
    def reach(self) -> int:
        """The number of cells from a window's first element to its last, both included."""
        return (self.filter - 1) * self.dilation + 1

    def slice_at(self, index: int) -> slice:
        """Return the padded cells that element ``index`` of the window meets at all positions."""
        start = index * self.dilation
        if not self.output:
            return slice(0, 0)
        return slice(start, start + (self.output - 1) * self.stride + 1, self.stride)

    def cells_at(self, index: int) -> tuple[slice, slice]:
        """Return the positions at which an element of the window meets no padding, and its cells.

        The cells are those of the input without the padding.
        """
        offset = index * self.dilation - self.pad_before
        first = max(0, -(offset // self.stride))
        last = min(self.output, (self.size - 1 - offset) // self.stride + 1)
        if last <= first:
            return slice(0, 0), slice(0, 0)
        start = first * self.stride + offset
        stop = start + (last - first - 1) * self.stride + 1
        return slice(first, last), slice(start, stop, self.stride)


@lru_cache(maxsize=1024)
def kept_window(w: Window) -> Window:
    """Return the first window that was equal: plans know their windows by identity."""
    return w


@lru_cache(maxsize=1024)
def window(
    size: int,
    filter_size: int,
    stride: int,
    dilation: int,
    padding: str,
    explicit: tuple[int, int] = (0, 0),
) -> Window:
    """Return the geometry of one dimension.

    Raises:
      InvalidArgumentError: the stride is not positive, or the window does not fit.
    """
    if stride <= 0:
        raise errors.invalid_argument(f"Stride must be > 0, but got {stride}")
    if dilation < 1:
        raise errors.invalid_argument(f"Dilation rate must be >= 1, but got {dilation}")
    reach = (filter_size - 1) * dilation + 1
    before = after = 0
    if padding == "SAME":
        output = -(-size // stride)
        needed = max(0, (output - 1) * stride + reach - size)
        before = needed // 2
        after = needed - before
    else:
        before, after = explicit if padding == "EXPLICIT" else (0, 0)
        room = size + before + after - reach + stride
        output = room // stride if room >= 0 else -(-room // stride)  # rounds towards zero
    if output < 0:
        raise errors.invalid_argument(
            f"Computed output size would be negative: {output} [input_size: {size}, "
            f"effective_filter_size: {reach}, stride: {stride}]"
        )
    return Window(size, filter_size, stride, dilation, output, before, after)


def output_dim(
    size: int | None,
    filter_size: int | None,
    stride: int,
    dilation: int,
    padding: str,
    explicit: tuple[int, int] = (0, 0),
) -> int | None:
    """Return the static number of positions, for shape functions.

    Raises:
      ValueError: the window does not fit.
    """
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if dilation < 1:
        raise ValueError(f"Dilation rate must be >= 1, but got {dilation}")
    if padding == "SAME":
        return None if size is None else -(-size // stride)
    if filter_size == 0 and dilation > 1:
        raise ValueError("Negative dimension size caused by subtracting 1 from 0")
    if size is None or filter_size is None:
        return None
    reach = (filter_size - 1) * dilation + 1
    total = size + (sum(explicit) if padding == "EXPLICIT" else 0)
    if total - reach < 0 and total - reach + stride < 0:
        raise ValueError(f"Negative dimension size caused by subtracting {reach} from {total}")
    if total < reach:
        raise ValueError(f"Negative dimension size caused by subtracting {reach} from {total}")
    return (total - reach + stride) // stride


def check_depth_window(shape: Sequence[int], ksize: Sequence[int], strides: Sequence[int]) -> None:
    """Refuse windows over channels that overlap, leave channels over, or have rows or columns.

    Args:
      shape: the shape of the images, channels last.
      ksize: the sizes of the window; where it has one channel, the stride of channels is ignored.
      strides: the strides of the window.

    Raises:
      UnimplementedError: the kernels do not compute these windows.
    """
    if ksize[-1] == 1:
        return
    if any(size != 1 for size in ksize[1:-1]):
        raise errors.unimplemented(
            "MaxPooling supports exactly one of pooling across depth or pooling across "
            "width/height."
        )
    if ksize[-1] < 1 or shape[-1] % ksize[-1]:
        raise errors.unimplemented(
            "Depthwise max pooling requires the depth window to evenly divide the input depth"
        )
    if ksize[-1] != strides[-1]:
        raise errors.unimplemented(
            "Depthwise max pooling requires the depth window to equal the depth stride"
        )


def channels_last(data_format: str) -> bool:
    """Return whether the channels are the last dimension."""
    return not data_format.startswith("NC")


def spatial_axes(data_format: str, rank: int) -> range:
    """Return the positions of the spatial dimensions."""
    return range(1, rank - 1) if channels_last(data_format) else range(2, rank)


def channel_axis(data_format: str, rank: int) -> int:
    """Return the position of the channels."""
    return rank - 1 if channels_last(data_format) else 1


def explicit_pairs(c_or_list: Sequence[int], rank: int) -> list[tuple[int, int]]:
    """Convert a flat list of explicit paddings to (before, after) per dimension.

    An empty list gives zeros.

    Raises:
      InvalidArgumentError: the list has another length, or negative numbers; TensorFlow's text.
    """
    if not c_or_list:
        return [(0, 0)] * rank
    if len(c_or_list) != 2 * rank:
        raise errors.invalid_argument(
            f"explicit_paddings attribute must contain {2 * rank} values, but got: {len(c_or_list)}"
        )
    if min(c_or_list) < 0:
        raise errors.invalid_argument("All elements of explicit_paddings must be nonnegative")
    return [(c_or_list[2 * i], c_or_list[2 * i + 1]) for i in range(rank)]


def check_explicit(c: InferenceContext, rank: int, padding: str, data_format: str) -> None:
    """Check the attr explicit_paddings as TensorFlow does.

    Raises:
      ValueError: it is missing, superfluous, of the wrong length, negative, or pads batch or
        channels.
    """
    paddings: Sequence[int] = c.attrs.get("explicit_paddings", ())
    if padding != "EXPLICIT":
        if len(paddings):
            raise ValueError(
                "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT"
            )
        return
    if len(paddings) != 2 * rank:
        raise ValueError(
            f"explicit_paddings attribute must contain {2 * rank} values, but got: {len(paddings)}"
        )
    if any(value < 0 for value in paddings):
        raise ValueError("All elements of explicit_paddings must be nonnegative")
    pairs = explicit_pairs(paddings, rank)
    if any(pairs[0]) or any(pairs[channel_axis(data_format, rank)]):
        raise ValueError(
            "Nonzero explicit padding in the batch or depth dimensions is not supported"
        )


def centred(
    xp: Xp, x: Array, windows: Sequence[Window], padding: str
) -> tuple[Array, Sequence[Window]]:
    """Return volumes and windows, cut to begin where windows of TensorFlow's CPU kernel begin.

    If strides are longer than windows, SAME can need fewer cells than there are.  In images the
    first window begins at the first cell; in volumes, on a CPU, half of the remaining cells lie
    before it.

    Args:
      xp: numpy or cupy.
      x: the volumes, channels last.
      windows: the geometry of the spatial dimensions.
      padding: the attribute of the op.
    """
    if xp is not np or padding != "SAME":
        return x, windows
    found = list(windows)
    for axis, w in enumerate(windows, start=1):
        skipped = (w.size - (w.output - 1) * w.stride - w.reach) // 2
        if skipped > 0 and w.output:
            x = x[(slice(None),) * axis + (slice(skipped, None),)]
            found[axis - 1] = kept_window(replace(w, size=w.size - skipped))
    return x, found


def pad_spatial(
    xp: Xp, x: Array, windows: Sequence[Window], first_axis: int, value: Array
) -> Array:
    """Return `x` with every spatial dimension padded; `x` itself if no padding is needed."""
    if not any(w.pad_before or w.pad_after for w in windows):
        return x
    shape = list(x.shape)
    inner: list[slice] = [slice(None)] * x.ndim
    for offset, w in enumerate(windows):
        shape[first_axis + offset] = w.padded
        inner[first_axis + offset] = slice(w.pad_before, w.pad_before + w.size)
    padded = xp.zeros(shape, x.dtype) if value == 0 else xp.full(shape, value, x.dtype)
    padded[tuple(inner)] = x
    return padded


def strided_view(xp: Xp, x: Array, shape: Sequence[int], strides: Sequence[int]) -> Array:
    """Return a view of `x` with a shape and strides, which may overlap; it must not be written to.

    ``as_strided`` costs as much as a small convolution.
    """
    if xp is np and x.flags.c_contiguous and x.dtype.char in "fd":
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return xp.lib.stride_tricks.as_strided(x, shape, strides)


def steps_of(x: Array) -> tuple[int, ...]:
    """Return the strides of an array in C order, in bytes.

    NumPy keeps any stride for an axis of one element, such as the channel of a turned image.
    """
    steps, step = [], x.dtype.itemsize
    for size in reversed(x.shape):
        steps.append(step)
        step *= size
    return tuple(reversed(steps))


def unpad_spatial(x: Array, windows: Sequence[Window], first_axis: int) -> Array:
    """Return the inner part of a padded array, as a view."""
    inner: list[slice] = [slice(None)] * x.ndim
    for offset, w in enumerate(windows):
        inner[first_axis + offset] = slice(w.pad_before, w.pad_before + w.size)
    return x[tuple(inner)]
