"""Which kernels are worth a thread of a pool, and how they get there.

A partition that runs with a pool runs as a variant of itself, :func:`with_pool`: every node whose
kernel *may* be expensive has the action ``POOL``.  So a partition that runs without a pool asks
nothing more of a node than before.

``KernelStats`` holds one estimate a node, TensorFlow's notion: a kernel is expensive until it was
measured, afterwards while its running average is above ``EXPENSIVE_NS``; some ops say of themselves
that they always are (``register_op(expensive=True)``: Python functions, files).  Cheap kernels stay
with the driving thread, because handing one over costs more than it saves.  Processor time is
measured, not time on the wall: a thread that waits for the interpreter's lock computes nothing.

What never leaves the driving thread: kernels that touch a variable, a queue or another resource
(within a step they keep the order in which they became ready), kernels that call functions (whose
bodies have kernels of their own to hand over), Switch, Send and Recv, and GPU kernels, which return
at once.  Corresponds to ``KernelStats`` in TensorFlow's ``executor.cc``.
"""

from __future__ import annotations

from copy import copy
from time import thread_time_ns
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.immutable_executor_state import (
    CONTEXT,
    POOL,
    PURE,
    PURE_ONE,
    ImmutableExecutorState,
    NodeItem,
)
from tfnb.common_runtime.kernel_errors import annotate
from tfnb.core import dtypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor import ExecutorState
    from tfnb.common_runtime.propagator_state import type_of_tagged_node
    from tfnb.common_runtime.run_state import RunState

EXPENSIVE_NS = 100_000
"""Above this a kernel goes to the pool. To hand one over and back costs 30 us where it is the only
one, 7 us in a crowd (measured on two processors)."""

# What nobody measured yet.
_UNKNOWN_NS = 1 << 40
# How many steps a signature runs without the pool, when nothing was worth it, before it is measured
# again, because its feeds may have grown: at first, and at most after doubling.
_FIRST_PAUSE, _LONGEST_PAUSE = 32, 1024


class KernelStats:
    """What the kernels of one partition cost, as far as it is known.

    Threads write estimates without a lock: one that is lost is made up for by the next.

    Attributes:
      has_work: a kernel was handed over since this was last set to False.
    """

    __slots__ = ("_always", "_estimates_ns", "has_work")

    def __init__(self, items: Sequence[NodeItem]) -> None:
        self._always = [_is_always_expensive(item) for item in items]
        self._estimates_ns = [_UNKNOWN_NS] * len(items)
        self.has_work = True

    def is_expensive(self, item: NodeItem) -> bool:
        """Whether the kernel should run on another thread."""
        return self._estimates_ns[item.id] > EXPENSIVE_NS or self._always[item.id]

    def update(self, item: NodeItem, elapsed_ns: int) -> None:
        """Takes one measurement into the average."""
        before = self._estimates_ns[item.id]
        self._estimates_ns[item.id] = (
            elapsed_ns if before == _UNKNOWN_NS else (3 * before + elapsed_ns) // 4
        )

    def estimate_ns(self, item: NodeItem) -> int | None:
        """The processor time of one execution in nanoseconds; None before the first."""
        found = self._estimates_ns[item.id]
        return None if found == _UNKNOWN_NS else found


def _is_always_expensive(item: NodeItem) -> bool:
    return item.kernel is not None and item.kernel.definition.is_expensive is True


def may_be_expensive(item: NodeItem) -> bool:
    """Whether a node's kernel may ever run on another thread than the driving one."""
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
    """The partition as it runs with a pool; None where no kernel may be expensive."""
    items = [copy(item) for item in state.items]
    eligible = [item for item in items if may_be_expensive(item)]
    if not eligible:
        return None
    for item in items:
        item.data_edges = tuple(
            (output, items[dst.id], slot) for output, dst, slot in item.data_edges
        )
        item.control_edges = tuple(items[dst.id] for dst in item.control_edges)
    for item in eligible:
        item.action = POOL
    return ImmutableExecutorState(
        state.device,
        items,
        [items[item.id] for item in state.roots],
        state.frames,
        state.has_control_flow,
        has_async=True,
        kernel_stats=KernelStats(items),
    )


class PoolChoice:
    """The partitions of a signature as they run with a pool, or without where that is faster.

    A signature without an expensive kernel runs as if there were no pool; from time to time it is
    measured again.  Threads share it without a lock: a lost count postpones a measurement.
    """

    __slots__ = ("_num_plain", "_pause", "_plain", "_pooled", "_stats")

    def __init__(self, plain: Sequence[ImmutableExecutorState]) -> None:
        self._plain = plain
        self._pooled = [with_pool(state) or state for state in plain]
        self._stats = [state.kernel_stats for state in self._pooled if state.kernel_stats]
        self._num_plain = 0
        self._pause = _FIRST_PAUSE

    def choose(self) -> Sequence[ImmutableExecutorState]:
        """The partitions for the next step."""
        if not self._stats:
            return self._plain
        if any(stats.has_work for stats in self._stats):
            for stats in self._stats:
                stats.has_work = False
            self._pause = _FIRST_PAUSE
            return self._pooled
        self._num_plain += 1
        if self._num_plain < self._pause:
            return self._plain
        self._num_plain = 0
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        return self._pooled


class PooledKernel:
    """One kernel on its way through a pool.

    It belongs to whoever takes it first: a thread of the pool, which runs it, or the end of its
    step, after which nobody does.
    """

    __slots__ = ("_args", "_executor", "_free", "_tagged", "pool_name")

    def __init__(
        self,
        executor: ExecutorState,
        tagged: type_of_tagged_node,
        args: Sequence[Any],
        pool_name: str,
    ) -> None:
        self._executor = executor
        self._tagged = tagged
        self._args = args
        self._free = [True]
        self.pool_name = pool_name

    def take(self) -> bool:
        """Claims the kernel; True for one caller only."""
        try:
            return self._free.pop()
        except IndexError:
            return False

    @property
    def is_taken(self) -> bool:
        """Whether a thread runs it, or did."""
        return not self._free

    def __call__(self) -> None:
        """Runs the kernel and leaves its answer in the step's inbox; a pool's thread calls this."""
        if not self.take():
            return
        run_state: RunState = self._executor.run_state
        answer: Any = run_state.stop
        if answer is None:
            try:
                answer = self._executor.measured(self._tagged, self._args)
            except BaseException as error:
                item = self._tagged[0]
                device = self._executor.immutable.device.name
                answer = annotate(error, item.name, item.op, device, self._args)
        run_state.inbox.append((self._executor, self._tagged, answer))
        run_state.wake.set()


def measured_call(stats: KernelStats, item: NodeItem, *args: Any) -> Any:
    """Calls a node's kernel and takes its time into account."""
    begin = thread_time_ns()
    outputs = item.compute(*args)  # type: ignore[misc]
    stats.update(item, thread_time_ns() - begin)
    return outputs
