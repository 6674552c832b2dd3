"""The argument of a Python breakpoint condition while the step runs as an emitted function.

Names, numbers and outputs are set at once.  Frames and counts are built on first access, from the
local variables of the function.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.debugger.stop import LoopPlace, Stop
from tfnb.common_runtime.executor.step_progress import frames_below
from tfnb.common_runtime.lowering.run.leave import fresh_executors, go_on

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from tfnb.common_runtime.executor.debugged_executor import DebuggedExecutorState
    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem


class StopInFunction(Stop):
    """A stop after a node of an emitted function that ran or was dead.

    Args:
      place: the Python frame of the function, at the line after the node.
      item: the node.
      values: its outputs; empty if it is dead.
    """

    def __init__(self, place: FrameType, item: NodeItem, values: tuple[Any, ...]) -> None:
        variables = place.f_locals
        run_state = variables["run_state"]
        emitted = run_state.emitted
        around = dict(emitted.loops_around(place.f_lineno, variables))
        self.step_id = run_state.step_id
        self.function = ""
        states = emitted.immutable.parts or (emitted.immutable,)
        self.partition, self._number = 0, item.id
        while self._number >= len(states[self.partition].items):
            self._number -= len(states[self.partition].items)
            self.partition += 1
        self.device = states[self.partition].device.name
        self.node, self.op = item.name, item.op
        self.frame = item.frame.name
        self.loops = tuple(
            LoopPlace(name, around.get(name, 0)) for name in emitted.frames_around(item)
        )
        self.iteration = self.loops[-1].iteration if self.loops else 0
        self.phase, self.is_dead, self.reason = "after", not values, ""
        self._outputs = values
        self._inspector = None
        self._item = item
        self._place: FrameType | None = place
        self._built: Sequence[DebuggedExecutorState] = ()

    @property
    def frame_id(self) -> int:  # type: ignore[override]
        """The id of the control flow frame."""
        executor = self._executor
        if executor is None:
            return 0
        frames = frames_below(executor.propagator.root)
        found = (one for one in frames if one.info.name == self._item.frame.name)
        return max((one.id for one in found), default=0)

    @property
    def _executors(self) -> Sequence[DebuggedExecutorState]:
        """The state that the reference executor would have at this point."""
        if self._place is not None and not self._built:
            variables = {**self._place.f_locals}
            run_state = variables["run_state"]
            emitted = run_state.emitted
            self._built = fresh_executors(
                emitted, run_state, variables["step"], run_state.hooks.debugger
            )
            values = {**emitted.constants, **variables}
            go_on(self._built, emitted, self._place.f_lineno, values, tells=False)
        return self._built

    @property
    def _executor(self) -> DebuggedExecutorState | None:  # type: ignore[override]
        """The executor of the node's partition."""
        executors = self._executors
        return executors[self.partition] if executors else None

    @property
    def tagged(self) -> Any:  # type: ignore[override]
        """The node tagged with the iteration of its frame, if there is one."""
        executor = self._executor
        if executor is None:
            return None
        item = executor.immutable.items[self._number]
        for frame in frames_below(executor.propagator.root):
            if frame.info is item.frame and frame.iterations:
                return item, frame.iterations[max(frame.iterations)], self.is_dead
        return item, executor.propagator.root.iterations[0], self.is_dead

    def forget(self) -> None:
        """Drop the references to the step, which continues."""
        self._place = self._inspector = self._outputs = None
        self._built = ()
