"""Convolutions with small filters and stride 1, by Winograd's minimal filtering.

A tile of 6 by 6 inputs gives m by m outputs of a filter of r by r elements, m + r = 7, with 36
products where the definition needs m**2 r**2: 144 for 3 by 3, 100 for 5 by 5.  Tiles, filters and
results are transformed (Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", 2015);
between these steps there are 36 matrix products over the channels::

    inputs   V = B^T d B     [36, tiles, channels]
    filter   U = G g G^T     [36, channels, out channels]
    outputs  Y = A^T (V U) A [m * m, tiles, out channels]

The gradient with respect to the filter reverses these steps: G^T (V^T (A y A^T)) G.

Each transformation is itself a product along one side and then along the other; the matrices
come from interpolating at five points and infinity.  The points 0, 5/8, -5/8, 3/2, -3/2 make the
rounding error two to three times that of the definition; the points of 8 by 8 inputs, which save
more products of 5 by 5 filters, make it eight times as large, which exceeds the allowed difference
from TensorFlow. An infinity or NaN would spread over a whole tile: the functions here report it,
and the convolution is computed by its definition.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core.process.work_sharder import shard
from tfnb.ops.base.large_arrays import is_large, sum_over
from tfnb.ops.base.piecewise_products import multiply_stacks
from tfnb.ops.conv.windows import pad_spatial, strided_view

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.framework.tensor_types import TensorLike
    from tfnb.ops.conv.windows import Window

    type_of_block = tuple[slice, slice]

_REACH = 6  # inputs of a tile along one side
_NUM_POINTS = _REACH * _REACH
_POINTS = (0.0, 0.625, -0.625, 1.5, -1.5)

# With fewer channels or outputs, or more tiles beyond the image, the transformations do not pay
# off.
_LEAST_CHANNELS = 32
_LEAST_OUTPUTS = 1024
_MOST_WASTE = 1.35
# Approximate bytes of transformed inputs per block, and the minimum tiles per block, below which
# products are slow.
_BLOCK_BYTES = 1 << 18
_LEAST_TILES = 32
# Like _BLOCK_BYTES, for gradients of filters, where the products of each block are added.
_SUMMED_BYTES = 1 << 20
_LEAST_SUMMED = 128
# Maximum parts of a sum over all tiles, independent of the number of threads.
_PARTS = 8


def suits(xp: Xp, x: Array, filter_shape: Sequence[int], windows: Sequence[Window]) -> bool:
    """Return whether Winograd's algorithm is faster."""
    if len(windows) != 2 or not is_large(xp, x) or x.dtype != np.float32:
        return False
    if any(w.stride != 1 or w.dilation != 1 or not 2 <= w.filter <= 5 for w in windows):
        return False
    channels, out_channels = filter_shape[-2:]
    is_wide: bool = channels == x.shape[-1] and min(channels, out_channels) >= _LEAST_CHANNELS
    outputs = windows[0].output * windows[1].output
    covered = 1
    for w in windows:
        covered *= -(-w.output // (7 - w.filter)) * (7 - w.filter)
    is_long: bool = len(x) * outputs >= _LEAST_OUTPUTS
    return is_wide and is_long and covered <= _MOST_WASTE * outputs


def forward(x: Array, kernel: Array, windows: Sequence[Window], out: Array) -> bool:
    """Write the convolution into `out`; return False if a number in it is not finite."""
    tiles = _Tiles(x, windows, _BLOCK_BYTES, _LEAST_TILES)
    sizes, channels, out_channels = tiles.sizes, x.shape[-1], kernel.shape[-1]
    sides = [_matrices(w.filter, x.dtype.char) for w in windows]
    taps = np.ascontiguousarray(kernel).reshape(*kernel.shape[:2], -1)
    filters = _transform([side.filter for side in sides], taps, _Scratch(x.dtype))
    filters = filters.reshape(_NUM_POINTS, channels, out_channels)

    def work(begin: int, end: int) -> None:
        scratch = _Scratch(x.dtype)
        for block in tiles.blocks[begin:end]:
            given = tiles.transformed(block, [side.inputs for side in sides], scratch)
            made = scratch.array("products", _NUM_POINTS, given.shape[1], out_channels)
            multiply_stacks(given, filters, out=made)
            made = made.reshape(_REACH, _REACH, -1)
            result = _transform([side.outputs for side in sides], made, scratch)
            result = result.reshape(*sizes, *tiles.counts_in(block), out_channels)
            _place(result.transpose(2, 3, 0, 4, 1, 5), out[tiles.outputs_of(block)])

    shard(len(tiles.blocks), 1, work)
    return bool(np.isfinite(sum_over(np, out, (0, 1, 2, 3))))


def backprop_filter(x: Array, out_backprop: Array, windows: Sequence[Window]) -> Array:
    """Return the gradient with respect to the filter; None if a number in it is not finite."""
    tiles = _Tiles(x, windows, _SUMMED_BYTES, _LEAST_SUMMED)
    (down, across), (height, width) = tiles.counts, tiles.sizes
    filters = tuple(w.filter for w in windows)
    channels, out_channels = x.shape[-1], out_backprop.shape[-1]
    sides = [_matrices(size, x.dtype.char) for size in filters]
    grown = _grown(out_backprop, (down * height, across * width), (0, 0))
    split = grown.reshape(len(x), down, height, across, width, out_channels)
    split = split.transpose(2, 4, 0, 1, 3, 5)
    count = min(len(tiles.blocks), _PARTS)
    parts: list[Any] = [None] * count

    def work(begin: int, end: int) -> None:
        scratch, other = _Scratch(x.dtype), _Scratch(x.dtype)
        for number in range(begin, end):
            total: Array = 0
            cuts = (len(tiles.blocks) * i // count for i in (number, number + 1))
            for block in tiles.blocks[slice(*cuts)]:
                given = tiles.transformed(block, [side.inputs for side in sides], scratch)
                came = split[:, :, *block].reshape(height, width, -1)
                came = _transform([side.outputs.T for side in sides], came, other)
                came = came.reshape(_NUM_POINTS, -1, out_channels)
                total = total + multiply_stacks(given.swapaxes(1, 2), came)
            parts[number] = total

    shard(count, 1, work)
    whole = sum(parts[1:], start=parts[0]).reshape(_REACH, _REACH, -1)
    grad = _transform([side.filter.T for side in sides], whole, _Scratch(x.dtype))
    grad = grad.reshape(*filters, channels, out_channels)
    return grad if np.isfinite(grad).all() else None


class _Matrices(NamedTuple):
    """The transformations along one side."""

    inputs: TensorLike  # B^T [6, 6]
    filter: TensorLike  # G [6, elements of the filter]
    outputs: TensorLike  # A^T [outputs of a tile, 6]


@lru_cache(maxsize=64)
def _matrices(size: int, dtype: str) -> _Matrices:
    """Return the transformations for filters of `size` elements."""
    outputs = 7 - size
    of_inputs, of_filter = np.zeros((_REACH, _REACH)), np.zeros((_REACH, size))
    of_outputs = np.zeros((outputs, _REACH))
    for number, point in enumerate(_POINTS):
        others = [other for other in _POINTS if other != point]
        of_inputs[number, :5] = np.poly(others)[::-1]
        of_filter[number] = point ** np.arange(size) / np.prod([point - other for other in others])
        of_outputs[:, number] = point ** np.arange(outputs)
    of_inputs[5] = np.poly(_POINTS)[::-1]
    of_filter[5, -1] = of_outputs[-1, 5] = 1
    return _Matrices(*(matrix.astype(dtype) for matrix in (of_inputs, of_filter, of_outputs)))


class _Scratch:
    """Memory that the blocks of a thread reuse in turn, so that it stays in the cache."""

    def __init__(self, dtype: Attr) -> None:
        self._dtype = dtype
        self._flat: dict[str, Attr] = {}

    def array(self, name: str, *shape: int) -> Array:
        """Return the named array in the given shape; its contents are undefined."""
        size, flat = math.prod(shape), self._flat.get(name)
        if flat is None or flat.size < size:
            flat = self._flat[name] = np.empty(size, self._dtype)
        return flat[:size].reshape(shape)


def _transform(sides: Sequence[Array], x: Array, scratch: _Scratch) -> Array:
    """Multiply by one matrix along the first axis of three and by another along the second.

    ``x`` may be the scratch array "whole". Several products are computed: BLAS is twice as fast
    with matrices this flat if they are also short.
    """
    first, second = sides
    _, columns, size = x.shape
    down = scratch.array("half", columns, len(first), size)
    np.matmul(first, x.swapaxes(0, 1), out=down)
    out = scratch.array("whole", len(first), len(second), size)
    return np.matmul(second, down.swapaxes(0, 1), out=out)


class _Tiles:
    """The overlapping tiles of images.

    Attributes:
      sizes: the outputs of a tile along each side.
      counts: the tiles of an image along each side.
      blocks: the images, and their rows of tiles, that are processed at once: rows of one image
        if its tiles are too many.
    """

    def __init__(
        self, x: Array, windows: Sequence[Window], block_bytes: int, least_tiles: int
    ) -> None:
        first, second = windows
        batch, channels = x.shape[0], x.shape[-1]
        self.sizes = height, width = 7 - first.filter, 7 - second.filter
        self.counts = down, across = -(-first.output // height), -(-second.output // width)
        size = (down - 1) * height + _REACH, (across - 1) * width + _REACH
        if size == (first.padded, second.padded):
            padded = np.ascontiguousarray(pad_spatial(np, x, windows, 1, 0))
        else:
            padded = _grown(x, size, (first.pad_before, second.pad_before))
        n, row, column, item = padded.strides
        self._view = strided_view(
            np,
            padded,
            (batch, _REACH, _REACH, down, across, channels),
            (n, row, column, row * height, column * width, item),
        )
        tiles, tile_bytes = down * across, _NUM_POINTS * channels * x.itemsize
        at_once = max(block_bytes // (tiles * tile_bytes), -(-least_tiles // tiles))
        # Rows of tiles that fill a block, and the parts of about equal size that they make.
        full = max(block_bytes // (across * tile_bytes), -(-2 * least_tiles // across))
        parts = max(1, down // full) if at_once == 1 else 1
        cuts = [down * part // parts for part in range(parts + 1)]
        self.blocks: list[type_of_block] = [
            (slice(start, min(start + at_once, batch)), slice(top, bottom))
            for start in range(0, batch, at_once)
            for top, bottom in pairwise(cuts)
        ]

    def counts_in(self, block: type_of_block) -> tuple[int, int, int]:
        """Return the number of images, rows of tiles and columns of tiles of a block."""
        images, rows = block
        return images.stop - images.start, rows.stop - rows.start, self.counts[1]

    def outputs_of(self, block: type_of_block) -> type_of_block:
        """Return the images and the rows of outputs that a block makes."""
        images, rows = block
        return images, slice(rows.start * self.sizes[0], rows.stop * self.sizes[0])

    def transformed(self, block: type_of_block, sides: Sequence[Array], scratch: _Scratch) -> Array:
        """Return the tiles of a block, transformed: [36, tiles, channels]."""
        images, rows = block
        channels = self._view.shape[-1]
        seen = scratch.array("whole", _REACH, _REACH, *self.counts_in(block), channels)
        for number, image in enumerate(self._view[images]):
            seen[:, :, number] = image[:, :, rows]
        made = _transform(sides, seen.reshape(_REACH, _REACH, -1), scratch)
        return made.reshape(_NUM_POINTS, -1, channels)


def _grown(x: Array, size: tuple[int, int], before: tuple[int, int]) -> Array:
    """Return the images cut or surrounded by zeros, so that they have that size."""
    if x.shape[1:3] == size:
        return np.ascontiguousarray(x)
    (height, width), (top, left) = size, before
    grown = np.zeros((x.shape[0], height, width, x.shape[-1]), x.dtype)
    inner = grown[:, top : top + x.shape[1], left : left + x.shape[2]]
    inner[...] = x[:, : inner.shape[1], : inner.shape[2]]
    return grown


def _place(tiles: Array, out: Array) -> None:
    """Copy [images, down, m, across, m, channels] into images, without cells beyond them."""
    count, down, height, across, width, channels = tiles.shape
    if (down * height, across * width) == out.shape[1:3]:
        out.reshape(tiles.shape)[...] = tiles
        return
    whole = np.empty((count, down * height, across * width, channels), out.dtype)
    whole.reshape(tiles.shape)[...] = tiles
    out[...] = whole[:, : out.shape[1], : out.shape[2]]
