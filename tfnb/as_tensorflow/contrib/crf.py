"""``tf.contrib.crf``: linear chains of conditional random fields.

Source: Lafferty, McCallum and Pereira. ``inputs`` are scores of tags [batch, time, tags],
``transition_params`` scores of a tag after another, [tags, tags].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.client.public.api import tf
from tfnb.library.rnn.cells import RNNCell

if TYPE_CHECKING:
    from collections.abc import Callable


def _if_one_step(inputs: Any, one: Callable[[], Any], more: Callable[[], Any]) -> Any:
    """Return what belongs to the number of time steps, which may be known when run only."""
    steps = inputs.shape[1].value
    if steps is None:
        return tf.cond(tf.equal(tf.shape(inputs)[1], 1), one, more)
    return one() if steps == 1 else more()


def _zero_if_empty(values: Any, sequence_lengths: Any) -> Any:
    return tf.where(tf.less_equal(sequence_lengths, 0), tf.zeros_like(values), values)


def crf_sequence_score(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Return the scores [batch] of sequences of tags, which are not normalized.

    Args:
      inputs: [batch, time, tags].
      tag_indices: [batch, time].
      sequence_lengths: [batch]; an empty sequence scores 0.
      transition_params: [tags, tags].
    """
    return crf_unary_score(tag_indices, sequence_lengths, inputs) + crf_binary_score(
        tag_indices, sequence_lengths, transition_params
    )


def crf_multitag_sequence_score(
    inputs: Any, tag_bitmap: Any, sequence_lengths: Any, transition_params: Any
) -> Any:
    """Return the logarithm of the summed scores of all sequences that a mask allows, [batch].

    Args:
      inputs: [batch, time, tags].
      tag_bitmap: [batch, time, tags] of bool, which tags each place may have.
      sequence_lengths: [batch].
      transition_params: [tags, tags].
    """
    allowed = tf.where(tag_bitmap, inputs, tf.fill(tf.shape(inputs), -np.inf))
    return _if_one_step(
        inputs,
        lambda: tf.reduce_logsumexp(allowed, axis=[1, 2]),
        lambda: crf_log_norm(allowed, sequence_lengths, transition_params),
    )


def crf_log_norm(inputs: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the logarithm of the summed scores of all sequences, [batch].

    Args:
      inputs: [batch, time, tags].
      sequence_lengths: [batch]; an empty sequence has 0.
      transition_params: [tags, tags].
    """
    lengths = tf.convert_to_tensor(sequence_lengths)
    first = inputs[:, 0]

    def more() -> Any:
        _, alphas = tf.nn.dynamic_rnn(
            CrfForwardRnnCell(transition_params),
            inputs[:, 1:],
            sequence_length=tf.maximum(lengths - 1, 0),
            initial_state=first,
            dtype=tf.float32,
        )
        return tf.reduce_logsumexp(alphas, [1])

    found = _if_one_step(inputs, lambda: tf.reduce_logsumexp(first, [1]), more)
    return _zero_if_empty(found, lengths)


def crf_log_likelihood(
    inputs: Any, tag_indices: Any, sequence_lengths: Any, transition_params: Any = None
) -> tuple[Any, Any]:
    """Return the logarithms of the probabilities of sequences of tags, and the transitions.

    Args:
      inputs: [batch, time, tags].
      tag_indices: [batch, time].
      sequence_lengths: [batch].
      transition_params: [tags, tags]; by default a new variable "transitions".

    Returns:
      [batch], and [tags, tags].
    """
    tags = inputs.shape[2].value
    if transition_params is None:
        transition_params = tf.get_variable("transitions", [tags, tags])
    score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
    return score - crf_log_norm(inputs, sequence_lengths, transition_params), transition_params


def crf_unary_score(tag_indices: Any, sequence_lengths: Any, inputs: Any) -> Any:
    """Return the summed scores of the tags themselves, [batch].

    Args:
      tag_indices: [batch, time].
      sequence_lengths: [batch].
      inputs: [batch, time, tags].
    """
    ids = tf.convert_to_tensor(tag_indices)
    chosen = tf.batch_gather(inputs, tf.expand_dims(ids, 2))[:, :, 0]
    mask = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(ids)[1], dtype=chosen.dtype)
    return tf.reduce_sum(chosen * mask, 1)


def crf_binary_score(tag_indices: Any, sequence_lengths: Any, transition_params: Any) -> Any:
    """Return the summed scores of the transitions, [batch].

    Args:
      tag_indices: [batch, time].
      sequence_lengths: [batch].
      transition_params: [tags, tags].
    """
    ids = tf.convert_to_tensor(tag_indices)
    pairs = tf.stack([ids[:, :-1], ids[:, 1:]], axis=2)
    chosen = tf.gather_nd(transition_params, pairs)
    mask = tf.sequence_mask(sequence_lengths, maxlen=tf.shape(ids)[1], dtype=chosen.dtype)
    return tf.reduce_sum(chosen * mask[:, 1:], 1)


class _TransitionCell(RNNCell):
    """A cell whose state has a score for each tag.

    Args:
      transition_params: [tags, tags].
    """

    def __init__(self, transition_params: Any) -> None:
        super().__init__()
        self._transition_params = tf.expand_dims(transition_params, 0)
        self._num_tags = self._transition_params.shape[1].value

    @property
    def state_size(self) -> Any:
        """The number of tags."""
        return self._num_tags

    @property
    def output_size(self) -> Any:
        """The number of tags."""
        return self._num_tags

    def _scores(self, state: Any) -> Any:
        return tf.expand_dims(state, 2) + self._transition_params


class CrfForwardRnnCell(_TransitionCell):
    """A step of the forward algorithm."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Return the next sums of scores, twice.

        Args:
          inputs: [batch, tags].
          state: [batch, tags].
          scope: without effect.
          **kwargs: without effect.
        """
        alphas = inputs + tf.reduce_logsumexp(self._scores(state), [1])
        return alphas, alphas


class CrfDecodeForwardRnnCell(_TransitionCell):
    """A step of Viterbi's algorithm."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Return the best tag before each tag, and the next best scores.

        Args:
          inputs: [batch, tags].
          state: [batch, tags].
          scope: without effect.
          **kwargs: without effect.
        """
        scores = self._scores(state)
        back = tf.argmax(scores, 1, output_type=tf.int32)
        return back, inputs + tf.reduce_max(scores, [1])


class CrfDecodeBackwardRnnCell(RNNCell):
    """A step back along the best tags.

    Args:
      num_tags: the number of tags.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> int:
        """The size of one tag."""
        return 1

    @property
    def output_size(self) -> int:
        """The size of one tag."""
        return 1

    def __call__(self, inputs: Any, state: Any, scope: Any = None, **kwargs: Any) -> Any:
        """Return the tag before, twice.

        Args:
          inputs: [batch, tags], the best tag before each.
          state: [batch, 1], the tag.
          scope: without effect.
          **kwargs: without effect.
        """
        tag = tf.batch_gather(inputs, state)
        return tag, tag


def viterbi_decode(score: Any, transition_params: Any) -> tuple[list[int], Any]:
    """Return the best sequence of tags and its score, of arrays.

    Args:
      score: [time, tags].
      transition_params: [tags, tags].
    """
    best = np.array(score[0])
    back = []
    for now in score[1:]:
        reached = best[:, None] + transition_params
        back.append(reached.argmax(0))
        best = now + reached.max(0)
    tags = [int(best.argmax())]
    for before in reversed(back):
        tags.append(int(before[tags[-1]]))
    return tags[::-1], best.max()


def crf_decode(potentials: Any, transition_params: Any, sequence_length: Any) -> tuple[Any, Any]:
    """Return the best sequences of tags and their scores.

    Args:
      potentials: [batch, time, tags].
      transition_params: [tags, tags].
      sequence_length: [batch].

    Returns:
      [batch, time] of int32, 0 behind a sequence's end, and [batch].
    """
    lengths = tf.convert_to_tensor(sequence_length)
    first = potentials[:, 0]

    def one() -> tuple[Any, Any]:
        tags = tf.expand_dims(tf.argmax(first, axis=1, output_type=tf.int32), 1)
        return tags, tf.reduce_max(first, axis=1)

    def more() -> tuple[Any, Any]:
        steps = tf.maximum(lengths - 1, 0)
        back, last = tf.nn.dynamic_rnn(
            CrfDecodeForwardRnnCell(transition_params),
            potentials[:, 1:],
            sequence_length=steps,
            initial_state=first,
            dtype=tf.int32,
        )
        final = tf.expand_dims(tf.argmax(last, axis=1, output_type=tf.int32), 1)
        tags, _ = tf.nn.dynamic_rnn(
            CrfDecodeBackwardRnnCell(potentials.shape[2].value),
            tf.reverse_sequence(back, steps, seq_axis=1),
            sequence_length=steps,
            initial_state=final,
            dtype=tf.int32,
        )
        tags = tf.concat([final, tags[:, :, 0]], axis=1)
        return tf.reverse_sequence(tags, lengths, seq_axis=1), tf.reduce_max(last, axis=1)

    return _if_one_step(potentials, one, more)  # type: ignore[no-any-return]
