"""The reference executor, one node at a time, as a debugger drives it.

``DebuggedExecutorState.process`` is the loop of ``executor.py`` around a queue that never holds
more than one node, so a step that is debugged runs by the same lines as one that is not.  Between
two nodes the debugger may look at everything, change values that wait in their slots, choose which
of the ready nodes is next, or keep the thread that drives the step waiting.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.executor import ExecutorState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import (
        ImmutableExecutorState,
        NodeItem,
    )
    from tfnb.common_runtime.executor.propagator_state import IterationState, type_of_tagged_node
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import StepDebugger


class DebuggedExecutorState(ExecutorState):
    """One partition during one step that a debugger drives.

    Attributes:
      debugger: is called between two nodes.
      function: the function whose call this is, "" for the graph itself.
      ran_before: nodes by iteration and id that ran in an emitted function, before what they wait
        for here.
    """

    __slots__ = ("_outputs", "debugger", "function", "ran_before")

    def __init__(
        self,
        immutable: ImmutableExecutorState,
        run_state: RunState,
        step: StepContext,
        partition: int,
        debugger: StepDebugger,
        function: str = "",
    ) -> None:
        super().__init__(immutable, run_state, step, partition)
        self.debugger = debugger
        self.function = function
        self._outputs: Any = None
        self.ran_before: set[tuple[IterationState, int]] = set()

    def process(self) -> None:
        """Run ready nodes one by one, calling the debugger before and after each.

        Raises:
          OpError: a kernel failed, or the step was asked to end.
        """
        every, one = self.ready, deque[Any]()
        # Nodes that become ready go to the propagator's queue; the reference's loop gets one node.
        self.ready = one
        try:
            while every or self._bring_back(every):
                if self.run_state.stop is not None:
                    self.run_state.heed_stop()
                if self.ran_before and self._has_run(every):
                    continue
                if every[0][0].waits_for_others and len(every) > 1:
                    self.put_off.append(every.popleft())
                    continue
                tagged = self.debugger.choose(self, every)
                self._outputs = None
                one.append(tagged)
                ExecutorState.process(self)
                if id(tagged) not in self.run_state.waiting:
                    self.debugger.ran(self, tagged, self._outputs)
        finally:
            self.ready = every

    def _has_run(self, every: deque[type_of_tagged_node]) -> bool:
        """Remove the first ready node if an emitted function ran it before.

        Returns:
          Whether it was removed.
        """
        item, iteration, _ = every[0]
        if (iteration, item.id) not in self.ran_before:
            return False
        self.ran_before.discard((iteration, item.id))
        every.popleft()
        forget_inputs(item, iteration)
        self.propagator.node_done(iteration)
        return True

    def _bring_back(self, every: deque[type_of_tagged_node]) -> bool:
        """Make one deferred writer ready; return whether there was one."""
        if not self.put_off:
            return False
        every.append(self.put_off.popleft())
        return True

    def _take_put_off(self) -> bool:
        # The loop of the reference runs only the one node that it was given.
        return False

    def finish_async(self, tagged: type_of_tagged_node, outputs: Any) -> None:
        """Continue after an asynchronous kernel has answered, and notify the debugger.

        Raises:
          OpError: the kernel failed.
        """
        self._outputs = None
        super().finish_async(tagged, outputs)
        self.debugger.ran(self, tagged, self._outputs)

    def _output_recorder(self) -> Callable[[int, NodeItem, Any], None]:
        recorder = super()._output_recorder()

        def record(partition: int, item: NodeItem, outputs: Any) -> None:
            self._outputs = outputs
            if recorder is not None:
                recorder(partition, item, outputs)

        return record


def forget_inputs(item: NodeItem, iteration: IterationState) -> None:
    """Empty the slots of a node that has run."""
    for slot in range(item.input_start, item.input_stop):
        iteration.inputs[slot] = None


def make_executors(
    states: Sequence[ImmutableExecutorState],
    run_state: RunState,
    step: StepContext,
    function: str = "",
) -> list[ExecutorState]:
    """Return the executors of the partitions of a step, or of a function's call.

    If a debugger wants to drive the step, they are debugged executors.
    """
    debugger = run_state.hooks.debugger
    if debugger is not None and debugger.wants(run_state):
        return [
            DebuggedExecutorState(state, run_state, step, index, debugger, function)
            for index, state in enumerate(states)
        ]
    return [ExecutorState(state, run_state, step, index) for index, state in enumerate(states)]
