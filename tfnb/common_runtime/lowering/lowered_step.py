"""When a partition runs as an emitted function.

A partition with loops is lowered before its first run, because a loop pays for it at once; any
other when it runs for the second time, because most signatures of a notebook run once.  A step
whose observers take counts in place of events of nodes runs as a function that counts
(``counts.py``).  Who is watched closer, measured or limited runs on the reference executor.
"""

from __future__ import annotations

import enum
import logging
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from tfnb.core.shelter import call_sheltered
from tfnb.core.step_events import IDLE_HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.common_runtime.executors_and_keys import Executors
    from tfnb.common_runtime.immutable_executor_state import ImmutableExecutorState
    from tfnb.common_runtime.lowering.lowered_partition import LoweredStep
    from tfnb.common_runtime.run_state import RunState


_log = logging.getLogger("tfnb")


class Lowering(enum.Enum):
    """When partitions run as emitted functions."""

    NEVER = enum.auto()
    WHEN_IT_PAYS = enum.auto()
    ALWAYS = enum.auto()  # from the first run on, where they can


_lowering = Lowering.WHEN_IT_PAYS
_is_loaded = False


@contextmanager
def lowering(when: Lowering) -> Iterator[None]:
    """Has all partitions of the process run one way for a while: for comparing the two."""
    global _lowering
    before, _lowering = _lowering, when
    try:
        yield
    finally:
        _lowering = before


MAX_NODES = 20_000
"""A longer function takes Python's compiler longer than it saves."""
MAX_NODES_AT_ONCE = 3_000
"""A partition with loops that is longer is not lowered before its second run."""


def _load() -> None:
    """Loads what writes functions, with the first of them.

    Inside an import an interrupt would leave a lock behind for which all other threads wait for
    ever.
    """
    if not _is_loaded:
        call_sheltered(_load_here)


def _load_here() -> None:
    global _is_loaded
    try:
        for name in ("lowered_partition", "join"):
            import_module(f"tfnb.common_runtime.lowering.{name}")
    finally:
        _is_loaded = True


def lower(immutable: ImmutableExecutorState, *, counts: bool = False) -> LoweredStep | None:
    """The partition as a function, or None where it is too long, or is not recognised.

    Args:
      immutable: the partition.
      counts: whether it counts what runs.
    """
    if len(immutable.items) > MAX_NODES:
        return None
    _load()
    from tfnb.common_runtime.lowering.lowered_partition import LoweredStep
    from tfnb.common_runtime.lowering.order import Unrecognised

    try:
        return LoweredStep(immutable, counts=counts)
    except (Unrecognised, RecursionError, SyntaxError) as reason:
        _log.debug("A partition stays with the reference executor: %s", reason)
        return None


def lowered_for(immutable: ImmutableExecutorState, run_state: RunState) -> LoweredStep | None:
    """What runs a partition in this step; None: the reference executor."""
    hooks = run_state.hooks
    counts = False
    if run_state.record_outputs is not None or _lowering is Lowering.NEVER:
        return None
    if not (
        hooks.node_started is hooks.node_done is None
        and hooks.iteration_started is hooks.iteration_done is None
        and hooks.frame_entered is hooks.frame_done is None
    ):
        if not hooks.takes_counts:
            return None
        # Of a schedule it is known how often each node runs.
        counts = immutable.schedule is None
    lowered = immutable.counted if counts else immutable.lowered
    if lowered is not None:
        return lowered
    if immutable.cannot_be_counted if counts else immutable.cannot_be_lowered:
        return None
    if _lowering is Lowering.WHEN_IT_PAYS:
        num_runs = immutable.num_runs = immutable.num_runs + 1
        has_loops = len(immutable.frames) > 1 and len(immutable.items) <= MAX_NODES_AT_ONCE
        if num_runs < (1 if has_loops else 2):
            return None
    lowered = lower(immutable, counts=counts)
    if counts:
        immutable.counted, immutable.cannot_be_counted = lowered, lowered is None
        return lowered
    immutable.lowered, immutable.cannot_be_lowered = lowered, lowered is None
    # A partition without control flow is run by its schedule once more: that is not slow, and a
    # thread that waits for the function pays for it now.
    is_awaited = _lowering is Lowering.ALWAYS or immutable.schedule is None
    return lowered if is_awaited else None


def lowered_together(executors: Executors, run_state: RunState) -> LoweredStep | None:
    """What runs the partitions of a signature as one function in this step; None: they run apart.

    Once they do, ``executors.alone`` is the one partition that they make.
    """
    hooks = run_state.hooks
    if (
        not (hooks is IDLE_HOOKS or (hooks.takes_counts and hooks.debugger is None))
        or run_state.record_outputs is not None
        or run_state.pool is not None
        or executors.stay_apart
        or _lowering is Lowering.NEVER
    ):
        return None
    if not hooks.hears_nodes and executors.alone is not None:
        return executors.alone.lowered
    if hooks.hears_nodes and executors.counted is not None:
        return executors.counted
    num_runs = executors.num_runs = executors.num_runs + 1
    num_nodes = sum(len(state.items) for state in executors.states)
    if _lowering is Lowering.WHEN_IT_PAYS:
        has_loops = any(len(state.frames) > 1 for state in executors.states)
        if num_runs < 2 and not (has_loops and num_nodes <= MAX_NODES_AT_ONCE):
            return None
    _load()
    from tfnb.common_runtime.lowering.join import join

    joined = join(executors.states, executors.devices_to_sync) if num_nodes <= MAX_NODES else None
    lowered = None if joined is None else lower(joined, counts=hooks.hears_nodes)
    if joined is None or lowered is None:
        executors.stay_apart = True
        return None
    if hooks.hears_nodes:
        executors.counted = lowered
        return lowered
    joined.lowered = lowered
    executors.alone = joined
    return lowered
