"""IsotonicRegression: the closest rows that never increase."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.op_registry import register_op
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math.cwise_binary_ops import maximum
from tfnb.ops.math.math_ops import floordiv
from tfnb.ops.math.segment_ops import unsorted_segment_mean
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients


def _shapes(c: InferenceContext) -> list[TensorShape]:
    return [c.inputs[0]] * 2


def _pools(row: list[float]) -> tuple[list[float], list[int]]:
    """Split a row into pools of neighbours whose means never increase: the means and the sizes.

    Equal neighbours stay separate, and so do those of a NaN: a pool joins the one before it only if
    its mean is larger.
    """
    means: list[float] = []
    sums: list[float] = []
    sizes: list[int] = []
    for value in row:
        mean = total = value
        size = 1
        while means and means[-1] < mean:
            means.pop()
            total += sums.pop()
            size += sizes.pop()
            mean = total / size
        means.append(mean)
        sums.append(total)
        sizes.append(size)
    return means, sizes


@register_op(
    "IsotonicRegression",
    "input: T -> output: output_dtype, segments: int32",
    "T: realnumbertype",
    "output_dtype: {half, bfloat16, float, double} = DT_FLOAT",
    shape=_shapes,
    devices=("CPU",),
)
def isotonic_regression(xp: Xp, x: Array, *, output_dtype: DType) -> Outputs:
    """Return the closest row that never increases for each row, and the number of each pool."""
    columns = x.shape[-1] if x.ndim else 1
    output = np.empty(x.shape, output_dtype.as_numpy_dtype)
    segments = np.empty(x.shape, np.int32)
    if x.size:
        rows = x.reshape(-1, columns).astype(np.float64)
        fitted, numbered = output.reshape(rows.shape), segments.reshape(rows.shape)
        for i, row in enumerate(rows):
            means, sizes = _pools(row.tolist())
            fitted[i] = np.repeat(means, sizes)
            numbered[i] = np.repeat(np.arange(len(sizes)), sizes)
    return output, segments


@isotonic_regression.gradient
def _(op: Operation, grad: Tensor, _segments_grad: Tensor) -> Gradients:
    """Return the mean of its pool for each element: the values of a pool change together."""
    segments = op.outputs[1]
    shape = array_ops.shape(segments)
    # A scalar is a row with one element.
    columns = array_ops.gather(array_ops.concat([[1], shape], 0), array_ops.rank(segments))
    size = array_ops.size(segments)
    rows = floordiv(range_(size), maximum(columns, 1))
    # Pools are numbered in each row from zero; here each pool has its own number.
    pools = array_ops.reshape(segments, [-1]) + rows * columns
    means = unsorted_segment_mean(array_ops.reshape(grad, [-1]), pools, size)
    shared = array_ops.reshape(array_ops.gather(means, pools), shape)
    return cast(shared, op.inputs[0].dtype)
