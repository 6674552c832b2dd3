"""Where the breakpoints of a debugger may be hit first, so that steps are fast until then.

A breakpoint in a later iteration of a loop is far until that iteration begins; one with a condition
until that holds of what one of its nodes gives, or of a dead node, for which the emitted function
asks a :class:`_Check`; any other until its node, or the loop or cond around it, is the next to run.
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Any

from tfnb.client.debugger.breakpoints import value_test
from tfnb.client.debugger.stop_in_function import StopInFunction
from tfnb.common_runtime.executor.immutable_executor_state import CONTEXT, PURE, PURE_ONE
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import Near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tfnb.client.debugger.breakpoints import Breakpoint, type_of_quick_test
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )

_log = logging.getLogger("tfnb")
# What they give is known before the step, so that no line of a function is theirs.
_FIXED = ops_with(Trait.FIXED)


def near_breakpoints(
    breakpoints: Iterable[Breakpoint], immutable: ImmutableExecutorState
) -> Near | None:
    """Where a partition comes near one of these; None: from its first node on."""
    iterations: dict[int, int] = {}
    before: set[int] = set()
    asked: dict[int, list[Breakpoint]] = {}
    for one in breakpoints:
        is_of_values = isinstance(one.condition, str) and value_test(one.condition) is not None
        for item in immutable.items:
            iteration, frame = one.iteration, item.frame
            if not one.fits(item.name, item.op, frame.name, iteration or 0):
                continue
            if iteration and not frame.name:
                continue  # outside of loops there is no such iteration
            is_at_once = one.condition is None or (frame.name and iteration is not None)
            if iteration:
                iterations[frame.index] = min(iteration, iterations.get(frame.index, iteration))
            elif is_at_once or not (is_of_values or _has_line(item)):
                if not item.num_inputs and item in immutable.roots:
                    return None
                before.add(item.id)
            elif item.num_outputs:
                asked.setdefault(item.id, []).append(one)
    found = {number: _Check(immutable.items[number], asked[number]) for number in sorted(asked)}
    of_dead = tuple(number for number, one in found.items() if one.asks_of_dead)
    checks = {number: one.as_function() for number, one in found.items()}
    return Near(iterations, tuple(sorted(before)), checks, of_dead)


def _has_line(item: NodeItem) -> bool:
    """Return whether a line of an emitted function is the node's, and has its outputs."""
    calculates = item.action in (PURE, PURE_ONE, CONTEXT) and item.op not in _FIXED
    return calculates and not item.is_merge and item.num_outputs > 0


class _Check:
    """Says of what a node gave, or that it is dead, whether a breakpoint there may be hit.

    It is called by the line of an emitted function.

    Attributes:
      asks_of_dead: whether it matters that the node is dead.
    """

    def __init__(self, item: NodeItem, breakpoints: Iterable[Breakpoint]) -> None:
        self._item = item
        self._tests: list[tuple[Callable[[Any], bool], type_of_quick_test]] = []
        self._functions: list[Breakpoint] = []
        self._stops_where_dead = False
        for one in breakpoints:
            if not isinstance(one.condition, str):
                self._functions.append(one)
                continue
            found = value_test(one.condition)
            if found is None:
                self._stops_where_dead = True
            else:
                self._tests.append(found)
        # A node with a line of its own may be dead only where that is not reached.
        self.asks_of_dead = self._stops_where_dead or bool(self._functions)

    def __call__(self, *values: Any) -> bool:
        """Without values: of the dead node."""
        for value in values:
            for test, quick in self._tests:
                if _is_met(test, quick, value):
                    return True
        if not values and self._stops_where_dead:
            return True
        if not self._functions:
            return False
        stop = StopInFunction(sys._getframe(1), self._item, values)
        try:
            return any(self._holds(one, stop) for one in self._functions if one.enabled)
        finally:
            stop.forget()

    def as_function(self) -> Callable[..., bool]:
        """Return the same; of a single condition on values with less around it."""
        if len(self._tests) != 1 or self.asks_of_dead:
            return self
        ((test, quick),) = self._tests
        return lambda value: _is_met(test, quick, value)

    @staticmethod
    def _holds(one: Breakpoint, stop: StopInFunction) -> bool:
        is_met = one.is_met(stop)
        if one.problem:
            _log.warning("Breakpoint %d was switched off: %s", one.number, one)
        return is_met


def _is_met(test: Callable[[Any], bool], quick: type_of_quick_test, value: Any) -> bool:
    try:
        quickly = quick.get(value.__class__)
        answer = None if quickly is None else quickly(value)
        if answer is None:
            answer = test([value.value if isinstance(value, RefCell) else value])
    except Exception:
        return True  # the breakpoint says what is wrong
    return answer
