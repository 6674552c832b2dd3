"""The immutable state of one partition: kernels, edges, frames and initial pending counts.

Made once per signature and shared by every step without a lock.  Corresponds to TensorFlow's
``immutable_executor_state.h`` and ``graph_view.h``.

Layout.  A node belongs to one frame.  Within its frame it owns one pending count (``pending_id``)
and one input slot per data input (from ``input_start``); an iteration of the frame is therefore two
flat lists that start as copies of ``FrameInfo.initial_pending`` and of a list of ``None``.

``pending_counts.py`` documents the meaning of the pending counts.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tfnb.common_runtime.executor.pending_counts import initial_count
from tfnb.common_runtime.executor.warm_up import WarmUp
from tfnb.core import errors
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.process.records import field, record
from tfnb.graph.control_flow import build_control_flow_info
from tfnb.graph.graph import SINK_ID, SOURCE_ID
from tfnb.graph.late_reads import (
    PASSES_CELL,
    SENDS_CELL,
    LateReads,
    find_late_reads,
    loop_may_wait_for_write,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.common_runtime.device.device import Device
    from tfnb.core.dtypes import DType
    from tfnb.core.op_kernel import OpKernel
    from tfnb.graph.graph import Graph, Node

type_of_create_kernel = Callable[["Node", "Device"], "OpKernel"]

# How a node is executed.
LARGE_BYTES: Final = 1 << 20
"""Arrays from this size on run in tiles."""

PURE_ONE: Final = 0  # compute(*inputs) returns the only output
PURE: Final = 1  # compute(*inputs) returns a tuple, one value or None
CONTEXT: Final = 2  # compute(ctx, *inputs)
ASYNC: Final = 3  # compute(ctx, done, *inputs)
PASS: Final = 4  # the output is the input
MERGE: Final = 5  # the output is the live input, and its position
ARG: Final = 6  # the output is an argument of the call frame
RETVAL: Final = 7  # the input becomes a result of the call frame
NOTHING: Final = 8  # no outputs, nothing to do
POOL: Final = 9  # PURE_ONE, PURE or CONTEXT, perhaps on a thread of a pool; see kernel_stats.py

WITHOUT_CONTEXT: Final = frozenset([PURE_ONE, PURE, PASS, MERGE, ARG, RETVAL, NOTHING])

# Where a node's outputs go.
SAME_ITERATION: Final = 0
INTO_CHILD: Final = 1
INTO_PARENT: Final = 2
INTO_NEXT: Final = 3

# How an op receives an input that is a variable's RefCell; see late_reads.py.
READ_CELL: Final = 0  # the cell
READ_VALUE: Final = 1  # its value
READ_IF_CELL: Final = 2  # its value; the input may also be an ordinary value
READ_LATER: Final = 3  # the cell; the op passes it on to nodes that read its value

_PLACEHOLDERS: Final = ops_with(Trait.PLACEHOLDER)


class NodeItem:
    """One node, in the executor's form."""

    __slots__ = (
        "action",
        "argument_index",
        "compute",
        "control_edges",
        "data_edges",
        "dereference",
        "destination",
        "frame",
        "frame_name",
        "id",
        "input_start",
        "input_stop",
        "input_types",
        "is_constant_enter",
        "is_control_trigger",
        "is_enter",
        "is_merge",
        "is_transfer",
        "kernel",
        "may_give_nothing",
        "name",
        "num_inputs",
        "num_outputs",
        "op",
        "output_types",
        "parallel_iterations",
        "pending_id",
        "waits_for_others",
    )

    def __init__(self, id: int, name: str, op: str) -> None:
        self.id = id
        self.name = name
        self.op = op
        self.kernel: OpKernel | None = None
        self.compute: Callable[..., Any] | None = None
        self.action = NOTHING
        self.destination = SAME_ITERATION
        self.frame: FrameInfo = ROOT_PLACEHOLDER
        self.frame_name = ""  # the child frame's name, for an Enter
        self.parallel_iterations = 1
        self.is_constant_enter = False
        self.is_enter = False
        self.is_merge = False
        self.is_control_trigger = False
        self.is_transfer = False
        self.waits_for_others = False  # it runs when nothing else is ready
        self.may_give_nothing = False  # an output may be dead although the node is live
        self.argument_index = -1
        self.num_inputs = 0
        self.num_outputs = 0
        self.input_types: Sequence[DType] = ()
        self.output_types: Sequence[DType] = ()
        self.input_start = 0
        self.input_stop = 0
        self.pending_id = 0
        # (output, destination, absolute input slot) and destinations of control edges
        self.data_edges: tuple[tuple[int, NodeItem, int], ...] = ()
        self.control_edges: tuple[NodeItem, ...] = ()
        # (input, may be uninitialized, one of READ_..., the value's dtype)
        self.dereference: tuple[tuple[int, bool, int, DType], ...] = ()

    def __repr__(self) -> str:
        return f"<NodeItem {self.id} {self.name!r} ({self.op})>"


@record(slots=True)
class FrameInfo:
    """The data shared by all instances of a frame."""

    name: str
    index: int
    input_count: int = 0  # Enters that must arrive before the frame can end
    parallel_iterations: int = 1
    total_inputs: int = 0
    initial_pending: list[int] = field(default_factory=list)
    nodes: list[NodeItem] = field(default_factory=list)


ROOT_PLACEHOLDER: Final = FrameInfo("", 0)


class KernelCosts(Protocol):
    """The costs of the kernels of a partition, where some may run on a thread pool."""

    has_overlap: bool
    has_always: bool

    def rearm(self, items: Sequence[NodeItem]) -> None:
        """Mark every kernel that may be expensive to be measured again."""

    def is_expensive(self, item: NodeItem) -> bool:
        """Return whether the kernel should run on another thread."""

    def update(self, item: NodeItem, elapsed_ns: int) -> None:
        """Add a measurement."""

    def estimate_ns(self, item: NodeItem) -> int | None:
        """Return the processor time of one execution in nanoseconds; None before the first."""


@record(frozen=True, slots=True, eq=False, weakref_slot=True)
class ImmutableExecutorState:
    """One partition, ready to run any number of times.

    Attributes:
      items: every node in the order of ``node_names`` of the partition's view.
      roots: nodes without inputs, where a step starts.
      frames: by name; "" is the root frame.
      schedule: all items in a topological order where the graph has no control flow and nothing
        waits, else None. A partition with a schedule runs without counts, frames and dead bits.
      kernel_stats: the costs of its kernels, where this is the variant that runs with a pool.
      devices_to_sync: devices whose work must be done before its function ends.
      loop_may_wait_for_write: whether a loop reads a variable that a node outside the loop writes,
        without an order between them.
      parts: the partitions that were joined into this one, whose items are theirs in that order;
        empty if it is not joined.
      receivers: the id of the Recv of each Send, by the Send's id, if it is joined.
      warm_up: what its steps leave for later steps; the only part that changes.
    """

    device: Device
    items: list[NodeItem]
    roots: list[NodeItem]
    frames: dict[str, FrameInfo]
    has_control_flow: bool
    has_async: bool
    schedule: list[NodeItem] | None = None
    num_values: int = 0
    kernel_stats: KernelCosts | None = None
    devices_to_sync: tuple[Device, ...] = ()
    loop_may_wait_for_write: bool = False
    parts: tuple[ImmutableExecutorState, ...] = ()
    receivers: Mapping[int, int] = field(default_factory=dict)
    warm_up: WarmUp = field(default_factory=WarmUp)

    def find_id(self, node_name: str) -> int:
        """Return the id of the node of that name, -1 if there is none."""
        ids = self.warm_up.ids
        if ids is None:
            ids = self.warm_up.ids = {item.name: item.id for item in self.items}
        return ids.get(node_name, -1)


@record(slots=True)
class ExecutorItem:
    """One partition: its graph and its executor."""

    graph: Graph
    executor: ImmutableExecutorState


def initialize(
    graph: Graph,
    device: Device,
    create_kernel: type_of_create_kernel,
    *,
    is_function: bool = False,
) -> ImmutableExecutorState:
    """Build the tables of one partition, of a signature or of a function's body.

    Raises:
      InvalidArgumentError: inconsistent frames (TensorFlow's control-flow validation).
      NotFoundError: an op has no kernel for the device.
    """
    flow = build_control_flow_info(graph)
    nodes = list(graph.op_nodes())
    frames: dict[str, FrameInfo] = {"": FrameInfo("", 0)}
    items: dict[int, NodeItem] = {}
    ordered: list[NodeItem] = []
    roots = []
    has_control_flow = has_async = False
    for position, node in enumerate(nodes):
        item = NodeItem(position, node.name, node.op)
        items[node.id] = item
        ordered.append(item)
        here, kind = flow[node.id], node.kind
        if kind.is_control_flow:
            has_control_flow = True
            if kind.is_enter and here.parent_frame is not None:
                # An Enter itself is executed in the frame that surrounds its child frame.
                here = flow[here.parent_frame.id]
        if not _place_in_frame(item, node, here.frame_name, frames):
            roots.append(item)
        _describe(item, node, device, create_kernel)
        if item.action == ASYNC:
            has_async = True
    late = find_late_reads(graph)
    has_cells = bool(late.handing_on) or _has_references(nodes)
    for item, node in zip(ordered, nodes):
        _connect(item, node, items)
        if has_cells:
            _note_references(item, node, late, is_function)
    # A placeholder that was not fed fails; it runs last, so that other errors are reported first.
    roots.sort(key=lambda item: item.op in _PLACEHOLDERS)
    # A partition with a schedule may also run without it: with a pool, or driven by a debugger.
    for writer in late.writers_with_readers():
        items[writer].waits_for_others = True
    if has_control_flow or has_async:
        frame_of = {number: items[number].frame.name for number in (*late.readers, *late.writers)}
        return ImmutableExecutorState(
            device,
            ordered,
            roots,
            frames,
            has_control_flow,
            has_async,
            loop_may_wait_for_write=loop_may_wait_for_write(graph, late, frame_of),
        )
    schedule = topological_order(
        ordered,
        roots,
        {items[reader].id: variables for reader, variables in late.readers.items()},
        {items[writer].id: variable for writer, variable in late.writers.items()},
    )
    num_values = frames[""].total_inputs
    return ImmutableExecutorState(
        device, ordered, roots, frames, False, False, schedule=schedule, num_values=num_values
    )


def _place_in_frame(
    item: NodeItem, node: Node, frame_name: str, frames: dict[str, FrameInfo]
) -> int:
    """Assign the node's input slots and pending count in its frame; return its number of edges."""
    frame = frames.get(frame_name) or _frame(frames, frame_name)
    kind = node.kind
    item.frame = frame
    item.input_types = input_types = node.input_types
    item.output_types = output_types = node.output_types
    item.num_inputs = num_inputs = len(input_types)
    item.num_outputs = len(output_types)
    item.input_start = frame.total_inputs
    item.input_stop = frame.total_inputs = frame.total_inputs + num_inputs
    item.pending_id = len(frame.initial_pending)
    data = num_inputs
    controls = len(node.in_edges) - data
    if controls:
        controls -= len([edge for edge in node.in_edges if edge.src.id == SOURCE_ID])
    is_merge = kind.is_merge
    frame.initial_pending.append(
        initial_count(data, controls, is_merge) if is_merge else data + controls
    )
    frame.nodes.append(item)
    if kind.is_enter:
        name = _text(node.attrs["frame_name"])
        item.is_enter = True
        item.frame_name = name
        item.parallel_iterations = int(node.attrs["parallel_iterations"])
        item.is_constant_enter = bool(node.attrs["is_constant"])
        if item.parallel_iterations < 1:
            raise errors.invalid_argument(
                f"'parallel_iterations' of frame '{name}' must be positive, but Enter node "
                f"'{node.name}' has {item.parallel_iterations}."
            )
        child = _frame(frames, name)
        if child.input_count == 0:
            child.parallel_iterations = item.parallel_iterations
        child.input_count += 1
    return data + controls


def _frame(frames: dict[str, FrameInfo], name: str) -> FrameInfo:
    found = frames.get(name)
    if found is None:
        found = frames[name] = FrameInfo(name, len(frames))
    return found


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _describe(
    item: NodeItem, node: Node, device: Device, create_kernel: type_of_create_kernel
) -> None:
    """Decide how the node is executed."""
    op, kind = node.op, node.kind
    if kind.crosses_frames:
        item.action = PASS
        if kind.is_enter:
            item.destination = INTO_CHILD
        elif kind.is_exit:
            item.destination = INTO_PARENT
        else:
            item.destination = INTO_NEXT
        return
    if kind.is_control_trigger:
        item.is_control_trigger = True
    if kind.is_transfer_node:
        item.is_transfer = True
        item.may_give_nothing = kind.is_recv
    elif kind.is_switch:
        item.may_give_nothing = True
    if kind.is_merge:
        item.is_merge = True
        item.action = MERGE
    elif kind.is_arg:
        item.action, item.argument_index = ARG, int(node.attrs["index"])
    elif kind.is_retval:
        item.action, item.argument_index = RETVAL, int(node.attrs["index"])
    elif kind.is_passing:
        item.action = PASS
    elif op in ("NoOp", "ControlTrigger"):
        item.action = NOTHING
    else:
        item.kernel = kernel = create_kernel(node, device)
        item.compute = device.wrap_kernel(kernel.compute, node.name, op)
        if kernel.kind == "async":
            item.action = ASYNC
        elif kernel.kind == "context":
            item.action = CONTEXT
        else:
            # An op with a list output returns a tuple, also where the list has one tensor.
            is_one = item.num_outputs == 1 and not kernel.definition.op_def.has_output_lists
            item.action = PURE_ONE if is_one else PURE


def _connect(item: NodeItem, node: Node, items: dict[int, NodeItem]) -> None:
    """Turn the node's out-edges into tuples."""
    data, control = [], []
    for edge in node.out_edges:
        number, slot = edge.dst.id, edge.dst_input
        if slot >= 0:
            dst = items[number]
            data.append((edge.src_output, dst, dst.input_start + slot))
        elif number != SINK_ID:
            control.append(items[number])
    if data:
        item.data_edges = tuple(data)
    if control:
        item.control_edges = tuple(control)


def _has_references(nodes: Iterable[Node]) -> bool:
    """Return whether an input or output of a node is declared to be a reference."""
    # Nodes share the tuples of their types.
    distinct = {id(node.input_types): node.input_types for node in nodes}
    distinct |= {id(node.output_types): node.output_types for node in nodes}
    return any(dtype.is_ref_dtype for types in distinct.values() for dtype in types)


def _note_references(item: NodeItem, node: Node, late: LateReads, is_function: bool) -> None:
    """Note which of the node's inputs arrive as references, and how it reads them."""
    if item.action == RETVAL and not is_function:
        return  # read when the step ends, so that the fetch sees the step's own assignments
    if SENDS_CELL in node.attrs:
        return  # read then, too: it is sent to a fetch on another device
    if PASSES_CELL in node.attrs:
        return  # read by the nodes on the other device that compute with it
    allows = node.op_definition is not None and node.op_def.allows_uninitialized_input
    dereference = []
    for edge in node.input_edges():
        wanted = node.input_types[edge.dst_input]
        wants_cell = wanted.is_ref_dtype
        is_ref = edge.src.output_types[edge.src_output].is_ref_dtype
        is_late = not is_ref and edge.src.id in late.handing_on
        if not (is_ref or is_late or wants_cell) or (wants_cell and allows):
            continue
        if wants_cell:
            how = READ_CELL
        elif late.hands_on(node, edge.dst_input):
            if is_late:
                continue
            how = READ_LATER
        else:
            how = READ_IF_CELL if is_late else READ_VALUE
        dereference.append((edge.dst_input, allows, how, wanted.base_dtype))
    item.dereference = tuple(dereference)


def topological_order(
    items: Sequence[NodeItem],
    roots: Sequence[NodeItem],
    readers: Mapping[int, Sequence[int]],
    writers: Mapping[int, int],
) -> list[NodeItem]:
    """Return the items so that every edge points forward; for graphs without loops.

    The item that became ready last goes first, so that a value is used soon after it was made. If
    the edges do not determine the order, a variable is written after it was read: a loss that is
    fetched together with a training step uses the old weights, as it mostly does in TensorFlow.

    Args:
      items: all items, by id.
      roots: the items without inputs.
      readers: the variables whose values an item reads late, by the item's id.
      writers: the variable that an item writes, by the item's id.
    """
    pending = [item.frame.initial_pending[item.pending_id] for item in items]
    num_readers = Counter(itertools.chain.from_iterable(readers.values()))
    put_off: dict[NodeItem, None] = {}
    order: list[NodeItem] = []
    # Constants go first: they cost nothing, and the nodes that need one are ready earlier.
    stack = [*reversed(roots)]
    stack.sort(key=lambda item: item.op == "Const")
    while stack or put_off:
        if stack:
            item = stack.pop()
            own = readers.get(item.id, ())
            if item.id in writers:
                variable = writers[item.id]
                if num_readers[variable] > own.count(variable):
                    put_off[item] = None
                    continue
        else:
            # The remaining readers depend on one of the deferred writers.
            item = next(iter(put_off))
            del put_off[item]
            own = readers.get(item.id, ())
        order.append(item)
        for variable in own:
            num_readers[variable] -= 1
        ready = []
        for dst in itertools.chain((edge[1] for edge in item.data_edges), item.control_edges):
            pending[dst.id] -= 1
            if pending[dst.id] == 0:
                ready.append(dst)
        stack.extend(reversed(ready))
        if own and put_off:
            for writer in [x for x in put_off if writers[x.id] in own]:
                if num_readers[writers[writer.id]] == 0:
                    del put_off[writer]
                    stack.append(writer)
    return order
