"""What the tensors of one recorded step weigh: who made them, and how long they were held.

Buffers are followed by weak references, so that recording keeps nothing alive.  What was there
before the step (constants, variables, feeds) is not counted, nor are scalars, which weigh nothing
to speak of.  A recorded step writes no result over its input, which an unrecorded one may do.
"""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
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


class _Reference(weakref.ref[Any]):
    """A weak reference to a buffer's owner; ``row`` is -1 for what was there before."""

    __slots__ = ("key", "row")
    key: int
    row: int


class StepMemory:
    """Hears of what the nodes of one step give; the thread that drives the step calls it.

    A reference that dies, in any thread, lays itself into a deque and runs no Python code that an
    interrupt could strike; a buffer counts as freed from the next node on.

    Args:
      ops: the op of every node, by partition.
    """

    def __init__(self, ops: Sequence[Sequence[str]]) -> None:
        self._ops = ops
        self._known: dict[int, _Reference] = {}  # by id of the owner
        self._dead: deque[_Reference] = deque()
        self._on_death = self._dead.append
        self.forms: dict[tuple[Any, tuple[int, ...]], int] = {}  # (dtype, shape) -> number
        # Partition, node id, output, form, bytes, moment
        self.made: list[tuple[int, int, int, int, int, int]] = []
        self.freed_ns: list[int] = []  # of each; 0 while it is held
        self.places: list[tuple[int, int]] = []  # frame and iteration of each, as they get known

    def note(self, partition: int, node_id: int, outputs: Sequence[Any]) -> None:
        """A node gave these."""
        now = perf_counter_ns()
        if self._dead:
            self._settle(now - 1)  # before anything new is there
        known, made = self._known, self.made
        for slot, given in enumerate(outputs):
            value = given.value if isinstance(given, RefCell) else given
            shape = getattr(value, "shape", None)
            if not shape or not hasattr(value, "nbytes"):
                continue
            owner = value
            while owner.base is not None and isinstance(owner.base, type(value)):
                owner = owner.base
            key = id(owner)
            if key in known or len(made) >= MAX_TENSORS:
                continue
            reference = known[key] = _Reference(owner, self._on_death)
            reference.key, reference.row = key, -1
            if value is given and self._ops[partition][node_id] not in _KEPT:
                reference.row = len(made)
                form = self.forms.setdefault((value.dtype, shape), len(self.forms))
                made.append((partition, node_id, slot, form, owner.nbytes, now))
                self.freed_ns.append(0)

    def _settle(self, now: int) -> None:
        while self._dead:
            reference = self._dead.popleft()
            if self._known.get(reference.key) is reference:
                del self._known[reference.key]
            if reference.row >= 0:
                self.freed_ns[reference.row] = now

    def place(self, frame_id: int, iteration: int) -> None:
        """The node that gave the latest ran in this iteration."""
        missing = len(self.made) - len(self.places)
        if missing:
            self.places += [(frame_id, iteration)] * missing

    def finish(self) -> None:
        """The step is over."""
        self.place(0, 0)
        self._settle(perf_counter_ns())
        self._known.clear()


def _form_text(dtype: Any, shape: tuple[int, ...]) -> str:
    name = str(dtype)
    return f"{'string' if name == 'object' else name} {'×'.join(map(str, shape))}"


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
        rows = [
            (place_of[partition][node_id], slot, iteration, partition, form)
            for (partition, node_id, slot, form, _, _), (_, iteration) in zip(
                memory.made, memory.places
            )
        ]
        numbers = np.array(rows, np.int64).reshape(len(rows), 5)
        freed = np.array(memory.freed_ns, np.float64)
        node, slot, iteration, partition, form = (
            np.clip(numbers[:, i], 0, 2**31 - 1).astype(np.int32) for i in range(5)
        )
        return cls(
            node=node,
            slot=slot,
            iteration=iteration,
            partition=partition,
            num_bytes=np.array([row[4] for row in memory.made], np.float64),
            made_ns=np.array([row[5] - started_ns for row in memory.made], np.float64),
            freed_ns=np.where(freed > 0, freed - started_ns, np.inf),
            form=form,
            forms=tuple(_form_text(dtype, shape) for dtype, shape in memory.forms),
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
