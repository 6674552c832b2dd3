"""The loops of one step: their frames, names and iterations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.lowering.support.counts import LoopCounts

MAX_FRAMES = 20_000
MAX_ACTIVE = 64


@dataclass(slots=True)
class FrameRow:
    """A loop of one partition: all frames of one name.

    ``iteration`` is the furthest one that runs, ``live`` the total number in flight.
    """

    name: str
    device: str
    depth: int
    iteration: int = 0
    live: int = 0
    runs: int = 0
    is_done: bool = False
    # frame id -> [last iteration that began, last that ended], of frames that are not done
    active: dict[int, list[int]] = field(default_factory=dict)


class FrameBook:
    """Rows for the frames of one step.

    A frame is stored when it is made; a row is added with the first observed iteration, so that the
    order of these two events does not matter, and iterations may be missed.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[int, int]] = {}  # -> (parent frame, name index)
        self._entered: dict[tuple[int, int], int] = {}  # (partition, name index) -> times
        self._rows: dict[tuple[int, int], FrameRow] = {}  # (partition, name index) -> row
        # (partition, name index) -> the key of the loop around it, which all frames of a name share
        self._outer: dict[tuple[int, int], tuple[int, int] | None] = {}

    def enter(self, partition: int, frame_id: int, parent: int, name_index: int) -> None:
        """Store a frame that was made."""
        if len(self._known) >= MAX_FRAMES:
            for key in list(self._known)[: MAX_FRAMES // 2]:
                del self._known[key]
        self._known[partition, frame_id] = (parent, name_index)
        key = (partition, name_index)
        self._entered[key] = self._entered.get(key, 0) + 1
        if key not in self._outer:
            around = self._known.get((partition, parent))
            self._outer[key] = None if around is None else (partition, around[1])

    def iteration_started(
        self, partition: int, frame_id: int, iteration: int, device: str, names: tuple[str, ...]
    ) -> None:
        """Record that an iteration began."""
        row = self._row(partition, frame_id, device, names)
        if row is None:
            return
        span = row.active.get(frame_id)
        if span is None:
            # Iterations before the first observed one are assumed to have ended.
            span = row.active[frame_id] = [iteration, iteration - 1]
            if len(row.active) > MAX_ACTIVE:
                del row.active[min(row.active)]
        span[0] = max(span[0], iteration)

    def iteration_done(self, partition: int, frame_id: int, iteration: int) -> None:
        """Record that an iteration ended; iterations end in order."""
        row = self._seen(partition, frame_id)
        span = None if row is None else row.active.get(frame_id)
        if span is not None:
            span[1] = max(span[1], iteration)

    def frame_dead(self, partition: int, frame_id: int) -> None:
        """Record that a frame that ends now was entered dead, which does not count."""
        known = self._known.get((partition, frame_id))
        if known is not None:
            self._entered[partition, known[1]] -= 1

    def frame_done(self, partition: int, frame_id: int) -> None:
        """Record that a frame ended."""
        row = self._seen(partition, frame_id)
        if row is not None:
            span = row.active.pop(frame_id, None)
            # A dead frame (of an outer loop's last iteration) has iteration 0 only, and is ignored.
            if span is not None and span[0] > 0:
                row.iteration = span[0]
            row.is_done = not row.active
        self._known.pop((partition, frame_id), None)

    def counted(
        self, partition: int, loops: Sequence[LoopCounts], device: str, names: tuple[str, ...]
    ) -> None:
        """Take the counts of loops, for a partition that reports no iterations."""
        for loop in loops:
            if loop.name in names:
                key = (partition, names.index(loop.name))
                outer = loop.parent and loop.parent in names
                self._outer[key] = (partition, names.index(loop.parent)) if outer else None
                self._entered[key] = loop.entered
        for loop in loops:
            if loop.name not in names:
                continue
            key = (partition, names.index(loop.name))
            row = self._rows.get(key)
            if row is None:
                row = self._rows[key] = FrameRow(loop.name, device, len(self._path(key)) - 1)
            row.iteration = loop.iteration or row.iteration
            row.active = {0: [loop.iteration, loop.iteration - 1]} if loop.is_active else {}
            row.is_done = not loop.is_active

    def end(self, *, is_complete: bool) -> None:
        """Record that the step has ended."""
        self.rows()
        for row in self._rows.values():
            row.active.clear()
            row.is_done = is_complete

    def rows(self) -> list[FrameRow]:
        """Return the rows with how often each was entered, outer loops first if they are known."""
        for key, row in self._rows.items():
            row.runs = self._entered.get(key, row.runs)
            row.live = sum(began - ended for began, ended in row.active.values())
            furthest = max((began for began, _ in row.active.values()), default=0)
            row.iteration = furthest or row.iteration
        return [self._rows[key] for key in sorted(self._rows, key=self._path)]

    def _row(
        self, partition: int, frame_id: int, device: str, names: tuple[str, ...]
    ) -> FrameRow | None:
        known = self._known.get((partition, frame_id))
        if known is None:
            return None
        name_index = known[1]
        key = (partition, name_index)
        row = self._rows.get(key)
        if row is None:
            name = names[name_index] if 0 <= name_index < len(names) else f"frame {name_index}"
            row = self._rows[key] = FrameRow(name, device, len(self._path(key)) - 1)
        row.is_done = False
        return row

    def _seen(self, partition: int, frame_id: int) -> FrameRow | None:
        known = self._known.get((partition, frame_id))
        return None if known is None else self._rows.get((partition, known[1]))

    def _path(self, key: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the loop with those around it, outermost first."""
        path = [key]
        while (outer := self._outer.get(path[0])) is not None:
            path.insert(0, outer)
        return path
