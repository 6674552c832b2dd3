"""The cross entropy of sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable


def sequence_loss(
    logits: Any,
    targets: Any,
    weights: Any,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    sum_over_timesteps: bool = False,
    sum_over_batch: bool = False,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross entropy of sequences.

    Averages divide by the sum of the weights, sums by the number of weights that are not 0.

    Args:
      logits: [batch, time, classes].
      targets: [batch, time], the classes.
      weights: [batch, time].
      average_across_timesteps: whether time is averaged.
      average_across_batch: whether the batch is averaged.
      sum_over_timesteps: whether time is summed.
      sum_over_batch: whether the batch is summed.
      softmax_loss_function: ``(labels, logits) -> loss`` instead of the sparse cross entropy.
      name: the name of the scope.

    Returns:
      A scalar, [time], [batch] or [batch, time], by what is averaged or summed.

    Raises:
      ValueError: a rank is wrong, or a dimension is both averaged and summed.
    """
    for what, tensor, rank, form in (
        ("Logits", logits, 3, "[batch_size x sequence_length x logits]"),
        ("Targets", targets, 2, "[batch_size x sequence_length]"),
        ("Weights", weights, 2, "[batch_size x sequence_length]"),
    ):
        if tensor.shape.ndims != rank:
            raise ValueError(f"{what} must be a {form} tensor")
    for where, average, summed in (
        ("timesteps", average_across_timesteps, sum_over_timesteps),
        ("batch", average_across_batch, sum_over_batch),
    ):
        if average and summed:
            raise ValueError(
                f"average_across_{where} and sum_over_{where} cannot be set to True at same time."
            )
    with tf.name_scope(name, "sequence_loss", [logits, targets, weights]):
        shape = tf.shape(logits)
        function = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = function(
            labels=tf.reshape(targets, [-1]), logits=tf.reshape(logits, [-1, shape[2]])
        )
        losses *= tf.reshape(weights, [-1])
        if average_across_timesteps and average_across_batch:
            return tf.div_no_nan(tf.reduce_sum(losses), tf.reduce_sum(weights))
        if sum_over_timesteps and sum_over_batch:
            count = tf.cast(tf.count_nonzero(weights), losses.dtype)
            return tf.div_no_nan(tf.reduce_sum(losses), count)
        losses = tf.reshape(losses, shape[:2])
        if average_across_timesteps or average_across_batch:
            axis = [0] if average_across_batch else [1]
            return tf.div_no_nan(tf.reduce_sum(losses, axis), tf.reduce_sum(weights, axis))
        if sum_over_timesteps or sum_over_batch:
            axis = [0] if sum_over_batch else [1]
            count = tf.cast(tf.count_nonzero(weights, axis=axis), losses.dtype)
            return tf.div_no_nan(tf.reduce_sum(losses, axis), count)
        return losses
