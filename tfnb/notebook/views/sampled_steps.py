"""Converts samples into events, so that the live view also shows steps without hooks.

A step with hooks runs on the reference executor, node by node.  A sampled step
(``client/step_sampler.py``) runs on its fastest path; its samples are written into the same log as
recorders' events, and the model reads both in the same way.  Nodes that run between two samples are
not seen, and a step that ends before the next sample leaves no event.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tfnb.client.session.session import live_sessions
from tfnb.notebook.steps.step_pace import StepPace
from tfnb.notebook.steps.step_recorder import (
    FRAME_DONE,
    ITERATION_DONE,
    ITERATION_STARTED,
    NODE_DONE,
    NODE_STARTED,
    STEP_DONE,
    STEP_STARTED,
)
from tfnb.notebook.steps.step_waits import waits_of
from tfnb.notebook.views.targets import events_of

if TYPE_CHECKING:
    from tfnb.client.step_sampler import Sample
    from tfnb.common_runtime.executor.running_nodes import RunningNode
    from tfnb.core.step_events import PartitionedGraph, StepEvents
    from tfnb.notebook.steps.step_recorder import EventLog
    from tfnb.notebook.steps.step_waits import StepWait

type_of_place = tuple[int, int]  # partition, node id in it


@dataclass(slots=True)
class _Step:
    """The sampled state of a running step."""

    signature: PartitionedGraph
    running: dict[int, type_of_place] = field(default_factory=dict)  # by thread
    # (partition, name index) -> (frame id, iteration)
    loops: dict[type_of_place, tuple[int, int]] = field(default_factory=dict)
    num_frames: int = 0


def last_step() -> int:
    """Return the largest step id started in any open session."""
    found = [getattr(one.runtime, "last_run", lambda: (0, 0))()[0] for one in live_sessions()]
    return max(found, default=0)


class SampledSteps:
    """Writes samples into a log; called with each sample.

    Attributes:
      sessions: the events of the sampled sessions; a session's number is its index here.
    """

    def __init__(self, log: EventLog) -> None:
        self.sessions: list[StepEvents] = []
        self._log = log
        self._pace = StepPace()
        self.begin()
        self._known: dict[tuple[int, int], PartitionedGraph] = {}
        self._places: dict[tuple[int, int], dict[str, type_of_place]] = {}
        self._steps: dict[tuple[int, int], _Step] = {}

    def __call__(self, sample: Sample) -> None:
        """Write a sample's events."""
        alive = set()
        for session, nodes in sample:
            events = events_of(session)
            if events is None:
                continue
            number = self._number(events)
            for node in nodes:
                alive.add((number, node.step_id))
                self._see(number, node.outermost)
            alive |= {(number, state.step_id) for state in session.runtime.active_steps()}
        for key in [key for key in self._steps if key not in alive]:
            self._end(key)

    def begin(self) -> None:
        """Start counting steps."""
        self._first = self._last = last_step()

    def counters(self, now_ns: int) -> dict[str, Any]:
        """Return counters from step ids, because steps may end before a sample sees them."""
        self._last = max(self._last, last_step())  # keeps the count when sessions close
        return {
            "sampled": True,
            "steps": max(0, self._last - self._first - len(self._steps)),
            "steps_per_second": self._pace.look(self._last, now_ns),
        }

    def end(self) -> None:
        """End all steps that are shown as running, when the view closes."""
        for key in list(self._steps):
            self._end(key)

    def look_for_waits(self) -> dict[tuple[int, int], StepWait]:
        """Return the waits of steps that run no node, which samples miss; begin unseen steps."""
        found: dict[tuple[int, int], StepWait] = {}
        for session in live_sessions():
            events = events_of(session)
            if events is None:
                continue
            number = self._number(events)
            for step_id, wait in waits_of(session).items():
                found[number, step_id] = wait
                if wait.kind and (number, step_id) not in self._steps:
                    self._begin((number, step_id), _signature_with(events, wait.nodes))
        return found

    def _begin(self, key: tuple[int, int], signature_id: int) -> None:
        signature = self._signature(key[0], signature_id)
        if signature is not None:
            self._steps[key] = _Step(signature)
            row = (*key, signature.signature_id, time.perf_counter_ns())
            self._log.steps.append((self._log.next_number(), STEP_STARTED, *row))

    def _number(self, events: StepEvents) -> int:
        for number, known in enumerate(self.sessions):
            if known is events:
                return number
        self.sessions.append(events)
        return len(self.sessions) - 1

    def _signature(self, session: int, signature_id: int) -> PartitionedGraph | None:
        found = self._known.get((session, signature_id))
        if found is not None:
            return found
        for placed, partitioned in self.sessions[session].signatures():
            if partitioned is None or partitioned.signature_id != signature_id:
                continue
            if placed is not None:
                self._log.signatures.append((session, placed))
            self._log.signatures.append((session, partitioned))
            self._known[session, signature_id] = partitioned
            self._places[session, signature_id] = {
                name: (view.index, node_id)
                for view in partitioned.partitions
                for node_id, name in enumerate(view.node_names)
            }
            return partitioned
        return None

    def _see(self, session: int, node: RunningNode) -> None:
        signature = self._signature(session, node.signature_id)
        if signature is None:
            return
        log, key, now = self._log, (session, node.step_id), time.perf_counter_ns()
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = _Step(signature)
            log.steps.append((log.next_number(), STEP_STARTED, *key, signature.signature_id, now))
        place = self._places[session, node.signature_id].get(node.name)
        if place is None:
            return
        before = step.running.get(node.thread)
        if place != before:
            self._leave(key, step, node.thread, now)
            log.events.append((log.next_number(), NODE_STARTED, *key, *place, now))
            step.running[node.thread] = place
        self._follow(key, step, place[0], node)

    def _leave(self, key: tuple[int, int], step: _Step, thread: int, now: int) -> None:
        place = step.running.pop(thread, None)
        if place is not None:
            log = self._log
            log.events.append((log.next_number(), NODE_DONE, *key, *place, now, False))

    def _follow(self, key: tuple[int, int], step: _Step, partition: int, node: RunningNode) -> None:
        """Write the events of the loops around a node; frames of one name count as successive."""
        log, names = self._log, step.signature.partitions[partition].frame_names
        parent, around = 0, set()
        for name, iteration in node.loops:
            if name not in names:
                return
            index = names.index(name)
            loop = partition, index
            around.add(loop)
            frame, before = step.loops.get(loop, (0, -1))
            if iteration < before:
                log.events.append((log.next_number(), FRAME_DONE, *key, partition, frame))
                before = -1
            if before < 0:
                step.num_frames += 1
                frame = step.num_frames
                log.frames.append((*key, partition, frame, parent, index))
            elif iteration != before:
                row = (ITERATION_DONE, *key, partition, frame, iteration - 1)
                log.events.append((log.next_number(), *row))
            if iteration != before:
                row = (ITERATION_STARTED, *key, partition, frame, iteration)
                log.events.append((log.next_number(), *row))
                step.loops[loop] = frame, iteration
            parent = frame
        for loop in [one for one in step.loops if one[0] == partition and one not in around]:
            frame, _ = step.loops.pop(loop)
            log.events.append((log.next_number(), FRAME_DONE, *key, partition, frame))

    def _end(self, key: tuple[int, int]) -> None:
        log, now = self._log, time.perf_counter_ns()
        step = self._steps.pop(key)
        for thread in list(step.running):
            self._leave(key, step, thread, now)
        log.steps.append((log.next_number(), STEP_DONE, *key, now, None))


def _signature_with(events: StepEvents, nodes: tuple[str, ...]) -> int:
    """Return the id of the newest signature that has all these nodes; 0 for none."""
    for _, partitioned in reversed(events.signatures()):
        if partitioned is None or not nodes:
            continue
        names = {name for view in partitioned.partitions for name in view.node_names}
        if names.issuperset(nodes):
            return partitioned.signature_id
    return 0
