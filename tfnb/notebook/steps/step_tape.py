"""Records the steps of a session as raw events; evaluates them only on request."""

# A TapeRecorder is an observer that only appends.  The tape of a step is one list, in time order:
# the arguments of the hooks, notes of the tensors that nodes made, and the weak references that
# track the tensors' buffers.  When a buffer dies, in any thread, its reference is appended to the
# list without running Python code that an interrupt could hit.  So recording keeps no buffer alive.
# TapeReader makes events and tensors from the tape.

from __future__ import annotations

import math
import weakref
from collections import deque
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.lowering.run.replay import JournalReader, replay
from tfnb.common_runtime.lowering.support.journal import FULL
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.resource_mgr import RefCell
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.lowering.support.journal import Journal
    from tfnb.core.step_events import PartitionedGraph, PlacedGraph

MAX_EVENTS = 200_000
"""Maximum number of events kept per step; further events are only counted."""
MAX_TENSORS = 100_000
"""Maximum number of tensors in a step's record."""
MAX_STEPS = 8
"""Maximum number of steps kept, the latest ones."""
INSIDE = -1
"""The output number of a tensor that was made in a function that the node called."""

# The kinds of events, one byte each.
STARTED, DONE, DEAD, FRAME_ENTERED, ITERATION_STARTED, ITERATION_DONE, FRAME_DONE = range(7)
SENT, RECEIVED = 7, 8

_LENDING = ops_with(Trait.LENDS)
_FROM_BEFORE = ops_with(Trait.FROM_BEFORE)
# Their sizes are negligible.
_SCALARS = frozenset(np.sctypeDict.values())


@dataclass(slots=True, eq=False)
class Tape:
    """The tape of one step: the first ``length`` entries of ``raw``; buffers may die after it."""

    # In ``raw``, the length of a tuple tells its kind: 6 is the arguments of ``node_started``, 7
    # those of ``node_done``; 4 and 5 are tensors of the node that is done next (output, dtype,
    # shape, reference, and bytes if they do not follow from the shape: -1 for a tensor that does
    # not count, no dtype for a tensor that was noted before), 8 a tensor made inside a call, with
    # (time, partition, node) of the caller. Lists are events in the form of TapeReader, numbers are
    # times.
    step_id: int
    signature_id: int
    started_ns: int
    ops: Sequence[Sequence[str]] = ()
    raw: list[Any] = field(default_factory=list)
    length: int = 0
    frames: list[tuple[int, ...]] = field(default_factory=list)
    dropped: int = 0
    ended_ns: int = 0
    error: str = ""
    # Set for a step that ran with a journal: ``raw`` holds its entries.
    journal: Journal | None = None
    # Arguments of ``kernel_ran``: (partition, node, frame, iteration, thread, begin, end)
    elsewhere: list[tuple[Any, ...]] = field(default_factory=list)


class _Notes:
    """Notes of the tensors of a step, or of a call inside it, which counts for one ``node``."""

    __slots__ = ("append", "has_calls", "known", "node", "ops", "partition", "tape")

    def __init__(self, tape: Tape, known: dict[int, weakref.ref[Any]]) -> None:
        self.tape = tape
        self.append = tape.raw.append
        self.known = known  # by id of a buffer's owner; many have died since
        self.has_calls = False
        self.ops = tape.ops
        self.partition = self.node = -1


class _NotKept:
    """Drops the events of calls, whose nodes are not in the picture."""

    def append(self, event: Sequence[Any]) -> None:
        """Drop an event."""


class _Counted(_NotKept):
    """Counts the events of a full tape."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    def append(self, event: Sequence[Any]) -> None:
        """Count an event; it gives its time to a buffer that died just before."""
        self._tape.dropped += 1
        if isinstance(self._tape.raw[-1], weakref.ref):
            self._tape.raw.append(event[5])


_NOT_KEPT = _NotKept()


def _event(row: Callable[..., list[int]]) -> Any:
    def hook(self: TapeRecorder, step_id: int, *given: int) -> None:
        self._events.get(step_id, _NOT_KEPT).append(row(*given))

    return hook


class TapeRecorder(StepObserver):
    """Keeps the latest steps of one session."""

    never_raises = True
    takes_journals = True

    iteration_done = _event(lambda part, frame, k, t: [ITERATION_DONE, part, frame, k, -1, t])
    frame_done = _event(lambda part, frame, t: [FRAME_DONE, part, frame, 0, -1, t])
    # Sizes take the place of the iteration.
    tensor_sent = _event(lambda part, node, size, t: [SENT, part, 0, size, node, t])
    tensor_received = _event(lambda part, node, size, t: [RECEIVED, part, 0, size, node, t])
    # Declares that these are wanted. Closures, made once, are called instead, because each look-up
    # of an attribute on the executor's threads makes the step slower.
    node_started = node_done = tensors_made = iteration_done

    def __init__(self) -> None:
        self.placed: dict[int, PlacedGraph] = {}
        self.partitioned: dict[int, PartitionedGraph] = {}
        self.done: deque[Tape] = deque(maxlen=MAX_STEPS)
        self.num_steps = 0
        self._tapes: dict[int, Tape] = {}
        self._events: dict[int, Any] = {}  # the receiver of a step's events
        self._notes: dict[int, _Notes] = {}  # by step or call
        self.node_started = self.node_done = _keeper(self._events)
        self.tensors_made = _noter(self._notes)

    def graph_placed(self, placed: PlacedGraph) -> None:
        """Keep the placement of the signature's nodes."""
        self.placed[placed.signature_id] = placed

    def graph_partitioned(self, partitioned: PartitionedGraph) -> None:
        """Keep the signature's names."""
        self.partitioned[partitioned.signature_id] = partitioned

    function_instantiated = graph_partitioned

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Begin a tape."""
        tape = self._tapes[step_id] = Tape(step_id, signature_id, t_ns, self._ops_of(signature_id))
        self._notes[step_id] = _Notes(tape, {})
        self._events[step_id] = tape.raw

    def journal_began(self, step_id: int, journal: Journal) -> None:
        """Use the step's own journal as its tape; notes of tensors are added to it."""
        tape = self._tapes.get(step_id)
        if tape is not None:
            journal.most = MAX_EVENTS
            tape.journal, tape.raw = journal, journal.entries
            notes = self._notes[step_id] = _Notes(tape, {})
            self._events[step_id] = _NOT_KEPT
            note = self.tensors_made
            journal.tell_of_one = note, _noter_of_one(notes, note, step_id)

    def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
        """End a tape."""
        tape = self._tapes.pop(step_id, None)
        if tape is not None:
            tape.length = len(tape.raw)
            tape.ended_ns, tape.error = t_ns, error or ""
            self._events.pop(step_id, None)
            self._note_no_more(tape)
            self.num_steps += 1
            self.done.append(tape)

    def call_started(
        self, call_id: int, signature_id: int, step_id: int, partition: int, node_id: int, t_ns: int
    ) -> None:
        """Follow the tensors of a call; nested calls count for the outermost calling node."""
        caller, ops = self._notes.get(step_id), self._ops_of(signature_id)
        if caller is None or node_id < 0 or not ops or self._is_full(caller.tape):
            return
        caller.has_calls = True
        notes = self._notes[call_id] = _Notes(caller.tape, caller.known)
        notes.ops = ops
        notes.partition, notes.node = partition, node_id
        if caller.node >= 0:
            notes.partition, notes.node = caller.partition, caller.node

    def call_done(self, call_id: int, t_ns: int) -> None:
        """Forget a call."""
        self._notes.pop(call_id, None)

    def kernel_ran(self, step_id: int, *ran: Any) -> None:
        """Note which thread of a pool ran a kernel."""
        tape = self._tapes.get(step_id)
        if tape is not None and len(tape.elsewhere) < MAX_EVENTS:
            tape.elsewhere.append(ran)

    def frame_entered(self, step_id: int, *frame: int) -> None:
        """Record that a loop begins."""
        tape, (partition, frame_id, *_, t_ns) = self._tapes.get(step_id), frame
        if tape is not None and self._events.get(step_id) is tape.raw:
            tape.frames.append(frame)
        self._events.get(step_id, _NOT_KEPT).append(
            [FRAME_ENTERED, partition, frame_id, 0, -1, t_ns]
        )

    def iteration_started(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Record that an iteration begins, if the tape has room for its events."""
        notes = self._notes.get(step_id)
        if notes is not None:
            self._is_full(notes.tape)
        self._events.get(step_id, _NOT_KEPT).append(
            [ITERATION_STARTED, partition, frame_id, iteration, -1, t_ns]
        )

    def _ops_of(self, signature_id: int) -> Sequence[Sequence[str]]:
        found = self.partitioned.get(signature_id)
        return () if found is None else [view.node_ops for view in found.partitions]

    def _is_full(self, tape: Tape) -> bool:
        """Return whether the tape is full, and then stop it; called where a step may be endless."""
        if len(tape.raw) > 2 * MAX_EVENTS and self._events.get(tape.step_id) is tape.raw:
            self._events[tape.step_id] = _Counted(tape)
            self._note_no_more(tape)
        return len(tape.raw) > 2 * MAX_EVENTS

    def _note_no_more(self, tape: Tape) -> None:
        for number in [one for one, notes in self._notes.items() if notes.tape is tape]:
            self._notes.pop(number, None)


def _keeper(events: dict[int, Any]) -> Callable[..., None]:
    where = events.get

    def keep(*event: Any) -> None:
        where(event[0], _NOT_KEPT).append(event)

    return keep


def _noter(noted: dict[int, _Notes]) -> Callable[[int, int, int, Sequence[Any]], None]:
    notes_of, follow, now, array = noted.get, weakref.ref, perf_counter_ns, np.ndarray

    def note(step_id: int, partition: int, node_id: int, outputs: Sequence[Any]) -> None:
        notes = notes_of(step_id)
        if notes is None:
            return
        known = notes.known
        slot = -1
        for given in outputs:
            slot += 1
            if given.__class__ is array and given.base is None and notes.node < 0:
                # The common case: an array that owns its buffer.
                reference = known.get(id(given))
                if reference is None or reference() is not given:
                    shape = given.shape
                    if shape:
                        reference = known[id(given)] = follow(given, notes.append)
                        notes.append((slot, given.dtype, shape, reference))
                    continue
            value = given
            if value.__class__ is not array:
                if value.__class__ in _SCALARS:
                    continue
                if isinstance(value, RefCell):
                    value = value.value
                if not getattr(value, "shape", None) or not hasattr(value, "nbytes"):
                    continue
            shape = value.shape
            if not shape:
                continue
            owner = value
            while owner.base is not None and isinstance(owner.base, type(value)):
                owner = owner.base
            key = id(owner)
            reference = known.get(key)
            append = notes.append
            if reference is not None and reference() is owner:
                if notes.has_calls:  # its result may have been made inside
                    append((slot, None, shape, reference, 0))
                continue
            reference = known[key] = follow(owner, append)
            if notes.node >= 0:
                op = notes.ops[partition][node_id]
                is_kept = value is not given or op in _LENDING or op in _FROM_BEFORE
                num_bytes = -1 if is_kept else owner.nbytes
                place = now(), notes.partition, notes.node
                append((INSIDE, value.dtype, shape, reference, num_bytes, place, None, None))
            elif owner is given:
                append((slot, value.dtype, shape, reference))
            else:
                num_bytes = owner.nbytes if value is given else -1
                append((slot, value.dtype, shape, reference, num_bytes))

    return note


def _noter_of_one(
    notes: _Notes, note: Callable[[int, int, int, Sequence[Any]], None], step_id: int
) -> Callable[[int, Any], None]:
    """Return the hook for nodes with one output, in a step that writes a journal."""
    known, append, follow, array = notes.known, notes.append, weakref.ref, np.ndarray
    found = known.get

    def note_one(node_id: int, given: Any) -> None:
        if given.__class__ is array and given.base is None:
            key = id(given)
            reference = found(key)
            if reference is None or reference() is not given:
                shape = given.shape
                if shape:
                    reference = known[key] = follow(given, append)
                    append((0, given.dtype, shape, reference))
                return
        note(step_id, 0, node_id, (given,))

    return note_one


class TapeReader:
    """The contents of a tape."""

    # events: (kind, partition, frame, iteration, what, t_ns), in the order of their times.
    # dropped: how many were too many to keep.
    # forms: the dtypes and shapes of the tensors, numbered.
    # made: partition, node id, output, form, bytes, moment and iteration of each tensor.
    # freed_ns: when each was freed; 0 while it is held.
    # frames: the loops that were entered, as ``frame_entered`` was told of them.

    def __init__(self, tape: Tape) -> None:
        self.events: list[Sequence[int]] = []
        self.frames = tape.frames
        self._latest = 0  # when a tensor was made in a call
        self.forms: dict[tuple[Any, tuple[int, ...]], int] = {}
        self.made: list[list[int]] = []
        self.freed_ns: list[int] = []
        self._ops = tape.ops
        self._rows: dict[int, int] = {}  # by id of the reference
        self._begun: dict[tuple[int, int], int] = {}  # iteration of a node that called
        new: list[tuple[Any, ...]] = []  # tensors whose node is not done
        now = tape.started_ns
        if tape.journal is not None:
            self._read_journal(tape, tape.journal)
            return
        for entry in tape.raw[: tape.length]:
            if entry.__class__ is tuple:
                if len(entry) == 6:
                    _, partition, node, frame, iteration, now = entry
                    self._begun[partition, node] = iteration
                    self.events.append((STARTED, partition, frame, iteration, node, now))
                elif len(entry) == 7:
                    _, partition, node, frame, iteration, now, is_dead = entry
                    if new:
                        for tensor in new:
                            self._made(tensor, partition, node, iteration, now)
                        new.clear()
                    kind = DEAD if is_dead else DONE
                    self.events.append((kind, partition, frame, iteration, node, now))
                elif len(entry) == 8:
                    now, partition, node = entry[5]
                    iteration = self._begun.get((partition, node), 0)
                    self._made(entry, partition, node, iteration, now)
                else:
                    new.append(entry)
            elif entry.__class__ is list:
                now = entry[5]
                self.events.append(entry)
            elif entry.__class__ is int:
                now = entry
            else:
                self.freed(entry, now)
        self.dropped = tape.dropped + max(0, len(self.events) - MAX_EVENTS)
        del self.events[MAX_EVENTS:]
        # Threads read the time and append in two steps.
        self.events.sort(key=lambda event: event[5])

    def _read_journal(self, tape: Tape, journal: Journal) -> None:
        """Make events from the journal of the step."""
        self.frames = []
        length = min(journal.length, tape.length or journal.length)
        told = replay(journal, _JournalEvents(self), tape.step_id, most=MAX_EVENTS, length=length)
        is_cut = told > MAX_EVENTS or FULL in journal.entries
        total = journal.counts.num_events if is_cut and journal.counts is not None else told
        self.dropped = max(0, max(total, told) - MAX_EVENTS, total - told)
        del self.events[MAX_EVENTS:]

    def freed(self, reference: Any, now: int) -> None:
        """Record that a buffer died after the preceding entries."""
        now = max(now, self._latest)
        place = self._rows.pop(id(reference), -1)
        if place >= 0:
            self.freed_ns[place] = max(now, self.made[place][5]) + 1

    def note(self, entry: tuple[Any, ...], node: int, iteration: int, now: int) -> None:
        """Record a tensor that a node made, or a function that the node calls."""
        if len(entry) == 8:
            self._latest, partition, node = entry[5]
            self._made(entry, partition, node, iteration, self._latest)
        elif node >= 0:
            self._made(entry, 0, node, iteration, now)

    def _made(
        self, tensor: tuple[Any, ...], partition: int, node: int, iteration: int, now: int
    ) -> None:
        slot, dtype, shape, reference = tensor[:4]
        if dtype is None:
            place = self._rows.get(id(reference), -1)
            if place >= 0 and self.made[place][:3] == [partition, node, INSIDE]:
                self.made[place][2] = slot
            return
        num_bytes = tensor[4] if len(tensor) > 4 else math.prod(shape) * dtype.itemsize
        op = self._ops[partition][node] if slot != INSIDE and self._ops else ""
        is_kept = op in _LENDING or op in _FROM_BEFORE
        if num_bytes < 0 or is_kept or len(self.made) >= MAX_TENSORS:
            return
        self._rows[id(reference)] = len(self.made)
        form = self.forms.setdefault((dtype, shape), len(self.forms))
        self.made.append([partition, node, slot, form, num_bytes, now, iteration])
        self.freed_ns.append(0)


class _JournalEvents(JournalReader):
    """Passes the events of a journaled step to a reader."""

    def __init__(self, reader: TapeReader) -> None:
        self._reader = reader
        self._append = reader.events.append

    def noted(self, entry: Any, node_id: int, iteration: int, t_ns: int) -> None:
        """Record a new tensor, or the death of a buffer."""
        if isinstance(entry, weakref.ref):
            self._reader.freed(entry, t_ns)
        elif entry.__class__ is tuple:
            self._reader.note(entry, node_id, iteration, t_ns)

    def node_started(
        self, step_id: int, partition: int, node_id: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Append an event."""
        self._append((STARTED, partition, frame_id, iteration, node_id, t_ns))

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
        """Append an event."""
        kind = DEAD if is_dead else DONE
        self._append((kind, partition, frame_id, iteration, node_id, t_ns))

    def frame_entered(self, step_id: int, *frame: int) -> None:
        """Append an event and a frame."""
        self._reader.frames.append(frame)
        self._append((FRAME_ENTERED, frame[0], frame[1], 0, -1, frame[-1]))

    def iteration_started(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Append an event."""
        self._append((ITERATION_STARTED, partition, frame_id, iteration, -1, t_ns))

    def iteration_done(
        self, step_id: int, partition: int, frame_id: int, iteration: int, t_ns: int
    ) -> None:
        """Append an event."""
        self._append((ITERATION_DONE, partition, frame_id, iteration, -1, t_ns))

    def frame_done(self, step_id: int, partition: int, frame_id: int, t_ns: int) -> None:
        """Append an event."""
        self._append((FRAME_DONE, partition, frame_id, 0, -1, t_ns))
