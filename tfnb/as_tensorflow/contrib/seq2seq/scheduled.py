"""Helpers that train on a mix of known inputs and a decoder's own samples.

Source: Bengio, Vinyals, Jaitly and Shazeer, scheduled sampling.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.seq2seq.decoder import _transpose_batch_time
from tfnb.as_tensorflow.contrib.seq2seq.helper import (
    TrainingHelper,
    _embedding_function,
    _unstack_ta,
)
from tfnb.as_tensorflow.contrib.seq2seq.sampling import bernoulli_sample, categorical_sample
from tfnb.client.public.api import tf
from tfnb.framework.structures import nest

if TYPE_CHECKING:
    from collections.abc import Callable


def _probability(given: Any) -> Any:
    found = tf.convert_to_tensor(given, name="sampling_probability")
    if found.shape.ndims not in (0, 1):
        raise ValueError(
            f"sampling_probability must be either a scalar or a vector. saw shape: {found.shape}"
        )
    return found


def _mixed(is_sampled: Any, known: Any, sampled: Callable[[Any], Any]) -> Any:
    """Return known rows, but where sampled those that a function makes of their indices."""
    shape = tf.shape(known)
    chosen = tf.cast(tf.where(is_sampled), tf.int32)
    rest = tf.cast(tf.where(tf.logical_not(is_sampled)), tf.int32)
    return tf.scatter_nd(chosen, sampled(chosen), shape) + tf.scatter_nd(
        rest, tf.gather_nd(known, rest), shape
    )


def _draws(probability: Any, batch_size: Any, dtype: Any, seed: Any) -> Any:
    """Return [batch] draws of one probability, or of one for each sequence."""
    shape = [] if probability.shape.ndims == 1 else batch_size
    return bernoulli_sample(probs=probability, dtype=dtype, sample_shape=shape, seed=seed)


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A helper that sometimes gives the embedding of a class that the outputs draw.

    Args:
      inputs: [batch, time, ...].
      sequence_length: [batch].
      embedding: a table, or a function of ids.
      sampling_probability: of a sample instead of the known input; a scalar, or one for each
        sequence.
      time_major: whether inputs are [time, batch, ...].
      seed: of the samples.
      scheduling_seed: of the choice between them.
      name: the name of the scope.

    Raises:
      ValueError: the probability is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: Any = None,
        scheduling_seed: Any = None,
        name: str | None = None,
    ) -> None:
        with tf.name_scope(name, "ScheduledEmbeddingSamplingWrapper"):
            self._embedding_fn = _embedding_function(embedding)
            self._sampling_probability = _probability(sampling_probability)
            self._seed = seed
            self._scheduling_seed = scheduling_seed
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return classes that are drawn, and -1 where the known input is taken."""
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperSample"):
            chosen = _draws(
                self._sampling_probability, self.batch_size, tf.bool, self._scheduling_seed
            )
            drawn = categorical_sample(outputs, seed=self._seed)
            return tf.where(chosen, drawn, tf.fill([self.batch_size], -1))

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return (finished, next inputs, state)."""
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs"):
            finished, known, state = super().next_inputs(time, outputs, state, sample_ids)

            def mixed() -> Any:
                return _mixed(
                    sample_ids > -1,
                    known,
                    lambda rows: self._embedding_fn(tf.gather_nd(sample_ids, rows)),
                )

            return finished, tf.cond(tf.reduce_all(finished), lambda: known, mixed), state


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A helper that sometimes gives the outputs themselves.

    Args:
      inputs: [batch, time, ...].
      sequence_length: [batch].
      sampling_probability: of outputs instead of the known input; a scalar, or one for each
        sequence.
      time_major: whether inputs are [time, batch, ...].
      seed: of the choice.
      next_inputs_fn: from outputs to inputs; the outputs themselves by default.
      auxiliary_inputs: [batch, time, ...], joined to each input, known or not.
      name: the name of the scope.

    Raises:
      ValueError: the probability is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: Any = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        with tf.name_scope(name, "ScheduledOutputTrainingHelper"):
            self._sampling_probability = _probability(sampling_probability)
            self._seed = seed
            self._next_inputs_fn = next_inputs_fn
            self._auxiliary_input_tas = None
            if auxiliary_inputs is not None:
                inputs = nest.map_structure(_joined, inputs, auxiliary_inputs)
                by_time = nest.map_structure(tf.convert_to_tensor, auxiliary_inputs)
                if not time_major:
                    by_time = nest.map_structure(_transpose_batch_time, by_time)
                self._auxiliary_input_tas = nest.map_structure(_unstack_ta, by_time)
            super().__init__(inputs, sequence_length, time_major, name)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return 1 for each sequence that gets the outputs."""
        with tf.name_scope(name, "ScheduledOutputTrainingHelperSample"):
            return _draws(self._sampling_probability, self.batch_size, tf.int32, self._seed)

    def _with_auxiliary(self, outputs: Any, time: Any, rows: Any = None) -> Any:
        if self._auxiliary_input_tas is None:
            return outputs
        more = nest.map_structure(lambda array: array.read(time + 1), self._auxiliary_input_tas)
        if rows is not None:
            more = nest.map_structure(lambda one: tf.gather_nd(one, rows), more)
        return nest.map_structure(_joined, outputs, more)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return (finished, next inputs, state)."""
        with tf.name_scope(name, "ScheduledOutputTrainingHelperNextInputs"):
            finished, known, state = super().next_inputs(time, outputs, state, sample_ids)
            is_sampled = tf.cast(sample_ids, tf.bool)
            make = self._next_inputs_fn

            def mixed() -> Any:
                if make is None:
                    return tf.where(is_sampled, self._with_auxiliary(outputs, time), known)
                return _mixed(
                    is_sampled,
                    known,
                    lambda rows: self._with_auxiliary(
                        make(tf.gather_nd(outputs, rows)), time, rows
                    ),
                )

            is_known = tf.logical_or(
                tf.reduce_all(finished), tf.logical_not(tf.reduce_any(is_sampled))
            )
            return finished, tf.cond(is_known, lambda: known, mixed), state


def _joined(one: Any, other: Any) -> Any:
    return tf.concat([one, other], -1)
