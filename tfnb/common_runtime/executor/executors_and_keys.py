"""Executors of a signature, which a session keeps, and how feeds and fetches map to them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.immutable_executor_state import WITHOUT_CONTEXT
from tfnb.common_runtime.optimizer.optimization_registry import OptimizationReports
from tfnb.core import dtypes, errors
from tfnb.core.process.later import later
from tfnb.core.process.records import field, record
from tfnb.core.resource_mgr import ResourceHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.common_runtime.device.device import Device
    from tfnb.common_runtime.device.thread_pool import ThreadPool
    from tfnb.common_runtime.executor import kernel_stats
    from tfnb.common_runtime.executor.immutable_executor_state import (
        ExecutorItem,
        ImmutableExecutorState,
    )
    from tfnb.common_runtime.executor.warm_up import LoweredFunction
    from tfnb.core.dtypes import DType
    from tfnb.core.step_events import PartitionedGraph, PlacedGraph
else:
    kernel_stats = later("tfnb.common_runtime.executor.kernel_stats", in_step=True)

_signature_ids = itertools.count(1)


def new_signature_id() -> int:
    """Return an id that no other signature or function has."""
    return next(_signature_ids)


type_of_signature = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


@record(slots=True, eq=False, weakref_slot=True)
class Executors:
    """All partitions of a signature, for any order in which feeds and fetches are named.

    Attributes:
      states: what runs each of ``items``.
      devices_to_sync: devices whose work must be done before a step ends.
      alone: what runs the only partition, if no device has to be waited for; for several
        partitions, what runs the one they were joined into, once they may run as one function.
      num_runs: number of steps in which several partitions ran apart, until they were joined.
      last_step_id: id of the step that ran last; 0 before the first.
      counted: the joined function of several partitions that counts executions.
      stay_apart: whether several partitions cannot be joined.
      python_pool: the threads of Python functions that may wait for each other.
      needs_context: whether one of its kernels reads the step's context.
    """

    items: list[ExecutorItem]
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    feed_types: list[DType]
    fetch_types: list[DType]
    has_async: bool
    reports: OptimizationReports = field(default_factory=OptimizationReports)
    placed: PlacedGraph | None = None
    partitioned: PartitionedGraph | None = None
    step_count: Iterator[int] = field(default_factory=itertools.count)
    signature_id: int = field(default_factory=new_signature_id)
    states: tuple[ImmutableExecutorState, ...] = ()
    devices_to_sync: tuple[Device, ...] = ()
    has_text_feeds: bool = False
    alone: ImmutableExecutorState | None = None
    needs_context: bool = True
    num_runs: int = 0
    last_step_id: int = 0
    counted: LoweredFunction | None = None
    stay_apart: bool = False
    python_pool: ThreadPool | None = None
    _pool_choice: kernel_stats.PoolChoice | None = None

    def __post_init__(self) -> None:
        self.states = tuple(item.executor for item in self.items)
        self.has_text_feeds = dtypes.string in self.feed_types
        if len(self.states) == 1 and not self.devices_to_sync:
            alone = self.alone = self.states[0]
            self.needs_context = any(item.action not in WITHOUT_CONTEXT for item in alone.items)

    @property
    def pool_choice(self) -> kernel_stats.PoolChoice:
        """Chooses whether the partitions run with the pool of threads, if the step has one."""
        choice = self._pool_choice
        if choice is None:
            choice = self._pool_choice = kernel_stats.PoolChoice(self.states)
        return choice

    def is_joined(self, way: Any) -> bool:
        """Return whether a step runs as the function that several partitions were joined into."""
        return len(self.states) > 1 and self.alone is not None and way is self.alone.warm_up.lowered

    @property
    def has_resource_feed(self) -> bool:
        """Whether a fed tensor is the handle of a resource."""
        return dtypes.resource in self.feed_types

    def refuse_resources(self, feed_values: Sequence[Any]) -> None:
        """Reject fed resource handles.

        Raises:
          InvalidArgumentError: one of the values is the handle of a resource.
        """
        for name, dtype, value in zip(self.feeds, self.feed_types, feed_values):
            if dtype is dtypes.resource:
                refuse_resource(name, value)


@record(slots=True)
class ExecutorsAndKeys:
    """Executors with the order of feeds and fetches of one caller.

    Attributes:
      feed_order: position of each executor argument among the caller's feeds; None: the same order.
      fetch_order: position of each of the caller's fetches among the executors' results; None: the
        same order.
      run: runs a step of the signature, see ``step_runner.py``; None before the first step.
      quick: runs a quick step of the signature; None if there is no quick way, or not yet.
      may_be_quick: whether there may be a quick way.
    """

    executors: Executors
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    feed_order: tuple[int, ...] | None
    fetch_order: tuple[int, ...] | None
    run: Callable[..., list[Any]] | None = None
    quick: Callable[[Any, Sequence[Any]], list[Any]] | None = None
    may_be_quick: bool = True


def refuse_resource(name: str, value: Any) -> None:
    """Raise InvalidArgumentError if a fed value is the handle of a resource."""
    if isinstance(value, ResourceHandle):
        raise errors.invalid_argument(
            f"Invalid resource type (name: {value.name} type: {value.type_name}) fed to '{name}'. "
            "Perhaps a resource tensor was being provided as a feed? That is not currently "
            "allowed; feed the value itself to the tensor that reads the resource."
        )


def view(executors: Executors, signature: type_of_signature) -> ExecutorsAndKeys:
    """Return the executors for a caller who named feeds and fetches in another order, or twice."""
    feeds, fetches, targets = signature
    return ExecutorsAndKeys(
        executors,
        feeds,
        fetches,
        targets,
        _order(executors.feeds, feeds, always=executors.has_resource_feed),
        _order(fetches, executors.fetches),
    )


def _order(
    wanted: Sequence[str], given: Sequence[str], *, always: bool = False
) -> tuple[int, ...] | None:
    """Return the position of each of ``wanted`` in ``given``; None if both are the same sequence.

    ``always`` returns positions even then: feeds with a resource are checked while they are put in
    order.
    """
    if tuple(wanted) == tuple(given) and not always:
        return None
    positions = {name: index for index, name in enumerate(given)}
    return tuple(positions[name] for name in wanted)
