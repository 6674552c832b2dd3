"""Cells run over time without a loop: one copy of the cell's ops for each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import unknown_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies
from tfnb.framework.structures import nest
from tfnb.library.rnn.state import (
    assert_like_rnn_cell,
    dtype_of_state,
    joined_shape,
    joined_static_shape,
)
from tfnb.library.rnn.step import masked_step, read_variables_on_their_device
from tfnb.library.variables.variable_scope import variable_scope
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import concat, stack, unstack
from tfnb.ops.array.constant_ops import zeros
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import shape
from tfnb.ops.array.transpose_ops import reverse_sequence
from tfnb.ops.math.reduction_ops import reduce_max, reduce_min

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, ScopeLike, TensorLike, TensorResult
    from tfnb.library.rnn.cells import RNNCell

EXPORTS = {"nn": ["static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn"]}


def static_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    initial_state: Nested | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Nested], Nested]:
    """Run a cell with separate ops for every step; return (outputs, last state).

    Args:
      cell: the cell.
      inputs: a list with ``[batch, depth]``, or a nested structure of these, for each step.
      initial_state: the state before the first step; zeros by default.
      dtype: the type of the state, needed without ``initial_state``.
      sequence_length: the length of each sequence ``[batch]``; beyond it outputs are zeros and the
        state is kept.
      scope: the variable scope, or its name; "rnn" by default.

    Raises:
      TypeError: ``cell`` is no cell, or the inputs are no list.
      ValueError: there are no inputs, or neither state nor type, or the depth is unknown.
    """
    assert_like_rnn_cell("cell", cell)
    if not nest.is_nested(inputs):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")
    outputs = []
    with variable_scope(scope or "rnn") as opened:
        read_variables_on_their_device(opened)
        first = nest.flatten(inputs)[0]
        static_batch = _static_batch(inputs, first)
        batch_size = static_batch or shape(first)[0]
        if initial_state is not None:
            state = initial_state
        elif not dtype:
            raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
        elif getattr(cell, "get_initial_state", None) is not None:
            state = cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
        else:
            state = cell.zero_state(batch_size, dtype)
        shortest = longest = zero_output = None
        if sequence_length is not None:
            sequence_length = convert_to_tensor(sequence_length, name="sequence_length")
            if sequence_length.get_shape().ndims not in (None, 1):
                raise ValueError("sequence_length must be a vector of length batch_size.")

            def zero(size: TensorLike) -> TensorResult:
                made = zeros(stack(joined_shape(batch_size, size)), dtype_of_state(dtype, state))
                made.set_shape(joined_static_shape(static_batch, size))
                return made

            zero_output = nest.map_structure(zero, cell.output_size)
            sequence_length = cast(sequence_length, dtypes.int32)
            shortest, longest = reduce_min(sequence_length), reduce_max(sequence_length)
        for time, value in enumerate(inputs):
            if time > 0:
                opened.reuse_variables()
            if sequence_length is None:
                output, state = cell(value, state)
            else:
                output, state = masked_step(
                    time,
                    sequence_length,
                    shortest,
                    longest,
                    zero_output,
                    state,
                    lambda value=value, state=state: cell(value, state),  # type: ignore[misc]
                )
            outputs.append(output)
    return outputs, state


def _static_batch(inputs: TensorLike, first: TensorLike) -> int | None:
    """Return the size of the first dimension, or None; check that it is equal in all inputs."""
    if first.get_shape().ndims == 1:
        size: int | None = first.get_shape().as_list()[0]
        return size
    found = first.get_shape().with_rank_at_least(2)[:1]
    for value in nest.flatten(inputs):
        known = value.get_shape().with_rank_at_least(2)
        known[:1].assert_is_compatible_with(found)
        for i, size in enumerate(known.as_list()[1:]):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {i} of input {value}) must be accessible via shape "
                    "inference, but saw value None."
                )
    size = found.as_list()[0]
    return None if size is None else int(size)


def static_state_saving_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    state_saver: Any,
    state_name: Any,
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Nested], Nested]:
    """Run :func:`static_rnn` with the state read from a saver and written back to it.

    Args:
      cell: the cell.
      inputs: as in :func:`static_rnn`.
      state_saver: an object with ``state(name)`` and ``save_state(name, value)``.
      state_name: the name of the state, in the structure of the cell's ``state_size``.
      sequence_length: the length of each sequence.
      scope: the variable scope, or its name.

    Raises:
      ValueError: names and states have different structures.
    """
    sizes = cell.state_size
    if nest.is_nested(sizes) != nest.is_nested(state_name):
        raise ValueError(
            "Argument `state_name` should be the same type as `cell.state_size`.  Received: "
            f"state_name={state_name!s}, cell.state_size={sizes!s}."
        )
    names = nest.flatten(state_name)
    if len(names) != len(nest.flatten(sizes)):
        raise ValueError(
            "Number of elements in argument `state_name` and `cell.state_size` are different. "
            f"Received: state_name={state_name}, cell.state_size={sizes}."
        )
    before = nest.pack_sequence_as(sizes, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(
        cell, inputs, initial_state=before, sequence_length=sequence_length, scope=scope
    )
    saved = [
        state_saver.save_state(name, part)
        for name, part in zip(names, nest.flatten(state), strict=True)
    ]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
        state = nest.map_structure(identity, state)
    return outputs, state


def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: TensorLike,
    initial_state_fw: Nested | None = None,
    initial_state_bw: Nested | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: ScopeLike | None = None,
) -> tuple[list[Nested], Nested, Nested]:
    """Run two cells; return (joined outputs, last state forwards, last state backwards).

    Args:
      cell_fw: the cell that runs from the beginning.
      cell_bw: the cell that runs from the end.
      inputs: as in :func:`static_rnn`.
      initial_state_fw: the state before the first step.
      initial_state_bw: the state after the last step.
      dtype: the type of the states.
      sequence_length: the length of each sequence; the backward cell starts at its end.
      scope: the variable scope, or its name; "bidirectional_rnn" by default.

    Raises:
      TypeError: a cell is no cell, or the inputs are no list.
      ValueError: there are no inputs.
    """
    assert_like_rnn_cell("cell_fw", cell_fw)
    assert_like_rnn_cell("cell_bw", cell_bw)
    if not nest.is_nested(inputs):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")
    with variable_scope(scope or "bidirectional_rnn"):
        with variable_scope("fw") as fw_scope:
            output_fw, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, scope=fw_scope
            )
        with variable_scope("bw") as bw_scope:
            backwards = _reversed(inputs, sequence_length)
            output_bw, state_bw = static_rnn(
                cell_bw, backwards, initial_state_bw, dtype, sequence_length, scope=bw_scope
            )
    output_bw = _reversed(output_bw, sequence_length)
    outputs = [
        concat([one, other], 1)
        for one, other in zip(nest.flatten(output_fw), nest.flatten(output_bw), strict=True)
    ]
    return nest.pack_sequence_as(output_fw, outputs), state_fw, state_bw


def _reversed(steps: TensorLike, lengths: TensorLike) -> list[Nested]:
    """Return the steps in reverse order, each row from the end of its own sequence."""
    if lengths is None:
        return list(reversed(steps))
    flat_steps = [nest.flatten(step) for step in steps]
    flat_results: list[list[Any]] = [[] for _ in steps]
    for sequence in zip(*flat_steps, strict=True):
        common = unknown_shape(rank=sequence[0].get_shape().ndims)
        for value in sequence:
            common.assert_is_compatible_with(value.get_shape())
            value.set_shape(common)
        turned = reverse_sequence(stack(sequence), lengths, 0, 1)
        for value, results in zip(unstack(turned), flat_results, strict=True):
            value.set_shape(common)
            results.append(value)
    return [
        nest.pack_sequence_as(step, results)
        for step, results in zip(steps, flat_results, strict=True)
    ]
