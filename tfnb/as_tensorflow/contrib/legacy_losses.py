"""Losses of ``tf.contrib.legacy_seq2seq``: of lists of steps, and of models for several lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def sequence_loss_by_example(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross entropy of each sequence, [batch].

    Args:
      logits: [batch, classes] for each step.
      targets: [batch] for each step.
      weights: [batch] for each step.
      average_across_timesteps: whether it is divided by the sum of the weights.
      softmax_loss_function: ``(labels, logits) -> loss`` instead of the sparse cross entropy.
      name: the name of the scope.

    Raises:
      ValueError: the lists have different lengths.
    """
    if len(targets) != len(logits) or len(weights) != len(logits):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with tf.name_scope(name, "sequence_loss_by_example"):
        function = softmax_loss_function or tf.nn.sparse_softmax_cross_entropy_with_logits
        losses = tf.add_n(
            [
                function(
                    labels=target if softmax_loss_function else tf.reshape(target, [-1]),
                    logits=logit,
                )
                * weight
                for logit, target, weight in zip(logits, targets, weights, strict=True)
            ]
        )
        if average_across_timesteps:
            losses /= tf.add_n(weights) + 1e-12  # a sequence may have no weight at all
    return losses


def sequence_loss(
    logits: list[Any],
    targets: list[Any],
    weights: list[Any],
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Return the weighted cross entropy of all sequences, a scalar.

    Args:
      logits: [batch, classes] for each step.
      targets: [batch] for each step.
      weights: [batch] for each step.
      average_across_timesteps: whether each is divided by the sum of its weights.
      average_across_batch: whether the sum is divided by the size of the batch.
      softmax_loss_function: as in ``sequence_loss_by_example``.
      name: the name of the scope.
    """
    with tf.name_scope(name, "sequence_loss"):
        losses = sequence_loss_by_example(
            logits, targets, weights, average_across_timesteps, softmax_loss_function
        )
        cost = tf.reduce_sum(losses)
        if not average_across_batch:
            return cost
        return cost / tf.cast(tf.shape(targets[0])[0], cost.dtype)


def model_with_buckets(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    targets: list[Any],
    weights: list[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[list[Any], list[Any]], tuple[list[Any], Any]],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[list[Any]], list[Any]]:
    """Return outputs and losses of a model for several lengths, which share variables.

    Args:
      encoder_inputs: one for each step.
      decoder_inputs: one for each step.
      targets: [batch] for each step.
      weights: [batch] for each step.
      buckets: pairs of the encoder's and the decoder's length, the longest last.
      seq2seq: ``(encoder inputs, decoder inputs) -> (outputs, state)``.
      softmax_loss_function: as in ``sequence_loss_by_example``.
      per_example_loss: whether losses are [batch], and not scalars.
      name: the name of the scope.

    Raises:
      ValueError: there are fewer steps than the last bucket has.
    """
    longest_in, longest_out = buckets[-1]
    for what, given, least in (
        ("encoder_inputs", encoder_inputs, longest_in),
        ("targets", targets, longest_out),
        ("weights", weights, longest_out),
    ):
        if len(given) < least:
            raise ValueError(
                f"Length of {what} ({len(given)}) must be at least that of last bucket ({least})."
            )
    outputs, losses = [], []
    loss = sequence_loss_by_example if per_example_loss else sequence_loss
    with tf.name_scope(name, "model_with_buckets"):
        for number, (length_in, length_out) in enumerate(buckets):
            with tf.variable_scope(tf.get_variable_scope(), reuse=True if number else None):
                found, _ = seq2seq(encoder_inputs[:length_in], decoder_inputs[:length_out])
            outputs.append(found)
            losses.append(
                loss(
                    found,
                    targets[:length_out],
                    weights[:length_out],
                    softmax_loss_function=softmax_loss_function,
                )
            )
    return outputs, losses
