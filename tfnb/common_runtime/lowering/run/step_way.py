"""The ways in which the nodes of a step run, and the one place that chooses.

:func:`choose_way` is called once in each step of a signature and each immediate call of a function.
``docs/architecture.md`` has its decisions as a table.

A partition with loops is lowered before its first run, because a loop soon saves the cost; others
are lowered when they run for the second time, because most signatures of a notebook run once.  If
the observers of a step accept counts in place of events of nodes, it runs as a function that counts
(``counts.py``).  A step that is observed more closely, measured or limited runs on the reference
executor.  The files that write functions are behind one door (:class:`FunctionWriter`), which a
step whose functions exist does not pass.
"""

from __future__ import annotations

import enum
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfnb.common_runtime.executor.executor import drive, run_schedule
from tfnb.common_runtime.executor.run_state import has_absent
from tfnb.core.process.collector_pause import imported
from tfnb.core.process.later import later
from tfnb.core.process.shelter import call_sheltered
from tfnb.core.step_events import IDLE_HOOKS, NOT_NEAR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.executor import debugged_executor, waiting
    from tfnb.common_runtime.executor.executors_and_keys import Executors
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.executor.warm_up import LoweredFunction, type_of_absence
    from tfnb.common_runtime.lowering.run.lowered_step import LoweredStep
    from tfnb.common_runtime.lowering.support import journal as journals
    from tfnb.common_runtime.lowering.support.counts import StepCounts
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import RunsThrough
else:
    debugged_executor = later("tfnb.common_runtime.executor.debugged_executor", in_step=True)
    waiting = later("tfnb.common_runtime.executor.waiting", in_step=True)
    journals = later("tfnb.common_runtime.lowering.support.journal", in_step=True)


class StepWay(Protocol):
    """A way to run the nodes of one step or call: an emitted function or a class of this module."""

    def run(self, run_state: RunState, step: StepContext) -> type_of_absence | None:
        """Run the nodes, which put their results into the call frame.

        Returns:
          A function that explains results without a value; None if all have one.

        Raises:
          OpError: a kernel failed, or the step was cancelled.
        """

    def counts_of(self, run_state: RunState) -> StepCounts | None:
        """Return how often the nodes of a step that has ended ran; None if that is not known."""


class ScheduleWay:
    """Runs the nodes of one partition in a fixed order: no control flow, nothing waits."""

    __slots__ = ("_immutable",)

    def __init__(self, immutable: ImmutableExecutorState) -> None:
        self._immutable = immutable

    def run(self, run_state: RunState, step: StepContext) -> None:
        """Run the nodes; every result has a value then."""
        run_schedule(self._immutable, run_state, step, 0, over_large_input)

    def counts_of(self, run_state: RunState) -> None:
        """Return None: the observers got an event for each node."""


class ReferenceWay:
    """Runs the reference executor, or that of a debugger that wants the step."""

    __slots__ = ("_function_name", "_states")

    def __init__(self, states: Sequence[ImmutableExecutorState], function_name: str = "") -> None:
        self._states = states
        self._function_name = function_name

    def run(self, run_state: RunState, step: StepContext) -> type_of_absence | None:
        """Run the partitions until no node is ready and no kernel is pending."""
        executors = debugged_executor.make_executors(
            self._states, run_state, step, self._function_name
        )
        drive(run_state, executors)
        frame = run_state.call_frame
        is_whole = frame is None or not has_absent(frame.retvals)
        return None if is_whole else partial(waiting.absent_value, executors)

    def counts_of(self, run_state: RunState) -> None:
        """Return None: the observers got an event for each node."""


def choose_way(
    states: Sequence[ImmutableExecutorState],
    run_state: RunState,
    signature: Executors | None = None,
    function_name: str = "",
) -> StepWay:
    """Choose how the nodes of a step or call run.

    Args:
      states: the partitions, or their variants for a pool.
      run_state: the step or call; its observers, recorder, debugger and pool decide.
      signature: the signature that the partitions belong to; None for a function's body.
      function_name: the name of that function.
    """
    if len(states) == 1:
        immutable = states[0]
        lowered = lowered_for(immutable, run_state)
        if lowered is not None:
            return lowered
        if immutable.schedule is not None and run_state.hooks.debugger is None:
            return ScheduleWay(immutable)
    elif signature is not None and states is signature.states:
        lowered = lowered_together(signature, run_state)
        if lowered is not None:
            return lowered
    return ReferenceWay(states, function_name)


# -- when a partition runs as an emitted function -------------------------------------------------


class Lowering(enum.Enum):
    """When partitions run as emitted functions."""

    NEVER = enum.auto()
    WHEN_IT_PAYS = enum.auto()
    ALWAYS = enum.auto()  # from the first run on, if they can


_lowering = Lowering.WHEN_IT_PAYS


@contextmanager
def lowering(when: Lowering) -> Iterator[None]:
    """Set for a while how all partitions of the process run, to compare the ways."""
    global _lowering
    before, _lowering = _lowering, when
    try:
        yield
    finally:
        _lowering = before


MAX_NODES = 20_000
"""A longer function takes longer to compile than it saves."""
MAX_NODES_AT_ONCE = 3_000
"""A partition with loops and more nodes is lowered only before its second run."""


_MOST_RECORDED = 32  # functions of a partition, one for each set of breakpoints


class FunctionWriter(Protocol):
    """Writes the functions of partitions: what a step whose functions exist does not need."""

    def lower(
        self,
        immutable: ImmutableExecutorState,
        *,
        counts: bool,
        journal: journals.JournalKind | None,
    ) -> LoweredStep | None:
        """Return the partition as a function, or None if it is not recognised."""

    def join(
        self, states: Sequence[ImmutableExecutorState], devices_to_sync: Sequence[Device]
    ) -> ImmutableExecutorState | None:
        """Return several partitions as one, or None if they cannot be one function."""

    def can_keep(self, immutable: ImmutableExecutorState, keeps: tuple[str, ...]) -> bool:
        """Return whether a function of the partition can keep the values of these tensors."""

    def compute_over_input(self, item: NodeItem, args: list[Any]) -> Any:
        """Write a node's result over a large input; None: compute it normally."""


_writer: FunctionWriter | None = None


def _load_writer() -> None:
    global _writer
    _writer = imported("tfnb.common_runtime.lowering.run.function_writer").WRITER


def _function_writer() -> FunctionWriter:
    """Return what writes functions; it is imported when the first one is needed.

    The import is sheltered: an interrupt in it would leave a lock held, and all other threads would
    wait for it for ever.
    """
    if _writer is None:
        call_sheltered(_load_writer)
        assert _writer is not None
    return _writer


def over_large_input(item: NodeItem, args: list[Any]) -> Any:
    """Write a node's result over a large input without other holders; None: compute it normally."""
    return _function_writer().compute_over_input(item, args)


def lower(
    immutable: ImmutableExecutorState,
    *,
    counts: bool = False,
    journal: journals.JournalKind | None = None,
) -> LoweredStep | None:
    """Return the partition as a function, or None if it is too long or not recognised.

    Args:
      immutable: the partition.
      counts: whether the function counts executions.
      journal: the journal that the function writes, if any.
    """
    if len(immutable.items) > MAX_NODES:
        return None
    return _function_writer().lower(immutable, counts=counts, journal=journal)


def lowered_for(immutable: ImmutableExecutorState, run_state: RunState) -> LoweredFunction | None:
    """Return the function that runs a partition in this step; None: the reference executor."""
    hooks, warm_up = run_state.hooks, immutable.warm_up
    counts = False
    if _lowering is Lowering.NEVER:
        return None
    kind: journals.JournalKind | None = None
    if hooks is IDLE_HOOKS:
        if warm_up.lowered is not None and run_state.record_outputs is None:
            return warm_up.lowered
    elif hooks.debugger is not None:
        if hooks.only_debugs and warm_up.until_near is not None:
            stops, until_near = warm_up.until_near
            if hooks.debugger.near_now(immutable) is stops:
                run_state.near = stops
                return until_near
        wanted = hooks.debugger.lets_run(run_state, immutable)
        if wanted is None:
            return None
        may_run, kind = _wanted_kind(wanted, immutable, run_state)
        if not may_run:
            return None
    if hooks.takes_journals or kind is not None:
        return _recorded_for(immutable, run_state, kind)
    if run_state.record_outputs is not None:
        return None
    if not (
        hooks.node_started is hooks.node_done is None
        and hooks.iteration_started is hooks.iteration_done is None
        and hooks.frame_entered is hooks.frame_done is None
    ):
        if not hooks.takes_counts:
            return None
        # Without control flow, the count of each node is known.
        counts = immutable.schedule is None
    lowered = warm_up.counted if counts else warm_up.lowered
    if lowered is not None:
        return lowered
    if warm_up.cannot_be_counted if counts else warm_up.cannot_be_lowered:
        return None
    if _lowering is Lowering.WHEN_IT_PAYS:
        num_runs = warm_up.num_runs = warm_up.num_runs + 1
        has_loops = len(immutable.frames) > 1 and len(immutable.items) <= MAX_NODES_AT_ONCE
        if num_runs < (1 if has_loops else 2):
            return None
    lowered = lower(immutable, counts=counts)
    if counts:
        warm_up.counted, warm_up.cannot_be_counted = lowered, lowered is None
        return lowered
    warm_up.lowered, warm_up.cannot_be_lowered = lowered, lowered is None
    # Without control flow, this step still runs by its schedule, which is not slow; the function,
    # whose cost is paid now, runs the later steps.
    is_awaited = _lowering is Lowering.ALWAYS or immutable.schedule is None
    return lowered if is_awaited else None


def _wanted_kind(
    wanted: RunsThrough, immutable: ImmutableExecutorState, run_state: RunState
) -> tuple[bool, journals.JournalKind | None]:
    """Return whether a debugged step may run as a function, and with what kind of journal."""
    keeps = _kept_of(wanted, immutable)
    near = wanted.near
    if near is not None and not near and not _can_be_left(immutable, run_state):
        if len(immutable.frames) > 1 or immutable.has_async:
            return False, None  # it may be endless, and a pause has to stop it
        near = None  # no breakpoint is in it; a pause waits for the next step
    if not keeps and near is None:
        return True, None
    points = None
    if near is not None:
        points = journals.LeavePoints(near.before, tuple(near.checks), near.of_dead)
    run_state.near = near or NOT_NEAR
    return True, journals.JournalKind(keeps=tuple(keeps), leaves=points)


def _kept_of(wanted: RunsThrough, immutable: ImmutableExecutorState) -> list[str]:
    """Return the tensors of a partition whose values a debugger requests."""
    return [one for one in wanted.keeps if immutable.find_id(one.rpartition(":")[0]) >= 0]


def _can_be_left(immutable: ImmutableExecutorState, run_state: RunState) -> bool:
    """Return whether the reference executor can continue after an emitted function is left."""
    is_heard = run_state.hooks.hears_nodes or run_state.record_outputs is not None
    return not (is_heard or immutable.has_async or immutable.device.xp is not np)


def _recorded_for(
    immutable: ImmutableExecutorState, run_state: RunState, kind: journals.JournalKind | None
) -> LoweredFunction | None:
    """Return the function that writes a journal; None: the step reports its nodes itself."""
    hooks = run_state.hooks
    # A full journal with times keeps the first entries, one of values the last entries.
    if immutable.device.xp is not np:
        return None
    is_recorded = hooks.takes_journals and hooks.hears_nodes
    if kind is not None and kind.leaves is not None and not _can_be_left(immutable, run_state):
        return None
    if kind is not None and not is_recorded:
        hears = hooks.hears_nodes and not hooks.takes_counts
        if hears or run_state.record_outputs is not None:
            return None
    else:
        tells = run_state.record_outputs is not None
        keeps = () if kind is None else kind.keeps
        kind = journals.JournalKind(
            times=True, each=hooks.times_each_line, tells=tells, keeps=keeps
        )
    warm_up = immutable.warm_up
    recorded = warm_up.recorded
    if len(recorded) > _MOST_RECORDED and kind not in recorded:
        recorded.clear()
    if kind in recorded:
        return _noted(immutable, run_state, kind, recorded[kind])
    if _lowering is Lowering.WHEN_IT_PAYS:
        num_runs = warm_up.num_recorded = warm_up.num_recorded + 1
        has_loops = len(immutable.frames) > 1 and len(immutable.items) <= MAX_NODES_AT_ONCE
        if num_runs < (1 if has_loops else 2):
            return None
    found = None
    if not kind.keeps or _function_writer().can_keep(immutable, kind.keeps):
        found = lower(immutable, counts=immutable.schedule is None, journal=kind)
    recorded[kind] = found
    return _noted(immutable, run_state, kind, found)


def _noted(
    immutable: ImmutableExecutorState,
    run_state: RunState,
    kind: journals.JournalKind,
    found: LoweredFunction | None,
) -> LoweredFunction | None:
    """Return a function; remember it if a debugger may make the step leave it."""
    if kind.leaves is not None and found is not None:
        immutable.warm_up.until_near = run_state.near, found
    return found


def lowered_together(executors: Executors, run_state: RunState) -> LoweredFunction | None:
    """Return the function that runs the partitions of a signature together, or None.

    Once there is one, ``executors.alone`` is the partition into which they were joined.
    """
    hooks = run_state.hooks
    if (
        not (hooks is IDLE_HOOKS or hooks.takes_counts or hooks.only_debugs)
        or run_state.record_outputs is not None
        or run_state.pool is not None
        or executors.stay_apart
        or _lowering is Lowering.NEVER
    ):
        return None
    joined = executors.alone or _joined(executors)
    if joined is None:
        return None
    if hooks.debugger is not None:
        wanted = hooks.debugger.lets_run(run_state, joined)
        if wanted is None or _kept_of(wanted, joined):
            return None
        may_run, kind = _wanted_kind(wanted, joined, run_state)
        if not may_run or kind is not None:
            return _recorded_for(joined, run_state, kind) if may_run else None
    if hooks.hears_nodes:
        if executors.counted is None:
            executors.counted = lower(joined, counts=True)
            executors.stay_apart = executors.counted is None
        return executors.counted
    warm_up = joined.warm_up
    if warm_up.lowered is None:
        warm_up.lowered = lower(joined)
        executors.stay_apart = warm_up.lowered is None
    return warm_up.lowered


def _joined(executors: Executors) -> ImmutableExecutorState | None:
    """Return several partitions joined into one; None if it does not pay yet or is impossible."""
    num_runs = executors.num_runs = executors.num_runs + 1
    num_nodes = sum(len(state.items) for state in executors.states)
    if _lowering is Lowering.WHEN_IT_PAYS:
        has_loops = any(len(state.frames) > 1 for state in executors.states)
        if num_runs < 2 and not (has_loops and num_nodes <= MAX_NODES_AT_ONCE):
            return None
    joined = None
    if num_nodes <= MAX_NODES:
        joined = _function_writer().join(executors.states, executors.devices_to_sync)
    if joined is None:
        executors.stay_apart = True
        return None
    joined.warm_up.num_recorded = num_runs
    executors.alone = joined
    return joined
