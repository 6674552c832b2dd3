"""One step of a beam search: which beams go on, with penalties of length and coverage.

Source: Wu et al., Google's neural machine translation system.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tfnb.as_tensorflow.contrib.seq2seq.attention_wrapper import AttentionWrapperState
from tfnb.client.public.api import tf
from tfnb.framework.constant_value import constant_value
from tfnb.framework.structures import nest
from tfnb.library.control_flow.tensor_array import TensorArray


class BeamSearchDecoderState(NamedTuple):
    """The state of a beam search.

    Attributes:
      cell_state: the cell's, [batch, beam, ...].
      log_probs: [batch, beam], of the beams.
      finished: [batch, beam].
      lengths: [batch, beam] of int64, without ids behind the end.
      accumulated_attention_probs: [batch, beam, time] for the penalty of coverage, or ().
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


class BeamSearchDecoderOutput(NamedTuple):
    """Outputs of a step, each [batch, beam].

    Attributes:
      scores: logarithms of probabilities after penalties.
      predicted_ids: the ids that beams got.
      parent_ids: the beams that they extend.
    """

    scores: Any
    predicted_ids: Any
    parent_ids: Any


def _beam_search_step(
    time: Any,
    logits: Any,
    next_cell_state: Any,
    beam_state: BeamSearchDecoderState,
    batch_size: Any,
    beam_width: int,
    end_token: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """Return the output and the next state of one step, from logits [batch, beam, classes]."""
    finished, lengths = beam_state.finished, beam_state.lengths
    classes = logits.shape[-1].value
    if classes is None:
        classes = tf.shape(logits)[-1]
    step_log_probs = _mask_probs(tf.nn.log_softmax(logits), end_token, finished)
    total = tf.expand_dims(beam_state.log_probs, 2) + step_log_probs
    # An id makes a beam longer unless it ends it, or the beam is finished.
    adds = tf.one_hot(
        tf.fill([batch_size, beam_width], end_token),
        classes,
        on_value=tf.constant(0, tf.int64),
        off_value=tf.constant(1, tf.int64),
        dtype=tf.int64,
    )
    is_open = tf.cast(tf.logical_not(finished), tf.int64)
    new_lengths = tf.expand_dims(lengths, 2) + adds * tf.expand_dims(is_open, 2)

    attended = None
    now = get_attention_probs(next_cell_state, coverage_penalty_weight)
    if now is not None:
        counted = now * tf.expand_dims(tf.cast(tf.logical_not(finished), now.dtype), 2)
        attended = beam_state.accumulated_attention_probs + counted
    scores = _get_scores(
        log_probs=total,
        sequence_lengths=new_lengths,
        length_penalty_weight=length_penalty_weight,
        coverage_penalty_weight=coverage_penalty_weight,
        finished=finished,
        accumulated_attention_probs=attended,
    )
    best, places = tf.nn.top_k(tf.reshape(scores, [batch_size, -1]), k=beam_width)
    static_batch = constant_value(tf.convert_to_tensor(batch_size))
    best.set_shape([static_batch, beam_width])
    places.set_shape([static_batch, beam_width])
    ids = tf.cast(tf.mod(places, classes), tf.int32)
    parents = tf.cast(tf.floordiv(places, classes), tf.int32)

    def of_beams(value: Any, width: Any = beam_width, which: Any = parents) -> Any:
        return _of_beams(value, which, batch_size, width)

    was_finished = of_beams(finished)
    next_state = BeamSearchDecoderState(
        cell_state=nest.map_structure(
            lambda value: _of_beams_if_any(value, parents, batch_size, beam_width), next_cell_state
        ),
        log_probs=of_beams(tf.reshape(total, [batch_size, -1]), beam_width * classes, places),
        finished=tf.logical_or(was_finished, tf.equal(ids, end_token), name="next_beam_finished"),
        lengths=of_beams(lengths) + tf.cast(tf.logical_not(was_finished), tf.int64),
        accumulated_attention_probs=() if attended is None else of_beams(attended),
    )
    return BeamSearchDecoderOutput(best, ids, parents), next_state


def _of_beams(value: Any, beams: Any, batch_size: Any, width: Any) -> Any:
    """Return the parts [batch, beams, ...] of a value [batch, width, ...]."""
    starts = tf.expand_dims(tf.range(batch_size) * width, 1)
    flat = tf.reshape(value, tf.concat([[batch_size * width], tf.shape(value)[2:]], 0))
    found = tf.gather(flat, beams + starts)
    static = constant_value(tf.convert_to_tensor(batch_size))
    shape = tf.TensorShape([static, beams.shape[1]])
    found.set_shape(shape.concatenate(value.shape[2:]))
    return found


def _of_beams_if_any(value: Any, beams: Any, batch_size: Any, width: Any) -> Any:
    """Return the parts of a state; arrays are sorted at the end, numbers have no beams."""
    if isinstance(value, TensorArray):
        return value
    if value.shape.ndims is None:
        raise ValueError(f"Expected tensor ({value}) to have known rank, but ndims == None.")
    return _of_beams(value, beams, batch_size, width) if value.shape.ndims >= 2 else value


def get_attention_probs(next_cell_state: Any, coverage_penalty_weight: Any) -> Any:
    """Return the mean of a state's alignments; None without a penalty of coverage.

    Raises:
      ValueError: there is a penalty, and no cell attends.
    """
    if isinstance(coverage_penalty_weight, int | float) and coverage_penalty_weight == 0:
        return None
    states = [next_cell_state]
    if isinstance(next_cell_state, tuple) and not isinstance(
        next_cell_state, AttentionWrapperState
    ):
        states = list(next_cell_state)
    found = [
        attention_probs_from_attn_state(one)
        for one in states
        if isinstance(one, AttentionWrapperState)
    ]
    if not found:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    return found[0] if len(found) == 1 else tf.reduce_mean(tf.stack(found, -1), -1)


def attention_probs_from_attn_state(attention_state: AttentionWrapperState) -> Any:
    """Return the mean of the alignments of all mechanisms."""
    found = attention_state.alignments
    return tf.reduce_mean(tf.stack(found, -1), -1) if isinstance(found, tuple) else found


def _get_scores(
    log_probs: Any,
    sequence_lengths: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
    finished: Any,
    accumulated_attention_probs: Any,
) -> Any:
    """Return logarithms of probabilities after the penalties of length and coverage."""
    penalty = _length_penalty(sequence_lengths, length_penalty_weight)
    scores = log_probs / tf.cast(penalty, log_probs.dtype)
    weight = tf.convert_to_tensor(coverage_penalty_weight, name="coverage_penalty_weight")
    if weight.shape.ndims != 0:
        raise ValueError(
            f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}"
        )
    if constant_value(weight) == 0.0:
        return scores
    if accumulated_attention_probs is None:
        raise ValueError(
            "accumulated_attention_probs can be None only if coverage penalty is disabled."
        )
    # Rows of the memory that do not count have no attention at all.
    seen = tf.where(
        tf.equal(accumulated_attention_probs, 0.0),
        tf.ones_like(accumulated_attention_probs),
        accumulated_attention_probs,
    )
    covered = tf.reduce_sum(tf.log(tf.minimum(seen, 1.0)), 2) * tf.cast(finished, seen.dtype)
    return scores + tf.expand_dims(covered * weight, 2)


def _length_penalty(sequence_lengths: Any, penalty_factor: Any) -> Any:
    """Return ((5 + length) / 6) to the power of the factor."""
    factor = tf.convert_to_tensor(penalty_factor, name="penalty_factor")
    factor.set_shape(())
    if constant_value(factor) == 0:
        return 1.0
    return ((5.0 + tf.cast(sequence_lengths, tf.float32)) / 6.0) ** factor


def _mask_probs(probs: Any, eos_token: Any, finished: Any) -> Any:
    """Return probabilities that let a finished beam only end again, at no cost."""
    classes = tf.shape(probs)[2]
    row = tf.one_hot(
        eos_token,
        classes,
        dtype=probs.dtype,
        on_value=tf.constant(0.0, probs.dtype),
        off_value=tf.constant(probs.dtype.min, probs.dtype),
    )
    rows = tf.tile(tf.reshape(row, [1, 1, -1]), tf.concat([tf.shape(finished), [1]], 0))
    is_finished = tf.tile(tf.expand_dims(finished, 2), [1, 1, classes])
    return tf.where(is_finished, rows, probs)
