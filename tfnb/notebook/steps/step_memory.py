"""Memory of one recorded step's tensors: size, node, and how long they were held.

Tensors from before the step (constants, variables, feeds) are not counted, nor are scalars, whose
size is negligible.  Tensors made in a function that a node calls count for that node.  A recorded
step never writes a result over its input; an unrecorded one may.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tfnb.notebook.steps.step_tape import TapeReader


def _form_text(dtype: Any, shape: tuple[int, ...]) -> str:
    name = str(dtype)
    return f"{'string' if name == 'object' else name} {'×'.join(map(str, shape))}"


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTensors:
    """The tensors that a step made, in order of creation.

    Attributes:
      node: the scene's node that made it; ``slot`` is the output number, -1 for tensors made inside
        a called function.
      iteration: the iteration of its loop.
      partition: the number of its device's partition.
      num_bytes: the size of its memory.
      made_ns: when it was made, after the step's first event.
      freed_ns: when its last reference was dropped; infinite if it outlived the step.
      form: the index in ``forms`` of its dtype and shape.
    """

    node: NDArray[np.int32]
    slot: NDArray[np.int32]
    iteration: NDArray[np.int32]
    partition: NDArray[np.int32]
    num_bytes: NDArray[np.float64]
    made_ns: NDArray[np.float64]
    freed_ns: NDArray[np.float64]
    form: NDArray[np.int32]
    forms: tuple[str, ...]

    @classmethod
    def of(
        cls, tape: TapeReader, place_of: Sequence[Sequence[int]], started_ns: int
    ) -> RecordedTensors:
        """Return the tensors that a tape recorded."""
        rows = [
            (place_of[partition][node_id], slot, iteration, partition, form)
            for partition, node_id, slot, form, _, _, iteration in tape.made
        ]
        numbers = np.array(rows, np.int64).reshape(len(rows), 5)
        freed = np.array(tape.freed_ns, np.float64)
        node, slot, iteration, partition, form = (
            np.clip(numbers[:, i], -1, 2**31 - 1).astype(np.int32) for i in range(5)
        )
        return cls(
            node=node,
            slot=slot,
            iteration=iteration,
            partition=partition,
            num_bytes=np.array([row[4] for row in tape.made], np.float64),
            made_ns=np.array([row[5] - started_ns for row in tape.made], np.float64),
            freed_ns=np.where(freed > 0, freed - started_ns, np.inf),
            form=form,
            forms=tuple(_form_text(dtype, shape) for dtype, shape in tape.forms),
        )

    def __len__(self) -> int:
        return len(self.node)

    def curve(self, partition: int = -1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return times and the bytes held from each time on, for one partition or for all."""
        mine = np.full(len(self), True) if partition < 0 else self.partition == partition
        moments = np.concatenate([self.made_ns[mine], self.freed_ns[mine]])
        changes = np.concatenate([self.num_bytes[mine], -self.num_bytes[mine]])
        order = np.argsort(moments, kind="stable")
        order = order[np.isfinite(moments[order])]
        return moments[order], np.cumsum(changes[order])

    def peak(self) -> tuple[float, float]:
        """Return the time of the peak, and the bytes held at it."""
        moments, held = self.curve()
        if not len(held):
            return 0.0, 0.0
        highest = int(np.argmax(held))
        return float(moments[highest]), float(held[highest])

    def live_at(self, t_ns: float) -> NDArray[np.intp]:
        """Return the indices of the tensors held at a time, the largest first."""
        live = np.flatnonzero((self.made_ns <= t_ns) & (self.freed_ns > t_ns))
        return live[np.argsort(-self.num_bytes[live], kind="stable")]
