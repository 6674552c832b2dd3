"""``tf.nn.sparse_softmax_cross_entropy_with_logits``, with checks of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.library.control_flow import check_ops
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.nn.cross_entropy_ops import sparse_softmax_cross_entropy

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"nn": ["sparse_softmax_cross_entropy_with_logits"]}


def sparse_softmax_cross_entropy_with_logits(
    labels: TensorLike | None = None, logits: TensorLike | None = None, name: str | None = None
) -> TensorResult:
    """Return the cross entropy of softmax(logits) for labels that are class numbers.

    Raises:
      ValueError: an argument is missing, or shapes cannot fit.
    """
    if labels is None:
        raise ValueError("`labels` must not be None")
    if logits is None:
        raise ValueError("`logits` must not be None")
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        as_float32 = logits.dtype == dtypes.float16
        precise = cast(logits, dtypes.float32) if as_float32 else logits
        labels_shape = labels.shape
        shape_op = array_ops.shape(labels)
        static = labels_shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()
        if logits.shape.ndims is not None and logits.shape.ndims == 0:
            raise ValueError(f"`logits` cannot be a scalar. Received logits={logits}`")
        rank, labels_rank = logits.shape.ndims, labels_shape.ndims
        if rank is not None and labels_rank is not None and labels_rank != rank - 1:
            raise ValueError(
                "`labels.shape.rank` must equal `logits.shape.rank - 1`. Received: "
                f"labels.shape={labels_shape} of rank {labels_rank} and "
                f"logits.shape={logits.shape} of rank {rank}"
            )
        if static and labels_shape != logits.shape[:-1]:
            raise ValueError(
                "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
                f"labels.shape={labels_shape} and logits.shape={logits.shape}"
            )
        if rank == 2:
            cost, _ = sparse_softmax_cross_entropy(precise, labels, name=name)
            return cast(cost, logits.dtype) if as_float32 else cost
        checks = []
        if not static:
            checks.append(
                check_ops.assert_equal(
                    array_ops.shape(labels),
                    array_ops.shape(logits)[:-1],
                )
            )
        with control_dependencies(checks):
            classes = array_ops.shape(logits)[array_ops.rank(logits) - 1]
            precise = array_ops.reshape(precise, [-1, classes])
            labels = array_ops.reshape(labels, [-1])
            cost, _ = sparse_softmax_cross_entropy(precise, labels, name=name)
            cost = array_ops.reshape(cost, shape_op)
            cost.set_shape(labels_shape)
            return cast(cost, logits.dtype) if as_float32 else cost
