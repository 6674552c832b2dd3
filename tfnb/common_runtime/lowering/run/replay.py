"""Reports a journaled step to listeners as if it were observed while it ran.

A journal (``journal.py``) holds timestamps, sides and notes in the order of the function's lines.
The replay follows the function's blocks as the step did, takes an entry wherever a line appended
one, and calls the hooks of a listener: for each node, live or dead, in its frame and iteration, and
for frames and iterations.

Lines between two timestamps share the time between them, less the cost of reading the clock; a node
without a line of its own (a constant, a Switch, a Merge) takes no time.  The reference executor may
alternate between ready nodes of several iterations; a function runs one iteration after the other,
and the replay reports them in that order.
"""

from __future__ import annotations

import weakref
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.lowering.support.journal import (
    DEAD,
    FULL,
    Gap,
    Journal,
    Number,
    cost_of_moment,
)
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.lowering.write.journal_writer import JournalPlan

_ENDLESS = 1 << 62


class JournalReader(StepObserver):
    """A listener that also receives notes and the outputs of nodes."""

    def noted(self, entry: Any, node_id: int, iteration: int, t_ns: int) -> None:
        """Receive a note of an observer; ``node_id`` is the node it belongs to, -1 for none."""

    def was_not_entered(self, frame_id: int) -> None:
        """Receive that no node ran in a frame whose begin was reported."""

    def gave(self, node_id: int, contents: Sequence[Any]) -> None:
        """Receive what is known of the outputs of a live node, just before ``node_done``.

        For each output it is the list with its kept value, a :class:`Told`, a :class:`Number`,
        ``DEAD``, or None.
        """


class Told(NamedTuple):
    """The notes of the node that made a tensor, and the number of the output."""

    notes: tuple[Any, ...]
    output: int


class _End(Exception):
    """Raised at the end of the journal."""


class _Iteration:
    """One iteration of one frame.

    Attributes:
      live: the weak Enters that were alive in it.
      loop: the number of its loop; ``around`` is the iteration around it.
      put_off: the loops that were not entered but may have live nodes.
    """

    __slots__ = ("around", "frame", "frames", "iteration", "live", "loop", "put_off")

    def __init__(
        self, frame: int, iteration: int, loop: int = 0, around: _Iteration | None = None
    ) -> None:
        self.frame = frame
        self.iteration = iteration
        self.loop = loop
        self.around = around
        self.live: set[int] = set()
        self.put_off: list[int] = []
        self.frames: dict[str, int] = {}


def replay(
    journal: Journal,
    listener: StepObserver,
    step_id: int,
    partition: int = 0,
    most: int = _ENDLESS,
    length: int = _ENDLESS,
) -> int:
    """Report a step to a listener.

    Args:
      journal: the journal of the step.
      listener: gets the events; a :class:`JournalReader` also gets notes and outputs.
      step_id: the step.
      partition: the partition.
      most: the approximate maximum number of events to report.
      length: the number of entries to read, if not all of the step's.

    Returns:
      The number of reported events.
    """
    return _Replay(journal, listener, step_id, partition, most, length).run()


_cost_of_moment = cache(cost_of_moment)


class _Replay:
    def __init__(
        self,
        journal: Journal,
        listener: StepObserver,
        step_id: int,
        partition: int,
        most: int,
        length: int,
    ) -> None:
        self._journal = journal
        self._plan: JournalPlan = journal.plan
        self._entries = journal.entries[: min(journal.length, length)]
        self._at = 0
        self._last = len(self._entries) - 1
        while self._last >= 0 and self._entries[self._last].__class__ not in (int, list):
            self._last -= 1
        self._end_line = journal.line or _ENDLESS
        self._tell = listener
        self._reader = listener if isinstance(listener, JournalReader) else None
        self._ids = step_id, partition
        self._most = most
        self._count = 0
        self._frames = 0
        self._now = 0
        self._rows: list[tuple[Any, ...]] = []  # the events since the last timestamp
        self._weight = 0
        self._contents: dict[str, Any] = dict(self._plan.contents)
        self._weak = frozenset[int]().union(*self._plan.alone.values())
        self._frame_index = journal.emitted.frame_index
        self._here: _Iteration = _Iteration(0, 0)

    def run(self) -> int:
        """Report the whole step."""
        place = self._here
        try:
            self._now = self._next_moment() if self._plan.has_times else 0
            for number, registers in self._plan.prologue:
                self._told(number, registers)
                self._now = self._next_moment()
            self._block(0, place)
            self._settle(place)
        except _End:
            if self._journal.line and self._count <= self._most:
                self._fail()
        self._flush(max(self._now, self._journal.ended_ns) if self._journal.line else self._now)
        self._tell_of_deaths()
        return self._count

    def _tell_of_deaths(self) -> None:
        """Report the remaining notes of buffers that died, after the last event."""
        if self._reader is None:
            return
        for entry in self._entries[self._at :]:
            if entry.__class__ is int:
                self._now = max(self._now, entry)
            elif isinstance(entry, weakref.ref):
                self._reader.noted(entry, -1, 0, self._now)

    def _fail(self) -> None:
        """Report the node in which the step ended: it began, and was not done."""
        item = self._journal.emitted.items[self._journal.line]
        if item is not None:
            self._row("failed", self._here, item.id)

    # -- entries

    def _foreign(self, stop: int, node: int) -> tuple[Any, ...]:
        """Pass on the notes before position ``stop``, or before the next entry that is no note."""
        entries, found = self._entries, []
        while self._at < stop and entries[self._at].__class__ not in (int, list, Gap):
            entry = entries[self._at]
            if entry is FULL:
                break
            self._at += 1
            found.append(entry)
            if self._reader is not None:
                self._reader.noted(entry, node, self._here.iteration, self._now)
        return tuple(found)

    def _peek(self) -> Any:
        """Return the next entry that is no note; None at the end."""
        self._foreign(len(self._entries), -1)
        return self._entries[self._at] if self._at < len(self._entries) else None

    def _next_moment(self) -> int:
        found = self._peek()
        if found.__class__ is not int:
            raise _End
        self._at += 1
        return int(found)

    def _told(self, node: int, registers: Sequence[str]) -> None:
        notes = self._foreign(len(self._entries), node)
        for output, register in enumerate(registers):
            self._contents[register] = Told(notes, output)
        self._look_again(registers)

    def _look_again(self, registers: Sequence[str]) -> None:
        """Update the outputs of nodes that are reported with these registers, such as aliases."""
        if self._plan.registers and self._reader is not None:
            for place, row in enumerate(self._rows):
                names = self._plan.registers[row[3]] if row[0] == "live" else []
                if any(name in registers for name in names):
                    self._rows[place] = (*row[:5], self._given(row[3]))

    # -- events

    def _row(
        self, kind: str, place: _Iteration, what: int, weight: int = 0, more: Any = None
    ) -> None:
        self._rows.append((kind, place.frame, place.iteration, what, weight, more))
        self._weight += weight
        self._count += 1 + (kind in ("live", "dead"))

    def _node(self, place: _Iteration, number: int, weight: int) -> None:
        if number in self._weak:
            place.live.add(number)
        contents = None
        if self._reader is not None and self._plan.registers:
            contents = self._given(number)
        self._row("live", place, number, weight, contents)

    def _given(self, number: int) -> list[Any]:
        """Return what is known of a node's outputs."""
        found = [self._contents.get(one) for one in self._plan.registers[number]]
        decides = self._contents.get(self._plan.switches.get(number, ""))
        if decides is not None:
            chosen = int(decides[0])
            chosen = chosen if 0 <= chosen < len(found) else len(found) - 1
            found = [one if place == chosen else DEAD for place, one in enumerate(found)]
        return found

    def _flush(self, until: int) -> None:
        """Report the events before a timestamp."""
        rows, now = self._rows, self._now
        if rows:
            tell, reader, (step, part) = self._tell, self._reader, self._ids
            share, left = 0, 0
            if self._weight:
                share, left = divmod(
                    max(0, until - now - (_cost_of_moment() if until > now else 0)), self._weight
                )
            for kind, frame, iteration, what, weight, more in rows:
                if kind == "live":
                    tell.node_started(step, part, what, frame, iteration, now)
                    now += weight * share + (left if weight else 0)
                    left = 0 if weight else left
                    if reader is not None and more is not None:
                        reader.gave(what, more)
                    tell.node_done(step, part, what, frame, iteration, now, False)
                elif kind == "dead":
                    tell.node_started(step, part, what, frame, iteration, now)
                    tell.node_done(step, part, what, frame, iteration, now, True)
                elif kind == "begins":
                    tell.iteration_started(step, part, frame, iteration, now)
                elif kind == "ends":
                    tell.iteration_done(step, part, frame, iteration, now)
                elif kind == "entered":
                    tell.frame_entered(step, part, what, frame, iteration, more, now)
                elif kind == "dead frame":
                    self._count -= 1  # no event
                    if reader is not None:
                        reader.was_not_entered(frame)
                elif kind == "died":
                    self._count -= 1  # no event of its own
                    tell.frame_dead(step, part, frame)
                elif kind == "failed":
                    tell.node_started(step, part, what, frame, iteration, now)
                else:
                    tell.frame_done(step, part, frame, now)
            rows.clear()
            self._weight = 0
            if self._count > self._most:
                raise _End
        self._now = max(self._now, until)

    # -- blocks

    def _block(self, number: int, place: _Iteration) -> bool:
        """Follow a block that was entered; return whether the loop around it was left."""
        left = False
        self._here = place
        for line, _, kind, what in self._plan.scripts[number]:
            if line >= self._end_line and self._at > self._last and self._is_latest(place):
                raise _End
            if kind == "node":
                self._node(place, *what)
            elif kind == "moment":
                self._flush(self._next_moment())
            elif kind == "iteration":
                if self._peek() != number:
                    raise _End
                self._at += 1
            elif kind == "moment and told":
                self._tell_of(*what)
            elif kind == "told":
                self._told(*what)
                self._flush(self._next_moment())
            elif kind == "move":
                contents = self._contents
                values = [contents.get(source) for _, source in what]
                contents.update(zip((target for target, _ in what), values, strict=True))
            elif kind == "keep":
                entry = self._peek()
                if entry.__class__ is not list:
                    raise _End
                self._at += 1
                self._contents[what] = entry
                self._look_again((what,))
            elif kind == "number":
                self._contents[what[1]] = Number(what[0])
                self._look_again((what[1],))
            elif kind == "question":
                self._question(what[0], what[1], place)
                self._here = place
            elif kind == "leave":
                left = self._leave(what[0], what[1], place)
                self._here = place
            elif kind == "loop":
                self._loop(what, place)
                self._here = place
        self._never(number, place)
        return left

    def _is_latest(self, place: _Iteration) -> bool:
        """Return whether the loops around were in these iterations when the function stopped."""
        turns, here = self._journal.turns, place
        while here.around is not None:
            if here.iteration < turns.get(here.loop, 0):
                return False
            here = here.around
        return True

    def _tell_of(self, number: int, registers: Sequence[str]) -> None:
        """Report a node that ran alone on its line, and its outputs."""
        moment = self._next_moment()
        before, self._now = self._now, moment
        self._told(number, registers)
        self._now = before
        self._flush(moment)

    def _question(self, first: int | None, other: int | None, place: _Iteration) -> None:
        is_first = first is not None and self._peek() == first
        if is_first:
            self._at += 1
        for number, is_taken in ((first, is_first), (other, not is_first)):
            if number is None:
                continue
            if is_taken:
                self._block(number, place)
            else:
                self._dead(number, place)

    def _leave(self, leaving: int, going: int, place: _Iteration) -> bool:
        is_left = bool(self._peek() == leaving)
        if is_left:
            self._at += 1
            self._block(leaving, place)
            self._dead(going, place)
        else:
            self._dead(leaving, place)
            self._block(going, place)
        return is_left

    def _loop(self, body: int, around: _Iteration) -> None:
        place = self._enter(body, around)
        while True:
            entry = self._peek()
            if entry.__class__ is Gap:
                self._at += 1
                place.iteration = entry.iteration
            if entry is FULL or (self._plan.has_times and entry is None):
                raise _End
            if not self._plan.has_times:
                self._flush(0)
            self._row("begins", place, 0)
            left = self._block(body, place)
            self._settle(place)
            self._row("ends", place, 0)
            if left:
                break
            place = _Iteration(place.frame, place.iteration + 1, place.loop, around)
        if not self._plan.enters[self._plan.loop_of[body].frame_name]:
            self._row("died", place, 0)
        self._row("done", place, 0)

    def _enter(self, body: int, around: _Iteration) -> _Iteration:
        """Report that a frame begins; return its first iteration."""
        self._frames += 1
        loop = self._plan.loop_of[body]
        parent = around.frames.get(loop.parent, around.frame)
        iteration = around.iteration if parent == around.frame else 0
        index = self._frame_index(loop.frame_name)
        self._row("entered", _Iteration(parent, iteration), self._frames, 0, index)
        return _Iteration(self._frames, 0, loop.number, around)

    def _settle(self, place: _Iteration) -> None:
        """Report the loops that were not entered, now that the iteration's live nodes are known."""
        for body in place.put_off:
            self._dead_frame(body, place)
        place.put_off = []

    # -- nodes that did not run

    def _dead(self, number: int, place: _Iteration) -> None:
        """Report the dead nodes of a block that was not entered."""
        for _, _, kind, what in self._plan.scripts[number]:
            if kind == "node":
                self._dead_node(what[0], place)
            elif kind in ("question", "leave"):
                for side in what:
                    if side is not None:
                        self._dead(side, place)
            elif kind == "loop":
                self._not_entered(what, place)
        self._never(number, place)

    def _never(self, number: int, place: _Iteration) -> None:
        """Report the loops and nodes that never run in a block, whether it was entered or not."""
        for one in self._plan.never.get(number, ()):
            if one in self._plan.loop_of:
                self._not_entered(one, place)
            else:
                self._dead(one, place)

    def _dead_node(self, number: int, place: _Iteration, around: _Iteration | None = None) -> None:
        enters = self._plan.alone.get(number)
        is_alone = enters is not None and around is not None and enters <= around.live
        if number in self._plan.triggered or is_alone:
            self._node(place, number, 0)
        else:
            self._row("dead", place, number)

    def _not_entered(self, body: int, around: _Iteration) -> None:
        if self._weak:
            around.put_off.append(body)
        else:
            self._dead_frame(body, around)

    def _dead_frame(self, body: int, around: _Iteration) -> None:
        place = self._enter(body, around)
        self._row("dead frame", place, 0)
        around.frames[self._plan.loop_of[body].frame_name] = place.frame
        self._row("begins", place, 0)
        blocks = [body]
        while blocks:
            number = blocks.pop()
            for _, _, kind, what in self._plan.scripts[number]:
                if kind == "node":
                    self._dead_node(what[0], place, around)
                elif kind in ("question", "leave"):
                    blocks += [side for side in what if side is not None]
                elif kind == "loop":
                    self._not_entered(what, place)
            self._never(number, place)
        self._settle(place)
        self._row("ends", place, 0)
        if not self._plan.enters[self._plan.loop_of[body].frame_name] & around.live:
            self._row("died", place, 0)
        self._row("done", place, 0)
