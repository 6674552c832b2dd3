"""Cells that run over the whole time, and networks in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.framework.structures import nest

if TYPE_CHECKING:
    from collections.abc import Sequence


class FusedRNNCell:
    """The base: ``cell(inputs, initial_state, dtype, sequence_length, scope)``.

    Inputs are [time, batch, depth], or a list of [batch, depth]; outputs have the same form.
    """

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return outputs and the last state."""
        raise NotImplementedError


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell that is run over the whole time.

    Args:
      cell: the cell.
      use_dynamic_rnn: whether it runs in a loop, or else once for each step.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return outputs and the last state."""
        is_list = isinstance(inputs, list | tuple)
        options = {
            "sequence_length": sequence_length,
            "initial_state": initial_state,
            "dtype": dtype,
            "scope": scope,
        }
        if self._use_dynamic_rnn:
            given = tf.stack(inputs) if is_list else inputs
            outputs, state = tf.nn.dynamic_rnn(self._cell, given, time_major=True, **options)
            return (tf.unstack(outputs) if is_list else outputs), state
        given = list(inputs) if is_list else tf.unstack(inputs)
        outputs, state = tf.nn.static_rnn(self._cell, given, **options)
        return (outputs if is_list else tf.stack(outputs)), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A cell that runs from the end of each sequence to its start.

    Args:
      cell: a ``FusedRNNCell``.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return outputs and the state at the start."""
        outputs, state = self._cell(
            _reversed(inputs, sequence_length),
            initial_state=initial_state,
            dtype=dtype,
            sequence_length=sequence_length,
            scope=scope,
        )
        return nest.map_structure(lambda one: _reversed(one, sequence_length), outputs), state


def _reversed(value: Any, lengths: Any) -> Any:
    """Return a tensor [time, batch, ...], or a list of its steps, backwards."""
    if isinstance(value, list | tuple):
        return tf.unstack(_reversed(tf.stack(value), lengths))
    if lengths is None:
        return tf.reverse(value, [0])
    return tf.reverse_sequence(value, lengths, seq_axis=0, batch_axis=1)


def stack_bidirectional_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Sequence[Any],
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return outputs and last states of layers that run in both directions, step by step.

    Args:
      cells_fw: a cell for each layer, forwards.
      cells_bw: as many cells, backwards.
      inputs: a list of [batch, depth].
      initial_states_fw: a state for each cell, or None for zeros.
      initial_states_bw: the same, backwards.
      dtype: of states that are not given.
      sequence_length: [batch], the length of each sequence.
      scope: the variable scope.

    Raises:
      ValueError: the cells are not as many in both directions, or there are none.
    """
    before_fw, before_bw = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    value = inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for layer, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{layer}"):
                value, state_fw, state_bw = tf.nn.static_bidirectional_rnn(
                    forward,
                    backward,
                    value,
                    initial_state_fw=before_fw[layer],
                    initial_state_bw=before_bw[layer],
                    sequence_length=sequence_length,
                    dtype=dtype,
                )
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return value, tuple(states_fw), tuple(states_bw)


def _checked(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    states_fw: Sequence[Any] | None,
    states_bw: Sequence[Any] | None,
) -> tuple[Sequence[Any], Sequence[Any]]:
    if not cells_fw or len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth, one at least.")
    for states in (states_fw, states_bw):
        if states is not None and len(states) != len(cells_fw):
            raise ValueError("Initial states must be as many as there are layers.")
    none = [None] * len(cells_fw)
    return states_fw or none, states_bw or none


def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[Any],
    cells_bw: Sequence[Any],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return outputs and last states of layers that run in both directions.

    Each layer gets the outputs of both directions of the layer below, joined by depth.

    Args:
      cells_fw: a cell for each layer, forwards.
      cells_bw: as many cells, backwards.
      inputs: [batch, time, depth], or [time, batch, depth] if ``time_major``.
      initial_states_fw: a state for each cell, or None for zeros.
      initial_states_bw: the same, backwards.
      dtype: of states that are not given.
      sequence_length: [batch], the length of each sequence.
      parallel_iterations: of the loops.
      time_major: the order of the inputs' dimensions.
      scope: the variable scope.
      swap_memory: of the loops.
      scope: of the variables.

    Raises:
      ValueError: the cells are not as many in both directions, or there are none.
    """
    before_fw, before_bw = _checked(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    states_fw, states_bw = [], []
    value = inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for layer, (forward, backward) in enumerate(zip(cells_fw, cells_bw, strict=True)):
            with tf.variable_scope(f"cell_{layer}"):
                outputs, (state_fw, state_bw) = tf.nn.bidirectional_dynamic_rnn(
                    forward,
                    backward,
                    value,
                    initial_state_fw=before_fw[layer],
                    initial_state_bw=before_bw[layer],
                    sequence_length=sequence_length,
                    parallel_iterations=parallel_iterations,
                    dtype=dtype,
                    time_major=time_major,
                    swap_memory=swap_memory,
                )
                value = tf.concat(outputs, 2)
            states_fw.append(state_fw)
            states_bw.append(state_bw)
    return value, tuple(states_fw), tuple(states_bw)


def transpose_batch_time(x: Any) -> Any:
    """Return a tensor with its first two dimensions exchanged; less than two are refused.

    Raises:
      ValueError: the tensor has fewer than two dimensions.
    """
    if x.shape.ndims is not None and x.shape.ndims < 2:
        raise ValueError(f"Expected input tensor {x} to have rank at least 2")
    return tf.transpose(x, [1, 0, *range(2, x.shape.ndims)]) if x.shape.ndims else x
