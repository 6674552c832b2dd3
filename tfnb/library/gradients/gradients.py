"""``tf.gradients`` and ``tf.hessians``: symbolic derivatives."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.gradients.backprop import AggregationMethod, Backprop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"tf": ["AggregationMethod", "UnconnectedGradients", "gradients", "hessians"]}

__all__ = ["AggregationMethod", "UnconnectedGradients", "gradients", "hessians"]


class UnconnectedGradients(enum.Enum):
    """The gradient for tensors on which the result does not depend."""

    NONE = "none"
    ZERO = "zero"


def gradients(
    ys: TensorLike,
    xs: TensorLike,
    grad_ys: TensorLike | None = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[TensorResult]:
    """Add operations that compute the derivatives of the sum of ``ys`` by each of ``xs``.

    Integer tensors count as constants.

    Args:
      ys: a tensor or list of tensors.
      xs: a tensor or variable, or a list of these.
      grad_ys: the initial gradient of each of ``ys``; None for ones.
      name: the name scope of all new nodes.
      colocate_gradients_with_ops: whether gradients share the device of the operation that they
        belong to.
      gate_gradients: whether to wait for all gradients of an operation before one is used.
      aggregation_method: how gradients are summed, one of ``AggregationMethod``.
      stop_gradients: tensors through which no gradient passes.
      unconnected_gradients: the result for those of ``xs`` on which ``ys`` do not depend.

    Returns:
      For each of ``xs`` a tensor, IndexedSlices or None.

    Raises:
      LookupError: an operation between ``xs`` and ``ys`` has no gradient.
      ValueError: an argument is not allowed.
      TypeError: a value that is not numeric needs a gradient.
    """
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: '{unconnected_gradients}'"
        ) from None
    graph = get_default_graph()
    # A session must not read the graph while a gradient loop lacks its back edges.
    with graph._lock:
        backprop = Backprop(
            colocate=colocate_gradients_with_ops,
            gate=gate_gradients,
            aggregation_method=aggregation_method,
            give_zeros=unconnected is UnconnectedGradients.ZERO,
        )
        return backprop.run(ys, xs, grad_ys, stop_gradients, name)


def hessians(
    ys: TensorLike,
    xs: TensorLike,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Return the second derivatives of the sum of ``ys`` by each of ``xs``, as matrices.

    Args:
      ys: a tensor or list of tensors.
      xs: a tensor or list of tensors.
      name: unused, as in TensorFlow.
      colocate_gradients_with_ops: see :func:`gradients`.
      gate_gradients: see :func:`gradients`.
      aggregation_method: see :func:`gradients`.

    Returns:
      For each x a tensor whose shape is that of x, twice.

    Raises:
      LookupError: an operation between ``xs`` and ``ys`` has no gradient.
    """
    xs = xs if isinstance(xs, (list, tuple)) else [xs]
    first = gradients(
        ys,
        xs,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
    )
    return [_jacobian(gradient, x) for gradient, x in zip(first, xs, strict=True)]


def _jacobian(gradient: TensorLike, x: TensorLike) -> Tensor:
    """Return the derivative of each element of ``gradient`` by ``x``, one row after another."""
    from tfnb.library.control_flow.tensor_array import TensorArray
    from tfnb.library.control_flow.while_loop import while_loop
    from tfnb.ops.array.concat_ops import concat
    from tfnb.ops.array.constant_ops import constant
    from tfnb.ops.array.shape_ops import reshape, shape, size

    flat: TensorLike = reshape(gradient, [-1])
    num_elements = size(x)

    def row(index: TensorLike, rows: TensorLike) -> Sequence[Nested]:
        return index + 1, rows.write(index, gradients(flat[index], x)[0])

    _, rows = while_loop(
        lambda index, _: index < num_elements,
        row,
        [constant(0, dtypes.int32), TensorArray(x.dtype, num_elements)],
    )
    sizes = shape(x)
    return reshape(rows.stack(), concat((sizes, sizes), 0))
