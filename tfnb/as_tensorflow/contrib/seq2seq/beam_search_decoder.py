"""A decoder that keeps the best beams of each sequence."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import (
    _tile_batch as _tile_batch,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import gather_tree
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import (
    gather_tree_from_array as gather_tree_from_array,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_ops import tile_batch as tile_batch
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    BeamSearchDecoderOutput as BeamSearchDecoderOutput,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    BeamSearchDecoderState as BeamSearchDecoderState,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    _beam_search_step as _beam_search_step,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import _get_scores as _get_scores
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    _length_penalty as _length_penalty,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import _mask_probs as _mask_probs
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    attention_probs_from_attn_state as attention_probs_from_attn_state,
)
from tfnb.as_tensorflow.contrib.seq2seq.beam_search_step import (
    get_attention_probs as get_attention_probs,
)
from tfnb.as_tensorflow.contrib.seq2seq.decoder import Decoder, output_layer_size
from tfnb.as_tensorflow.contrib.seq2seq.helper import _embedding_function
from tfnb.client.public.api import tf
from tfnb.framework.constant_value import constant_value
from tfnb.framework.structures import nest
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.library.layers.base import Layer
from tfnb.library.rnn.state import assert_like_rnn_cell


class FinalBeamSearchDecoderOutput(NamedTuple):
    """The result of a beam search.

    Attributes:
      predicted_ids: [batch, time, beam], the best beam first, -1 or the end behind the end.
      beam_search_decoder_output: scores, ids and parents of the steps.
    """

    predicted_ids: Any
    beam_search_decoder_output: Any


class BeamSearchDecoder(Decoder):
    """A decoder that searches beams.

    The memory and the first state of an ``AttentionWrapper`` have to be tiled with ``tile_batch``.

    Args:
      cell: the cell.
      embedding: a table, or a function of ids.
      start_tokens: [batch], the first ids.
      end_token: the id that ends a sequence.
      initial_state: the cell's first state, [batch * beam, ...].
      beam_width: the number of beams.
      output_layer: a layer over the cell's outputs, or None.
      length_penalty_weight: 0 for none.
      coverage_penalty_weight: 0 for none.
      reorder_tensor_arrays: whether arrays of the state, as histories of alignments, are sorted by
        beam at the end.

    Raises:
      TypeError: the cell or the layer is none.
      ValueError: the start is no vector, or the end no scalar.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        assert_like_rnn_cell("cell", cell)
        if output_layer is not None and not isinstance(output_layer, Layer):
            raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")
        self._cell = cell
        self._output_layer = output_layer
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._embedding_fn = _embedding_function(embedding)
        starts = tf.convert_to_tensor(start_tokens, tf.int32, name="start_tokens")
        if starts.shape.ndims != 1:
            raise ValueError("start_tokens must be a vector")
        self._end_token = tf.convert_to_tensor(end_token, tf.int32, name="end_token")
        if self._end_token.shape.ndims != 0:
            raise ValueError("end_token must be a scalar")
        self._batch_size = tf.size(starts)
        self._static_batch_size = starts.shape[0].value
        self._initial_cell_state = nest.map_structure(
            self._maybe_split_batch_beams, initial_state, cell.state_size
        )
        self._start_tokens = tf.tile(tf.expand_dims(starts, 1), [1, beam_width])
        self._start_inputs = self._embedding_fn(self._start_tokens)
        # At first all beams are the same: only the first of them is open.
        self._finished = tf.one_hot(
            tf.zeros([self._batch_size], tf.int32),
            beam_width,
            on_value=False,
            off_value=True,
            dtype=tf.bool,
        )

    @property
    def batch_size(self) -> Any:
        """The number of sequences, without their beams."""
        return self._batch_size

    def _rnn_output_size(self) -> Any:
        return output_layer_size(self._cell, self._output_layer)

    @property
    def tracks_own_finished(self) -> bool:
        """Whether ``finished`` of a step is the whole truth: beams change places."""
        return True

    @property
    def output_size(self) -> Any:
        """The sizes of a step's outputs."""
        width = tf.TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(width, width, width)

    @property
    def _state_dtype(self) -> Any:
        return nest.flatten(self._initial_cell_state)[0].dtype

    @property
    def output_dtype(self) -> Any:
        """The types of a step's outputs."""
        dtype = self._state_dtype
        scores = nest.map_structure(lambda _: dtype, self._rnn_output_size())
        return BeamSearchDecoderOutput(scores, tf.int32, tf.int32)

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs, first state)."""
        dtype = self._state_dtype
        log_probs = tf.one_hot(
            tf.zeros([self._batch_size], tf.int32),
            self._beam_width,
            on_value=tf.constant(0.0, dtype),
            off_value=tf.constant(-math.inf, dtype),
            dtype=dtype,
        )
        attended = get_attention_probs(self._initial_cell_state, self._coverage_penalty_weight)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=tf.zeros([self._batch_size, self._beam_width], tf.int64),
            accumulated_attention_probs=() if attended is None else attended,
        )
        return self._finished, self._start_inputs, state

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return whole beams, and the state with its arrays sorted."""
        longest = tf.cast(tf.reduce_max(final_state.lengths, axis=1), tf.int32)
        predicted = gather_tree(
            outputs.predicted_ids,
            outputs.parent_ids,
            max_sequence_lengths=longest,
            end_token=self._end_token,
        )
        if self._reorder_tensor_arrays:
            sorted_state = nest.map_structure(
                lambda value: self._maybe_sort_array_beams(
                    value, outputs.parent_ids, final_state.lengths
                ),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=sorted_state)
        return FinalBeamSearchDecoderOutput(predicted, outputs), final_state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return (outputs, next state, next inputs, finished)."""
        with tf.name_scope(name, "BeamSearchDecoderStep"):
            sizes = self._cell.state_size
            inputs = nest.map_structure(
                lambda one: self._merge_batch_beams(one, one.shape[2:]), inputs
            )
            cell_state = nest.map_structure(self._maybe_merge_batch_beams, state.cell_state, sizes)
            outputs, next_cell_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(
                lambda one: self._split_batch_beams(one, one.shape[1:]), outputs
            )
            next_cell_state = nest.map_structure(
                self._maybe_split_batch_beams, next_cell_state, sizes
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            found, next_state = _beam_search_step(
                time=time,
                logits=outputs,
                next_cell_state=next_cell_state,
                beam_state=state,
                batch_size=self._batch_size,
                beam_width=self._beam_width,
                end_token=self._end_token,
                length_penalty_weight=self._length_penalty_weight,
                coverage_penalty_weight=self._coverage_penalty_weight,
            )
            next_inputs = tf.cond(
                tf.reduce_all(next_state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(found.predicted_ids),
            )
        return found, next_state, next_inputs, next_state.finished

    def _merge_batch_beams(self, t: Any, s: Any = None) -> Any:
        """Return [batch * beam, ...] of [batch, beam, ...]."""
        batch, width = self._batch_size, self._beam_width
        merged = tf.reshape(t, tf.concat([[batch * width], tf.shape(t)[2:]], 0))
        static = self._static_batch_size
        rows = None if static is None else static * width
        merged.set_shape(tf.TensorShape([rows]).concatenate(_static_shape(s)))
        return merged

    def _split_batch_beams(self, t: Any, s: Any = None) -> Any:
        """Return [batch, beam, ...] of [batch * beam, ...]."""
        batch, width = self._batch_size, self._beam_width
        split = tf.reshape(t, tf.concat([[batch, width], tf.shape(t)[1:]], 0))
        expected = tf.TensorShape([self._static_batch_size, width]).concatenate(_static_shape(s))
        if not split.shape.is_compatible_with(expected):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The "
                f"reshaped tensor has shape: {split.shape}.  We expected it to have shape "
                f"(batch_size, beam_width, depth) == {expected}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        split.set_shape(expected)
        return split

    def _maybe_split_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        return self._split_batch_beams(t, s) if _rank(t) >= 1 else t

    def _maybe_merge_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, TensorArray):
            return t
        return self._merge_batch_beams(t, s) if _rank(t) >= 2 else t

    def _maybe_sort_array_beams(self, t: Any, parent_ids: Any, sequence_length: Any) -> Any:
        """Return an array's elements in the order of the beams, stacked by time."""
        if not isinstance(t, TensorArray):
            return t
        shape = t.element_shape
        if shape.ndims is None or shape.ndims < 1:
            tf.logging.warn(
                "A TensorArray in the cell state is not sorted by the beam search result: the "
                f"shape of its elements must have at least a rank of 1, but is {shape}"
            )
            return t
        batch, width, first = self._static_batch_size, self._beam_width, shape[0].value
        is_split = shape.ndims >= 2 and (first, shape[1].value) == (batch, width)
        if batch is not None and first is not None and first != batch * width and not is_split:
            tf.logging.warn(
                "TensorArray reordering expects elements to be reshapable to "
                f"[{batch}, {width}, -1], which is incompatible with the shape {shape}. Set "
                "reorder_tensor_arrays to False to disable it."
            )
            return t
        stacked = t.stack()
        fits = tf.equal(
            tf.size(stacked[0]), self._batch_size * width * _per_beam(stacked, is_split)
        )
        check = tf.Assert(
            fits,
            [
                "TensorArray reordering expects elements to be reshapable to "
                "[batch_size, beam_size, -1]: set reorder_tensor_arrays to False to disable it. "
                "Shape of all elements:",
                tf.shape(stacked),
            ],
        )
        with tf.control_dependencies([check]):
            return gather_tree_from_array(tf.identity(stacked), parent_ids, sequence_length)


def _static_shape(given: Any) -> Any:
    """Return a shape of a size: a number, a shape, or a tensor."""
    if hasattr(given, "op"):
        found = constant_value(given)
        return tf.TensorShape([None] if found is None else found)
    return tf.TensorShape(given)


def _rank(t: Any) -> int:
    if t.shape.ndims is None:
        raise ValueError(f"Expected tensor ({t}) to have known rank, but ndims == None.")
    return int(t.shape.ndims)


def _per_beam(stacked: Any, is_split: bool) -> Any:
    return tf.reduce_prod(tf.shape(stacked)[3 if is_split else 2 :])
