"""Where a step stands: the node, the loop around it, the values that lie there.

A :class:`Stop` is given to whoever listens and to conditions written in Python.  It is good while
the step stands there; afterwards it keeps its names and numbers and has no values any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.step_inspection import FrameView, NodeView, StepInspector
from tfnb.common_runtime.waiting import explain_node
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from tfnb.common_runtime.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.propagator_state import IterationState, type_of_tagged_node
    from tfnb.core.standstill import Standstill

EXPORTS = {"debugger": ["Stop"]}


class LoopPlace(NamedTuple):
    """One loop around a node: the frame's name and the iteration."""

    frame: str
    iteration: int


class Stop:
    """A step that stands before or behind a node.

    Attributes:
      step_id: the step's number.
      function: the function whose call this is, "" for the graph itself.
      device: the partition's device; ``partition`` is its number.
      node: the node's name; ``op`` is its type.
      frame: the name of the frame it runs in, "" outside of loops.
      frame_id: the frame's number in the partition.
      iteration: the iteration.
      loops: all loops around it, the outermost first.
      phase: ``"before"`` the node runs, or ``"after"``.
      is_dead: whether it is dead, and so does not run.
      reason: why the step stopped here.
    """

    def __init__(
        self,
        executor: DebuggedExecutorState,
        tagged: type_of_tagged_node,
        phase: str,
        outputs: Any = None,
    ) -> None:
        item, iteration, is_dead = tagged
        self.step_id = executor.run_state.step_id
        self.function = executor.function
        self.device = executor.immutable.device.name
        self.partition = executor.partition
        self.node = item.name
        self.op = item.op
        self.frame = iteration.frame.info.name
        self.frame_id = iteration.frame.id
        self.iteration = iteration.number
        self.loops = _loops(iteration)
        self.phase = phase
        self.is_dead = is_dead
        self.reason = ""
        self._executor: DebuggedExecutorState | None = executor
        self._tagged: type_of_tagged_node | None = tagged
        self._outputs = outputs
        self._inspector: StepInspector | None = None

    def __repr__(self) -> str:
        place = "".join(f", iteration {loop.iteration} of {loop.frame!r}" for loop in self.loops)
        dead = ", dead" if self.is_dead else ""
        return f"<{self.phase} {self.node!r} ({self.op}){place}{dead}>"

    # -- what lies there ---------------------------------------------------------------------------

    @property
    def inputs(self) -> list[tuple[str, Any]]:
        """The node's inputs, (tensor name, value); None for one that came dead. Before it runs."""
        if self.phase != "before" or self._tagged is None:
            return []
        entries = self.inspector.entries(self._tagged[0], self._tagged[1])
        return [(entry.tensor, entry.value) for entry in entries]

    @property
    def outputs(self) -> list[tuple[str, Any]]:
        """What the node gave, (tensor name, value); None for a dead one. After it has run."""
        return [(f"{self.node}:{number}", value) for number, value in enumerate(self.output_values)]

    @property
    def output_values(self) -> list[Any]:
        """The values of :attr:`outputs`; of a reference, what the variable holds."""
        found = () if self._outputs is None else self._outputs
        return [value.value if isinstance(value, RefCell) else value for value in found]

    @property
    def ready(self) -> list[str]:
        """The names of the nodes of this partition that may run now, the next one first."""
        if self._executor is None:
            return []
        return [item.name for item, _, _ in self._executor.propagator.ready]

    @property
    def inspector(self) -> StepInspector:
        """All that lies in the step's frames; made anew at each stop.

        Raises:
          RuntimeError: the step went on.
        """
        if self._executor is None or self._tagged is None:
            raise RuntimeError("The step went on; what lay there is gone.")
        if self._inspector is None:
            executors = self._executor.run_state.executors or (self._executor,)
            running = (self._executor, self._tagged) if self.phase == "before" else None
            self._inspector = StepInspector(executors, running, self.function)
        return self._inspector

    def frames(self) -> list[FrameView]:
        """Every frame that lives, of all partitions."""
        return self.inspector.frames()

    def nodes(self, frame_id: int | None = None, iteration: int | None = None) -> list[NodeView]:
        """The nodes of an iteration of a frame; of where the step stands if nothing is said."""
        return self.inspector.nodes(
            self.partition,
            self.frame_id if frame_id is None else frame_id,
            self.iteration if iteration is None else iteration,
        )

    def why(self, node: str) -> Standstill:
        """Why a node has not run yet."""
        if self._executor is None:
            raise RuntimeError("The step went on; ask again at the next stop.")
        return explain_node(self._executor.run_state.executors or (self._executor,), node)

    def forget(self) -> None:
        """The step goes on: lets go of everything but names and numbers."""
        self._executor = self._tagged = self._inspector = self._outputs = None


def _loops(iteration: IterationState) -> tuple[LoopPlace, ...]:
    found: list[LoopPlace] = []
    place: IterationState | None = iteration
    while place is not None and place.frame.parent is not None:
        found.append(LoopPlace(place.frame.info.name, place.number))
        place = place.frame.parent_iteration
    return tuple(reversed(found))
