"""Records the executor's events, as numbered tuples in a bounded deque, and does nothing else.

A step that runs as an emitted function reports no nodes; it is sampled from outside while it runs,
and reports counts at its end.

The hooks run on the executor's threads, up to millions of times a second; the events are
interpreted elsewhere (``step_model.py``), a few times a second.  When the deque is full the oldest
events are dropped, which the reader detects by a gap in the numbers.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tfnb.common_runtime.executor.running_nodes import NodeCounts
    from tfnb.core.step_events import PartitionedGraph, PlacedGraph

MAX_EVENTS = 100_000

# The kinds of events; a tuple is (number, kind, session, ...), followed by arguments of the hook.
STEP_STARTED, STEP_DONE, NODE_STARTED, NODE_DONE = range(4)
ITERATION_STARTED, ITERATION_DONE, FRAME_DONE = range(4, 7)
SENT = 7
# Node counts of a step that reports no nodes: at its end, and while it runs.
STEP_COUNTED, STEP_SEEN = 8, 9
FRAME_DEAD = 10


class EventLog:
    """The deque that all recorders of one watch share; all events are numbered."""

    def __init__(self, max_events: int = MAX_EVENTS) -> None:
        self.events: deque[tuple[Any, ...]] = deque(maxlen=max_events)
        self.next_number = itertools.count().__next__
        # Kept separately, so that many node events do not displace them.
        self.signatures: deque[tuple[int, PlacedGraph | PartitionedGraph]] = deque()
        self.steps: deque[tuple[Any, ...]] = deque()
        self.frames: deque[tuple[int, int, int, int, int, int]] = deque(maxlen=max_events)


class StepRecorder(StepObserver):
    """The observer of one session; ``session`` is its number within the watch.

    The hooks that run for every node are closures, made once, because each look-up of an attribute
    on the executor's threads makes the step slower.
    """

    never_raises = True
    takes_counts = True

    def __init__(self, log: EventLog, session: int) -> None:
        self._append_signature = log.signatures.append
        self._append_step = log.steps.append
        self._append_frame = log.frames.append
        self._append = log.events.append
        self._number = log.next_number
        self._session = session
        self.node_started = _node_started(log, session)  # type: ignore[method-assign, assignment]
        self.node_done = _node_done(log, session)  # type: ignore[method-assign, assignment]

    def graph_placed(self, placed: PlacedGraph) -> None:
        """Keep the placement of the signature's nodes."""
        self._append_signature((self._session, placed))

    def graph_partitioned(self, partitioned: PartitionedGraph) -> None:
        """Keep the signature's names."""
        self._append_signature((self._session, partitioned))

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Record the start of a step."""
        self._append_step(
            (self._number(), STEP_STARTED, self._session, step_id, signature_id, t_ns)
        )

    def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
        """Record the end of a step."""
        self._append_step((self._number(), STEP_DONE, self._session, step_id, t_ns, error))

    def step_counted(self, step_id: int, counts: NodeCounts) -> None:
        """Record the node counts of a step."""
        row = (self._number(), STEP_COUNTED, self._session, step_id, counts, 0)
        self._append_step(row)

    def look(self, found: Mapping[int, NodeCounts]) -> None:
        """Record the node counts of steps in flight, from ``DirectSession.step_counts``."""
        for step_id, counts in found.items():
            row = (self._number(), STEP_SEEN, self._session, step_id, counts)
            self._append_step((*row, time.perf_counter_ns()))

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Declare that the hook is wanted; a closure of the same name is called instead."""

    def node_done(
        self,
        step_id: int,
        partition: int,
        node_id: int,
        frame_id: int,
        iteration: int,
        t_ns: int,
        is_dead: bool,
    ) -> None:
        """Declare that the hook is wanted; a closure of the same name is called instead."""

    def frame_entered(
        self,
        step_id: int,
        partition: int,
        frame_id: int,
        parent_frame_id: int,
        parent_iteration: int,
        name_index: int,
        t_ns: int,
    ) -> None:
        """Record that a loop begins."""
        self._append_frame(
            (self._session, step_id, partition, frame_id, parent_frame_id, name_index)
        )

    def iteration_started(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Record that an iteration begins."""
        self._append(
            (
                self._number(),
                ITERATION_STARTED,
                self._session,
                step_id,
                partition,
                frame_id,
                iteration,
            )
        )

    def iteration_done(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Record that an iteration has ended."""
        self._append(
            (self._number(), ITERATION_DONE, self._session, step_id, partition, frame_id, iteration)
        )

    def frame_done(self, step_id: int, partition: int, frame_id: int, t_ns: int) -> None:
        """Record that a loop has ended."""
        self._append((self._number(), FRAME_DONE, self._session, step_id, partition, frame_id))

    def frame_dead(self, step_id: int, partition: int, frame_id: int) -> None:
        """Record that a loop that ends was entered dead."""
        self._append((self._number(), FRAME_DEAD, self._session, step_id, partition, frame_id))

    def tensor_sent(
        self, step_id: int, partition: int, node_id: int, num_bytes: int, t_ns: int
    ) -> None:
        """Record a transfer to another device."""
        self._append((self._number(), SENT, self._session, step_id, partition, num_bytes))


def _node_started(log: EventLog, session: int) -> Callable[[int, int, int, int, int, int], None]:
    append, number = log.events.append, log.next_number

    def node_started(
        step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        append((number(), NODE_STARTED, session, step_id, partition, node_id, t_ns))

    return node_started


def _node_done(log: EventLog, session: int) -> Callable[[int, int, int, int, int, int, bool], None]:
    append, number = log.events.append, log.next_number

    def node_done(
        step_id: int,
        partition: int,
        node_id: int,
        frame_id: int,
        iteration: int,
        t_ns: int,
        is_dead: bool,
    ) -> None:
        append((number(), NODE_DONE, session, step_id, partition, node_id, t_ns, is_dead))

    return node_done
