"""Pooling over cells of random sizes, for ratios that are not integers.

See Graham, "Fractional Max-Pooling" (2014). Corresponds to TensorFlow's
``fractional_pool_common.cc``
and its kernels; the same seeds give the same cells.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math.cwise_binary_ops import cut_quotient
from tfnb.ops.random.philox import generator_of
from tfnb.ops.random.simple_philox import SimplePhilox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.random.philox import GuardedPhilox

EXPORTS = {"nn": ["fractional_avg_pool", "fractional_max_pool"]}

_ATTRS = (
    "pooling_ratio: list(float) >= 4",
    "pseudo_random: bool = false",
    "overlapping: bool = false",
    "deterministic: bool = false",
    "seed: int = 0",
    "seed2: int = 0",
    "T: {float, double, int32, int64}",
)
_SEQUENCES = "row_pooling_sequence: int64, col_pooling_sequence: int64"


def _output_size(size: int, ratio: float) -> int:
    return math.floor(np.float32(size) / np.float32(ratio))


def _pool_shape(c: InferenceContext) -> list[TensorShape]:
    dims = c.with_rank(0, 4).dim_values
    ratios = c.attr("pooling_ratio")
    if len(ratios) != 4:
        raise ValueError("pooling_ratio field must specify 4 dimensions")
    sizes: list[int | None] = []
    for axis, ratio in enumerate(ratios):
        if ratio < 1:
            raise ValueError(f"pooling_ratio cannot be smaller than 1, got: {ratio:g}")
        known = None if dims is None else dims[axis]
        sizes.append(None if known is None else _output_size(known, ratio))
    # The number of boundaries stays unknown: TensorFlow's static number is one too small.
    return [TensorShape(sizes), TensorShape([None]), TensorShape([None])]


# -------------------------------------------------------------------------------------------- cells


def _pseudo_random_sizes(size: int, count: int, generator: GuardedPhilox) -> list[int]:
    """Return sizes of cells whose borders are ceil(ratio * (i + u)) for one random u."""
    ratio, least = size / count, size // count
    # The first and the last cell must not become too large or too small.
    greatest = min((least + 2) / ratio - 1, (size + 1 - least) / ratio - (count - 1))
    u = SimplePhilox(generator.reserve_blocks(1)).unit_double() * greatest
    inner = [math.ceil(ratio * (i + u)) for i in range(1, count)]
    bounds = [1, *inner, size + 1]
    return [after - before for before, after in pairwise(bounds)]


def _random_sizes(size: int, count: int, generator: GuardedPhilox) -> list[int]:
    """Return sizes of cells, the larger ones at random positions."""
    sizes = [size // count + (i < size % count) for i in range(count)]
    numbers = SimplePhilox(generator.reserve_blocks(-(-count // 4)))
    for index in range(count - 1):
        other = index + numbers.word() % (count - index)
        sizes[index], sizes[other] = sizes[other], sizes[index]
    return sizes


def _boundaries(size: int, count: int, generator: GuardedPhilox, pseudo_random: bool) -> Array:
    """Return the start of each cell of an axis, and the end of the last."""
    draw = _pseudo_random_sizes if pseudo_random else _random_sizes
    return np.concatenate([[0], np.cumsum(draw(size, count, generator))]).astype(np.int64)


def _cells(
    ctx: OpKernelContext,
    x: Array,
    pooling_ratio: Sequence[float],
    pseudo_random: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
) -> tuple[Array, Array]:
    """Return the boundaries of rows and columns; a deterministic kernel draws them once."""
    if len(pooling_ratio) != 4:
        raise errors.invalid_argument("pooling_ratio field must specify 4 dimensions")
    for ratio in pooling_ratio:
        if ratio < 1:
            raise errors.invalid_argument(f"pooling_ratio cannot be smaller than 1, got: {ratio:g}")
    if pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
        raise errors.unimplemented(
            "Fractional pooling is not yet supported on the batch nor channel dimension."
        )
    if x.ndim != 4:
        raise errors.invalid_argument(f"tensor_in must be 4-dimensional{shape_text(x.shape)}")
    counts = [_output_size(size, r) for size, r in zip(x.shape, pooling_ratio, strict=True)]
    for axis, count in enumerate(counts):
        if count <= 0:
            raise errors.invalid_argument(f"Computed output size is not positive on axis {axis}")
    if not deterministic and (seed or seed2):
        raise errors.invalid_argument("Both seed and seed2 should be 0 if deterministic is false.")
    generator = generator_of(ctx, seed, seed2)
    state = ctx.kernel_state
    if deterministic and "cells" in state:
        found: tuple[Array, Array] = state["cells"]
        if (found[0][-1], found[1][-1]) == x.shape[1:3]:
            return found
    rows, columns = (
        _boundaries(x.shape[axis], counts[axis], generator, pseudo_random) for axis in (1, 2)
    )
    if deterministic:
        state["cells"] = rows, columns
    return rows, columns


def _spans(boundaries: Array, size: int, overlapping: bool) -> list[slice]:
    """Return the cells of an axis; overlapping ones share their borders."""
    borders = boundaries.tolist()
    return [slice(start, min(end + overlapping, size)) for start, end in pairwise(borders)]


def _pooled(
    x: Array, rows: Array, columns: Array, overlapping: bool, reduce: Callable[..., Array]
) -> Array:
    row_spans, column_spans = (
        _spans(bounds, x.shape[axis], overlapping) for axis, bounds in ((1, rows), (2, columns))
    )
    out = np.empty((x.shape[0], len(row_spans), len(column_spans), x.shape[3]), x.dtype)
    for i, row in enumerate(row_spans):
        for j, column in enumerate(column_spans):
            out[:, i, j] = reduce(x[:, row, column])
    return out


def _mean(cell: Array) -> Array:
    total = cell.sum(axis=(1, 2), dtype=cell.dtype)
    count = cell.shape[1] * cell.shape[2]
    if cell.dtype.kind == "f":
        return total / cell.dtype.type(count)
    return cut_quotient(total, cell.dtype.type(count))


# ---------------------------------------------------------------------------------------- max pools


@register_op(
    "FractionalMaxPool",
    f"value: T -> output: T, {_SEQUENCES}",
    *_ATTRS,
    shape=_pool_shape,
    devices=("CPU",),
)
def fractional_max_pool_op(
    ctx: OpKernelContext,
    value: Array,
    *,
    pooling_ratio: list[float],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
) -> Outputs:
    """Return the largest element of each cell, and the boundaries of the cells."""
    rows, columns = _cells(ctx, value, pooling_ratio, pseudo_random, deterministic, seed, seed2)
    found = _pooled(value, rows, columns, overlapping, lambda cell: cell.max(axis=(1, 2)))
    return found, rows, columns


@fractional_max_pool_op.gradient
def _(op: Operation, grad: Tensor, _rows: Tensor, _columns: Tensor) -> Gradients:
    return fractional_max_pool_grad(
        op.inputs[0],
        op.outputs[0],
        grad,
        op.outputs[1],
        op.outputs[2],
        overlapping=op.get_attr("overlapping"),
    )


def _check_sequences(
    rows: Array, columns: Array, backprop: Array, in_shape: Sequence[int], what: str
) -> None:
    if backprop.ndim != 4:
        raise errors.invalid_argument(f"out_backprop must be 4-dimensional: {what}")
    if not backprop.size:
        raise errors.invalid_argument("out_backprop must be positive for all dimension, got:0")
    for name, bounds, axis in (("row", rows, 1), ("col", columns, 2)):
        if bounds.ndim != 1 or len(bounds) <= backprop.shape[axis]:
            raise errors.invalid_argument(
                f"{name}_pooling_sequence must hold one boundary more than out_backprop has cells "
                f"({backprop.shape[axis]}), but has shape {shape_text(bounds.shape)}"
            )
        if (bounds < 0).any() or (bounds[:-1] >= in_shape[axis]).any():
            raise errors.invalid_argument(
                f"{name}_pooling_sequence has boundaries outside of the input, which has size "
                f"{in_shape[axis]} there"
            )
    if (in_shape[0], in_shape[3]) != (backprop.shape[0], backprop.shape[3]):
        raise errors.invalid_argument(
            f"batch and depth of out_backprop {shape_text(backprop.shape)} must be those of the "
            f"input {shape_text(in_shape)}"
        )


@register_op(
    "FractionalMaxPoolGrad",
    f"orig_input: T, orig_output: T, out_backprop: T, {_SEQUENCES} -> output: T",
    "overlapping: bool = false",
    "T: {float, double, int32, int64}",
    shape=lambda c: c.with_rank(0, 4),
    devices=("CPU",),
)
def fractional_max_pool_grad(
    xp: Xp,
    orig_input: Array,
    orig_output: Array,
    out_backprop: Array,
    rows: Array,
    columns: Array,
    *,
    overlapping: bool,
) -> Array:
    """Return the gradient: that of each cell goes to its first largest element."""
    if orig_input.ndim != 4:
        raise errors.invalid_argument("orig_input must be 4-dimensional")
    if rows.size * columns.size > orig_input.size:
        raise errors.invalid_argument("Pooling region has more elements than the input tensor")
    if orig_output.shape != out_backprop.shape:
        raise errors.invalid_argument(
            f"Expected orig_output and out_backprop to have the same shape, but got "
            f"{shape_text(orig_output.shape)} and {shape_text(out_backprop.shape)}"
        )
    _check_sequences(rows, columns, out_backprop, orig_input.shape, "gradient of a max pool")
    out = np.zeros(orig_input.shape, orig_input.dtype)
    batch, channel = np.indices((orig_input.shape[0], orig_input.shape[3]))
    row_spans = _spans(rows, orig_input.shape[1], overlapping)
    column_spans = _spans(columns, orig_input.shape[2], overlapping)
    for i, row in enumerate(row_spans[: out_backprop.shape[1]]):
        for j, column in enumerate(column_spans[: out_backprop.shape[2]]):
            cell = orig_input[:, row, column]
            width = cell.shape[2]
            best = cell.reshape(len(cell), -1, cell.shape[3]).argmax(axis=1)
            place = (batch, row.start + best // width, column.start + best % width, channel)
            if (orig_input[place] != orig_output[:, i, j]).any():
                raise errors.invalid_argument("tensor_out_dup is not the same as tensor_out")
            out[place] += out_backprop[:, i, j]
    return out


# ------------------------------------------------------------------------------------ average pools


@register_op(
    "FractionalAvgPool",
    f"value: T -> output: T, {_SEQUENCES}",
    *_ATTRS,
    shape=_pool_shape,
    devices=("CPU",),
)
def fractional_avg_pool_op(
    ctx: OpKernelContext,
    value: Array,
    *,
    pooling_ratio: list[float],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
) -> Outputs:
    """Return the mean of each cell, and the boundaries of the cells."""
    rows, columns = _cells(ctx, value, pooling_ratio, pseudo_random, deterministic, seed, seed2)
    return _pooled(value, rows, columns, overlapping, _mean), rows, columns


@fractional_avg_pool_op.gradient
def _(op: Operation, grad: Tensor, _rows: Tensor, _columns: Tensor) -> Gradients:
    return fractional_avg_pool_grad(
        op.inputs[0].get_shape(),
        grad,
        op.outputs[1],
        op.outputs[2],
        overlapping=op.get_attr("overlapping"),
    )


def _avg_grad_shape(c: InferenceContext) -> TensorShape:
    if c.constant_value(0) is None:
        return TensorShape([None] * 4)
    return c.constant_value_as_shape(0)


@register_op(
    "FractionalAvgPoolGrad",
    f"orig_input_tensor_shape: int64, out_backprop: T, {_SEQUENCES} -> output: T",
    "overlapping: bool = false",
    "T: {float, double, int32, int64}",
    shape=_avg_grad_shape,
    devices=("CPU",),
)
def fractional_avg_pool_grad(
    xp: Xp, shape: Array, out_backprop: Array, rows: Array, columns: Array, *, overlapping: bool
) -> Array:
    """Return the gradient: each cell's is distributed in equal parts over its elements."""
    if shape.ndim != 1 or shape.size != 4:
        raise errors.invalid_argument(
            "original input tensor shape must be 1-dimensional and 4 elements"
        )
    sizes = tuple(shape.tolist())
    if min(sizes) < 0:
        raise errors.invalid_argument(f"original input shape must not be negative: {list(sizes)}")
    _check_sequences(rows, columns, out_backprop, sizes, "gradient of an average pool")
    check_fits(np, sizes, np.dtype(np.float64))
    out = np.zeros(sizes, np.float64)
    row_spans = _spans(rows, sizes[1], overlapping)[: out_backprop.shape[1]]
    column_spans = _spans(columns, sizes[2], overlapping)[: out_backprop.shape[2]]
    for i, row in enumerate(row_spans):
        for j, column in enumerate(column_spans):
            count = (row.stop - row.start) * (column.stop - column.start)
            part = out_backprop[:, i, j].astype(np.float64) / max(count, 1)
            out[:, row, column] += part[:, None, None, :]
    return out.astype(out_backprop.dtype)


# ----------------------------------------------------------------------- functions of Python's side


def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: TensorLike,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> TensorResult:
    """Return the largest elements of cells of random sizes.

    Args:
      value: images, NHWC.
      pooling_ratio: four numbers >= 1, the first and the last of them 1.
      pseudo_random: whether one random number places all cells.
      overlapping: whether neighbouring cells share their borders.
      deterministic: whether every run uses the same cells.
      seed: the first seed; if both are 0, the cells are different each time.
      seed2: the second seed.
      name: the name of the op.

    Returns:
      (output, row_pooling_sequence, col_pooling_sequence).
    """
    return fractional_max_pool_op(
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name=name,
    )


def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: TensorLike,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> TensorResult:
    """Return the means of cells of random sizes; arguments as for :func:`fractional_max_pool`."""
    return fractional_avg_pool_op(
        value,
        pooling_ratio,
        pseudo_random,
        overlapping,
        deterministic,
        seed,
        seed2,
        name=name,
    )
