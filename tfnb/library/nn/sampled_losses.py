"""Losses over many classes that use a few drawn ones: noise contrast and sampled softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.library.nn.embedding_ops import embedding_lookup
from tfnb.library.variables.partitioned_variable import PartitionedVariable
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math.cwise_unary_ops import log
from tfnb.ops.math.math_ops import multiply
from tfnb.ops.math.matmul_ops import matmul
from tfnb.ops.nn.candidate_sampling_ops import (
    compute_accidental_hits,
    log_uniform_candidate_sampler,
)
from tfnb.ops.nn.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from tfnb.ops.sparse.sparse_ops import sparse_to_dense

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"nn": ["nce_loss", "sampled_softmax_loss"]}


def _sum_rows(x: TensorLike) -> TensorResult:
    """Return the sum of each row, as a product with ones, which is fast in both directions."""
    columns = array_ops.shape(x)[1]
    ones = array_ops.ones(array_ops.stack([columns, 1]), x.dtype)
    return array_ops.reshape(matmul(x, ones), [-1])


def _sampled_logits(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: TensorLike,
    subtract_log_q: bool,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Nested, Nested]:
    """Return logits of the true and of the drawn classes, and labels that fit them."""
    if isinstance(weights, PartitionedVariable):
        weights = list(weights)
    if not isinstance(weights, (list, tuple)):
        weights = [weights]
    with name_scope(name, "compute_sampled_logits", [*weights, biases, inputs, labels]):
        labels = convert_to_tensor(labels)
        if labels.dtype is not dtypes.int64:
            labels = cast(labels, dtypes.int64)
        labels_flat = array_ops.reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                true_classes=labels,
                num_true=num_true,
                num_sampled=num_sampled,
                unique=True,
                range_max=num_classes,
                seed=seed,
            )
        sampled, true_expected, sampled_expected = (
            array_ops.stop_gradient(one) for one in sampled_values
        )
        sampled = cast(sampled, dtypes.int64)
        all_ids = array_ops.concat([labels_flat, sampled], 0)
        all_w = embedding_lookup(weights, all_ids, partition_strategy=partition_strategy)
        inputs = convert_to_tensor(inputs)
        if all_w.dtype is not inputs.dtype:
            all_w = cast(all_w, inputs.dtype)
        true_w = array_ops.slice(
            all_w, [0, 0], array_ops.stack([array_ops.shape(labels_flat)[0], -1])
        )
        sampled_w = array_ops.slice(
            all_w, array_ops.stack([array_ops.shape(labels_flat)[0], 0]), [-1, -1]
        )
        sampled_logits = matmul(inputs, sampled_w, transpose_b=True)
        all_b = embedding_lookup(biases, all_ids, partition_strategy=partition_strategy)
        if all_b.dtype is not inputs.dtype:
            all_b = cast(all_b, inputs.dtype)
        true_b = array_ops.slice(all_b, [0], array_ops.shape(labels_flat))
        sampled_b = array_ops.slice(all_b, array_ops.shape(labels_flat), [-1])
        dim = array_ops.shape(true_w)[1:2]
        new_true_w_shape = array_ops.concat([[-1, num_true], dim], 0)
        row_wise_dots = multiply(
            array_ops.expand_dims(inputs, 1), array_ops.reshape(true_w, new_true_w_shape)
        )
        dots_as_matrix = array_ops.reshape(row_wise_dots, array_ops.concat([[-1], dim], 0))
        true_logits = array_ops.reshape(_sum_rows(dots_as_matrix), [-1, num_true])
        true_b = array_ops.reshape(true_b, [-1, num_true])
        true_logits += true_b
        sampled_logits += sampled_b
        if remove_accidental_hits:
            sampled_logits = _without_hits(labels, sampled, sampled_logits, num_true, num_sampled)
        if subtract_log_q:
            true_logits -= log(true_expected)
            sampled_logits -= log(sampled_expected)
        out_logits = array_ops.concat([true_logits, sampled_logits], 1)
        # Every true class has the same weight; the weights of a row sum to one.
        out_labels = array_ops.concat(
            [
                array_ops.ones_like(true_logits) / num_true,
                array_ops.zeros_like(sampled_logits),
            ],
            1,
        )
        return out_logits, out_labels


def _without_hits(
    labels: TensorLike, sampled: TensorLike, logits: TensorLike, num_true: int, num_sampled: int
) -> TensorResult:
    """Return the logits of drawn classes, very low for a class that is a true one of its row."""
    indices, ids, values = compute_accidental_hits(labels, sampled, num_true=num_true)
    rows = array_ops.reshape(indices, [-1, 1])
    columns = array_ops.reshape(cast(ids, dtypes.int32), [-1, 1])
    places = array_ops.concat([rows, columns], 1, "sparse_indices")
    shape = array_ops.concat(
        [array_ops.shape(labels)[:1], array_ops.expand_dims(num_sampled, 0)], 0
    )
    if logits.dtype is not values.dtype:
        values = cast(values, logits.dtype)
    return logits + sparse_to_dense(
        places, shape, values, default_value=0.0, validate_indices=False
    )


def nce_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> TensorResult:
    """Return the noise-contrastive loss of each row: a logistic one per true and per drawn class.

    Args:
      weights: [num_classes, dim], or a list of parts of it.
      biases: [num_classes].
      labels: int64 [batch, num_true].
      inputs: [batch, dim].
      num_sampled: how many classes are drawn for the batch.
      num_classes: the number of classes.
      num_true: true classes per row.
      sampled_values: the result of a candidate sampler; by default, of the log-uniform one.
      remove_accidental_hits: whether to leave out drawn classes that are true ones.
      partition_strategy: "mod" or "div", for weights in parts.
      name: a name for the operation.
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        True,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return _sum_rows(losses)


def sampled_softmax_loss(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: TensorLike | None = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> TensorResult:
    """Return the softmax loss of each row over true and drawn classes; for training only.

    The arguments are those of :func:`nce_loss`, and the sampler's seed.
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        True,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    targets = array_ops.stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=targets, logits=logits)
