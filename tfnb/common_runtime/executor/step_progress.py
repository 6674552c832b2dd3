"""The progress of a step: which nodes ran, which are dead, which never became ready.

A step keeps counts, not history.  The status of a node is derived from them: the counts of the root
frame outlive the step, those of a loop are dropped with its last iteration.  The executor's tables
contain only the successors of a node; edges to its predecessors are made here, on request.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from tfnb.common_runtime.executor.immutable_executor_state import (
    INTO_CHILD,
    INTO_NEXT,
    INTO_PARENT,
    RETVAL,
    NodeItem,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.common_runtime.executor.propagator_state import FrameState, IterationState
    from tfnb.common_runtime.executor.run_state import PartitionInStep
    from tfnb.core.op_kernel import OpKernel

    type_of_place = tuple[NodeItem, IterationState]


class NodeStatus(enum.Enum):
    """The status of a node in one iteration."""

    UNREADY = enum.auto()
    WAITING = enum.auto()  # its kernel was started and has not answered
    DEAD = enum.auto()
    DONE = enum.auto()


class StepProgress:
    """The partitions of one step, for queries."""

    def __init__(self, executors: Sequence[PartitionInStep]) -> None:
        self._executors = executors
        self._owner: dict[int, PartitionInStep] = {}  # id of an item -> its partition
        self._before: dict[int, list[tuple[NodeItem, int | None]]] = {}
        self._waiting: set[tuple[int, int]] = set()
        for executor in executors:
            for item in executor.immutable.items:
                self._owner[id(item)] = executor
                for _, dst, slot in item.data_edges:
                    self._before.setdefault(id(dst), []).append((item, slot))
                for dst in item.control_edges:
                    self._before.setdefault(id(dst), []).append((item, None))
            for _, (waiting, iteration, _), *_ in list(executor.run_state.waiting.values()):
                self._waiting.add((id(waiting), id(iteration)))

    # -- finding nodes

    def find(self, name: str) -> Iterator[type_of_place]:
        """Yield each node of that name that is in a live iteration, with that iteration."""
        for executor in self._executors:
            for item in executor.immutable.items:
                if item.name == name:
                    position = self.position_of(item, executor.propagator.root.iterations[0])
                    if position is not None:
                        yield item, position

    def result(self, position: int) -> type_of_place | None:
        """Return the node that produces a result of the call frame."""
        for executor in self._executors:
            for item in executor.immutable.items:
                if item.action == RETVAL and item.argument_index == position:
                    return item, executor.propagator.root.iterations[0]
        return None

    def sender_of(self, receiver: NodeItem) -> NodeItem | None:
        """Return the node that sends the value of a Recv."""
        assert receiver.kernel is not None
        tensor = receiver.kernel.attrs["tensor_name"]
        for executor in self._executors:
            for item in executor.immutable.items:
                if (
                    item.is_transfer
                    and item.kernel is not None
                    and "Send" in item.op
                    and item.kernel.attrs["tensor_name"] == tensor
                ):
                    return item
        return None

    def receiver_of(self, sender: NodeItem) -> tuple[PartitionInStep, NodeItem] | None:
        """Return the node that receives the value of a Send, and the executor of its partition."""
        assert sender.kernel is not None
        key = _key_of(sender.kernel)
        for executor in self._executors:
            for item in executor.immutable.items:
                if (
                    item.is_transfer
                    and item.kernel is not None
                    and "Recv" in item.op
                    and _key_of(item.kernel) == key
                ):
                    return executor, item
        return None

    def position_of(self, item: NodeItem, like: IterationState) -> IterationState | None:
        """Return an iteration of an item's frame, or None if none is alive.

        It is the one with the number of ``like``, if there is one.
        """
        executor = self._owner[id(item)]
        found: IterationState | None = None
        for frame in frames_below(executor.propagator.root):
            if frame.info is item.frame:
                iterations = dict(frame.iterations)
                found = (
                    iterations.get(like.number) or found or next(iter(iterations.values()), None)
                )
        return found

    # -- status of nodes

    def status(self, item: NodeItem, iteration: IterationState) -> NodeStatus:
        """Return the status of a node in an iteration of its frame."""
        if (id(item), id(iteration)) in self._waiting:
            return NodeStatus.WAITING
        pending = iteration.pending[item.pending_id]
        num_dead = iteration.dead_counts.get(item.pending_id, 0)
        if item.is_merge:
            if pending == 0:
                return NodeStatus.DONE
            is_dead = pending == 1 and num_dead == item.num_inputs
            return NodeStatus.DEAD if is_dead else NodeStatus.UNREADY
        if pending > 0:
            return NodeStatus.UNREADY
        is_dead = num_dead > 0 and not item.is_control_trigger
        return NodeStatus.DEAD if is_dead else NodeStatus.DONE

    def _places_before(
        self, item: NodeItem, iteration: IterationState
    ) -> list[tuple[NodeItem, int | None, IterationState | None]]:
        """Return a node's predecessors, each with the input slot it fills and its iteration.

        An Exit of a loop that has not begun, or has ended, has no iteration: the Enters of that
        loop follow it, because they decide.
        """
        found: list[tuple[NodeItem, int | None, IterationState | None]] = []
        for before, slot in self._before.get(id(item), ()):
            place: IterationState | None = iteration
            if before.destination == INTO_CHILD:
                place = iteration.frame.parent_iteration
            elif before.destination == INTO_NEXT:
                place = iteration.frame.iterations.get(iteration.number - 1)
            elif before.destination == INTO_PARENT:
                place = _last_iteration(before, iteration)
            found.append((before, slot, place))
            if before.destination == INTO_PARENT and place is None:
                found += [
                    (enter, None, iteration)
                    for enter in self._owner[id(before)].immutable.items
                    if enter.is_enter and enter.frame_name == before.frame.name
                ]
        return found

    def blockers(
        self, item: NodeItem, iteration: IterationState
    ) -> tuple[list[NodeItem], type_of_place | None]:
        """Explain why a node has not become ready.

        Returns:
          Its predecessors that wait; and, if there is none, a node that got all inputs that can
          still arrive, although some are missing.
        """
        waiting: dict[NodeItem, None] = {}
        stopped: type_of_place | None = None
        stack, seen = [(item, iteration)], {(id(item), id(iteration))}
        while stack:
            here = stack.pop()
            num_unready = 0
            for before, _, place in self._places_before(*here):
                if place is None:
                    continue
                status = self.status(before, place)
                if status == NodeStatus.WAITING:
                    waiting[before] = None
                elif status == NodeStatus.UNREADY:
                    num_unready += 1
                    if (id(before), id(place)) not in seen:
                        seen.add((id(before), id(place)))
                        stack.append((before, place))
            if num_unready == 0 or stopped is None:
                stopped = here
        return list(waiting), stopped

    def num_inputs(self, item: NodeItem) -> int:
        """Return the number of edges that lead into a node, data and control."""
        return len(self._before.get(id(item), ()))

    def sources(self, item: NodeItem) -> list[NodeItem]:
        """Return a node's predecessors, data and control, each once."""
        return list(dict.fromkeys(before for before, _ in self._before.get(id(item), ())))

    def missing_inputs(self, item: NodeItem, iteration: IterationState) -> list[NodeItem]:
        """Return the predecessors that have delivered neither a value nor deadness to a node."""
        edges = {id(before) for before, _ in self._before.get(id(item), ())}
        missing = []
        for before, slot, place in self._places_before(item, iteration):
            if id(before) not in edges or (slot is not None and iteration.inputs[slot] is not None):
                continue
            if place is None:
                is_missing = True
            else:
                is_missing = self.status(before, place) in (NodeStatus.UNREADY, NodeStatus.WAITING)
            if is_missing:
                missing.append(before)
        return missing

    def origin_of_deadness(self, item: NodeItem, iteration: IterationState) -> NodeItem | None:
        """Return the node where the deadness of a node began: a Switch, in most cases."""
        here, seen = (item, iteration), {(id(item), id(iteration))}
        while True:
            following: type_of_place | None = None
            origin: NodeItem | None = None
            for before, slot, place in self._places_before(*here):
                if place is None:
                    origin = origin or before
                    continue
                status = self.status(before, place)
                if before.is_transfer and status == NodeStatus.DONE:
                    sender = self.sender_of(before)
                    stood = None if sender is None else self.position_of(sender, place)
                    if sender is not None and stood is not None:
                        before, place = sender, stood
                        status = self.status(before, place)
                if status == NodeStatus.DEAD and (id(before), id(place)) not in seen:
                    following = before, place
                    break
                if "Switch" in before.op and slot is not None:
                    origin = before
            if following is None:
                return origin
            seen.add((id(following[0]), id(following[1])))
            here = following


def _key_of(kernel: OpKernel) -> tuple[Any, ...]:
    """Return the parts of a key that a Send and its Recv have in common."""
    return tuple(kernel.attrs[name] for name in ("tensor_name", "send_device", "recv_device"))


def _last_iteration(before: NodeItem, iteration: IterationState) -> IterationState | None:
    """Return the last live iteration of the loop that an Exit leaves into an iteration, or None."""
    for child in list(iteration.frame.children.values()):
        if child.info is before.frame and child.parent_iteration is iteration:
            iterations = dict(child.iterations)
            return iterations[max(iterations)] if iterations else None
    return None


def frames_below(root: FrameState) -> list[FrameState]:
    """Return a frame and all live frames inside it."""
    found = [root]
    for frame in found:
        found += list(frame.children.values())
    return found
