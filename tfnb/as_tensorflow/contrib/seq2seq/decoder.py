"""A decoder, and the loop that runs its steps."""

from __future__ import annotations

import contextlib
from typing import Any

from tfnb.client.public.api import tf
from tfnb.framework.constant_value import constant_value
from tfnb.framework.structures import nest
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.library.rnn.state import zero_states
from tfnb.library.rnn.step import read_variables_on_their_device


class Decoder:
    """The base of all decoders."""

    @property
    def batch_size(self) -> Any:
        """The number of sequences."""
        raise NotImplementedError

    @property
    def output_size(self) -> Any:
        """The sizes of a step's outputs: a number, a shape, or a structure of them."""
        raise NotImplementedError

    @property
    def output_dtype(self) -> Any:
        """The types of a step's outputs, in the structure of ``output_size``."""
        raise NotImplementedError

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs, first state)."""
        raise NotImplementedError

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return (outputs, next state, next inputs, finished)."""
        raise NotImplementedError

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return (outputs, state) after the last step."""
        raise NotImplementedError

    @property
    def tracks_own_finished(self) -> bool:
        """Whether ``finished`` of a step is the whole truth.

        Otherwise a sequence that finished once stays so.
        """
        return False


def _transpose_batch_time(x: Any) -> Any:
    """Return a tensor with its first two dimensions exchanged, if it has two."""
    rank = x.shape.ndims
    if rank is not None and rank < 2:
        return x
    order = tf.concat([[1, 0], tf.range(2, tf.rank(x))], 0) if rank is None else None
    return tf.transpose(x, [1, 0, *range(2, rank)] if order is None else order)


def output_layer_size(cell: Any, layer: Any) -> Any:
    """Return the sizes of a cell's outputs, after a layer unless it is None."""
    size = cell.output_size
    if layer is None:
        return size
    shapes = nest.map_structure(lambda one: tf.TensorShape([None]).concatenate(one), size)
    return nest.map_structure(lambda shape: shape[1:], layer.compute_output_shape(shapes))


def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: Any = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Run a decoder until all sequences are finished.

    Args:
      decoder: the decoder.
      output_time_major: whether outputs are [time, batch, ...], and not [batch, time, ...].
      impute_finished: whether states of finished sequences stay, and their outputs are zeros.
      maximum_iterations: the most steps; without end by default.
      parallel_iterations: of the loop.
      swap_memory: of the loop.
      scope: the variable scope; "decoder" by default.

    Returns:
      Outputs, the last state, and [batch] lengths of the sequences.

    Raises:
      TypeError: the decoder is none.
      ValueError: ``maximum_iterations`` is no scalar.
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with tf.variable_scope(scope, "decoder") as opened:
        read_variables_on_their_device(opened)
        if maximum_iterations is not None:
            maximum_iterations = tf.convert_to_tensor(
                maximum_iterations, dtype=tf.int32, name="maximum_iterations"
            )
            if maximum_iterations.shape.ndims != 0:
                raise ValueError("maximum_iterations must be a scalar")
        finished, inputs, state = decoder.initialize()
        if maximum_iterations is not None:
            finished = tf.logical_or(finished, maximum_iterations <= 0)
        loop = _Loop(decoder, impute_finished)
        time = tf.constant(0, tf.int32)
        lengths = tf.zeros_like(finished, dtype=tf.int32)
        _, arrays, last_state, _, _, last_lengths = tf.while_loop(
            lambda _time, _arrays, _state, _inputs, done, _lengths: tf.logical_not(
                tf.reduce_all(done)
            ),
            loop.body,
            (time, loop.arrays(), state, inputs, finished, lengths),
            parallel_iterations=parallel_iterations,
            maximum_iterations=maximum_iterations,
            swap_memory=swap_memory,
        )
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        with contextlib.suppress(NotImplementedError):  # a decoder may have no last step
            outputs, last_state = decoder.finalize(outputs, last_state, last_lengths)
        if not output_time_major:
            outputs = nest.map_structure(_transpose_batch_time, outputs)
    return outputs, last_state, last_lengths


class _Loop:
    """The body of the loop.

    Args:
      decoder: the decoder.
      impute_finished: whether finished sequences stand still.
    """

    def __init__(self, decoder: Decoder, impute_finished: bool) -> None:
        self._decoder = decoder
        self._impute_finished = impute_finished
        self._zeros = nest.map_structure(
            lambda size, dtype: zero_states(size, decoder.batch_size, dtype),
            decoder.output_size,
            decoder.output_dtype,
        )

    def arrays(self) -> Any:
        """Return empty arrays for outputs."""
        return nest.map_structure(
            self._array, self._decoder.output_size, self._decoder.output_dtype
        )

    def _array(self, size: Any, dtype: Any) -> TensorArray:
        shape = None
        if isinstance(size, tf.TensorShape) and size.ndims != 0:
            batch = constant_value(tf.convert_to_tensor(self._decoder.batch_size))
            shape = tf.TensorShape([batch]).concatenate(size)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

    def body(
        self, time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, lengths: Any
    ) -> tuple[Any, ...]:
        """Run one step; return the loop's next values."""
        decoder = self._decoder
        outputs, next_state, next_inputs, now = decoder.step(time, inputs, state)
        next_finished = now if decoder.tracks_own_finished else tf.logical_or(now, finished)
        reached = tf.fill(tf.shape(lengths), time + 1)
        next_lengths = tf.where(tf.logical_not(finished), reached, lengths)
        nest.assert_same_structure(state, next_state)
        nest.assert_same_structure(arrays, outputs)
        nest.assert_same_structure(inputs, next_inputs)
        if self._impute_finished:
            outputs = nest.map_structure(
                lambda new, zero: tf.where(finished, zero, new), outputs, self._zeros
            )
            next_state = nest.map_structure(
                lambda new, old: _kept(finished, new, old), next_state, state
            )
        arrays = nest.map_structure(lambda array, new: array.write(time, new), arrays, outputs)
        return time + 1, arrays, next_state, next_inputs, next_finished, next_lengths


def _kept(finished: Any, new: Any, old: Any) -> Any:
    """Return the old value of finished sequences; scalars and arrays have no sequences."""
    if isinstance(old, TensorArray):
        return new
    new.set_shape(old.shape)
    return new if new.shape.ndims == 0 else tf.where(finished, old, new)
