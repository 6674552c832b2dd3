"""Frames and iterations of one partition during one step.

Words, after TensorFlow's ``propagator_state.h``:

* A *frame* is one run of a loop; the step itself is the root frame.  A child frame is identified by
  its parent frame, the parent's iteration and the frame's name, so an inner loop gets a new frame
  for every outer iteration.
* An *iteration* of a frame holds, for each node of the frame, the number of missing inputs, the
  number of inputs that arrived dead, and the input values that arrived.
* An iteration is *done* when none of its nodes is outstanding, none of its child frames is alive,
  and the iteration before it is done (iteration 0: when all Enters of the frame have arrived).
* A frame is done when all its Enters have arrived and no iteration is left.

At most ``parallel_iterations`` iterations of a frame are alive at a time; a NextIteration that
would begin one more is deferred into ``next_iteration_roots``. Deadness never enters the next
iteration, and a dead Exit is kept back until the frame ends, because only the Exits of the last
iteration count.

Only one thread at a time accesses a partition's frames: the one that runs the step.
"""

from __future__ import annotations

from functools import lru_cache
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any

from tfnb.core.string_hashes import hash64

if TYPE_CHECKING:
    from collections import deque

    from tfnb.common_runtime.executor.immutable_executor_state import FrameInfo, NodeItem
    from tfnb.core.step_events import StepHooks

_COMBINE, _MASK = 0x9E3779B97F4A7800, 0xFFFFFFFFFFFFFFFF


class IterationState:
    """One iteration of one frame; changes throughout the step.

    Attributes:
      frame: the frame of this iteration.
      number: 0, 1, 2, ...
      pending: the pending count of each node of the frame, by ``NodeItem.pending_id``; see
        ``pending_counts.py``.
      dead_counts: the number of dead inputs that arrived, by ``NodeItem.pending_id``; only of nodes
        that have any.
      inputs: the values that arrived and were not used yet, by input slot.
      outstanding_ops: number of nodes that are ready or run.
      outstanding_frames: number of live child frames that an Enter of this iteration opened.
    """

    __slots__ = (
        "dead_counts",
        "frame",
        "inputs",
        "number",
        "outstanding_frames",
        "outstanding_ops",
        "pending",
    )

    def __init__(self, frame: FrameState, number: int) -> None:
        info = frame.info
        self.frame = frame
        self.number = number
        self.pending = info.initial_pending[:]
        self.dead_counts: dict[int, int] = {}
        self.inputs: list[Any] = [None] * info.total_inputs
        self.outstanding_ops = 0
        self.outstanding_frames = 0


# (item, iteration, is_dead): a node that is ready to be executed, or is being executed.
type_of_tagged_node = tuple["NodeItem", IterationState, bool]


class FrameState:
    """One instance of a frame; changes throughout the step.

    Attributes:
      id: its number in this partition and step; 0 is the root frame.
      info: the data that all instances share.
      parent: the frame around it; None for the root.
      parent_iteration: the iteration of the parent that opened it; its Exits lead there.
      max_parallel_iterations: how many of its iterations may be alive.
      num_pending_inputs: number of Enters that have not arrived.
      num_outstanding_iterations: number of live iterations.
      iteration_count: the number of the youngest iteration.
      iterations: the live iterations, by number.
      next_iteration_roots: (NextIteration, its outputs) that wait until an iteration may begin.
      invariants: (constant Enter, whether it is dead, its outputs), delivered in every iteration.
      dead_exits: Exits that were dead in the youngest iteration.
      children: the live child frames, by (iteration number, name).
      is_dead: whether all Enters so far were dead, except those of constants.
    """

    __slots__ = (
        "_rendezvous_id",
        "children",
        "dead_exits",
        "id",
        "info",
        "invariants",
        "is_dead",
        "iteration_count",
        "iterations",
        "max_parallel_iterations",
        "next_iteration_roots",
        "num_outstanding_iterations",
        "num_pending_inputs",
        "parent",
        "parent_iteration",
    )

    def __init__(
        self,
        id: int,
        info: FrameInfo,
        parent: FrameState | None,
        parent_iteration: IterationState | None,
    ) -> None:
        self.id = id
        self.is_dead = True
        self.info = info
        self.parent = parent
        self.parent_iteration = parent_iteration
        self.max_parallel_iterations = info.parallel_iterations
        self.num_pending_inputs = info.input_count
        self.num_outstanding_iterations = 1
        self.iteration_count = 0
        self.iterations: dict[int, IterationState] = {0: IterationState(self, 0)}
        self.next_iteration_roots: list[tuple[NodeItem, Any]] = []
        self.invariants: list[tuple[NodeItem, bool, Any]] = []
        self.dead_exits: list[NodeItem] = []
        self.children: dict[tuple[int, str], FrameState] = {}
        self._rendezvous_id: int | None = None

    @property
    def rendezvous_id(self) -> int:
        """The frame's number in rendezvous keys: the same in every partition, 0 for the root."""
        if self.parent is None or self.parent_iteration is None:
            return 0
        if self._rendezvous_id is None:
            # As TensorFlow's executors compute it: a loop may span tasks of both.
            name = _hash_of_name(self.info.name)
            inside = _combine(self.parent_iteration.number, name)
            self._rendezvous_id = _combine(self.parent.rendezvous_id, inside)
        return self._rendezvous_id


@lru_cache(1024)
def _hash_of_name(name: str) -> int:
    return hash64(name.encode())


def _combine(first: int, second: int) -> int:
    return first ^ ((second + _COMBINE + (first << 10) + (first >> 4)) & _MASK)


class PropagatorState:
    """Moves values, deadness and control from finished nodes to their consumers."""

    __slots__ = ("_num_frames", "frames_by_name", "hooks", "partition", "ready", "root", "step_id")

    def __init__(
        self,
        frames_by_name: dict[str, FrameInfo],
        ready: deque[Any],
        hooks: StepHooks,
        step_id: int,
        partition: int,
    ) -> None:
        self.frames_by_name = frames_by_name
        self.ready = ready
        self.hooks = hooks
        self.step_id = step_id
        self.partition = partition
        self._num_frames = 1
        self.root = FrameState(0, frames_by_name[""], None, None)

    def number_frames_from(self, number: int) -> None:
        """Give frames that are entered from now on consecutive numbers that start at ``number``."""
        self._num_frames = number

    # -- from a finished node to the nodes behind it -----------------------------------------------

    def activate(
        self, item: NodeItem, is_dead: bool, iteration: IterationState, outputs: Any
    ) -> None:
        """Deliver ``item``'s outputs into ``iteration``; ready nodes go to the queue.

        ``outputs`` is a sequence by output number, in which ``None`` stands for no value; it is not
        read when ``is_dead``.
        """
        # The counting of pending_counts.py, inlined: a call per edge would cost as much as the
        # edge.
        pending, inputs, ready = iteration.pending, iteration.inputs, self.ready
        dead_counts = iteration.dead_counts
        for output, dst, slot in item.data_edges:
            value = None if is_dead else outputs[output]
            position = dst.pending_id
            if dst.is_merge:
                if value is not None:
                    count = pending[position]
                    if count & 1:
                        # The first live value clears the low bit.
                        pending[position] = count - 1
                        inputs[slot] = value
                        if count == 1:
                            iteration.outstanding_ops += 1
                            ready.append((dst, iteration, False))
                else:
                    num_dead = dead_counts[position] = dead_counts.get(position, 0) + 1
                    # A Merge whose loop was not entered is dead at once: its back edge never
                    # delivers a value.
                    dead = num_dead == dst.num_inputs or item.is_enter
                    if dead and pending[position] == 1:
                        iteration.outstanding_ops += 1
                        ready.append((dst, iteration, True))
                continue
            if value is None:
                dead_counts[position] = dead_counts.get(position, 0) + 1
            else:
                inputs[slot] = value
            pending[position] = count = pending[position] - 1
            if count == 0:
                iteration.outstanding_ops += 1
                dead = position in dead_counts and not dst.is_control_trigger
                ready.append((dst, iteration, dead))
        for dst in item.control_edges:
            position = dst.pending_id
            if dst.is_merge:
                pending[position] = count = pending[position] - 2
                dead = dead_counts.get(position) == dst.num_inputs
                if count == 0 or (count == 1 and dead):
                    iteration.outstanding_ops += 1
                    ready.append((dst, iteration, dead))
                continue
            if is_dead:
                dead_counts[position] = dead_counts.get(position, 0) + 1
            pending[position] = count = pending[position] - 1
            if count == 0:
                iteration.outstanding_ops += 1
                dead = position in dead_counts and not dst.is_control_trigger
                ready.append((dst, iteration, dead))

    def enter(self, item: NodeItem, is_dead: bool, iteration: IterationState, outputs: Any) -> None:
        """Deliver an Enter's value into its child frame."""
        frame = self._find_or_create_child(item, iteration)
        frame.num_pending_inputs -= 1
        if item.is_constant_enter:
            frame.invariants.append((item, is_dead, outputs))
            for live in list(frame.iterations.values()):
                self.activate(item, is_dead, live, outputs)
        else:
            if not is_dead:
                frame.is_dead = False
            self.activate(item, is_dead, frame.iterations[0], outputs)

    def exit(self, item: NodeItem, is_dead: bool, iteration: IterationState, outputs: Any) -> None:
        """Deliver an Exit's value to the parent; a dead Exit counts in the last iteration only."""
        frame = iteration.frame
        if is_dead:
            if iteration.number == frame.iteration_count:
                frame.dead_exits.append(item)
        elif frame.parent_iteration is not None:
            self.activate(item, False, frame.parent_iteration, outputs)

    def next_iteration(
        self, item: NodeItem, is_dead: bool, iteration: IterationState, outputs: Any
    ) -> None:
        """Deliver a value to the next iteration, which begins if there is room for it."""
        if is_dead:
            return
        frame = iteration.frame
        if iteration.number == frame.iteration_count:
            if frame.num_outstanding_iterations == frame.max_parallel_iterations:
                frame.next_iteration_roots.append((item, outputs))
                return
            self._increment_iteration(frame)
        self.activate(item, False, frame.iterations[iteration.number + 1], outputs)

    # -- the ends of iterations and frames ---------------------------------------------------------

    def node_done(self, iteration: IterationState) -> None:
        """Count one finished node; end its iteration and frame if it was their last one."""
        iteration.outstanding_ops -= 1
        if iteration.outstanding_ops == 0:
            self.cleanup(iteration.frame, iteration.number)

    def cleanup(self, frame: FrameState, number: int) -> None:
        """End iterations from ``number`` on, and frames outwards, as far as they are done."""
        while frame.parent is not None:
            self._cleanup_iterations(frame, number)
            if frame.num_pending_inputs or frame.num_outstanding_iterations:
                return
            parent, parent_iteration = frame.parent, frame.parent_iteration
            assert parent_iteration is not None
            self._delete_frame(frame, parent, parent_iteration)
            parent_iteration.outstanding_frames -= 1
            if parent_iteration.outstanding_ops or parent_iteration.outstanding_frames:
                return
            frame, number = parent, parent_iteration.number

    def _cleanup_iterations(self, frame: FrameState, number: int) -> None:
        while number <= frame.iteration_count and self._is_iteration_done(frame, number):
            del frame.iterations[number]
            frame.num_outstanding_iterations -= 1
            if self.hooks.iteration_done is not None:
                self.hooks.iteration_done(
                    self.step_id, self.partition, frame.id, number, perf_counter_ns()
                )
            number += 1
            if frame.next_iteration_roots:
                self._increment_iteration(frame)

    @staticmethod
    def _is_iteration_done(frame: FrameState, number: int) -> bool:
        iteration = frame.iterations.get(number)
        if iteration is None or iteration.outstanding_ops or iteration.outstanding_frames:
            return False
        if number == 0:
            return frame.num_pending_inputs == 0
        return number - 1 not in frame.iterations

    def _delete_frame(
        self, frame: FrameState, parent: FrameState, parent_iteration: IterationState
    ) -> None:
        parent.children.pop((parent_iteration.number, frame.info.name), None)
        for item in frame.dead_exits:
            self.activate(item, True, parent_iteration, ())
        if self.hooks.frame_dead is not None and frame.is_dead:
            self.hooks.frame_dead(self.step_id, self.partition, frame.id)
        if self.hooks.frame_done is not None:
            self.hooks.frame_done(self.step_id, self.partition, frame.id, perf_counter_ns())

    # -- beginnings of frames and iterations ------------------------------------------------------

    def _find_or_create_child(self, item: NodeItem, iteration: IterationState) -> FrameState:
        parent = iteration.frame
        key = (iteration.number, item.frame_name)
        frame = parent.children.get(key)
        if frame is None:
            info = self.frames_by_name[item.frame_name]
            frame = parent.children[key] = FrameState(self._num_frames, info, parent, iteration)
            self._num_frames += 1
            iteration.outstanding_frames += 1
            hooks = self.hooks
            if hooks.frame_entered is not None:
                hooks.frame_entered(
                    self.step_id,
                    self.partition,
                    frame.id,
                    parent.id,
                    iteration.number,
                    info.index,
                    perf_counter_ns(),
                )
            if hooks.iteration_started is not None:
                hooks.iteration_started(
                    self.step_id, self.partition, frame.id, 0, perf_counter_ns()
                )
        return frame

    def _increment_iteration(self, frame: FrameState) -> None:
        frame.iteration_count += 1
        number = frame.iteration_count
        iteration = frame.iterations[number] = IterationState(frame, number)
        frame.num_outstanding_iterations += 1
        frame.dead_exits.clear()
        if self.hooks.iteration_started is not None:
            self.hooks.iteration_started(
                self.step_id, self.partition, frame.id, number, perf_counter_ns()
            )
        if frame.next_iteration_roots:
            roots, frame.next_iteration_roots = frame.next_iteration_roots, []
            for item, outputs in roots:
                self.activate(item, False, iteration, outputs)
        for item, is_dead, outputs in frame.invariants:
            self.activate(item, is_dead, iteration, outputs)
