"""Runs a step of an emitted function with minimal overhead.

``DirectSession._run_lowered`` serves any emitted function; its look-ups and checks in each step
cost more than a small graph.  If their results are the same for every step of a signature,
:func:`quick_run` makes them once and returns a function for these steps: no loops, no kernel that
reads its step, no fetch that may be dead, feeds in the executors' order.  It keeps the rest: the
step is among the active ones while it runs, so that ``close``, ``waiting`` and interrupts find
it, and an observer added to the session sees the next step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.fetched_values import as_numbers, own_all
from tfnb.common_runtime.executor.run_state import RunState, step_ids
from tfnb.common_runtime.executor.running_nodes import runs_signature
from tfnb.common_runtime.looking.step_stats_collector import add_allocations
from tfnb.core import errors
from tfnb.core.numeric_reaction import IGNORE_ALL, NUMERIC_REACTION
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import IDLE_HOOKS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executor.executors_and_keys import ExecutorsAndKeys
    from tfnb.common_runtime.lowering.write.emit import EmittedFunction
    from tfnb.common_runtime.session.direct_session import DirectSession

    type_of_run = Callable[[DirectSession, Sequence[Any]], list[Any]]

_NO_STEP: Any = None


class _QuickRunState(RunState):
    """A minimal step, made without the attributes that all these steps share."""

    hooks = IDLE_HOOKS
    call_frame = None
    stop = None
    __init__ = object.__init__


# Values of other classes are returned from a step unchanged.
_NOT_PLAIN = frozenset((np.ndarray, RefCell))


def quick_run(session: DirectSession, prepared: ExecutorsAndKeys) -> type_of_run | None:
    """A function ``run(session, feed values)`` for the plain steps of a signature.

    What it gives of rank 0 are NumPy scalars.  It does not hold on to the session.

    Returns:
      None where a step of the signature needs more.
    """
    executors = prepared.executors
    alone = executors.alone
    if alone is None or alone.lowered is None:
        return None
    lowered = alone.lowered
    if (
        executors.needs_context
        or executors.has_text_feeds
        or prepared.feed_order is not None
        or lowered.has_conditional_fetch
        or lowered.has_loops
    ):
        return None
    only, variant = lowered.only, lowered.variant_for
    call = None if only is None else only.call
    computes = only is None or only.computes
    events, active = session.step_events, session._active
    begin, end = active.add, active.discard
    owns_fetches = only is not None and only.owns_fetches
    reaction_now, react = NUMERIC_REACTION.get, NUMERIC_REACTION.set
    react_as_before = NUMERIC_REACTION.reset
    new_state: Any = _QuickRunState
    empty, order = [None] * len(executors.fetches), prepared.fetch_order

    @runs_signature(executors="executors", run_state="run_state")
    def run(session: DirectSession, feed_values: Sequence[Any]) -> list[Any]:
        if events.hooks is not IDLE_HOOKS:
            return as_numbers(session.run_prepared(prepared, feed_values))
        results: list[Any] = empty.copy()
        run_state: RunState = new_state()
        run_state.step_id = executors.last_step_id = next(step_ids)
        emitted: EmittedFunction | None = only
        before = None
        if computes:
            run_state.stop = None  # of its own, as it is asked for it
            reaction = reaction_now()
        try:
            begin(run_state)
            # A `close` from here on finds the step; the check below finds an earlier `close`.
            if session._closed:
                raise errors.cancelled("Session has been closed.")
            if computes:
                before = react(IGNORE_ALL)
            if call is not None:
                call(feed_values, results, _NO_STEP, run_state)
            else:
                emitted = variant(feed_values)
                emitted.call(feed_values, results, _NO_STEP, run_state)
        except BaseException as failure:
            found = failure if emitted is None else lowered.failure(emitted, run_state, failure)
            run_state.abort(found)
            if isinstance(found, errors.ResourceExhaustedError):
                add_allocations(found, None)
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
                if session._closed:
                    session._end_of(run_state, None)
            except KeyboardInterrupt:
                # Just before the end: nothing of the step may stay behind.
                if computes:
                    react(reaction)
                session._end_of(run_state, None)
                raise
        if order is not None:
            results = [results[position] for position in order]
        if owns_fetches or (emitted is not None and emitted.owns_fetches):
            return results
        for value in results:
            if value.__class__ in _NOT_PLAIN:
                del value  # or it would be held twice
                return as_numbers(own_all(results))
        return results

    return run
