"""What the recorded events mean: nodes done, loops and their iterations, partitions.

A :class:`StepModel` belongs to one watch and is used by one thread at a time.  It reads the log
of the recorders (``step_recorder.py``), knows every signature by its names, and follows the step
that began last; of the others it keeps counts.  Nothing here knows a widget:
:meth:`StepModel.counters` and :meth:`RunningStep.state_bytes` are plain data.

State of one node is one byte: the low three bits say what it is doing, bit 3 that it ran since
the last picture, the high four bits are the bit length of how often it ran.
``labextension/src/render/states.ts`` reads it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from tfnb.core.step_events import PartitionedGraph, PlacedGraph
from tfnb.notebook.graph_scene import describe_partitions
from tfnb.notebook.scene import build_scene
from tfnb.notebook.step_frames import FrameBook, FrameRow
from tfnb.notebook.step_recorder import (
    ITERATION_DONE,
    ITERATION_STARTED,
    NODE_DONE,
    NODE_STARTED,
    SENT,
    STEP_COUNTED,
    STEP_DONE,
    STEP_STARTED,
    EventLog,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.lowering.counts import StepCounts
    from tfnb.framework.graph import Graph
    from tfnb.notebook.scene import Scene

IDLE, WAITING, RUNNING, DONE, DEAD, FAILED = range(6)
RAN = 0b1000
COUNT_SHIFT = 4
MAX_LEVEL = 15
MAX_FRAME_ROWS = 8
MAX_STEP_TIMES = 4096
RATE_STEPS = 33
"""Over how many ends of steps their rate is taken."""
# Of more events than this between two pictures only the newest are read: the reader must not slow
# the runtime down.
MAX_READ = 25_000
NEWEST_EVENTS = 8_000
_COUNTED_STEP = (STEP_STARTED, STEP_COUNTED, STEP_DONE)
# Time between two looks at a step that is longer went by without anybody looking.
_LONGEST_LOOK_NS = 200_000_000
_MERGES = frozenset(("Merge", "RefMerge"))
_ENTERS = frozenset(("Enter", "RefEnter"))
_NOT_NODES = frozenset(("_SOURCE", "_SINK"))


@dataclass(slots=True)
class Signature:
    """One signature of one session: its scene, and where a partition's nodes are in it."""

    number: int
    partitioned: PartitionedGraph
    placed: PlacedGraph | None
    graph: Graph | None
    scene: Scene
    # place_of[partition][node id] is the node's place in the scene.
    place_of: list[list[int]]
    totals: list[int]

    def lanes(self) -> Scene | None:
        """The scene with a lane for each device; None where there is one device only."""
        if len(self.scene.partitions) < 2:
            return None
        place = self.scene.position()
        described = [self.scene.nodes[place[old]] for old in range(len(place))]
        return build_scene(described, partitions=self.scene.partitions, in_lanes=True)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of each partition."""
        return self.scene.partitions


@dataclass(slots=True)
class PartitionProgress:
    """How far one partition is: distinct nodes done, of which dead, and kernel runs altogether."""

    done: int = 0
    dead: int = 0
    runs: int = 0
    current: int = -1


@dataclass(slots=True)
class RunningStep:
    """The step on show."""

    step_id: int
    signature: Signature
    started_ns: int
    states: bytearray
    levels: bytearray
    ran: bytearray
    counts: list[int]
    started: list[int]
    busy_ns: list[int]
    partitions: list[PartitionProgress]
    frames: FrameBook
    ended_ns: int = 0
    error: str = ""
    sent_bytes: int = 0

    @classmethod
    def of(cls, step_id: int, signature: Signature, t_ns: int, frames: FrameBook) -> RunningStep:
        """A step of which nothing has run yet."""
        count = len(signature.scene.nodes)
        return cls(
            step_id=step_id,
            signature=signature,
            started_ns=t_ns,
            states=bytearray([WAITING]) * count,
            levels=bytearray(count),
            ran=bytearray(count),
            counts=[0] * count,
            started=[0] * count,
            busy_ns=[0] * count,
            partitions=[PartitionProgress() for _ in signature.devices],
            frames=frames,
        )

    def infer(self) -> None:
        """After events were skipped: what feeds a node that ran has run, though it was not seen.

        Not so what feeds a Merge, which runs when one of its inputs is there; but a loop's Enter
        comes before all that follows.
        """
        nodes, states = self.signature.scene.nodes, self.states
        changed = True
        while changed:
            changed = False
            for source, _, destination, _ in self.signature.scene.edges:
                if states[source] != WAITING or states[destination] not in (RUNNING, DONE):
                    continue
                if nodes[destination].op in _MERGES and nodes[source].op not in _ENTERS:
                    continue
                changed = True
                states[source] = DONE
                self.counts[source] = 1
                self.levels[source] = 1 << COUNT_SHIFT
                self.partitions[nodes[source].partition].done += 1

    def take(self, counts: StepCounts) -> None:
        """What ran until now of a step that tells of no node."""
        all_live, all_dead = counts.nodes()
        loops, first = counts.loops(), 0
        self.sent_bytes = counts.sent_bytes
        views = self.signature.partitioned.partitions
        for number, (about, places) in enumerate(zip(self.partitions, self.signature.place_of)):
            place = np.array(places, np.intp)
            live, dead = (one[first : first + len(places)] for one in (all_live, all_dead))
            running = counts.running - first
            first += len(places)
            runs = live + dead
            states = np.where(live > 0, DONE, np.where(dead > 0, DEAD, WAITING))
            if 0 <= running < len(places):
                about.current = running
                if states[running] != DEAD:
                    states[running] = RUNNING
            before = np.array(self.counts)[place]
            np.frombuffer(self.states, np.uint8)[place] = states
            np.frombuffer(self.ran, np.uint8)[place[(runs > before) & (live > 0)]] = RAN
            levels = np.minimum(np.frexp(runs)[1], MAX_LEVEL) << COUNT_SHIFT
            np.frombuffer(self.levels, np.uint8)[place] = levels
            for node, count in zip(places, runs.tolist()):
                self.counts[node] = count
            about.done, about.runs = int(np.count_nonzero(runs)), int(runs.sum())
            about.dead = int(np.count_nonzero(states == DEAD))
            self.frames.counted(number, loops, views[number].device, views[number].frame_names)

    def op_of(self, number: int) -> str:
        """The op of the node with that number, counted through all partitions."""
        ops = [op for view in self.signature.partitioned.partitions for op in view.node_ops]
        return ops[number] if 0 <= number < len(ops) else ""

    def state_bytes(self) -> bytes:
        """One byte per node of the scene; what ran since the last call is marked until the end."""
        if self.ended_ns:
            self.ran = bytearray(len(self.ran))
        merged = np.frombuffer(self.states, np.uint8) | np.frombuffer(self.levels, np.uint8)
        merged |= np.frombuffer(self.ran, np.uint8)
        self.ran = bytearray(len(self.ran))
        return merged.tobytes()


class StepModel:
    """Follows the steps of all sessions watched.

    Args:
      graph_of: gives the user's graph of a session's number, for what only that graph knows.
      queues: gives the queues there are (``queue_sizes.py``).
    """

    def __init__(
        self,
        graph_of: Callable[[int], Graph | None] = lambda _: None,
        queues: Callable[[], list[dict[str, Any]]] = list,
    ) -> None:
        self._graph_of = graph_of
        self._queues = queues
        self._ends: deque[int] = deque(maxlen=RATE_STEPS)
        self.sent_bytes = 0  # of the steps that have ended
        self._signatures: dict[tuple[int, int], Signature] = {}
        self._placed: dict[tuple[int, int], PlacedGraph] = {}
        self._unbuilt: dict[tuple[int, int], PartitionedGraph] = {}
        self._running: dict[tuple[int, int], tuple[Signature, int]] = {}
        self._frames: dict[tuple[int, int], FrameBook] = {}
        self._next_event = 0
        self.step: RunningStep | None = None
        self._session = -1
        # What is known better where steps are only looked at.
        self.sampled: Callable[[int], dict[str, Any]] | None = None
        self.steps_done = 0
        self.steps_failed = 0
        self.events_seen = 0
        self.events_dropped = 0
        self.node_runs = 0
        self.step_times_ns: list[int] = []
        self.busy_by_op: dict[str, int] = {}
        self._looked_ns = 0
        self.first_ns = 0
        self.last_ns = 0
        self.error = ""

    # -- reading the log ---------------------------------------------------------------------------

    def absorb(self, log: EventLog) -> bool:
        """Reads all that was recorded since the last call; says whether there was anything."""
        # Steps first: of two that are recorded meanwhile, the end is then not read without its
        # events.
        steps = [log.steps.popleft() for _ in range(len(log.steps))]
        changed = self._absorb_names(log)
        events = log.events
        count = len(events)
        batch: list[tuple[Any, ...]] = []
        if count > MAX_READ:
            # So many events that reading them would slow the runtime down: the newest tell enough.
            skipped = [events.popleft() for _ in range(count - NEWEST_EVENTS)]
            # Loops are followed all the same: of many nodes only one begins an iteration.
            batch = [event for event in skipped if event[1] >= ITERATION_STARTED]
            count = NEWEST_EVENTS
        batch += [events.popleft() for _ in range(count)]
        if not (steps or batch):
            return changed
        numbers = [event[0] for event in batch]
        # Threads take a number and append in two steps, so neighbours may stand the other way
        # round.
        following = max([*numbers[:1], *numbers[-1:], *(event[0] for event in steps)]) + 1
        dropped_before = self.events_dropped
        self.events_seen += len(batch) + len(steps)
        self.events_dropped += max(0, following - self._next_event - len(batch) - len(steps))
        self._next_event = max(self._next_event, following)
        if self.events_dropped > dropped_before and self.step is not None:
            # A start whose end may be among what was not seen measures nothing.
            self.step.started = [0] * len(self.step.started)
        begin = 0
        for event in steps if batch else self._pass_over(steps):
            end = max(begin, bisect_left(numbers, event[0]))
            self._read(batch[begin:end])
            begin = end
            if event[1] == STEP_STARTED:
                self._start(event, log)
            elif event[1] == STEP_DONE:
                self._finish(event)
            else:
                self._count(event)
        self._read(batch[begin:])
        if self.events_dropped > dropped_before and self.step is not None:
            self.step.infer()
        return True

    def _pass_over(self, steps: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Adds up steps that came and went and tell of no node; gives the other events.

        There may be thousands between two pictures, of which the last is worth a look.
        """
        starts = (
            place for place in range(len(steps) - 1, 0, -1) if steps[place][1] == STEP_STARTED
        )
        last, place, times = next(starts, 0), 0, self.step_times_ns
        while place < last:
            begin, counted, end = steps[place : place + 3]
            if (
                (begin[1], counted[1], end[1], end[-1]) != (*_COUNTED_STEP, None)
                or not begin[2:4] == counted[2:4] == end[2:4]
                or (begin[2], begin[4]) not in self._signatures
            ):
                break
            place += 3
            self.node_runs += counted[4].total
            self.sent_bytes += counted[4].sent_bytes
            self._ends.append(end[4])
            if len(times) < MAX_STEP_TIMES:
                times.append(end[4] - begin[5])
            self._frames.pop(end[2:4], None)
        self.steps_done += place // 3
        self.last_ns = max(self.last_ns, *self._ends) if place else self.last_ns
        return steps[place:]

    def _absorb_names(self, log: EventLog) -> bool:
        changed = bool(log.signatures or log.frames)
        while log.signatures:
            session, what = log.signatures.popleft()
            if isinstance(what, PlacedGraph):
                self._placed[session, what.signature_id] = what
            else:
                self._unbuilt[session, what.signature_id] = what
        while log.frames:
            session, step_id, *rest = log.frames.popleft()
            self._frames.setdefault((session, step_id), FrameBook()).enter(*rest)
        return changed

    def _read(self, batch: Sequence[tuple[Any, ...]]) -> None:
        """The loop over events of the step on show; long on purpose, since each event runs it."""
        step, watched = self.step, self._session
        if step is None:
            return
        for event in batch:
            kind = event[1]
            if event[3] != step.step_id or event[2] != watched:
                continue
            if kind == NODE_DONE:
                _, _, _, _, partition, node_id, t_ns, is_dead = event
                place = step.signature.place_of[partition][node_id]
                about = step.partitions[partition]
                count = step.counts[place] + 1
                step.counts[place] = count
                about.runs += 1
                if count == 1:
                    about.done += 1
                if count & (count - 1) == 0:
                    step.levels[place] = min(MAX_LEVEL, count.bit_length()) << COUNT_SHIFT
                # A node of a loop is dead in the last iteration; it counts as dead only if it
                # never ran.
                if not is_dead:
                    if step.states[place] == DEAD:
                        about.dead -= 1
                    step.states[place] = DONE
                    step.ran[place] = RAN
                    if step.started[place]:
                        step.busy_ns[place] += t_ns - step.started[place]
                        step.started[place] = 0
                elif count == 1:
                    about.dead += 1
                    step.states[place] = DEAD
                elif step.states[place] == RUNNING:
                    step.states[place] = DONE
            elif kind == NODE_STARTED:
                _, _, _, _, partition, node_id, t_ns = event
                place = step.signature.place_of[partition][node_id]
                if step.states[place] != DEAD:
                    step.states[place] = RUNNING
                step.started[place] = t_ns
                step.partitions[partition].current = node_id
            elif kind == SENT:
                step.sent_bytes += event[5]
            else:
                self._follow_frame(step, event)

    # -- steps -------------------------------------------------------------------------------------

    def _start(self, event: tuple[Any, ...], log: EventLog) -> None:
        _, _, session, step_id, signature_id, t_ns = event
        signature = self._signature(session, signature_id, log)
        if signature is None:
            return
        self.first_ns = self.first_ns or t_ns
        self._running[session, step_id] = (signature, t_ns)
        self._session = session
        book = self._frames.setdefault((session, step_id), FrameBook())
        self.step = RunningStep.of(step_id, signature, t_ns, book)

    def _count(self, event: tuple[Any, ...]) -> None:
        """What ran of a step that tells of no node: at its end, or seen while it runs."""
        _, kind, session, step_id, counts, t_ns = event
        step = self.step
        if step is None or (session, step_id) != (self._session, step.step_id) or step.ended_ns:
            if kind == STEP_COUNTED:
                self.node_runs += counts.total
                self.sent_bytes += counts.sent_bytes
            return
        step.take(counts)
        if kind == STEP_COUNTED:
            return
        took = min(t_ns - max(self._looked_ns, self.first_ns), _LONGEST_LOOK_NS)
        self._looked_ns = t_ns
        op = step.op_of(counts.running)
        # Python lets go at the end of an iteration, where a Merge gets its value.
        if op and op not in _MERGES:
            self.busy_by_op[op] = self.busy_by_op.get(op, 0) + took

    def _finish(self, event: tuple[Any, ...]) -> None:
        _, _, session, step_id, t_ns, error = event
        self.last_ns = max(self.last_ns, t_ns)
        found = self._running.pop((session, step_id), None)
        self._frames.pop((session, step_id), None)
        if found is not None and len(self.step_times_ns) < MAX_STEP_TIMES:
            self.step_times_ns.append(t_ns - found[1])
        self.steps_done += 1
        self._ends.append(t_ns)
        step = self.step
        is_shown = step is not None and (session, step_id) == (self._session, step.step_id)
        if error is not None:
            self.steps_failed += 1
            self.error = str(error)
        if step is None or not is_shown:
            return
        step.ended_ns = t_ns
        step.error = error or ""
        left_over = FAILED if error is not None else DONE
        self._settle(step, left_over)
        self._keep_times(step)

    def _settle(self, step: RunningStep, left_over: int) -> None:
        """After the end nothing runs: what was running failed, or its end was not seen."""
        is_whole = self.events_dropped == 0
        for place, state in enumerate(step.states):
            if state == RUNNING or (state == WAITING and left_over == DONE and not is_whole):
                step.states[place] = left_over
        step.frames.end(is_complete=left_over == DONE)
        if left_over == DONE and not is_whole:
            for about, total in zip(step.partitions, step.signature.totals):
                about.done = total

    def _keep_times(self, step: RunningStep) -> None:
        for place, busy in enumerate(step.busy_ns):
            if busy:
                op = step.signature.scene.nodes[place].op
                self.busy_by_op[op] = self.busy_by_op.get(op, 0) + busy
        self.node_runs += sum(about.runs for about in step.partitions)
        self.sent_bytes += step.sent_bytes

    def _signature(self, session: int, signature_id: int, log: EventLog) -> Signature | None:
        key = (session, signature_id)
        found = self._signatures.get(key)
        if found is not None:
            return found
        if key not in self._unbuilt:
            self._absorb_names(log)
        partitioned = self._unbuilt.pop(key, None)
        if partitioned is None:
            return None
        graph = self._graph_of(session)
        placed = self._placed.pop(key, None)
        found = make_signature(len(self._signatures), partitioned, placed, graph)
        self._signatures[key] = found
        return found

    def _follow_frame(self, step: RunningStep, event: tuple[Any, ...]) -> None:
        _, kind, _, _, partition, frame_id, *rest = event
        if kind == ITERATION_STARTED:
            view = step.signature.partitioned.partitions[partition]
            step.frames.iteration_started(
                partition, frame_id, rest[0], view.device, view.frame_names
            )
        elif kind == ITERATION_DONE:
            step.frames.iteration_done(partition, frame_id, rest[0])
        else:
            step.frames.frame_done(partition, frame_id)

    def steps_per_second(self) -> float:
        """How fast the latest steps followed each other; 0 before there are two."""
        if len(self._ends) < 2:
            return 0.0
        return (len(self._ends) - 1) * 1e9 / max(1, self._ends[-1] - self._ends[0])

    # -- what to show
    # --------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether any step is in flight."""
        return bool(self._running)

    @property
    def phase(self) -> str:
        """One word for the whole: waiting, running, done or failed."""
        if self.step is None:
            return "waiting"
        if self.is_running:
            return "running"
        return "failed" if self.step.error else "done"

    @staticmethod
    def _is_in_flight(step: RunningStep | None) -> TypeGuard[RunningStep]:
        return step is not None and not step.ended_ns

    def frame_rows(self) -> list[FrameRow]:
        """The loops of the step on show."""
        return [] if self.step is None else self.step.frames.rows()

    def counters(self, now_ns: int) -> dict[str, Any]:
        """The small counters that travel beside the states; progress_panel.ts reads them."""
        step = self.step
        end_ns = now_ns if self.is_running else self.last_ns
        elapsed = max(0, end_ns - self.first_ns) if self.first_ns else 0
        rows = self.frame_rows()
        runs = self.node_runs
        partitions = []
        step_ns = 0
        if step is not None:
            step_ns = (step.ended_ns or now_ns) - step.started_ns
            if not step.ended_ns:
                runs += sum(about.runs for about in step.partitions)
            partitions = [
                {
                    "device": device,
                    "done": about.done,
                    "dead": about.dead,
                    "total": total,
                    "runs": about.runs,
                    "current": _name_of(step, partition, about.current),
                }
                for partition, (device, total, about) in enumerate(
                    zip(step.signature.devices, step.signature.totals, step.partitions)
                )
            ]
        # Each node that was not seen left two events.
        runs += self.events_dropped // 2
        return {
            "phase": self.phase,
            "steps": self.steps_done,
            "running": len(self._running),
            "elapsed_ns": elapsed,
            "step_ns": max(0, step_ns),
            "runs_per_second": runs / (elapsed / 1e9) if elapsed else 0.0,
            "steps_per_second": self.steps_per_second(),
            "sent_bytes": self.sent_bytes + (step.sent_bytes if self._is_in_flight(step) else 0),
            "queues": self._queues(),
            "partitions": partitions,
            "frames": [
                {
                    "name": row.name,
                    "device": row.device,
                    "depth": row.depth,
                    "iteration": row.iteration,
                    "live": row.live,
                    "isDone": row.is_done,
                    "runs": row.runs,
                }
                for row in rows[:MAX_FRAME_ROWS]
            ],
            "moreFrames": max(0, len(rows) - MAX_FRAME_ROWS),
            "dropped": self.events_dropped,
            "error": step.error if step is not None else self.error,
            **({} if self.sampled is None else self.sampled(now_ns)),
        }


def make_signature(
    number: int, partitioned: PartitionedGraph, placed: PlacedGraph | None, graph: Graph | None
) -> Signature:
    """Builds the scene of a signature and finds every partition's nodes in it."""
    description = describe_partitions(partitioned, placed, graph)
    scene = build_scene(description.nodes, partitions=description.devices)
    position = scene.position()
    place_of = [
        [position[first + node_id] for node_id in range(len(view.node_names))]
        for view, first in zip(partitioned.partitions, description.start)
    ]
    totals = [sum(op not in _NOT_NODES for op in view.node_ops) for view in partitioned.partitions]
    return Signature(number, partitioned, placed, graph, scene, place_of, totals)


def _name_of(step: RunningStep, partition: int, node_id: int) -> str:
    names = step.signature.partitioned.partitions[partition].node_names
    return names[node_id] if 0 <= node_id < len(names) else ""
