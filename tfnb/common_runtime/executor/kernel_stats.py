"""Selects the kernels that run on a thread pool, and runs them there.

A partition that runs with a pool runs as a variant of itself, :func:`with_pool`: every node whose
kernel *may* be expensive has the action ``POOL``.  A partition that runs without a pool therefore
has no extra checks per node.

``KernelStats`` holds one estimate per node, as in TensorFlow: a kernel is expensive until it is
measured, afterwards while its running average is above ``EXPENSIVE_NS``; some ops are declared to
be always expensive (``register_op(expensive=True)``: Python functions, files). Cheap kernels stay
with the driving thread, because the handover costs more than it saves, and get their plain action
back, so that they cost as much as without a pool. Processor time is measured, not wall time: a
thread that waits for the interpreter's lock computes nothing.

``PoolChoice`` decides for a signature as a whole.

These never leave the driving thread: kernels that touch a variable, a queue or another resource
(within a step they keep the order in which they became ready), kernels that call functions (whose
bodies have kernels of their own to hand over), Switch, Send and Recv, and GPU kernels, which return
at once.  Corresponds to ``KernelStats`` in TensorFlow's ``executor.cc``.
"""

from __future__ import annotations

import time
from copy import copy
from threading import current_thread
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.immutable_executor_state import (
    CONTEXT,
    POOL,
    PURE,
    PURE_ONE,
    ImmutableExecutorState,
    NodeItem,
)
from tfnb.common_runtime.executor.kernel_errors import annotate
from tfnb.core import dtypes, host_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import KernelCosts
    from tfnb.common_runtime.executor.propagator_state import type_of_tagged_node
    from tfnb.common_runtime.executor.run_state import PartitionInStep

EXPENSIVE_NS = 100_000
"""Kernels above this run in the pool. The handover costs 30 us if it is the only one,
7 us if there are many (measured on two processors)."""

# Estimate of a kernel that was not measured yet.
_UNKNOWN_NS = 1 << 40
# Steps with and without the pool in a trial; the fastest of each counts.
_TRIES = 4
# Number of steps between two trials: at first, and at most after doubling.
_FIRST_PAUSE, _LONGEST_PAUSE = 64, 4096


class KernelStats:
    """The known costs of one partition's kernels.

    Threads write estimates without a lock; the next measurement makes up for a lost update.

    Attributes:
      has_overlap: two kernels were in the pool at the same time since :meth:`rearm`.
      has_always: some kernel's op is declared always expensive.
    """

    __slots__ = ("_always", "_armed", "_estimates_ns", "has_always", "has_overlap")

    def __init__(self, items: Sequence[NodeItem], armed: Sequence[NodeItem]) -> None:
        """Set the action ``POOL`` for the items ``armed``, a subset of ``items``."""
        self._always = [False] * len(items)
        for item in armed:
            assert item.kernel is not None
            self._always[item.id] = item.kernel.definition.is_expensive is True
        self._armed = {item.id: item.action for item in armed}
        self._estimates_ns = [_UNKNOWN_NS] * len(items)
        self.has_always = any(self._always)
        self.has_overlap = False
        self.rearm(items)

    def rearm(self, items: Sequence[NodeItem]) -> None:
        """Mark every kernel that may be expensive to be measured again."""
        self.has_overlap = False
        for position in self._armed:
            items[position].action = POOL

    def is_expensive(self, item: NodeItem) -> bool:
        """Return whether the kernel should run on another thread."""
        return self._estimates_ns[item.id] > EXPENSIVE_NS or self._always[item.id]

    def update(self, item: NodeItem, elapsed_ns: int) -> None:
        """Add a measurement to the average; a cheap kernel is no longer measured."""
        before = self._estimates_ns[item.id]
        now = elapsed_ns if before == _UNKNOWN_NS else (3 * before + elapsed_ns) // 4
        self._estimates_ns[item.id] = now
        if now <= EXPENSIVE_NS and not self._always[item.id]:
            item.action = self._armed[item.id]

    def estimate_ns(self, item: NodeItem) -> int | None:
        """Return the processor time of one execution in nanoseconds; None before the first."""
        found = self._estimates_ns[item.id]
        return None if found == _UNKNOWN_NS else found


def may_be_expensive(item: NodeItem) -> bool:
    """Return whether a node's kernel may ever run outside the driving thread."""
    kernel = item.kernel
    if kernel is None or item.action not in (PURE, PURE_ONE, CONTEXT):
        return False
    definition = kernel.definition
    if item.is_transfer or item.may_give_nothing or definition.is_expensive is False:
        return False
    if kernel.device.device_type != "CPU":
        return False
    if any(attr.type in ("func", "list(func)") for attr in definition.op_def.attrs):
        return False
    shared = (dtypes.resource, dtypes.variant)
    touched = [*item.input_types, *item.output_types]
    return not any(dtype.is_ref_dtype or dtype in shared for dtype in touched)


def with_pool(state: ImmutableExecutorState) -> ImmutableExecutorState | None:
    """Return the partition's variant for a pool; None if no kernel may be expensive."""
    items = [copy(item) for item in state.items]
    eligible = [item for item in items if may_be_expensive(item)]
    if not eligible:
        return None
    for item in items:
        item.data_edges = tuple(
            (output, items[dst.id], slot) for output, dst, slot in item.data_edges
        )
        item.control_edges = tuple(items[dst.id] for dst in item.control_edges)
    return ImmutableExecutorState(
        state.device,
        items,
        [items[item.id] for item in state.roots],
        state.frames,
        state.has_control_flow,
        has_async=True,
        kernel_stats=KernelStats(items, eligible),
    )


class PoolChoice:
    """Chooses for a signature whether its partitions run with a pool or without.

    In a *trial* a few steps run with the pool and a few without.  If no two kernels overlapped in
    the pool, or the steps without it were faster, the following steps run without; after a pause,
    which grows from trial to trial, it is tried again, because feeds may have grown.  A signature
    with an op that is declared always expensive always runs with the pool.

    Threads share it without a lock: a lost count prolongs a trial.
    """

    __slots__ = ("_best_ns", "_favourite", "_pause", "_plain", "_pooled", "_stats", "_step")

    def __init__(self, plain: Sequence[ImmutableExecutorState]) -> None:
        self._plain = plain
        self._pooled = [with_pool(one) or one for one in plain]
        self._stats = [state.kernel_stats for state in self._pooled if state.kernel_stats]
        self._favourite: Sequence[ImmutableExecutorState] = self._pooled
        self._pause = _FIRST_PAUSE
        self._step = 0
        self._best_ns = [_UNKNOWN_NS, _UNKNOWN_NS]  # without, with the pool

    def choose(self) -> Sequence[ImmutableExecutorState]:
        """Return the partitions for the next step; report its duration to :meth:`took`."""
        if not self._stats:
            return self._plain
        if any(stats.has_always for stats in self._stats):
            return self._pooled
        step = self._step
        self._step = step + 1
        if step == 0:
            self._begin_trial()
        if step < _TRIES:
            return self._pooled
        if step < 2 * _TRIES:
            return self._plain
        if step == 2 * _TRIES:
            overlaps = any(stats.has_overlap for stats in self._stats)
            plain_ns, pooled_ns = self._best_ns
            self._favourite = self._pooled if overlaps and pooled_ns <= plain_ns else self._plain
        elif step >= 2 * _TRIES + self._pause:
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
            self._step = 0
        return self._favourite

    def _begin_trial(self) -> None:
        self._best_ns = [_UNKNOWN_NS, _UNKNOWN_NS]
        for state in self._pooled:
            if state.kernel_stats is not None:
                state.kernel_stats.rearm(state.items)

    def took(self, states: Sequence[ImmutableExecutorState], elapsed_ns: int) -> None:
        """Record the duration of a step, in nanoseconds of wall time."""
        if 0 < self._step <= 2 * _TRIES:
            way = int(states is self._pooled)
            self._best_ns[way] = min(self._best_ns[way], elapsed_ns)


class PooledKernel:
    """One kernel that was handed to a pool.

    The first caller of :meth:`take` owns it: a thread of the pool, which runs it, or the end of its
    step, after which it does not run. The limit of tensors of the thread that made it applies.
    """

    __slots__ = ("_args", "_executor", "_free", "_limit", "_tagged", "pool_name")

    def __init__(
        self,
        executor: PartitionInStep,
        tagged: type_of_tagged_node,
        args: Sequence[Any],
        pool_name: str,
    ) -> None:
        self._executor = executor
        self._tagged = tagged
        self._args = args
        self._free = [True]
        self._limit = host_memory.limit_of_thread()
        self.pool_name = pool_name

    def take(self) -> bool:
        """Claim the kernel; returns True to one caller only."""
        try:
            return self._free.pop()
        except IndexError:
            return False

    @property
    def is_taken(self) -> bool:
        """Whether the kernel was claimed."""
        return not self._free

    def __call__(self) -> None:
        """Run the kernel and put its answer into the step's inbox; called by a pool's thread."""
        if not self.take():
            return
        run_state = self._executor.run_state
        answer: Any = run_state.error
        tell = run_state.hooks.kernel_ran
        begin_ns = 0 if tell is None else perf_counter_ns()
        if answer is None:
            before = host_memory.limit_thread(self._limit)
            try:
                answer = self._executor.measured(self._tagged, self._args)
            except BaseException as error:
                item = self._tagged[0]
                device = self._executor.immutable.device.name
                answer = annotate(error, item.name, item.op, device, self._args)
            finally:
                host_memory.limit_thread(before)
        if tell is not None:
            item, iteration, _ = self._tagged
            tell(
                run_state.step_id,
                self._executor.partition,
                item.id,
                iteration.frame.id,
                iteration.number,
                current_thread().name,
                begin_ns,
                perf_counter_ns(),
            )
        run_state.inbox.append((self._executor, self._tagged, answer))
        run_state.wake.set()


def measured_call(stats: KernelCosts, item: NodeItem, *args: Any) -> Any:
    """Call a node's kernel and record its time."""
    begin = time.thread_time_ns()
    outputs = item.compute(*args)  # type: ignore[misc]
    stats.update(item, time.thread_time_ns() - begin)
    return outputs
