"""The places where the breakpoints of a debugger may be hit first; until there, steps are fast.

A breakpoint in a later iteration of a loop is far until that iteration begins.  One with a
condition is far until the condition holds for the outputs of one of its nodes, or for a dead node;
the emitted function calls a :class:`_Check` to find out.  Any other one is far until its node, or
the loop or cond around it, is the next to run.
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
# Their outputs are known before the step, so that emitted functions have no line for them.
_FIXED = ops_with(Trait.FIXED)


def near_breakpoints(
    breakpoints: Iterable[Breakpoint], immutable: ImmutableExecutorState
) -> Near | None:
    """Return where a partition comes near one of these; None: from its first node on."""
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
                continue  # outside of loops there is only iteration 0
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
    """Return whether emitted functions have a line for the node, which has its outputs."""
    calculates = item.action in (PURE, PURE_ONE, CONTEXT) and item.op not in _FIXED
    return calculates and not item.is_merge and item.num_outputs > 0


class _Check:
    """A check whether a breakpoint may be hit at a node, given its outputs or that it is dead.

    A line of an emitted function calls it.

    Attributes:
      asks_of_dead: whether it must be called if the node is dead.
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
        # A node with its own line is dead only if that line is not reached.
        self.asks_of_dead = self._stops_where_dead or bool(self._functions)

    def __call__(self, *values: Any) -> bool:
        """Return whether a breakpoint may be hit; without values, at the dead node."""
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
        """Return the check as a function; a single condition on values has less overhead."""
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
        return True  # the breakpoint itself reports the error
    return answer
