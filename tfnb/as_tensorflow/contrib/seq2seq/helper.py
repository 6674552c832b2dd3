"""Helpers: what a decoder samples from its outputs, and what it gets next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.seq2seq.decoder import _transpose_batch_time
from tfnb.as_tensorflow.contrib.seq2seq.sampling import bernoulli_sample as bernoulli_sample
from tfnb.as_tensorflow.contrib.seq2seq.sampling import categorical_sample as categorical_sample
from tfnb.client.public.api import tf
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.tensor_array import TensorArray

if TYPE_CHECKING:
    from collections.abc import Callable


class Helper:
    """The base of all helpers."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences, a scalar."""
        raise NotImplementedError("batch_size has not been implemented")

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample, without the batch."""
        raise NotImplementedError("sample_ids_shape has not been implemented")

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of samples."""
        raise NotImplementedError("sample_ids_dtype has not been implemented")

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs)."""
        raise NotImplementedError

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return samples of the outputs."""
        raise NotImplementedError

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (finished, next inputs, next state)."""
        raise NotImplementedError


class CustomHelper(Helper):
    """A helper made of functions.

    Args:
      initialize_fn: ``() -> (finished, first inputs)``.
      sample_fn: ``(time, outputs, state) -> samples``.
      next_inputs_fn: ``(time, outputs, state, sample_ids) -> (finished, next inputs, state)``.
      sample_ids_shape: of a sample, without the batch; a scalar by default.
      sample_ids_dtype: of samples; int32 by default.
    """

    def __init__(
        self,
        initialize_fn: Callable[..., Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: Any = None,
        sample_ids_dtype: Any = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = tf.TensorShape(sample_ids_shape or [])
        self._sample_ids_dtype = sample_ids_dtype or tf.int32

    @property
    def batch_size(self) -> Any:
        """The number of sequences.

        Raises:
          ValueError: ``initialize`` was not called.
        """
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample, without the batch."""
        return self._sample_ids_shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of samples."""
        return self._sample_ids_dtype

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs)."""
        with tf.name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = tf.size(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return samples of the outputs."""
        with tf.name_scope(name, f"{type(self).__name__}Sample"):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (finished, next inputs, next state)."""
        with tf.name_scope(name, f"{type(self).__name__}NextInputs"):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


def _unstack_ta(inputs: Any) -> TensorArray:
    """Return an array of the rows of a tensor."""
    size = tf.shape(inputs)[0]
    return TensorArray(inputs.dtype, size=size, element_shape=inputs.shape[1:]).unstack(inputs)


class TrainingHelper(Helper):
    """A helper that gives the inputs of a known sequence, for training.

    Args:
      inputs: [batch, time, ...], or a structure of them.
      sequence_length: [batch].
      time_major: whether inputs are [time, batch, ...].
      name: the name of the scope.

    Raises:
      ValueError: ``sequence_length`` is no vector.
    """

    def __init__(
        self, inputs: Any, sequence_length: Any, time_major: bool = False, name: str | None = None
    ) -> None:
        with tf.name_scope(name, "TrainingHelper", [inputs, sequence_length]):
            self._inputs = nest.map_structure(
                lambda one: tf.convert_to_tensor(one, name="inputs"), inputs
            )
            by_time = self._inputs
            if not time_major:
                by_time = nest.map_structure(_transpose_batch_time, by_time)
            self._input_tas = nest.map_structure(_unstack_ta, by_time)
            self._sequence_length = tf.convert_to_tensor(sequence_length, name="sequence_length")
            if self._sequence_length.shape.ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{self._sequence_length.shape}"
                )
            self._zero_inputs = nest.map_structure(lambda one: tf.zeros_like(one[0]), by_time)
            self._batch_size = tf.size(self._sequence_length)

    @property
    def inputs(self) -> Any:
        """The inputs."""
        return self._inputs

    @property
    def sequence_length(self) -> Any:
        """The lengths of the sequences."""
        return self._sequence_length

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample: a scalar."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of samples."""
        return tf.int32

    def _read(self, finished: Any, time: Any) -> Any:
        return tf.cond(
            tf.reduce_all(finished),
            lambda: self._zero_inputs,
            lambda: nest.map_structure(lambda array: array.read(time), self._input_tas),
        )

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs)."""
        with tf.name_scope(name, "TrainingHelperInitialize"):
            finished = tf.equal(0, self._sequence_length)
            return finished, self._read(finished, 0)

    def sample(self, time: Any, outputs: Any, state: Any = None, name: str | None = None) -> Any:
        """Return the largest output's number."""
        with tf.name_scope(name, "TrainingHelperSample", [time, outputs]):
            return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
    ) -> Any:
        """Return (finished, next inputs, state)."""
        with tf.name_scope(name, "TrainingHelperNextInputs", [time, outputs]):
            next_time = time + 1
            finished = next_time >= tf.cast(self._sequence_length, next_time.dtype)
            return finished, self._read(finished, next_time), state


def _embedding_function(embedding: Any) -> Callable[[Any], Any]:
    if callable(embedding):
        return embedding  # type: ignore[no-any-return]
    return lambda ids: tf.nn.embedding_lookup(embedding, ids)


def _single_output(outputs: Any) -> None:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")


class GreedyEmbeddingHelper(Helper):
    """A helper that feeds the most probable class back, through an embedding.

    Args:
      embedding: a table, or a function of ids.
      start_tokens: [batch], the first ids.
      end_token: the id that ends a sequence.

    Raises:
      ValueError: the start is no vector, or the end no scalar.
    """

    def __init__(self, embedding: Any, start_tokens: Any, end_token: Any) -> None:
        self._embedding_fn = _embedding_function(embedding)
        self._start_tokens = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._start_tokens.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample: a scalar."""
        return tf.TensorShape([])

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of samples."""
        return tf.int32

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs)."""
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the largest output's number.

        Raises:
          TypeError: the output is no single tensor.
        """
        _single_output(outputs)
        return tf.argmax(outputs, axis=-1, output_type=tf.int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (finished, next inputs, state)."""
        finished = tf.equal(sample_ids, self._end_token)
        next_inputs = tf.cond(
            tf.reduce_all(finished),
            lambda: self._start_inputs,
            lambda: self._embedding_fn(sample_ids),
        )
        return finished, next_inputs, state


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper that feeds a class back that is drawn by the outputs, through an embedding.

    Args:
      embedding: a table, or a function of ids.
      start_tokens: [batch], the first ids.
      end_token: the id that ends a sequence.
      softmax_temperature: divides the logits: above 1 for more variety.
      seed: of the random numbers.
    """

    def __init__(
        self,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        softmax_temperature: Any = None,
        seed: Any = None,
    ) -> None:
        super().__init__(embedding, start_tokens, end_token)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return classes that are drawn.

        Raises:
          TypeError: the output is no single tensor.
        """
        _single_output(outputs)
        temperature = self._softmax_temperature
        logits = outputs if temperature is None else outputs / temperature
        return categorical_sample(logits, seed=self._seed)


class InferenceHelper(Helper):
    """A helper that feeds samples back, made of functions.

    Args:
      sample_fn: from outputs to samples.
      sample_shape: of a sample, without the batch.
      sample_dtype: of samples.
      start_inputs: [batch, ...], the first inputs.
      end_fn: from samples to ``finished``.
      next_inputs_fn: from samples to inputs; the samples themselves by default.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: Any,
        sample_dtype: Any,
        start_inputs: Any,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._sample_shape = tf.TensorShape(sample_shape)
        self._sample_dtype = sample_dtype
        self._start_inputs = tf.convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = tf.shape(self._start_inputs)[0]
        self._end_fn = end_fn
        self._next_inputs_fn = next_inputs_fn

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        return self._batch_size

    @property
    def sample_ids_shape(self) -> Any:
        """The shape of a sample, without the batch."""
        return self._sample_shape

    @property
    def sample_ids_dtype(self) -> Any:
        """The type of samples."""
        return self._sample_dtype

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs)."""
        return tf.tile([False], [self._batch_size]), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return samples of the outputs."""
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (finished, next inputs, state)."""
        make = self._next_inputs_fn
        return self._end_fn(sample_ids), (sample_ids if make is None else make(sample_ids)), state


def __getattr__(name: str) -> Any:
    """Return the helpers of ``scheduled.py``, which stand in this file in TensorFlow."""
    from tfnb.as_tensorflow.contrib.seq2seq import scheduled

    if name.startswith("Scheduled"):
        return getattr(scheduled, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
