"""Counts of a node's float operations, from formulas of each op, for ``tf.profiler``.

An op with a formula registers a function of the operation, ``neg.float_ops(per_input())``.
The formulas are TensorFlow's, for an implementation that it had in the past; none is measured.  A
shape that is not fully known is a ``ValueError``, and means that there is no count.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

type_of_count = Callable[[Any], float]


def shape_of(tensor: Any) -> list[int]:
    """Return the sizes of a tensor, which must be known."""
    tensor.shape.assert_is_fully_defined()
    sizes: list[int] = tensor.shape.as_list()
    return sizes


def size_of(tensor: Any) -> int:
    """Return the number of elements of a tensor, which must be known."""
    return prod(shape_of(tensor))


def per_input(count: int = 1, plus: int = 0) -> type_of_count:
    """Count ``count`` per element of the first input, and ``plus`` once."""
    return lambda op: count * size_of(op.inputs[0]) + plus


def per_output(count: int = 1) -> type_of_count:
    """Count ``count`` per element of the first output."""
    return lambda op: count * size_of(op.outputs[0])


def reduction(op: Any) -> float:
    """Count one per element of the input, less one per element of the result."""
    return size_of(op.inputs[0]) - size_of(op.outputs[0])


def mean(op: Any) -> float:
    """Count a reduction, and a division for each of its results."""
    return reduction(op) + size_of(op.outputs[0])


def check_channels_last(op: Any) -> None:
    """Raise an error unless the format is NHWC: TensorFlow counts image ops only for it."""
    if op.get_attr("data_format") != b"NHWC":
        raise ValueError("Only NHWC format is supported in flops computations")


def pool(of: str, index: int, per_cell: int = 1, beside: int = 0) -> type_of_count:
    """Count ``per_cell`` per window cell plus ``beside``, for each element of a tensor.

    Args:
      of: ``inputs`` or ``outputs``, the list that holds the tensor.
      index: the tensor's position in this list.
      per_cell: the count for each cell of the window.
      beside: the count for the window as a whole.
    """

    def count(op: Any) -> float:
        check_channels_last(op)
        area: int = prod(op.get_attr("ksize"))
        return (area * per_cell + beside) * size_of(getattr(op, of)[index])

    return count


def convolution(inner: int) -> type_of_count:
    """Count a product and a sum for each element of the output and cell of the filter.

    Args:
      inner: how many of the filter's dimensions are summed over.
    """

    def count(op: Any) -> float:
        image, kernel = op.inputs
        size_of(image)  # raises an error if it is unknown
        return 2 * size_of(op.outputs[0]) * prod(shape_of(kernel)[:inner])

    return count


def conv_gradient(image: Any, kernel: Any, op: Any) -> float:
    """Return the count of the forward convolution, with the depth of ``image``."""
    check_channels_last(op)
    sizes = shape_of(image)
    _, height, width, _ = op.get_attr("strides")
    per_cell: int = sizes[-1] * height * width
    return 2 * prod(sizes) * size_of(kernel) / per_cell


def product(op: Any) -> float:
    """Count a product and a sum for each element of the output and index that is summed over."""
    sizes = shape_of(op.inputs[0])
    # BatchMatMul uses the last dimension even for transposed matrices: TensorFlow reads an
    # attribute that only MatMul has.
    inner = sizes[0] if op.type == "MatMul" and op.get_attr("transpose_a") else sizes[-1]
    return 2 * inner * size_of(op.outputs[0])


def sum_of_all(op: Any) -> float:
    """Count one per element and input but the first; TensorFlow counts control inputs, too."""
    return size_of(op.inputs[0]) * (len(op.inputs) + len(op.control_inputs) - 1)
