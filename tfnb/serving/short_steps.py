"""How long steps take: shorter than their way to another thread, or longer than a request may.

A step runs where its request was read, in the event loop for REST, if it delays no other request:
its graph has no loops, calls, waits or effects, so that the size of its inputs bounds its time; the
inputs are small; and its latest steps were short. A step that was not lets the function's next
steps wait for turns again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import op_registry
from tfnb.core.op_traits import Trait
from tfnb.graph.node_kind import node_kind

if TYPE_CHECKING:
    from tfnb.client.model_function import ModelFunction
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation

_MAX_INPUT_BYTES = 4096
_SHORT_S = 3e-4
# How many short steps in succession a function needs before it runs without a turn.
_NUM_WANTED = 10
# A step is likely to end before a deadline that is this many times later than expected.
_RESERVE = 10
_OPS_WITH_VARIABLES = frozenset((Trait.VARIABLE, Trait.READS_VARIABLE))


class StepTimes:
    """What the times of a function's steps let expect of the next one."""

    def __init__(self, function: ModelFunction, graph: Graph) -> None:
        self._is_bounded = is_bounded(function, graph)
        self._num_wanted = _NUM_WANTED
        # The seconds of the slowest step, divided by its size (_size_of).
        self._seconds_for_size: float | None = None

    def are_short(self, values: list[Any]) -> bool:
        """Return whether a step with these inputs is short."""
        if self._num_wanted or not self._is_bounded:
            return False
        return sum(value.nbytes for value in values) <= _MAX_INPUT_BYTES and all(
            value.dtype != object for value in values
        )

    def are_below(self, seconds: float, values: list[Any]) -> bool:
        """Return whether a step with these inputs is likely to take much less than a time."""
        if self._seconds_for_size is None or not self._is_bounded:
            return False
        return self._seconds_for_size * _size_of(values) * _RESERVE < seconds

    def note(self, seconds: float, values: list[Any]) -> None:
        """Note how long a step took."""
        if seconds > _SHORT_S:
            self._num_wanted = _NUM_WANTED
        else:  # never below 0, even if two threads note their steps at once
            self._num_wanted = max(0, self._num_wanted - 1)
        rate = seconds / _size_of(values)
        if self._seconds_for_size is None or rate > self._seconds_for_size:
            self._seconds_for_size = rate


def _size_of(values: list[Any]) -> int:
    size: int = _MAX_INPUT_BYTES + sum(value.nbytes for value in values)
    return size


def is_bounded(function: ModelFunction, graph: Graph) -> bool:
    """Return whether each node before the outputs runs once, and waits for nothing."""
    waiting = [graph.get_tensor_by_name(one.name).op for one in function.outputs.values()]
    seen = set(waiting)
    while waiting:
        op = waiting.pop()
        if not _runs_once(op):
            return False
        for before in (*(one.op for one in op.inputs), *op.control_inputs):
            if before not in seen:
                seen.add(before)
                waiting.append(before)
    return True


def _runs_once(op: Operation) -> bool:
    definition = op_registry.find(op.type)
    if definition is None or definition.effects or node_kind(op.type).is_enter:
        return False
    if definition.is_stateful and not definition.traits & _OPS_WITH_VARIABLES:
        return False
    return not any(value.HasField("func") for value in op.node_def.attr.values())
