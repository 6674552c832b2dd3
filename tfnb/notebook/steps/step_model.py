"""Interprets the recorded events: nodes done, loops and their iterations, partitions.

A :class:`StepModel` belongs to one watch and is used by one thread at a time.  It reads the log of
the recorders (``step_recorder.py``), stores the names of every signature, and follows the step that
began last; for the others it keeps counts.  It does not depend on widgets:
:meth:`StepModel.counters` and :meth:`RunningStep.state_bytes` are plain data.

The state of a node is one byte: the low three bits are its activity, bit 3 is set if it ran since
the last picture, the high four bits are the bit length of its run count.
``labextension/src/render/states.ts`` reads it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from tfnb.core.array_module import as_places
from tfnb.core.step_events import PartitionedGraph, PlacedGraph
from tfnb.notebook.scenes.attr_text import cut_middle
from tfnb.notebook.scenes.graph_scene import describe_partitions
from tfnb.notebook.scenes.node_notes import folded_note
from tfnb.notebook.scenes.scene import build_scene
from tfnb.notebook.steps.step_frames import FrameBook, FrameRow
from tfnb.notebook.steps.step_recorder import (
    FRAME_DEAD,
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

    import numpy.typing as npt

    from tfnb.common_runtime.executor.running_nodes import NodeCounts
    from tfnb.framework.graph import Graph
    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.step_waits import StepWait

IDLE, WAITING, RUNNING, DONE, DEAD, FAILED, BLOCKED, STOPPED = range(8)
RAN = 0b1000
COUNT_SHIFT = 4
STATE_BITS = 0b111
_NOT_STATE = 0b11111000
MAX_LEVEL = 15
MAX_FRAME_ROWS = 8
MAX_WAIT_LINES = 6
MAX_STEP_TIMES = 4096
MAX_CHOICES = 30
MAX_CHOICE_NAME = 48
# Duration after which a step of another graph replaces the graph on display.
ADOPT_NS = 250_000_000
# Time since its last run during which a graph stays on display despite shorter steps of others.
STAYS_NS = 1_000_000_000
RATE_STEPS = 33
"""Number of step ends over which their rate is computed."""
# Above this number of events between two pictures, read only the newest, so that the reader does
# not slow the runtime down.
MAX_READ = 25_000
NEWEST_EVENTS = 8_000
_COUNTED_STEP = (STEP_STARTED, STEP_COUNTED, STEP_DONE)
# A longer time between two samples of a step counts as time without observation.
_LONGEST_LOOK_NS = 200_000_000
_MERGES = frozenset(("Merge", "RefMerge"))
_ENTERS = frozenset(("Enter", "RefEnter"))
_NOT_NODES = frozenset(("_SOURCE", "_SINK"))


@dataclass(slots=True)
class Signature:
    """A signature of a session: its scene, and the places of each partition's nodes in it."""

    number: int
    partitioned: PartitionedGraph
    placed: PlacedGraph | None
    graph: Graph | None
    scene: Scene
    # place_of[partition][node id] is the node's place in the scene.
    place_of: list[list[int]]
    totals: list[int]
    # The partition of the node at each place; -1 for those that `totals` leaves out.
    partition_of: npt.NDArray[np.intp]
    _places: dict[str, int] = field(default_factory=dict)

    def places(self) -> dict[str, int]:
        """Return the place of each node by its name."""
        if not self._places:
            nodes = self.scene.nodes
            self._places = {node.name: place for place, node in reversed(list(enumerate(nodes)))}
        return self._places

    def lanes(self) -> Scene | None:
        """Return the scene with a lane for each device; None where there is one device only."""
        if len(self.scene.partitions) < 2:
            return None
        place = self.scene.position()
        described = [self.scene.nodes[place[old]] for old in range(len(place))]
        scene = self.scene
        return build_scene(described, partitions=scene.partitions, in_lanes=True, note=scene.note)

    @property
    def devices(self) -> tuple[str, ...]:
        """The device of each partition."""
        return self.scene.partitions


@dataclass(slots=True)
class PartitionProgress:
    """Progress of a partition: kernel runs, dead nodes passed, and the node that began last."""

    runs: int = 0
    dead_runs: int = 0
    current: int = -1


@dataclass(frozen=True, slots=True)
class Picture:
    """What is shown of one moment; the counters count the nodes by the states beside them."""

    signature: Signature | None
    states: bytes
    counters: dict[str, Any]


@dataclass(slots=True)
class RunningStep:
    """The step on display."""

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
    # Number of iterations in which each node runs now; whether it ever had a value.
    in_flight: list[int] = field(default_factory=list)
    lived: bytearray = field(default_factory=bytearray)
    # Node states that override those from the events: nodes that wait for another step, or all
    # nodes of one iteration while a debugger holds the step there.
    standing: dict[int, int] = field(default_factory=dict)
    is_whole: bool = True
    """Whether its events were read from the beginning."""

    @classmethod
    def of(cls, step_id: int, signature: Signature, t_ns: int, frames: FrameBook) -> RunningStep:
        """Create a step in which no node has run yet."""
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
            in_flight=[0] * count,
            lived=bytearray(count),
            partitions=[PartitionProgress() for _ in signature.devices],
            frames=frames,
        )

    def infer(self) -> None:
        """After skipped events, mark the inputs of nodes that ran as having run.

        The inputs of a Merge are not marked, because it runs when one of them is there; but the
        Enters of a loop ran before all of its nodes.
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

    def take(self, counts: NodeCounts) -> None:
        """Take the run counts so far of a step that reports no node events."""
        all_live, all_dead = counts.nodes()
        loops, first = counts.loops(), 0
        self.sent_bytes = counts.sent_bytes
        views = self.signature.partitioned.partitions
        for number, (about, places) in enumerate(zip(self.partitions, self.signature.place_of)):
            place = np.array(places, np.intp)
            live, dead = (one[first : first + len(places)] for one in (all_live, all_dead))
            running = [one - first for one in counts.running_ids]
            first += len(places)
            runs = live + dead
            states = np.where(live > 0, DONE, np.where(dead > 0, DEAD, WAITING))
            for current in running:
                if 0 <= current < len(places):
                    about.current = current
                    if states[current] != DEAD:
                        states[current] = RUNNING
            before = np.array(self.counts)[place]
            np.frombuffer(self.states, np.uint8)[place] = states
            np.frombuffer(self.ran, np.uint8)[place[(runs > before) & (live > 0)]] = RAN
            levels = np.minimum(np.frexp(runs)[1], MAX_LEVEL) << COUNT_SHIFT
            np.frombuffer(self.levels, np.uint8)[place] = levels
            for node, count in zip(places, runs.tolist()):
                self.counts[node] = count
            about.runs, about.dead_runs = int(live.sum()), int(dead.sum())
            self.frames.counted(number, loops, views[number].device, views[number].frame_names)

    def op_of(self, number: int) -> str:
        """Return the op of the node with that number, counted across all partitions."""
        ops = [op for view in self.signature.partitioned.partitions for op in view.node_ops]
        return ops[number] if 0 <= number < len(ops) else ""

    def state_bytes(self) -> bytes:
        """Return one byte per scene node; nodes that ran since the last call are marked."""
        found = self.shown()
        if not self.ended_ns:
            found |= np.frombuffer(self.ran, np.uint8)
        self.ran = bytearray(len(self.ran))
        return found.tobytes()

    def shown(self) -> npt.NDArray[np.uint8]:
        """Return the states and run counts as they are shown, without marks."""
        merged = np.frombuffer(self.states, np.uint8) | np.frombuffer(self.levels, np.uint8)
        for place, state in self.standing.items() if not self.ended_ns else ():
            merged[place] = state | (int(merged[place]) & _NOT_STATE)
        return merged

    def tally(self, shown: npt.NDArray[np.uint8]) -> list[tuple[int, int]]:
        """Count, by partition, the nodes shown as done or dead, and the dead ones among them."""
        states, partition_of = shown & STATE_BITS, self.signature.partition_of
        counts = []
        for among in ((DONE, DEAD), (DEAD,)):
            found = partition_of[np.isin(states, among) & (partition_of >= 0)]
            counts.append(np.bincount(as_places(found), minlength=len(self.partitions)).tolist())
        return list(zip(*counts))

    def node_runs(self) -> int:
        """Return how often nodes ended so far, dead ones included."""
        return sum(about.runs + about.dead_runs for about in self.partitions)

    def stand(self, states: dict[str, int]) -> None:
        """Override the states of nodes, by name, until the next call."""
        places = self.signature.places()
        self.standing = {places[name]: state for name, state in states.items() if name in places}


class StepModel:
    """Follows the steps of all sessions watched.

    Args:
      graph_of: returns the user's graph by session number, for data that only this graph has.
      queues: returns the existing queues (``queue_sizes.py``).
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
        self._numbers: dict[tuple[int, int], int] = {}  # number of each signature
        self._placed: dict[tuple[int, int], PlacedGraph] = {}
        self._unbuilt: dict[tuple[int, int], PartitionedGraph] = {}
        self._running: dict[tuple[int, int], tuple[Signature, int]] = {}
        self._frames: dict[tuple[int, int], FrameBook] = {}
        self._next_event = 0
        self.step: RunningStep | None = None
        self._session = -1
        # The signature whose steps are to be shown; None: those that take longest.  Any thread may
        # set it.
        self.wanted: int | None = None
        self._chosen: int | None = None
        self.offers_choice = False
        self._last_shown: dict[int, tuple[int, RunningStep]] = {}  # by signature, with the session
        # Returns more precise data for steps that are only sampled.
        self.sampled: Callable[[int], dict[str, Any]] | None = None
        # Whether more steps may come, so that the phase is not "done" when none runs.
        self.is_open = False
        # `is_open` and `stop_states` when the events were read: other threads set them.
        self._was_open = False
        self._stands: dict[str, int] | None = None
        self.has_news = False  # the last call of `absorb` brought something
        self._waits: dict[tuple[int, int], StepWait] = {}
        self._noted: dict[tuple[int, int], StepWait] = {}
        self.server_waits: list[str] = []  # what is known of requests to servers only
        # While a debugger holds the step on display: the states of the nodes, by name.
        self.stop_states: dict[str, int] | None = None
        self._times: dict[tuple[int, int], tuple[int, int]] = {}  # signature -> steps, ns
        self.steps_done = 0
        self.steps_failed = 0
        self.steps_cancelled = 0
        self.events_seen = 0
        self.events_dropped = 0
        self.node_runs = 0  # how often nodes ended, dead ones included
        self.step_times_ns: list[int] = []
        self.busy_by_op: dict[str, int] = {}
        self._looked_ns = 0
        self.first_ns = 0
        self.last_ns = 0
        self.error = ""
        self._last_error = ""  # of the step that ended last

    # -- reading the log ---------------------------------------------------------------------------

    def absorb(self, log: EventLog) -> bool:
        """Read all events since the last call; return whether there were any."""
        self._was_open = self.is_open  # before the events: none comes after the end
        has_turned = self._take_choice()
        self.has_news = self._absorb(log) or has_turned
        return self.has_news

    def note_waits(self, found: dict[tuple[int, int], StepWait]) -> None:
        """Take the waits of the steps in flight, by session and step id.

        Short waits are ignored: they end before the next sample.
        """
        before, self._noted = self._noted, found
        self._waits = {}
        for key, wait in found.items():
            earlier = before.get(key)
            if earlier is not None and earlier.kind == wait.kind:
                nodes = tuple(name for name in wait.nodes if name in earlier.nodes)
                if nodes or wait.kind:
                    self._waits[key] = replace(wait, nodes=nodes)

    def choose(self, now_ns: int) -> None:
        """If the step on display has ended, show another one that has run or waited for long."""
        self._stands = self.stop_states
        step = self.step
        if step is None or step.ended_ns:
            found = [
                (t_ns, key)
                for key, (signature, t_ns) in self._running.items()
                if key in self._waits or now_ns - t_ns > ADOPT_NS
                if self._may_show(signature)
            ]
            if not found:
                return
            step = self._join(min(found)[1])
        wait = self.shown_wait
        if self._stands is not None:
            step.stand(self._stands)
            return
        step.stand(dict.fromkeys(() if wait is None else wait.nodes, BLOCKED))
        for place in step.standing:
            partition = step.signature.scene.nodes[place].partition
            node_id = step.signature.place_of[partition].index(place)
            step.partitions[partition].current = node_id
        if step.standing and (self.sampled is not None or not step.is_whole):
            for place in step.standing:
                step.states[place] = RUNNING
            step.infer()

    def _join(self, key: tuple[int, int]) -> RunningStep:
        """Show a step that is already running."""
        signature, t_ns = self._running[key]
        book = self._frames.setdefault(key, FrameBook())
        step = self._show(key[0], RunningStep.of(key[1], signature, t_ns, book))
        step.is_whole = False
        return step

    def _show(self, session: int, step: RunningStep) -> RunningStep:
        self.step, self._session = step, session
        self._last_shown[step.signature.number] = session, step
        return step

    # -- the user's choice ------------------------------------------------------------------------

    def _may_show(self, signature: Signature) -> bool:
        return self._chosen is None or signature.number == self._chosen

    def _take_choice(self) -> bool:
        """Show a running step of the signature that the user chose, else its last one.

        Returns whether there is a new choice.
        """
        if self.wanted == self._chosen:
            return False
        self._chosen = self.wanted
        turned_to = self._longest() if self._chosen is None else self._chosen
        step = self.step
        if step is None or step.signature.number == turned_to:
            return True
        running = [key for key, (one, _) in self._running.items() if one.number == turned_to]
        if running:
            self._join(min(running))
        elif turned_to in self._last_shown:
            self._session, self.step = self._last_shown[turned_to]
        return True

    def _longest(self) -> int:
        """Return the signature whose steps took longest; -1 if none has ended."""
        means = {key: total / steps for key, (steps, total) in self._times.items()}
        known = [key for key in means if key in self._signatures]
        return self._signatures[max(known, key=means.__getitem__)].number if known else -1

    def choices(self) -> list[dict[str, Any]]:
        """Return the signatures that ran, with their fetches, run counts and times."""
        found = []
        for key, one in list(self._signatures.copy().items())[:MAX_CHOICES]:
            steps, total = self._times.get(key, (0, 0))
            what = ", ".join([*one.partitioned.fetches, *one.partitioned.targets])
            number = {"number": one.number, "what": cut_middle(what, MAX_CHOICE_NAME)}
            found.append({**number, "steps": steps, "ns": total // steps if steps else 0})
        return found

    @property
    def shown_wait(self) -> StepWait | None:
        """Return the wait of the step on display; None if it runs."""
        step = self.step
        return None if step is None else self._waits.get((self._session, step.step_id))

    def _absorb(self, log: EventLog) -> bool:
        # Take step events before node events, so that the end of a step recorded meanwhile is not
        # read without the step's node events.
        steps = [log.steps.popleft() for _ in range(len(log.steps))]
        changed = self._absorb_names(log)
        events = log.events
        count = len(events)
        batch: list[tuple[Any, ...]] = []
        if count > MAX_READ:
            # Reading all of them would slow the runtime down: read only the newest.
            skipped = [events.popleft() for _ in range(count - NEWEST_EVENTS)]
            # Loop events are still read: there is one per iteration, not one per node.
            batch = [event for event in skipped if event[1] >= ITERATION_STARTED]
            count = NEWEST_EVENTS
        batch += [events.popleft() for _ in range(count)]
        # Threads take a number and append in two steps, so neighbours may be swapped: the first
        # nodes of a step would be read before its start, and be lost.
        batch.sort(key=itemgetter(0))
        # Take the start of a step that began meanwhile: this batch has its first node events.
        while batch and log.steps and log.steps[0][0] < batch[-1][0]:
            steps.append(log.steps.popleft())
        if not (steps or batch):
            return changed
        numbers = [event[0] for event in batch]
        following = max([*numbers[-1:], *(event[0] for event in steps)]) + 1
        dropped_before = self.events_dropped
        self.events_seen += len(batch) + len(steps)
        self.events_dropped += max(0, following - self._next_event - len(batch) - len(steps))
        self._next_event = max(self._next_event, following)
        if self.events_dropped > dropped_before and self.step is not None:
            # A start whose end may be among the dropped events gives no duration.
            self.step.started = [0] * len(self.step.started)
            self.step.in_flight = [0] * len(self.step.in_flight)
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
        """Add up finished steps without node events; return the other events.

        There may be thousands between two pictures; only the last one is shown.
        """
        starts = [place for place, event in enumerate(steps) if event[1] == STEP_STARTED]
        last, place, times = self._worth_a_look(steps, starts), 0, self.step_times_ns
        # The end of a step whose start was absorbed may come first: its nodes were read before.
        while place + 3 <= last:
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
            self._note_time((begin[2], begin[4]), end[4] - begin[5])
            self._frames.pop(end[2:4], None)
        self.steps_done += place // 3
        self._last_error = "" if place else self._last_error
        self.last_ns = max(self.last_ns, *self._ends) if place else self.last_ns
        return steps[place:]

    def _worth_a_look(self, steps: list[tuple[Any, ...]], starts: list[int]) -> int:
        """Return the start of the last step that may be shown, else that of the last step."""
        for place in reversed(starts):
            _, _, session, _, signature_id, t_ns = steps[place]
            signature = self._signatures.get((session, signature_id))
            if signature is None or not self._stays(signature, (session, signature_id), t_ns):
                return place
        return starts[-1] if starts else 0

    def _note_time(self, key: tuple[int, int], took_ns: int) -> None:
        steps, total = self._times.get(key, (0, 0))
        self._times[key] = (steps + 1, total + took_ns)

    def _stays(self, signature: Signature, key: tuple[int, int], t_ns: int) -> bool:
        """Return whether the graph on display stays, although a shorter step of another graph runs.

        This keeps the picture from changing with each of many short steps.
        """
        step = self.step
        if step is not None and self._chosen is not None:
            return not self._may_show(signature)
        if step is None or step.error or step.signature is signature or key not in self._times:
            return False
        shown = (self._session, step.signature.partitioned.signature_id)
        if step.ended_ns:
            if t_ns - step.ended_ns > STAYS_NS:
                return False
        elif self.shown_wait is not None:
            return False
        steps, total = self._times.get(shown, (1, t_ns - step.started_ns))
        other_steps, other_total = self._times[key]
        return other_total * steps < total * other_steps

    def _absorb_names(self, log: EventLog) -> bool:
        changed = bool(log.signatures or log.frames)
        while log.signatures:
            session, what = log.signatures.popleft()
            if isinstance(what, PlacedGraph):
                self._placed[session, what.signature_id] = what
            else:
                self._unbuilt[session, what.signature_id] = what
                # A server's own graphs replace the plan of a signature.
                self._signatures.pop((session, what.signature_id), None)
        while log.frames:
            session, step_id, *rest = log.frames.popleft()
            self._frames.setdefault((session, step_id), FrameBook()).enter(*rest)
        return changed

    def _read(self, batch: Sequence[tuple[Any, ...]]) -> None:
        """Apply the events of the step on display; one long function for speed."""
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
                if is_dead:
                    about.dead_runs += 1
                else:
                    about.runs += 1
                if step.in_flight[place]:
                    step.in_flight[place] -= 1
                if count & (count - 1) == 0:
                    step.levels[place] = min(MAX_LEVEL, count.bit_length()) << COUNT_SHIFT
                # A node of a loop is dead in the last iteration; it counts as dead only if it
                # never ran.
                if not is_dead:
                    step.lived[place] = 1
                    # Another iteration of the node may run or wait meanwhile.
                    step.states[place] = RUNNING if step.in_flight[place] else DONE
                    step.ran[place] = RAN
                    if step.started[place]:
                        step.busy_ns[place] += t_ns - step.started[place]
                        step.started[place] = 0
                elif step.in_flight[place]:
                    pass
                elif not step.lived[place]:
                    step.states[place] = DEAD
                elif step.states[place] == RUNNING:
                    step.states[place] = DONE
            elif kind == NODE_STARTED:
                _, _, _, _, partition, node_id, t_ns = event
                place = step.signature.place_of[partition][node_id]
                if step.states[place] != DEAD:
                    step.states[place] = RUNNING
                step.started[place] = t_ns
                step.in_flight[place] += 1
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
        if self._stays(signature, (session, signature_id), t_ns):
            return
        book = self._frames.setdefault((session, step_id), FrameBook())
        self._show(session, RunningStep.of(step_id, signature, t_ns, book))

    def _count(self, event: tuple[Any, ...]) -> None:
        """Take the counts of a step without node events, at its end or sampled as it runs."""
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
        # Python switches threads at the end of an iteration, where a Merge gets its value.
        if op and op not in _MERGES:
            self.busy_by_op[op] = self.busy_by_op.get(op, 0) + took

    def _finish(self, event: tuple[Any, ...]) -> None:
        _, _, session, step_id, t_ns, error = event
        self.last_ns = max(self.last_ns, t_ns)
        found = self._running.pop((session, step_id), None)
        self._frames.pop((session, step_id), None)
        if found is not None:
            signature_id = found[0].partitioned.signature_id
            self._note_time((session, signature_id), t_ns - found[1])
        if found is not None and len(self.step_times_ns) < MAX_STEP_TIMES:
            self.step_times_ns.append(t_ns - found[1])
        self._ends.append(t_ns)
        self._last_error = str(error or "")
        step = self.step
        is_shown = step is not None and (session, step_id) == (self._session, step.step_id)
        if error is None:
            self.steps_done += 1
        elif is_cancelled(error):
            self.steps_cancelled += 1
            self.error = str(error)
        else:
            self.steps_failed += 1
            self.error = str(error)
        if step is None or not is_shown:
            return
        step.ended_ns = t_ns
        step.error = error or ""
        # The nodes at which a step was cancelled are marked, too.
        left_over = FAILED if error is not None else DONE
        self._settle(step, left_over)
        self._keep_times(step)

    def _settle(self, step: RunningStep, left_over: int) -> None:
        """Give nodes still marked as running their final state: failed, or end not seen."""
        is_whole = self.events_dropped == 0 and step.is_whole
        for place, state in enumerate(step.states):
            if state == RUNNING or (state == WAITING and left_over == DONE and not is_whole):
                step.states[place] = left_over
        step.frames.end(is_complete=left_over == DONE)

    def _keep_times(self, step: RunningStep) -> None:
        for place, busy in enumerate(step.busy_ns):
            if busy:
                op = step.signature.scene.nodes[place].op
                self.busy_by_op[op] = self.busy_by_op.get(op, 0) + busy
        self.node_runs += step.node_runs()
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
        number = self._numbers.setdefault(key, len(self._numbers))
        found = make_signature(number, partitioned, placed, graph)
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
        elif kind == FRAME_DEAD:
            step.frames.frame_dead(partition, frame_id)
        else:
            step.frames.frame_done(partition, frame_id)

    def steps_per_second(self) -> float:
        """Return the rate of the latest steps; 0 before there are two."""
        if len(self._ends) < 2:
            return 0.0
        return (len(self._ends) - 1) * 1e9 / max(1, self._ends[-1] - self._ends[0])

    def _rate_to_show(self, elapsed_ns: int) -> float:
        """Return the rate of the latest steps; at the end that of all, as the figures beside it."""
        is_over = not (self._was_open or self.is_running)
        if is_over and self.steps_done > 1 and elapsed_ns:
            return self.steps_done * 1e9 / elapsed_ns
        return self.steps_per_second()

    # -- what is shown ----------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether any step is in flight."""
        return bool(self._running)

    @property
    def phase(self) -> str:
        """The overall phase, as one word.

        ``waiting`` for the first step; ``running``; ``blocked`` if the step on display waits for
        another one; ``held`` between two nodes; ``stopped`` by a debugger; ``idle`` if none runs
        now but more may come; at the end ``done``, ``cancelled`` or ``failed``.
        """
        if self.step is None:
            return "waiting"
        if self.is_running:
            if self._stands is not None:
                return "stopped"
            wait = None if self.step.ended_ns else self.shown_wait
            return "running" if wait is None or not wait.kind else wait.kind
        if not self._last_error:
            if not self._was_open:
                return "done"
            return "running" if self.has_news else "idle"
        return "cancelled" if is_cancelled(self._last_error) else "failed"

    def _wait_lines(self) -> list[str]:
        """Describe the waits of steps in flight, the step on display first."""
        step = self.step
        shown = None if step is None else (self._session, step.step_id)
        found: list[str] = []
        for key in sorted(self._waits, key=lambda key: (key != shown, key)):
            if key in self._running and self._waits[key].kind == "blocked":
                where = "" if key == shown else f"Step {key[1]}: "
                found += [f"{where}{line}" for line in self._waits[key].lines]
        return [*self.server_waits, *found][:MAX_WAIT_LINES]

    @staticmethod
    def _is_in_flight(step: RunningStep | None) -> TypeGuard[RunningStep]:
        return step is not None and not step.ended_ns

    def frame_rows(self) -> list[FrameRow]:
        """Return the loops of the step on display."""
        return [] if self.step is None else self.step.frames.rows()

    def picture(self, now_ns: int) -> Picture:
        """Return what is shown of the moment that was read last; marks of what ran begin anew."""
        step = self.step
        if step is None:
            return Picture(None, b"", self._counters(now_ns, []))
        states = step.state_bytes()
        tally = step.tally(np.frombuffer(states, np.uint8))
        return Picture(step.signature, states, self._counters(now_ns, tally))

    def counters(self, now_ns: int) -> dict[str, Any]:
        """Return the counters as they are now."""
        self._was_open = self.is_open
        step = self.step
        return self._counters(now_ns, [] if step is None else step.tally(step.shown()))

    def _counters(self, now_ns: int, tally: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Return the counters sent with the states; progress_panel.ts reads them."""
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
                runs += step.node_runs()
            partitions = [
                {
                    "device": device,
                    "done": done,
                    "dead": dead,
                    "total": total,
                    "runs": about.runs,
                    "current": _name_of(step, partition, about.current),
                }
                for partition, (device, total, about, (done, dead)) in enumerate(
                    zip(step.signature.devices, step.signature.totals, step.partitions, tally)
                )
            ]
        # Each missed node run has two events.
        runs += self.events_dropped // 2
        return {
            "phase": self.phase,
            "steps": self.steps_done,
            "failed": self.steps_failed,
            "cancelled": self.steps_cancelled,
            "running": len(self._running),
            "elapsed_ns": elapsed,
            "step_ns": max(0, step_ns),
            "runs_per_second": runs / (elapsed / 1e9) if elapsed else 0.0,
            "steps_per_second": self._rate_to_show(elapsed),
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
            "waits": self._wait_lines(),
            "dropped": self.events_dropped,
            "error": _in_words(self.error if step is None else self._last_error),
            "choices": self.choices() if self.offers_choice and self.is_open else [],
            "chosen": self._chosen,
            **({} if self.sampled is None else self.sampled(now_ns)),
        }


def is_active(phase: str) -> bool:
    """Return whether steps are in flight in this phase."""
    return phase in ("running", "blocked", "held", "stopped")


def is_cancelled(error: str) -> bool:
    """Return whether the user ended the step with this error, so that it counts as no failure."""
    return error.partition(":")[0] in ("KeyboardInterrupt", "CancelledError")


def _in_words(error: str) -> str:
    return "ended by an interrupt" if error.startswith("KeyboardInterrupt") else error


def make_signature(
    number: int, partitioned: PartitionedGraph, placed: PlacedGraph | None, graph: Graph | None
) -> Signature:
    """Build the scene of a signature and find every partition's nodes in it."""
    description = describe_partitions(partitioned, placed, graph)
    note = folded_note(placed, partitioned)
    scene = build_scene(description.nodes, partitions=description.devices, note=note)
    position = scene.position()
    place_of = [
        [position[first + node_id] for node_id in range(len(view.node_names))]
        for view, first in zip(partitioned.partitions, description.start)
    ]
    totals = [sum(op not in _NOT_NODES for op in view.node_ops) for view in partitioned.partitions]
    partition_of = np.full(len(scene.nodes), -1, np.intp)
    for number_of, (view, places) in enumerate(zip(partitioned.partitions, place_of)):
        counted = [place for place, op in zip(places, view.node_ops) if op not in _NOT_NODES]
        partition_of[counted] = number_of
    return Signature(number, partitioned, placed, graph, scene, place_of, totals, partition_of)


def _name_of(step: RunningStep, partition: int, node_id: int) -> str:
    names = step.signature.partitioned.partitions[partition].node_names
    return names[node_id] if 0 <= node_id < len(names) else ""
