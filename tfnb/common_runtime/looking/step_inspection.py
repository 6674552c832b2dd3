"""The contents of a step that is stopped: frames, iterations, counts and the values in slots.

A :class:`StepInspector` reads the executors of one step while a debugger holds the thread that
drives them.  It takes no lock and changes nothing, except in :meth:`replace`, which puts another
value into slots that still hold one.  It returns plain records for a table, a picture or a test;
they keep nothing of the step alive except the values in them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.common_runtime.executor.step_progress import NodeStatus, StepProgress, frames_below
from tfnb.core import dtypes, errors
from tfnb.core.array_module import is_device_array
from tfnb.core.rendezvous import key_of_transfer
from tfnb.core.resource_mgr import RefCell, ResourceHandle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.common_runtime.executor.executor import ExecutorState
    from tfnb.common_runtime.executor.immutable_executor_state import NodeItem
    from tfnb.common_runtime.executor.propagator_state import (
        FrameState,
        IterationState,
        type_of_tagged_node,
    )
    from tfnb.common_runtime.executor.run_state import PartitionInStep
    from tfnb.core.dtypes import DType


class NodeState(enum.StrEnum):
    """The state of a node in an iteration."""

    UNREADY = "not ready"
    READY = "ready"
    RUNNING = "runs"
    WAITING = "waits"
    DONE = "done"
    DEAD = "dead"


class EntryState(enum.StrEnum):
    """The state of the value of one input."""

    MISSING = "missing"
    VALUE = "value"
    DEAD = "dead"
    USED = "used"


@dataclass(frozen=True, slots=True)
class Entry:
    """One input of a node in one iteration.

    Attributes:
      tensor: the name of the tensor of this input, like ``x:0``.
      state: whether its value has arrived.
      value: the value while it is in the slot, else None.
      is_ref: whether it is a reference to a variable's buffer; then ``value`` is the buffer's
        content.
    """

    tensor: str
    state: EntryState
    value: Any = None
    is_ref: bool = False


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node in one iteration.

    Attributes:
      name: the name of the node.
      op: its type.
      state: its state.
      pending: its pending count, as in ``pending_counts.py``.
      num_dead: the number of inputs that arrived dead.
      inputs: its data inputs, in their order.
      missing: its predecessors, data and control, that have delivered nothing yet.
    """

    name: str
    op: str
    state: NodeState
    pending: int
    num_dead: int
    inputs: tuple[Entry, ...]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IterationView:
    """One live iteration.

    Attributes:
      number: 0, 1, 2, ...
      outstanding_ops: number of nodes that are ready or run.
      outstanding_frames: number of live frames that were opened in it.
      num_dead: number of nodes that are dead in it.
      num_values: number of values in its slots.
      states: the number of nodes in each state.
    """

    number: int
    outstanding_ops: int
    outstanding_frames: int
    num_dead: int
    num_values: int
    states: dict[NodeState, int]


@dataclass(frozen=True, slots=True)
class FrameView:
    """One live frame.

    Attributes:
      function: the function whose call this is in, "" for the graph itself.
      partition: the number of its partition.
      device: the device of that partition.
      id: its number in the partition; 0 is the root frame.
      name: the name of the frame, "" for the root.
      parent_id: the frame around it, -1 for the root.
      parent_iteration: the iteration of the parent in which it was opened.
      iteration_count: the number of the youngest iteration.
      parallel_iterations: how many iterations may be alive at a time.
      num_pending_inputs: number of Enters that have not arrived.
      deferred: NextIterations that wait until an older iteration ends.
      dead_exits: Exits that were dead in the youngest iteration.
      invariants: constant Enters, delivered in every iteration.
      iterations: the live iterations, oldest first.
    """

    function: str
    partition: int
    device: str
    id: int
    name: str
    parent_id: int
    parent_iteration: int
    iteration_count: int
    parallel_iterations: int
    num_pending_inputs: int
    deferred: tuple[str, ...]
    dead_exits: tuple[str, ...]
    invariants: tuple[str, ...]
    iterations: tuple[IterationView, ...]


class StepInspector:
    """Reads the partitions of one step or call while they are stopped.

    Args:
      executors: all partitions of the step, or of the call of a function.
      running: the node that is about to run or has just run, which is in no queue.
      function: the function whose call this is, "" for the graph itself.
    """

    def __init__(
        self,
        executors: Sequence[ExecutorState],
        running: tuple[ExecutorState, type_of_tagged_node] | None = None,
        function: str = "",
    ) -> None:
        self._executors = executors
        self._progress = StepProgress(executors)
        self._function = function
        self._running = None if running is None else (id(running[1][0]), id(running[1][1]))
        self._queued = {
            (id(item), id(iteration))
            for executor in executors
            for item, iteration, _ in _queue(executor)
        }
        # According to their counts these nodes have run, but they have not produced outputs yet.
        self._coming = {item.name for executor in executors for item, _, _ in _queue(executor)} | (
            {running[1][0].name} if running is not None else set()
        )
        self._sources: dict[tuple[int, int], str] = {}
        for executor in executors:
            for item in executor.immutable.items:
                for output, dst, slot in item.data_edges:
                    self._sources[id(dst), slot] = f"{item.name}:{output}"

    # -- frames ------------------------------------------------------------------------------------

    def frames(self) -> list[FrameView]:
        """Return every live frame, parents before children, partition by partition."""
        return [
            self._frame_view(executor, frame)
            for executor in self._executors
            for frame in frames_below(executor.propagator.root)
        ]

    def _frame_view(self, executor: ExecutorState, frame: FrameState) -> FrameView:
        parent = frame.parent
        return FrameView(
            function=self._function,
            partition=executor.partition,
            device=executor.immutable.device.name,
            id=frame.id,
            name=frame.info.name,
            parent_id=-1 if parent is None else parent.id,
            parent_iteration=0 if frame.parent_iteration is None else frame.parent_iteration.number,
            iteration_count=frame.iteration_count,
            parallel_iterations=frame.max_parallel_iterations,
            num_pending_inputs=frame.num_pending_inputs,
            deferred=tuple(item.name for item, _ in frame.next_iteration_roots),
            dead_exits=tuple(item.name for item in frame.dead_exits),
            invariants=tuple(item.name for item, _, _ in frame.invariants),
            iterations=tuple(
                self._iteration_view(frame.iterations[number])
                for number in sorted(frame.iterations)
            ),
        )

    def _iteration_view(self, iteration: IterationState) -> IterationView:
        states: dict[NodeState, int] = {}
        for item in iteration.frame.info.nodes:
            state = self.state(item, iteration)
            states[state] = states.get(state, 0) + 1
        return IterationView(
            number=iteration.number,
            outstanding_ops=iteration.outstanding_ops,
            outstanding_frames=iteration.outstanding_frames,
            num_dead=states.get(NodeState.DEAD, 0),
            num_values=sum(value is not None for value in iteration.inputs),
            states=states,
        )

    # -- nodes -------------------------------------------------------------------------------------

    def nodes(self, partition: int, frame_id: int, number: int) -> list[NodeView]:
        """Return the nodes of one iteration; empty if it is not alive."""
        iteration = self._find_iteration(partition, frame_id, number)
        if iteration is None:
            return []
        return [self._node_view(item, iteration) for item in iteration.frame.info.nodes]

    def states_around(self, partition: int, frame_id: int, number: int) -> dict[str, NodeState]:
        """Return the states of the nodes, as seen from one iteration of one of a partition's loops.

        For the loops around it, the iterations that contain it count; for loops inside it, the
        youngest iteration.  Nodes of a loop inside that has ended are left out.  Other partitions
        are seen from the same iteration, or if it is not alive there, from the one around it.
        """
        place = self._find_iteration(partition, frame_id, number)
        if place is None:
            return {}
        found: dict[str, NodeState] = {}
        for executor in self._executors:
            found |= self._states_from(executor, _counterpart(executor, place))
        return found

    def _states_from(self, executor: ExecutorState, place: IterationState) -> dict[str, NodeState]:
        """Return the states of a partition's nodes, as seen from one of its iterations."""
        seen: dict[int, IterationState] = {}
        around: IterationState | None = place
        while around is not None:
            seen[id(around.frame.info)] = around
            around = around.frame.parent_iteration
        for frame in frames_below(executor.propagator.root):
            outer = frame.parent_iteration
            if outer is None or id(frame.info) in seen or not frame.iterations:
                continue
            if seen.get(id(outer.frame.info)) is outer:
                seen[id(frame.info)] = frame.iterations[max(frame.iterations)]
        found: dict[str, NodeState] = {}
        entered: dict[str, list[NodeState]] = {}
        for item in executor.immutable.items:
            iteration = seen.get(id(item.frame))
            if iteration is not None:
                found[item.name] = self.state(item, iteration)
                if item.is_enter:
                    entered.setdefault(item.frame_name, []).append(found[item.name])
        for item in executor.immutable.items:
            if id(item.frame) in seen:
                continue
            enters = entered.get(item.frame.name, [])
            if enters and all(state == NodeState.DEAD for state in enters):
                found[item.name] = NodeState.DEAD
            elif NodeState.DONE not in enters:
                found[item.name] = NodeState.UNREADY
        return found

    def _find_iteration(self, partition: int, frame_id: int, number: int) -> IterationState | None:
        for executor in self._executors:
            if executor.partition == partition:
                for frame in frames_below(executor.propagator.root):
                    if frame.id == frame_id:
                        return frame.iterations.get(number)
        return None

    def state(self, item: NodeItem, iteration: IterationState) -> NodeState:
        """Return the state of a node in an iteration."""
        key = id(item), id(iteration)
        if key == self._running:
            return NodeState.RUNNING
        if key in self._queued:
            return NodeState.READY
        return {
            NodeStatus.UNREADY: NodeState.UNREADY,
            NodeStatus.WAITING: NodeState.WAITING,
            NodeStatus.DEAD: NodeState.DEAD,
            NodeStatus.DONE: NodeState.DONE,
        }[self._progress.status(item, iteration)]

    def _node_view(self, item: NodeItem, iteration: IterationState) -> NodeView:
        return NodeView(
            name=item.name,
            op=item.op,
            state=self.state(item, iteration),
            pending=iteration.pending[item.pending_id],
            num_dead=iteration.dead_counts.get(item.pending_id, 0),
            inputs=tuple(self.entries(item, iteration)),
            missing=tuple(self._missing(item, iteration)),
        )

    def entries(self, item: NodeItem, iteration: IterationState) -> list[Entry]:
        """Return the data inputs of a node in an iteration."""
        missing = self._missing(item, iteration)
        is_started = self.state(item, iteration) in (NodeState.DONE, NodeState.WAITING)
        found = []
        for slot in range(item.input_start, item.input_stop):
            tensor = self._sources.get((id(item), slot), "")
            value = iteration.inputs[slot]
            if value is not None:
                is_ref = isinstance(value, RefCell)
                shown = value.value if is_ref else value
                found.append(Entry(tensor, EntryState.VALUE, shown, is_ref))
            elif tensor.rpartition(":")[0] in missing:
                found.append(Entry(tensor, EntryState.MISSING))
            else:
                state = EntryState.USED if is_started else EntryState.DEAD
                found.append(Entry(tensor, state))
        return found

    def _missing(self, item: NodeItem, iteration: IterationState) -> list[str]:
        """Return the predecessors that have delivered nothing yet to a node that is not ready."""
        if self.state(item, iteration) is not NodeState.UNREADY:
            return []
        missing = [before.name for before in self._progress.missing_inputs(item, iteration)]
        missing += [
            before.name
            for before in self._progress.sources(item)
            if before.name in self._coming and before.name not in missing
        ]
        return missing

    def find(self, name: str) -> Iterator[tuple[NodeItem, IterationState]]:
        """Yield each live iteration of a node's frame."""
        for executor in self._executors:
            position = executor.immutable.find_id(name)
            if position < 0:
                continue
            item = executor.immutable.items[position]
            for frame in frames_below(executor.propagator.root):
                if frame.info is item.frame:
                    for number in sorted(frame.iterations):
                        yield item, frame.iterations[number]

    # -- values ------------------------------------------------------------------------------------

    def values(self, tensor: str) -> list[tuple[str, int, Any]]:
        """Return the values of a tensor in the step, (frame, iteration, value), each value once.

        They are in the slots of nodes that have not run, here or on another device, or on the way
        to a node.
        """
        found: list[tuple[str, int, Any]] = []
        for place in self._places(tensor):
            value = place.value
            shown = value.value if isinstance(value, RefCell) else value
            at = place.frame, place.iteration
            if not any(row[:2] == at and row[2] is shown for row in found):
                found.append((*at, shown))
        return found

    def replace(
        self, tensor: str, value: Any, *, frame: str | None = None, iteration: int | None = None
    ) -> int:
        """Replace a tensor's value wherever it is in the step; return the number of places.

        Args:
          tensor: its name, like ``x:0``.
          value: anything that NumPy converts to an array of the tensor's dtype.
          frame: replace it only in frames of that name.
          iteration: replace it only in iterations of that number.

        Raises:
          InvalidArgumentError: the tensor is a reference or a resource, or the value has another
            type.
        """
        places = [
            place
            for place in self._places(tensor)
            if (frame is None or place.frame == frame)
            and (iteration is None or place.iteration == iteration)
        ]
        for place in places:
            place.put(as_value(tensor, value, place.dtype, place.value))
        return len(places)

    def _places(self, tensor: str) -> Iterator[_StoredValue]:
        """Yield the places of a tensor's value."""
        name, _, output = tensor.rpartition(":")
        if not name:
            name, output = tensor, "0"
        for executor in self._executors:
            position = executor.immutable.find_id(name)
            if position >= 0:
                item = executor.immutable.items[position]
                yield from self._places_behind(executor, item, output)

    def _places_behind(
        self, executor: PartitionInStep, item: NodeItem, output: str
    ) -> Iterator[_StoredValue]:
        """Yield the places of the value of a node's output, also on other devices."""
        for number, dst, slot in item.data_edges:
            if str(number) != output:
                continue
            dtype = dst.input_types[slot - dst.input_start]
            for frame in frames_below(executor.propagator.root):
                if frame.info is not dst.frame:
                    continue
                for iteration in list(frame.iterations.values()):
                    if iteration.inputs[slot] is not None:
                        put = partial(_put, executor, iteration, slot)
                        at = frame.info.name, iteration.number
                        yield _StoredValue(*at, dtype, iteration.inputs[slot], put)
            if dst.is_transfer and dst.kernel is not None:
                found = self._progress.receiver_of(dst)
                if found is not None:
                    yield from self._places_on_the_way(executor, dst, *found)
                    yield from self._places_behind(*found, "0")

    def _places_on_the_way(
        self,
        sending: PartitionInStep,
        send: NodeItem,
        receiving: PartitionInStep,
        receive: NodeItem,
    ) -> Iterator[_StoredValue]:
        """Yield the places of a value that was sent and not yet delivered to the receiving node."""
        (dtype,) = receive.output_types
        run_state = receiving.run_state
        assert send.kernel is not None
        attrs, seen = send.kernel.attrs, set[str]()
        for executor, item in ((sending, send), (receiving, receive)):
            for frame in frames_below(executor.propagator.root):
                if frame.info is not item.frame:
                    continue
                for number in list(frame.iterations):
                    key = key_of_transfer(attrs, frame.rendezvous_id, number)
                    value = None if key in seen else run_state.rendezvous.stored(key)
                    seen.add(key)
                    if isinstance(value, np.ndarray | np.generic):
                        put = partial(run_state.rendezvous.replace, key)
                        yield _StoredValue(frame.info.name, number, dtype, value, put)
        for place, (executor, tagged, outputs) in enumerate(list(run_state.inbox)):
            if executor is not receiving or tagged is None or tagged[0] is not receive:
                continue
            if isinstance(outputs, tuple) and isinstance(outputs[0], np.ndarray | np.generic):
                put = partial(_answer, run_state.inbox, place, executor, tagged)
                frame = tagged[1].frame
                yield _StoredValue(frame.info.name, tagged[1].number, dtype, outputs[0], put)


@dataclass(frozen=True, slots=True)
class _StoredValue:
    """A place of a value, in a frame's iteration; ``put`` replaces the value."""

    frame: str
    iteration: int
    dtype: DType
    value: Any
    put: Callable[[Any], None]


def _counterpart(executor: PartitionInStep, place: IterationState) -> IterationState:
    """Return the same iteration of the same frame in a partition, or the next one around it."""
    around: IterationState | None = place
    while around is not None:
        for frame in frames_below(executor.propagator.root):
            if frame.rendezvous_id == around.frame.rendezvous_id:
                found = frame.iterations.get(around.number)
                if found is not None:
                    return found
        around = around.frame.parent_iteration
    return executor.propagator.root.iterations[0]


def _put(executor: PartitionInStep, iteration: IterationState, slot: int, value: Any) -> None:
    """Put another value into a slot, in the memory of the present value."""
    if is_device_array(iteration.inputs[slot]):
        value = executor.immutable.device.take(value)
    iteration.inputs[slot] = value


def _answer(
    inbox: Any, place: int, executor: PartitionInStep, tagged: type_of_tagged_node, value: Any
) -> None:
    """Replace the answer of a Recv that is still in the inbox."""
    inbox[place] = executor, tagged, (value,)


def as_value(tensor: str, value: Any, dtype: DType, old: Any) -> Any:
    """Convert a user's value to the runtime's form: an array, or at rank 0 a NumPy scalar.

    Raises:
      InvalidArgumentError: the old value cannot be replaced, or the new one has another type.
    """
    if isinstance(old, RefCell | ResourceHandle) or dtype in (dtypes.resource, dtypes.variant):
        raise errors.invalid_argument(
            f"'{tensor}' is a handle to something that outlives the step; assign to its variable "
            "instead."
        )
    wanted = np.dtype(dtype.as_numpy_dtype)
    try:
        array = np.asarray(value)
        if wanted.kind == "O":
            array = np.asarray(_as_bytes(array), dtype=object)
        elif not _is_alike(array.dtype, wanted):
            raise TypeError(f"it is {array.dtype.name}")
        else:
            array = array.astype(wanted)
    except (TypeError, ValueError) as error:
        raise errors.invalid_argument(
            f"A value for '{tensor}' must be {dtype.name}: {error}"
        ) from error
    return array[()] if array.ndim == 0 else array


def _is_alike(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Return whether conversion is allowed: it loses no fraction and no imaginary part."""
    if wanted.kind == "V":  # bfloat16 and similar types, unknown to NumPy
        return found.kind in "fiuV"
    return np.can_cast(found, wanted, "same_kind")


def _as_bytes(array: Any) -> Any:
    flat = [
        text.encode() if isinstance(text, str) else bytes(text) for text in array.ravel().tolist()
    ]
    found = np.empty(len(flat), dtype=object)
    found[:] = flat
    return found.reshape(array.shape)


def _queue(executor: ExecutorState) -> list[type_of_tagged_node]:
    """Return the ready nodes; while a debugger drives, they are only in the propagator's queue."""
    return [*executor.propagator.ready, *executor.put_off]
