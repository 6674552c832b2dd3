"""The position of a stopped step: the node, the loops around it, the values available there.

Listeners and conditions written in Python receive a :class:`Stop`. It is valid while the step is
stopped there; afterwards it keeps its names and numbers, but has no values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.common_runtime.executor.waiting import explain_node
from tfnb.common_runtime.looking.step_inspection import (
    FrameView,
    NodeState,
    NodeView,
    StepInspector,
)
from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.executor.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.executor.executor import ExecutorState
    from tfnb.common_runtime.executor.propagator_state import IterationState, type_of_tagged_node
    from tfnb.core.process.standstill import Standstill

EXPORTS = {"debugger": ["Stop"]}


class LoopPlace(NamedTuple):
    """One loop around a node: the frame's name and the iteration."""

    frame: str
    iteration: int


class Stop:
    """The position of a step that is stopped before or after a node.

    Attributes:
      step_id: the step's number.
      function: the called function, "" for the graph itself.
      device: the partition's device; ``partition`` is the partition's number.
      node: the node's name; ``op`` is its type.
      frame: the name of the frame it runs in, "" outside of loops.
      frame_id: the frame's number in the partition.
      iteration: the iteration.
      loops: all loops around it, the outermost first.
      phase: ``"before"`` the node runs, or ``"after"``.
      is_dead: whether the node is dead, and therefore does not run.
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
        self.tagged: type_of_tagged_node | None = tagged
        self._outputs = outputs
        self._inspector: StepInspector | None = None

    def __repr__(self) -> str:
        place = "".join(f", iteration {loop.iteration} of {loop.frame!r}" for loop in self.loops)
        dead = ", dead" if self.is_dead else ""
        return f"<{self.phase} {self.node!r} ({self.op}){place}{dead}>"

    # -- values at the stop ------------------------------------------------------------------------

    @property
    def inputs(self) -> list[tuple[str, Any]]:
        """The node's inputs before it runs, as (tensor name, value); None for a dead input."""
        if self.phase != "before" or self.tagged is None:
            return []
        entries = self.inspector.entries(self.tagged[0], self.tagged[1])
        return [(entry.tensor, entry.value) for entry in entries]

    @property
    def outputs(self) -> list[tuple[str, Any]]:
        """The node's outputs after it has run, as (tensor name, value); None for a dead output."""
        return [(f"{self.node}:{number}", value) for number, value in enumerate(self.output_values)]

    @property
    def output_values(self) -> list[Any]:
        """The values of :attr:`outputs`; for a reference, the variable's value."""
        found = () if self._outputs is None else self._outputs
        return [value.value if isinstance(value, RefCell) else value for value in found]

    @property
    def ready(self) -> list[str]:
        """The names of the nodes of this partition that may run now, the next one first."""
        if self._executor is None:
            return []
        return [item.name for item, _, _ in self._executor.propagator.ready]

    @property
    def _executors(self) -> Sequence[ExecutorState]:
        """The executors of all partitions."""
        assert self._executor is not None
        return self._executor.run_state.executors or (self._executor,)

    @property
    def inspector(self) -> StepInspector:
        """The inspector of the step's frames; a new one at each stop.

        Raises:
          RuntimeError: the step has continued.
        """
        if self._executor is None or self.tagged is None:
            raise RuntimeError("The step went on; its frames no longer exist.")
        if self._inspector is None:
            running = (self._executor, self.tagged) if self.phase == "before" else None
            self._inspector = StepInspector(self._executors, running, self.function)
        return self._inspector

    def frames(self) -> list[FrameView]:
        """Return every live frame of all partitions."""
        return self.inspector.frames()

    def nodes(self, frame_id: int | None = None, iteration: int | None = None) -> list[NodeView]:
        """Return the nodes of a frame's iteration; by default, of the stop's own."""
        return self.inspector.nodes(
            self.partition,
            self.frame_id if frame_id is None else frame_id,
            self.iteration if iteration is None else iteration,
        )

    def states_around(self) -> dict[str, NodeState]:
        """Return the states of all nodes, relative to the stop's frame and iteration."""
        return self.inspector.states_around(self.partition, self.frame_id, self.iteration)

    def why(self, node: str) -> Standstill:
        """Return why a node has not run yet."""
        if self._executor is None:
            raise RuntimeError("The step went on; call this again at the next stop.")
        return explain_node(self._executors, node)

    def forget(self) -> None:
        """Release everything but names and numbers, because the step continues."""
        self._executor = self.tagged = self._inspector = self._outputs = None


def _loops(iteration: IterationState) -> tuple[LoopPlace, ...]:
    found: list[LoopPlace] = []
    place: IterationState | None = iteration
    while place is not None and place.frame.parent is not None:
        found.append(LoopPlace(place.frame.info.name, place.number))
        place = place.frame.parent_iteration
    return tuple(reversed(found))
