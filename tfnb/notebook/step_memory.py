"""What the tensors of one recorded step weigh: who made them, and how long they were held.

Buffers are followed by weak references (``common_runtime/allocation_tracker.py``), so that
recording keeps nothing alive.  What was there before the step (constants, variables, feeds) is not
counted, nor are scalars, which weigh nothing to speak of.  A recorded step writes no result over
its input, which an unrecorded one may do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.allocation_tracker import AllocationTracker
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tfnb.common_runtime.allocation_tracker import Buffer

MAX_TENSORS = 100_000
"""Of how many tensors a step's record tells."""

# Ops that give what was there before.
_KEPT = frozenset(
    [
        "Const",
        "HostConst",
        "ImmutableConst",
        "_Arg",
        "_DeviceArg",
        "ReadVariableOp",
        "_ReadVariablesOp",
        "VariableV2",
        "Variable",
        "Switch",
        "RefSwitch",
        "_SwitchN",
        "GetSessionTensor",
    ]
)


class StepMemory:
    """Hears of what the nodes of one step give.

    Args:
      ops: the op of every node, by partition.
    """

    def __init__(self, ops: Sequence[Sequence[str]]) -> None:
        self._ops = ops
        self._tracker = AllocationTracker()
        # Buffer, partition, node id, output, dtype and shape
        self.made: list[tuple[Buffer, int, int, int, str]] = []
        self.places: list[tuple[int, int]] = []  # frame and iteration of each, as they get known

    def note(self, partition: int, node_id: int, outputs: Sequence[Any]) -> None:
        """A node gave these."""
        op = self._ops[partition][node_id]
        for slot, given in enumerate(outputs):
            value = given.value if isinstance(given, RefCell) else given
            if not getattr(value, "shape", ()) or not hasattr(value, "nbytes"):
                continue
            buffer, is_first = self._tracker.find(value)
            if not is_first or value is not given or op in _KEPT or len(self.made) >= MAX_TENSORS:
                continue
            self._tracker.made(buffer, "", "")
            shape = "×".join(map(str, value.shape))
            self.made.append((buffer, partition, node_id, slot, f"{_dtype(value)} {shape}"))

    def place(self, frame_id: int, iteration: int) -> None:
        """The node that gave the latest ran in this iteration."""
        while len(self.places) < len(self.made):
            self.places.append((frame_id, iteration))

    def finish(self) -> None:
        """The step is over."""
        self.place(0, 0)
        self._tracker.finish()


def _dtype(value: Any) -> str:
    name = str(value.dtype)
    return "string" if name == "object" else name


@dataclass(frozen=True, slots=True, eq=False)
class RecordedTensors:
    """The tensors that a step made, in the order in which it made them.

    Attributes:
      node: the node of the scene that made it; ``slot`` which of its outputs.
      iteration: in which iteration of its loop.
      partition: on which device's partition.
      num_bytes: how large its memory is.
      made_ns: when, after the step's start.
      freed_ns: when nobody held it any more; infinite for what outlived the step.
      form: which of ``forms`` is its dtype and shape.
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
        cls, memory: StepMemory, place_of: Sequence[Sequence[int]], started_ns: int
    ) -> RecordedTensors:
        """Columns of what was heard."""
        forms: dict[str, int] = {}
        rows = [
            (
                place_of[partition][node_id],
                slot,
                iteration,
                partition,
                forms.setdefault(form, len(forms)),
            )
            for (_, partition, node_id, slot, form), (_, iteration) in zip(
                memory.made, memory.places
            )
        ]
        buffers = [row[0] for row in memory.made]
        numbers = np.array(rows, np.int64).reshape(len(rows), 5)
        freed = np.array([one.freed_ns for one in buffers], np.float64)
        node, slot, iteration, partition, form = (
            np.clip(numbers[:, i], 0, 2**31 - 1).astype(np.int32) for i in range(5)
        )
        return cls(
            node=node,
            slot=slot,
            iteration=iteration,
            partition=partition,
            num_bytes=np.array([one.num_bytes for one in buffers], np.float64),
            made_ns=np.array([one.allocated_ns - started_ns for one in buffers], np.float64),
            freed_ns=np.where(freed > 0, freed - started_ns, np.inf),
            form=form,
            forms=tuple(forms),
        )

    def __len__(self) -> int:
        return len(self.node)

    def curve(self, partition: int = -1) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Moments and the bytes that are held from each on; of one partition, or of all."""
        mine = np.full(len(self), True) if partition < 0 else self.partition == partition
        moments = np.concatenate([self.made_ns[mine], self.freed_ns[mine]])
        changes = np.concatenate([self.num_bytes[mine], -self.num_bytes[mine]])
        order = np.argsort(moments, kind="stable")
        order = order[np.isfinite(moments[order])]
        return moments[order], np.cumsum(changes[order])

    def peak(self) -> tuple[float, float]:
        """When the most bytes were held, and how many."""
        moments, held = self.curve()
        if not len(held):
            return 0.0, 0.0
        highest = int(np.argmax(held))
        return float(moments[highest]), float(held[highest])

    def live_at(self, t_ns: float) -> NDArray[np.intp]:
        """Which tensors are held at a moment, the largest first."""
        live = np.flatnonzero((self.made_ns <= t_ns) & (self.freed_ns > t_ns))
        return live[np.argsort(-self.num_bytes[live], kind="stable")]
