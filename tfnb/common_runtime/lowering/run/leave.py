"""Continues node by node where an emitted function was left; debuggers stop steps this way.

The variables of a function that may be left (``JournalKind.leaves``) record its path: the
predicates of its conditionals, and the iterations of its loops.  Near a breakpoint, or when the
step is paused, it raises :class:`Leave` between two nodes.  Then its lines are followed again, each
loop only in its latest iteration: this shows which nodes have run there, and the variables hold
their outputs.  From them the frames and counts of the reference executor are built, as if it had
run these nodes itself, and it runs the remaining nodes.

If a function of several partitions is left, there is one executor for each partition.  Values that
passed between partitions in the function count as sent and received; every other Send is still to
run.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.debugged_executor import DebuggedExecutorState, forget_inputs
from tfnb.common_runtime.executor.immutable_executor_state import INTO_CHILD, INTO_NEXT, INTO_PARENT
from tfnb.common_runtime.executor.propagator_state import FrameState, IterationState
from tfnb.common_runtime.lowering.support.journal import DEAD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.common_runtime.lowering.write.emit import EmittedFunction
    from tfnb.common_runtime.lowering.write.leave_writer import LeavePlan
    from tfnb.core.op_kernel import StepContext
    from tfnb.core.step_events import StepDebugger

_FIRST_FRAME = 1 << 40
_Done = dict[int, "Sequence[Any]"]  # the outputs of each live node, by its id


class _UsedUp:
    """The placeholder of a value that all its consumers have used."""

    def __repr__(self) -> str:
        return "a value that was used up"


_USED_UP = _UsedUp()


class _Here(Exception):
    """The line at which the function was left."""


class _Ran:
    """The nodes that ran in the latest iteration of each frame.

    Attributes:
      frames: for each frame its name, the frame around it, and the iteration of that one.
      iterations: the latest iteration of each frame.
      done: the nodes that ran in that iteration.
      ended: the frames that have ended.

    Dead nodes and loops that were not entered do not count as run: the reference executor finds
    them again.
    """

    def __init__(self, plan: LeavePlan, line: int, values: Mapping[str, Any]) -> None:
        self._plan = plan
        self._line = line
        self._values = values
        self.frames: dict[int, tuple[str, int, int]] = {}
        self.iterations: dict[int, int] = {0: 0}
        self.done: dict[int, _Done] = {0: {}}
        self.ended: set[int] = set()
        with suppress(_Here):
            if line > plan.start:
                self._block(0, 0)

    def settle(self, receivers: Mapping[int, int]) -> None:
        """Count a Send as run if its Recv has run, and only then."""
        for done in self.done.values():
            for send, receive in receivers.items():
                done.pop(send, None)
                if receive in done:
                    done[send] = ()

    def _is_in(self, number: int) -> bool:
        """Return whether the function was left in a block."""
        block = self._plan.blocks[number]
        return block.first <= self._line <= block.last

    def _block(self, number: int, frame: int) -> bool:
        """Follow a block that was entered; return whether the loop around it was left."""
        done, is_left = self.done[frame], False
        for line, _, kind, what in self._plan.scripts[number]:
            if line >= self._line:
                raise _Here
            if kind == "node":
                done[what[0]] = self._given(what[0])
            elif kind == "loop":
                self._loop(what, frame)
            elif kind == "leave":
                is_left = self._leave(what[0], what[1], frame)
            else:
                for side in what:
                    if side is not None:
                        self._side(side, frame)
        if self._is_in(number):
            raise _Here
        self._never(number, done)
        return is_left

    def _side(self, number: int, frame: int) -> None:
        """Follow one side of a cond."""
        if self._plan.is_entered(number, self._values):
            self._block(number, frame)
        else:
            self._dead(number, self.done[frame])

    def _leave(self, leaving: int, going: int, frame: int) -> bool:
        """Follow the end of an iteration; the loop was left unless the line is in ``going``."""
        is_left = not self._is_in(going) or self._is_in(leaving)
        entered, other = (leaving, going) if is_left else (going, leaving)
        self._block(entered, frame)
        self._dead(other, self.done[frame])
        return is_left

    def _loop(self, body: int, around: int) -> None:
        loop, frame = self._plan.loop_of[body], len(self.done)
        self.frames[frame] = loop.frame_name, around, self.iterations[around]
        self.iterations[frame] = self._values.get(f"turn{loop.number}", 0)
        self.done[frame] = {}
        if self._line == self._plan.blocks[body].first:
            raise _Here  # an iteration begins; no node of it has run
        self._block(body, frame)
        self.ended.add(frame)

    def _dead(self, number: int, done: _Done) -> None:
        """Handle a block that was not entered: only nodes that are never dead have run."""
        for _, _, kind, what in self._plan.scripts[number]:
            if kind == "node" and what[0] in self._plan.triggered:
                done[what[0]] = ()
            elif kind in ("question", "leave"):
                for side in what:
                    if side is not None:
                        self._dead(side, done)
        self._never(number, done)

    def _never(self, number: int, done: _Done) -> None:
        for one in self._plan.never.get(number, ()):
            if one not in self._plan.loop_of:
                self._dead(one, done)

    def _given(self, number: int) -> Sequence[Any]:
        """Return for each output of a Switch whether it is dead; empty for other nodes."""
        plan = self._plan
        decides = plan.switches.get(number)
        if decides is None:
            return ()
        count, chosen = len(plan.registers[number]), int(self._values[decides[1:]])
        chosen = chosen if 0 <= chosen < count else count - 1
        return [None if place == chosen else DEAD for place in range(count)]


def fresh_executors(
    emitted: EmittedFunction, run_state: RunState, step: StepContext, debugger: StepDebugger
) -> list[DebuggedExecutorState]:
    """Return executors of the partitions of a function, in which no node has run."""
    return [
        DebuggedExecutorState(state, run_state, step, index, debugger)
        for index, state in enumerate(emitted.immutable.parts or (emitted.immutable,))
    ]


def go_on(
    executors: Sequence[DebuggedExecutorState],
    emitted: EmittedFunction,
    line: int,
    values: Mapping[str, Any],
    *,
    tells: bool = True,
) -> None:
    """Bring fresh executors to the line where a function was left, and notify the debugger.

    Args:
      executors: the executors of its partitions, in which no node has run.
      emitted: the function.
      line: the line where it was left.
      values: its variables.
      tells: whether to notify the debugger.
    """
    plan, immutable = emitted.leave_plan, emitted.immutable
    ran = _Ran(plan, line, values)
    if immutable.receivers:
        ran.settle(immutable.receivers)
    builders, first = [], 0
    for executor in executors:
        builders.append(_Builder(executor, first, ran, plan.registers, values))
        first += len(executor.immutable.items)
    for builder in builders:
        builder.build()
    for number in plan.sites.get(line, ()) if tells else ():
        for builder in builders:
            builder.tell_of(number)


class _Builder:
    """Builds the frames and counts of one partition.

    Args:
      executor: the executor of the partition.
      first: the number of its first node in the function.
      ran: the nodes that have run.
      registers: the registers of each node's outputs, by its number in the function.
      values: the values of the registers.
    """

    def __init__(
        self,
        executor: DebuggedExecutorState,
        first: int,
        ran: _Ran,
        registers: Mapping[int, list[str]],
        values: Mapping[str, Any],
    ) -> None:
        self._executor = executor
        self._first = first
        self._items = executor.immutable.items
        self._ready = executor.ready
        self._propagator = executor.propagator
        # Kernels name their resources by frame number, and the function used numbers of its own.
        self._propagator.number_frames_from(_FIRST_FRAME)
        self._ran = ran
        self._registers = registers
        self._values = values
        self._live: dict[int, _Done] = {}  # the nodes that ran in live iterations, by id
        self._places: list[IterationState] = []

    def build(self) -> None:
        """Make frames, iterations and counts, and keep the nodes that are ready."""
        self._iteration(0, self._propagator.root.iterations[0])
        ready, pushed = list(self._ready), set[tuple[IterationState, int]]()
        self._ready.clear()
        for tagged in ready:
            item, iteration, _ = tagged
            done = self._live.get(id(iteration))
            if done is None and iteration.frame.iterations.get(iteration.number) is not iteration:
                continue  # its iteration has ended
            if done is not None and item.id in done:
                iteration.outstanding_ops -= 1
                forget_inputs(item, iteration)
                pushed.add((iteration, item.id))
            else:
                self._ready.append(tagged)
        for iteration in self._places:
            for number in self._live[id(iteration)]:
                if (iteration, number) not in pushed:
                    # The node waits for a dead input, or for a node that only orders others.
                    self._executor.ran_before.add((iteration, number))
        for iteration in reversed(self._places):
            if not iteration.outstanding_ops:
                self._propagator.cleanup(iteration.frame, iteration.number)

    def tell_of(self, number: int) -> None:
        """Notify the debugger of a node that ran just before the function was left."""
        number -= self._first
        if not 0 <= number < len(self._items):
            return
        item, executor = self._items[number], self._executor
        for iteration in self._places:
            gave = self._live[id(iteration)].get(number)
            if gave is not None and iteration.frame.info is item.frame:
                outputs = self._outputs(item, gave)
                executor.debugger.ran(executor, (item, iteration, False), outputs)

    def _done(self, frame_id: int) -> _Done:
        """Return the nodes of this partition among those that ran in a frame."""
        first, end = self._first, self._first + len(self._items)
        ran = self._ran.done[frame_id]
        return {number - first: gave for number, gave in ran.items() if first <= number < end}

    def _outputs(self, item: NodeItem, gave: Sequence[Any]) -> list[Any]:
        found: list[Any] = [None] * item.num_outputs
        for place, register in enumerate(self._registers[self._first + item.id]):
            if not (gave and gave[place] is DEAD):
                found[place] = self._values.get(register, _USED_UP)
        return found

    def _iteration(self, frame_id: int, iteration: IterationState) -> None:
        """Deliver the outputs of the nodes that have run in an iteration."""
        propagator, ran, items = self._propagator, self._ran, self._items
        done = self._done(frame_id)
        self._live[id(iteration)] = done
        self._places.append(iteration)
        inside = {
            name: one
            for one, (name, parent, number) in ran.frames.items()
            if parent == frame_id
            and number == ran.iterations[frame_id]
            and name in propagator.frames_by_name
        }
        later: list[tuple[NodeItem, Sequence[Any]]] = []
        for number, gave in done.items():
            item = items[number]
            outputs: Sequence[Any] = self._outputs(item, gave)
            if item.destination == INTO_CHILD:
                if inside.get(item.frame_name) not in ran.ended:
                    propagator.enter(item, False, iteration, outputs)
            elif item.destination in (INTO_PARENT, INTO_NEXT):
                later.append((item, outputs))
            else:
                propagator.activate(item, False, iteration, outputs)
        for name, one in inside.items():
            if one in ran.ended:
                for item in self._propagator.frames_by_name[name].nodes:
                    if item.destination == INTO_PARENT:
                        left = ran.done[one].get(self._first + item.id)
                        outputs = () if left is None else self._outputs(item, left)
                        propagator.activate(item, left is None, iteration, outputs)
            else:
                child = iteration.frame.children[iteration.number, name]
                self._iteration(one, self._begin(child, ran.iterations[one]))
        for item, outputs in later:
            if item.destination == INTO_PARENT:
                propagator.exit(item, False, iteration, outputs)
            else:
                propagator.next_iteration(item, False, iteration, outputs)

    def _begin(self, frame: FrameState, number: int) -> IterationState:
        """Return the iteration that a frame is in, after dropping the earlier ones."""
        if not number:
            return frame.iterations[0]
        iteration = IterationState(frame, number)
        frame.iterations = {number: iteration}
        frame.iteration_count = number
        frame.num_outstanding_iterations = 1
        frame.dead_exits.clear()
        activate = self._propagator.activate
        for item, is_dead, outputs in frame.invariants:
            activate(item, is_dead, iteration, outputs)
        for item in frame.info.nodes:
            if item.destination == INTO_NEXT:
                merges = (dst for _, dst, _ in item.data_edges if dst.is_merge)
                for merge in merges:
                    (register, *_) = self._registers[self._first + merge.id]
                    value = self._values.get(register, _USED_UP)
                    activate(item, False, iteration, (value,))
                    break
        return iteration
