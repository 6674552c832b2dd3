"""The protocol of a step: what surrounds its nodes, whichever way they run.

:func:`step_runner` makes the function that runs the steps of a signature.  A step is among the
active ones while it runs, so that ``close``, ``waiting`` and interrupts find it.  Meanwhile NumPy
does not react to overflow.  A step that fails is aborted, its resources are freed, and the caller
owns the results.

:func:`find_quick_run` makes the same function for *quick* steps.  Everything that other steps look
up, above all the emitted function, is determined once, because the look-ups cost more than a small
graph.  A signature has quick steps if its emitted function serves them all: no loops, no kernel
that reads its step, no fetch that may be dead, feeds in the executors' order.
"""

from __future__ import annotations

from sys import getrefcount
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from tfnb.common_runtime.executor.deadlines import DEADLINES
from tfnb.common_runtime.executor.run_state import RunState, step_ids
from tfnb.common_runtime.executor.running_nodes import runs_signature
from tfnb.common_runtime.lowering.run.step_way import choose_way
from tfnb.core import errors
from tfnb.core.process.later import later
from tfnb.core.process.numeric_reaction import IGNORE_ALL, NUMERIC_REACTION
from tfnb.core.process.shelter import ensure_imported
from tfnb.core.process.threads import ERRANDS
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import IDLE_HOOKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor import waiting
    from tfnb.common_runtime.executor.executors_and_keys import Executors, ExecutorsAndKeys
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
    )
    from tfnb.common_runtime.executor.warm_up import LoweredFunction, type_of_absence
    from tfnb.common_runtime.lowering.run.step_way import StepWay
    from tfnb.common_runtime.lowering.write.emit import EmittedFunction
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import StepEvents
else:
    waiting = later("tfnb.common_runtime.executor.waiting", in_step=True)

_NO_STEP: Any = None
_generic, _ndarray = np.generic, np.ndarray


class StepSession(Protocol):
    """A session that runs steps.

    Attributes:
      is_closed: whether the session was told to close.
      step_events: the events of its steps.
      steps_in_flight: the steps that run; a step enters and leaves without a call of the session.
    """

    is_closed: bool
    step_events: StepEvents
    steps_in_flight: set[RunState]

    def run_prepared(self, prepared: ExecutorsAndKeys, feed_values: Sequence[Any]) -> list[Any]:
        """Run a step that is not quick."""

    def step_context(self, run_state: RunState) -> StepContext:
        """Return the context that the kernels of a step share."""

    def end_step(self, run_state: RunState) -> None:
        """Forget a step; a second call does nothing."""


class StepRunner(Protocol):
    """Runs one step of a signature."""

    def __call__(
        self,
        session: StepSession,
        feed_values: Sequence[Any],
        run_state: RunState | None = None,
        states: Sequence[ImmutableExecutorState] = (),
    ) -> list[Any]:
        """Run a step; a quick step gets only the first two arguments.

        Args:
          session: the session.
          feed_values: the fed values.
          run_state: the state of the step, with its call frame.
          states: the partitions to run, or their variants for a pool.

        Returns:
          One value per fetch that the caller may keep; those of rank 0 are NumPy scalars.
        """


class _QuickRunState(RunState):
    """The state of a quick step, made without the attributes that all quick steps share."""

    hooks = IDLE_HOOKS
    call_frame = None
    stop = None
    __init__ = object.__init__


# Values of other classes are returned from a step unchanged.
_NOT_PLAIN = frozenset((np.ndarray, RefCell))


def find_quick_run(session: StepSession, prepared: ExecutorsAndKeys) -> StepRunner | None:
    """Make the function for the quick steps of a signature once it is known to have them.

    Returns:
      None if a step of the signature needs more than a quick step provides, or if no function has
        been emitted yet.
    """
    executors = prepared.executors
    alone = executors.alone
    if alone is None or alone.warm_up.lowered is None or not alone.warm_up.is_checked:
        return None
    lowered = alone.warm_up.lowered
    prepared.may_be_quick = not (
        executors.needs_context
        or executors.has_text_feeds
        or prepared.feed_order is not None
        or lowered.has_conditional_fetch
        or lowered.has_loops
    )
    if not prepared.may_be_quick:
        return None
    quick = prepared.quick = step_runner(session, prepared, lowered)
    return quick


def step_runner(
    session: StepSession, prepared: ExecutorsAndKeys, lowered: LoweredFunction | None = None
) -> StepRunner:
    """Make the function that runs the steps of a signature.

    Args:
      session: the session; the function must keep no strong reference to it.
      prepared: the signature.
      lowered: its emitted function, for quick steps.
    """
    executors = prepared.executors
    only = None if lowered is None else lowered.only
    call = None if only is None else only.call
    computes = only is None or only.computes
    varies = lowered is not None and only is None  # with the arguments that are scalars
    events, active = session.step_events, session.steps_in_flight
    begin, end = active.add, active.discard
    owns_fetches = only is not None and only.owns_fetches
    reaction_now, react = NUMERIC_REACTION.get, NUMERIC_REACTION.set
    react_as_before = NUMERIC_REACTION.reset
    new_state: Any = _QuickRunState
    needs_context, devices_to_sync = executors.needs_context, executors.devices_to_sync
    empty, order = [None] * len(executors.fetches), prepared.fetch_order

    @runs_signature(executors="executors", run_state="run_state")
    def run(
        session: StepSession,
        feed_values: Sequence[Any],
        run_state: RunState | None = None,
        states: Sequence[ImmutableExecutorState] = (),
    ) -> list[Any]:
        results: list[Any]
        if run_state is None:
            if events.hooks is not IDLE_HOOKS:
                return session.run_prepared(prepared, feed_values)
            results = empty.copy()
            run_state = new_state()
            run_state.step_id = executors.last_step_id = next(step_ids)
            if computes:
                run_state.stop = None  # an attribute of the step itself, since its kernels read it
        else:
            results = run_state.call_frame.retvals  # type: ignore[union-attr]
            executors.last_step_id = run_state.step_id
        emitted: EmittedFunction | None = only
        before = None
        if computes:
            reaction = reaction_now()
        try:
            begin(run_state)
            # A `close` from here on finds the step; the check below finds an earlier `close`.
            if session.is_closed:
                raise errors.cancelled("Session has been closed.")
            if computes:
                before = react(IGNORE_ALL)
            if call is not None:
                call(feed_values, results, _NO_STEP, run_state)
            elif lowered is not None:
                emitted = lowered.variant_for(feed_values)
                emitted.call(feed_values, results, _NO_STEP, run_state)
            else:
                if run_state.timeout_ms > 0:
                    run_state.deadline = DEADLINES.set(run_state, run_state.timeout_ms)
                if run_state.hooks is IDLE_HOOKS:
                    way = choose_way(states, run_state, executors)
                    step = session.step_context(run_state) if needs_context else _NO_STEP
                    absence = way.run(run_state, step)
                    if devices_to_sync:
                        _synchronize(executors, way)
                else:
                    absence = _run_observed(session, executors, run_state, states)
                if absence is not None:
                    refuse_absent(results, executors.fetches, absence)
        except BaseException as failure:
            if emitted is not None:
                assert lowered is not None
                found = lowered.failure(emitted, run_state, failure)
            else:
                found = waiting.explained(run_state, failure)
            run_state.abort(found)
            if isinstance(found, errors.ResourceExhaustedError):
                ensure_imported("tfnb.common_runtime.looking.step_stats_collector")
                from tfnb.common_runtime.looking.step_stats_collector import add_allocations

                add_allocations(found, run_state.collector)
            if found is failure:
                raise
            raise found from found.__cause__
        finally:
            try:
                if before is not None:
                    react_as_before(before)
                elif computes:
                    react(reaction)
                end(run_state)
                if session.is_closed or (states and not run_state.is_clear):
                    session.end_step(run_state)
            except KeyboardInterrupt:
                # Just before the end: no work of the step may remain on a device.
                if computes:
                    react(reaction)
                session.end_step(run_state)
                raise
        if order is not None:
            if states:
                del run_state.call_frame.retvals  # type: ignore[union-attr] # or it would hold them
            results = [results[position] for position in order]
        if owns_fetches or (varies and emitted is not None and emitted.owns_fetches):
            return results
        for value in results:
            if value.__class__ in _NOT_PLAIN:
                del value  # or it would be held twice
                return as_numbers(own_all(results))
        return results

    return run


def _run_observed(
    session: StepSession,
    executors: Executors,
    run_state: RunState,
    states: Sequence[ImmutableExecutorState],
) -> type_of_absence | None:
    """Run the nodes of a step, and notify its observers when it begins and ends."""
    hooks = run_state.hooks
    if ERRANDS:
        ERRANDS.do()
        run_state.do_errands()
    if hooks.inside is not None:
        run_state.items = executors.items
    way: StepWay | None = None
    error: str | None = None
    try:
        if hooks.step_started is not None:
            hooks.step_started(run_state.step_id, executors.signature_id, perf_counter_ns())
        way = choose_way(states, run_state, executors)
        absence = way.run(run_state, session.step_context(run_state))
        _synchronize(executors, way)
        return absence
    except BaseException as failure:
        error = f"{type(failure).__name__}: {failure}"
        raise
    finally:
        if hooks.step_counted is not None and way is not None:
            counts = way.counts_of(run_state)
            if counts is not None:
                hooks.step_counted(run_state.step_id, counts)
        if hooks.step_done is not None:
            hooks.step_done(run_state.step_id, perf_counter_ns(), error)


def _synchronize(executors: Executors, way: StepWay) -> None:
    """Wait for what the devices of a step compute; joined partitions have waited already."""
    if not executors.is_joined(way):
        for device in executors.devices_to_sync:
            device.synchronize()


# -- what leaves a step: values that are there, and that the caller may keep and write to ----------


def refuse_absent(
    results: Sequence[Any], fetches: Sequence[str], absence: type_of_absence
) -> NoReturn:
    """Raise the error of a step that ended without a value for one of its fetches.

    Args:
      results: the value of each fetch, None where there is none.
      fetches: the names of the fetches.
      absence: makes the error that explains a missing value.

    Raises:
      InvalidArgumentError: a fetched tensor is dead, or never became ready.
    """
    position = next(i for i, value in enumerate(results) if value is None)
    raise absence(position, f"'{fetches[position]}'")


def own_all(results: list[Any]) -> list[Any]:
    """Replace results by values that the caller may keep and write to; return them.

    Arrays are in C order, as TensorFlow's are.

    Raises:
      FailedPreconditionError: a fetched variable has no value.
    """
    # Not enumerate(): its tuple would hold another reference to each value.
    for position in range(len(results)):
        value = results[position]
        if value.__class__ is not _ndarray and isinstance(value, _generic):
            continue
        if isinstance(value, _ndarray):
            # Referenced by: the list, the local name, getrefcount's argument.
            # carray: in C order, aligned and writeable.
            if getrefcount(value) > 3 or value.base is not None or not value.flags.carray:
                is_number = value.ndim == 0 and value.dtype.kind != "O"
                results[position] = value[()] if is_number else value.copy()
        elif isinstance(value, RefCell):
            found = value.read()
            results[position] = found.copy() if isinstance(found, _ndarray) else found
    return results


def as_numbers(results: list[Any]) -> list[Any]:
    """Return the values, arrays of rank 0 as NumPy scalars, text as bytes."""
    return [
        value[()] if value.__class__ is _ndarray and value.ndim == 0 else value for value in results
    ]
