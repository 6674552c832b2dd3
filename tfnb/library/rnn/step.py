"""One step of time over sequences of several lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import colocate_with
from tfnb.framework.structures import nest
from tfnb.library.control_flow.cond import cond
from tfnb.library.control_flow.control_flow_queries import containing_while_context
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.ops.array.where_ops import where

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.framework.tensor_types import Nested, ScopeLike, TensorLike, TensorResult


def keep_where(finished: TensorLike, current: TensorLike, candidate: TensorLike) -> TensorResult:
    """Return the candidate, but the current value in the rows that are finished.

    Values without rows (a scalar, a TensorArray) are always taken from the candidate.
    """
    if isinstance(current, TensorArray) or current.get_shape().ndims == 0:
        return candidate
    with colocate_with(candidate):
        return where(finished, current, candidate)


def masked_step(
    time: TensorLike,
    sequence_length: TensorLike,
    shortest: Any,
    longest: Any,
    zero_output: TensorLike,
    state: Nested,
    call_cell: Callable[[], Nested],
    skip_conditionals: bool = False,
) -> tuple[Nested, Nested]:
    """Return (output, new state); rows beyond their length give zeros and keep their state.

    Args:
      time: the step, from 0.
      sequence_length: the length of each row.
      shortest: the smallest length.
      longest: the largest length.
      zero_output: zeros in the structure of the output.
      state: the state before.
      call_cell: returns (output, new state).
      skip_conditionals: whether the cell runs at every step, so that no cond is needed.
    """
    flat_zero, flat_state = nest.flatten(zero_output), nest.flatten(state)
    finished = time >= sequence_length

    def masked(new_output: list[TensorLike], new_state: list[TensorLike]) -> list[Nested]:
        pairs = [*zip(flat_zero, new_output, strict=True), *zip(flat_state, new_state, strict=True)]
        return [keep_where(finished, current, candidate) for current, candidate in pairs]

    def called() -> tuple[list[Nested], list[Nested]]:
        new_output, new_state = call_cell()
        nest.assert_same_structure(zero_output, new_output)
        nest.assert_same_structure(state, new_state)
        return nest.flatten(new_output), nest.flatten(new_state)

    def called_and_masked() -> TensorResult:
        new_output, new_state = called()
        return cond(
            time < shortest,
            lambda: new_output + new_state,
            lambda: masked(new_output, new_state),
        )

    if skip_conditionals:
        flat = masked(*called())
    else:
        flat = cond(time >= longest, lambda: flat_zero + flat_state, called_and_masked)
    outputs, states = flat[: len(flat_zero)], flat[len(flat_zero) :]
    for made, like in zip(flat, flat_zero + flat_state, strict=True):
        if not isinstance(made, TensorArray):
            made.set_shape(like.get_shape())
    return nest.pack_sequence_as(zero_output, outputs), nest.pack_sequence_as(state, states)


def read_variables_on_their_device(scope: ScopeLike) -> None:
    """Make a scope's variables be read once outside of the loop, unless it has a caching device."""
    graph = get_default_graph()
    inside = containing_while_context(graph._get_control_flow_context()) is not None
    if scope.caching_device is None and not inside:
        scope.set_caching_device(lambda op: op.device)
