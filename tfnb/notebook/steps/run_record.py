"""A recorded step: every event with its time, for views after the step, also offline.

:class:`RunTape` observes the steps of a session and keeps the events of the latest ones
(``step_tape.py``). :class:`RunRecord` is one of these steps, made for views: its scene, the loops
that lived in it, and its events as columns of numbers. ``encode`` is what
``labextension/src/render/run_record.ts`` reads.

Times are nanoseconds; 0 is just before the first event of the step.
"""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tfnb.notebook.steps.step_memory import RecordedTensors
from tfnb.notebook.steps.step_model import make_signature
from tfnb.notebook.steps.step_tape import (
    DEAD,
    DONE,
    RECEIVED,
    SENT,
    STARTED,
    Tape,
    TapeReader,
    TapeRecorder,
)
from tfnb.notebook.steps.view_group import view_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tfnb.core.step_events import PartitionedGraph
    from tfnb.framework.graph import Graph
    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.step_model import Signature

VERSION = 2


class RunTape(TapeRecorder):
    """Keeps the latest steps of one session, for views.

    Args:
      graph_of: returns the user's graph, for data that only this graph has.
    """

    def __init__(self, graph_of: Callable[[], Graph | None]) -> None:
        super().__init__()
        self._graph_of = graph_of
        self._signatures: dict[int, Signature] = {}

    def graph_partitioned(self, partitioned: PartitionedGraph) -> None:
        """Keep the signature's names, in place of those that it had before."""
        super().graph_partitioned(partitioned)
        self._signatures.pop(partitioned.signature_id, None)

    def records(self) -> list[RunRecord]:
        """Return the steps that were kept, oldest first."""
        found = []
        for tape in list(self.done):
            signature = self._signature(tape.signature_id)
            if signature is not None:
                found.append(RunRecord.of(tape, signature))
        return found

    def latest(self) -> RunRecord | None:
        """Return the step that ended last, if any."""
        tape = self.done[-1] if self.done else None
        signature = None if tape is None else self._signature(tape.signature_id)
        return None if tape is None or signature is None else RunRecord.of(tape, signature)

    def _signature(self, signature_id: int) -> Signature | None:
        found = self._signatures.get(signature_id)
        if found is None:
            partitioned = self.partitioned.get(signature_id)
            if partitioned is None:
                return None
            placed = self.placed.get(signature_id)
            found = make_signature(signature_id, partitioned, placed, self._graph_of())
            self._signatures[signature_id] = found
        return found


@dataclass(frozen=True, slots=True)
class RecordedFrame:
    """One loop that lived in a step: its partition, its name, and where it was opened.

    ``parent`` is the index of the frame around it among the record's frames.
    """

    partition: int
    name: str
    parent: int
    parent_iteration: int


@dataclass(frozen=True, slots=True, eq=False)
class RunRecord:
    """One recorded step.

    Attributes:
      step_id: the runtime's number of the step.
      scene: its graph, partition by partition.
      feeds: the names of the tensors that were fed.
      fetches: the names of the tensors that were fetched.
      targets: the names of the nodes that were only run.
      duration_ns: how long it took, from its first event on.
      error: the error with which it failed, or "".
      dropped: the number of events that were not kept, because there were too many.
      frames: the partitions' root frames, in their order, then every loop that was entered.
      kind: the kind of each event, a number; see the module.
      node: the scene's node of each event, -1 for none.
      frame: the index of its frame in ``frames``.
      iteration: its iteration; for bytes that were sent or received, their number.
      time_ns: its time.
      tensors: the tensors that the nodes made.
      threads: the threads of pools that ran kernels.
      elsewhere: node, frame, iteration and thread of each of these kernels, one row each.
      elsewhere_ns: when each of them began and ended there.
      lanes: the scene with a lane for each device, if there are several.
      group: views of one group, those of one graph, have a common selection.
    """

    step_id: int
    scene: Scene
    feeds: tuple[str, ...]
    fetches: tuple[str, ...]
    targets: tuple[str, ...]
    duration_ns: int
    error: str
    dropped: int
    frames: tuple[RecordedFrame, ...]
    kind: NDArray[np.uint8]
    node: NDArray[np.int32]
    frame: NDArray[np.int32]
    iteration: NDArray[np.int32]
    time_ns: NDArray[np.float64]
    tensors: RecordedTensors = field(
        default_factory=lambda: RecordedTensors.of(TapeReader(Tape(0, 0, 0)), (), 0)
    )
    threads: tuple[str, ...] = ()
    elsewhere: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 4), np.int32))
    elsewhere_ns: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 2)))
    lanes: Scene | None = None
    group: str = ""

    @classmethod
    def of(cls, tape: Tape, signature: Signature) -> RunRecord:
        """Return a step's record, made from its tape."""
        views = signature.partitioned.partitions
        frames = [RecordedFrame(index, "", -1, 0) for index in range(len(views))]
        place_of_frame = {(index, 0): index for index in range(len(views))}
        reader = TapeReader(tape)
        for partition, frame_id, parent_id, parent_iteration, name_index, _ in reader.frames:
            names = views[partition].frame_names
            name = names[name_index] if 0 <= name_index < len(names) else f"frame {name_index}"
            parent = place_of_frame.get((partition, parent_id), partition)
            place_of_frame[partition, frame_id] = len(frames)
            frames.append(RecordedFrame(partition, name, parent, parent_iteration))
        count = len(reader.events)
        # The record leaves out the preparation of the step, such as writing its function.
        # Views that share a moment share its time: before the first event, it is 0.
        began_ns = reader.events[0][5] - 1 if reader.events else tape.started_ns
        rows = np.array(reader.events, np.int64).reshape(count, 6)
        nodes = np.full(count, -1, np.int32)
        for partition, places in enumerate(signature.place_of):
            mine = (rows[:, 1] == partition) & (rows[:, 4] >= 0)
            if mine.any():
                nodes[mine] = np.asarray(places, np.int32)[rows[mine, 4]]
        frame = np.fromiter(
            (place_of_frame.get((p, f), p) for _, p, f, _, _, _ in reader.events), np.int32, count
        )
        threads = {name: i for i, name in enumerate(sorted({row[4] for row in tape.elsewhere}))}
        elsewhere = [
            (signature.place_of[p][node], place_of_frame.get((p, f), p), iteration, threads[name])
            for p, node, f, iteration, name, _, _ in tape.elsewhere
        ]
        moments = [(begin - began_ns, end - began_ns) for *_, begin, end in tape.elsewhere]
        return cls(
            step_id=tape.step_id,
            scene=signature.scene,
            feeds=signature.partitioned.feeds,
            fetches=signature.partitioned.fetches,
            targets=signature.partitioned.targets,
            duration_ns=tape.ended_ns - began_ns,
            error=tape.error,
            dropped=reader.dropped,
            frames=tuple(frames),
            kind=rows[:, 0].astype(np.uint8),
            node=nodes,
            frame=frame,
            iteration=np.clip(rows[:, 3], 0, 2**31 - 1).astype(np.int32),
            time_ns=(rows[:, 5] - began_ns).astype(np.float64),
            tensors=RecordedTensors.of(reader, signature.place_of, began_ns),
            threads=tuple(threads),
            lanes=signature.lanes(),
            group=view_group(signature.graph),
            elsewhere=np.array(elsewhere, np.int32).reshape(len(elsewhere), 4),
            elsewhere_ns=np.array(moments, np.float64).reshape(len(moments), 2),
        )

    @property
    def num_events(self) -> int:
        """The number of events that were kept."""
        return len(self.kind)

    def node_times_ns(self) -> NDArray[np.float64]:
        """Return the total time of the executions of each node of the scene.

        The time that a node waits while other nodes run does not count; the time in a pool's thread
        does.
        """
        total = np.zeros(len(self.scene.nodes))
        for kind, node, _, _, begin, end in self.executions():
            if kind == DONE:
                total[node] += end - begin
        if len(self.elsewhere):
            np.add.at(total, self.elsewhere[:, 0], np.diff(self.elsewhere_ns, axis=1)[:, 0])
        return total

    def executions(
        self, *, waits: bool = False
    ) -> Iterator[tuple[int, int, int, int, float, float]]:
        """Yield (kind, node, frame, iteration, begin, end) of each execution, in order of the ends.

        Args:
          waits: yield those during which another event happened, in place of those without one.
        """
        open_at: dict[tuple[int, int, int], tuple[int, float]] = {}
        rows = zip(
            self.kind.tolist(),
            self.node.tolist(),
            self.frame.tolist(),
            self.iteration.tolist(),
            self.time_ns.tolist(),
        )
        place = 0  # what is sent or received is part of the node that does it
        for kind, node, frame, iteration, t_ns in rows:
            if kind == STARTED:
                open_at[node, frame, iteration] = place, t_ns
            elif kind in (DONE, DEAD):
                start, begin = open_at.pop((node, frame, iteration), (place, t_ns))
                if waits == (place > start + 1):
                    yield kind, node, frame, iteration, begin, t_ns
            place += kind not in (SENT, RECEIVED)

    def encode(self) -> bytes:
        """Return the record for the browser, without its scene.

        It consists of deflated columns behind a JSON header.
        """
        header = {
            "version": VERSION,
            "step": self.step_id,
            "durationNs": self.duration_ns,
            "error": self.error[:2000],
            "dropped": self.dropped,
            "events": self.num_events,
            "feeds": list(self.feeds),
            "fetches": list(self.fetches),
            "targets": list(self.targets),
            "frames": [
                [frame.partition, frame.name, frame.parent, frame.parent_iteration]
                for frame in self.frames
            ],
            "tensors": len(self.tensors),
            "forms": list(self.tensors.forms),
            "threads": list(self.threads),
            "elsewhere": len(self.elsewhere),
        }
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":"))
        head = text.encode("utf-8", "surrogatepass")
        head += b" " * (-(len(head) + 4) % 8)  # columns begin at a multiple of eight
        tensors = self.tensors
        columns = (
            self.time_ns.astype("<f8"),
            *(c.astype("<f8") for c in (tensors.made_ns, tensors.freed_ns, tensors.num_bytes)),
            self.elsewhere_ns.astype("<f8"),
            self.node.astype("<i4"),
            self.frame.astype("<i4"),
            self.iteration.astype("<i4"),
            *(
                c.astype("<i4")
                for c in (tensors.node, tensors.slot, tensors.iteration, tensors.form)
            ),
            self.elsewhere.astype("<i4"),
            self.kind.astype("u1"),
        )
        body = b"".join(column.tobytes() for column in columns)
        return zlib.compress(struct.pack("<I", len(head)) + head + body, 6)
