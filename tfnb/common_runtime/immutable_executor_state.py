"""All that a step never changes: kernels, edges, frames and initial counts of one partition.

Made once per signature and shared by every step without a lock.  Corresponds to TensorFlow's
``immutable_executor_state.h`` and ``graph_view.h``.

Layout.  A node belongs to one frame.  Within its frame it owns one pending count (``pending_id``)
and one input slot per data input (from ``input_start``); an iteration of the frame is therefore two
flat lists that start as copies of ``FrameInfo.initial_pending`` and of a list of ``None``.

What the pending counts mean stands in ``pending_counts.py``.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tfnb.common_runtime.late_reads import LateReads, find_late_reads
from tfnb.common_runtime.pending_counts import initial_count
from tfnb.core import errors
from tfnb.graph.control_flow import build_control_flow_info
from tfnb.graph.graph import SINK_ID

if TYPE_CHECKING:
    from tfnb.common_runtime.device import Device
    from tfnb.common_runtime.kernel_stats import KernelStats
    from tfnb.common_runtime.lowering.lowered_partition import LoweredStep
    from tfnb.core.dtypes import DType
    from tfnb.core.op_kernel import OpKernel
    from tfnb.graph.graph import Graph, Node

type_of_create_kernel = Callable[["Node", "Device"], "OpKernel"]

# How a node is executed.
PURE_ONE: Final = 0  # compute(*inputs) gives the one output
PURE: Final = 1  # compute(*inputs) gives a tuple, one value or None
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

# What an op gets of an input that is a variable's cell; see late_reads.py.
READ_CELL: Final = 0  # the cell
READ_VALUE: Final = 1  # its value
READ_IF_CELL: Final = 2  # its value; it may be an ordinary value, too
READ_LATER: Final = 3  # the cell, which it hands on to those who take it for a value

_PASSING: Final = frozenset(
    [
        "Enter",
        "RefEnter",
        "Exit",
        "RefExit",
        "NextIteration",
        "RefNextIteration",
        "LoopCond",
        "Identity",
        "RefIdentity",
    ]
)
_CONTROL_FLOW: Final = frozenset(
    [
        "Switch",
        "RefSwitch",
        "_SwitchN",
        "Merge",
        "RefMerge",
        "Enter",
        "RefEnter",
        "Exit",
        "RefExit",
        "NextIteration",
        "RefNextIteration",
    ]
)


class NodeItem:
    """One node as the executor sees it."""

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
        self.frame_name = ""  # of the child frame, for an Enter
        self.parallel_iterations = 1
        self.is_constant_enter = False
        self.is_enter = False
        self.is_merge = False
        self.is_control_trigger = False
        self.is_transfer = False
        self.waits_for_others = False  # it runs when nothing else is ready
        self.may_give_nothing = False  # an output may be dead although the node ran
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


@dataclass(slots=True)
class FrameInfo:
    """What all instances of a frame share."""

    name: str
    index: int
    input_count: int = 0  # Enters that must arrive before the frame can end
    parallel_iterations: int = 1
    total_inputs: int = 0
    initial_pending: list[int] = field(default_factory=list)
    nodes: list[NodeItem] = field(default_factory=list)


ROOT_PLACEHOLDER: Final = FrameInfo("", 0)


@dataclass(slots=True)
class ImmutableExecutorState:
    """One partition, ready to run any number of times.

    Attributes:
      items: every node in the order of ``node_names`` of the partition's view.
      roots: nodes without inputs; a step starts with them.
      frames: by name; "" is the root frame.
      schedule: all items in a topological order where the graph has no control flow and nothing
        waits, else None. Such a partition runs without counts, frames and dead bits.
      num_runs: how often it ran unwatched, until it was lowered.
      lowered: the partition as one function, once it was worth writing.
      cannot_be_lowered: somebody tried, and the reference executor runs it.
      counted: the function that counts what runs, once somebody wanted to know.
      cannot_be_counted: likewise.
      kernel_stats: what its kernels cost, where this is the variant that runs with a pool.
      is_checked: a step went through, and every kernel gave what its op declares.
      devices_to_sync: devices whose work must be done before its function ends.
    """

    device: Device
    items: list[NodeItem]
    roots: list[NodeItem]
    frames: dict[str, FrameInfo]
    has_control_flow: bool
    has_async: bool
    schedule: list[NodeItem] | None = None
    num_values: int = 0
    num_runs: int = 0
    lowered: LoweredStep | None = None
    cannot_be_lowered: bool = False
    counted: LoweredStep | None = None
    cannot_be_counted: bool = False
    kernel_stats: KernelStats | None = None
    is_checked: bool = False
    devices_to_sync: tuple[Device, ...] = ()
    _ids: dict[str, int] | None = None

    def find_id(self, node_name: str) -> int:
        """The number of the node of that name, -1 if there is none."""
        if self._ids is None:
            self._ids = {item.name: item.id for item in self.items}
        return self._ids.get(node_name, -1)

    @property
    def root_frame(self) -> FrameInfo:
        """The frame that the step itself runs in."""
        return self.frames[""]


def initialize(
    graph: Graph,
    device: Device,
    create_kernel: type_of_create_kernel,
    *,
    is_function: bool = False,
) -> ImmutableExecutorState:
    """Builds the tables of one partition, of a signature or of a function's body.

    Raises:
      InvalidArgumentError: frames do not fit together (TensorFlow's control-flow validation).
      NotFoundError: an op has no kernel for the device.
    """
    flow = build_control_flow_info(graph)
    nodes = list(graph.op_nodes())
    frames: dict[str, FrameInfo] = {"": FrameInfo("", 0)}
    items: dict[int, NodeItem] = {}
    roots = []
    for position, node in enumerate(nodes):
        item = NodeItem(position, node.name, node.op)
        items[node.id] = item
        here = flow[node.id]
        if node.kind.is_enter and here.parent_frame is not None:
            # An Enter itself is executed in the frame around the one it leads into.
            here = flow[here.parent_frame.id]
        if not _place_in_frame(item, node, here.frame_name, frames):
            roots.append(item)
        _describe(item, node, device, create_kernel)
    late = find_late_reads(graph)
    for node in nodes:
        _connect(items[node.id], node, items, late, is_function)
    # A placeholder that is here has no value and fails: last, so that what else is wrong is heard.
    roots.sort(key=lambda item: item.op.startswith("Placeholder"))
    ordered = [items[node.id] for node in nodes]
    has_control_flow = any(node.op in _CONTROL_FLOW for node in nodes)
    has_async = any(item.action == ASYNC for item in ordered)
    state = ImmutableExecutorState(device, ordered, roots, frames, has_control_flow, has_async)
    if not has_control_flow and not has_async:
        state.schedule = topological_order(
            ordered,
            roots,
            {items[reader].id: variables for reader, variables in late.readers.items()},
            {items[writer].id: variable for writer, variable in late.writers.items()},
        )
        state.num_values = frames[""].total_inputs
    # A partition with a schedule may run without, too: with a pool, or driven by a debugger.
    for writer in late.writers_with_readers():
        items[writer].waits_for_others = True
    return state


def _place_in_frame(
    item: NodeItem, node: Node, frame_name: str, frames: dict[str, FrameInfo]
) -> int:
    """Gives the node its places among the frame's values and counts; says how many edges it has."""
    frame = _frame(frames, frame_name)
    item.frame = frame
    item.input_types = node.input_types
    item.output_types = node.output_types
    item.num_inputs = num_inputs = len(node.input_types)
    item.num_outputs = len(node.output_types)
    item.input_start = frame.total_inputs
    item.input_stop = frame.total_inputs = frame.total_inputs + num_inputs
    item.pending_id = len(frame.initial_pending)
    data = len(node.data_in_edges)
    controls = len(node.in_edges) - data
    if controls:
        controls -= sum(edge.src.is_source for edge in node.in_edges)
    frame.initial_pending.append(initial_count(data, controls, node.kind.is_merge))
    frame.nodes.append(item)
    if node.kind.is_enter:
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
    """Decides how the node is executed."""
    op, kind = node.op, node.kind
    item.is_merge = kind.is_merge
    item.is_control_trigger = kind.is_control_trigger
    item.is_transfer = kind.is_send or kind.is_recv
    item.may_give_nothing = kind.is_switch or kind.is_recv
    if item.is_enter:
        item.destination = INTO_CHILD
    elif kind.is_exit:
        item.destination = INTO_PARENT
    elif kind.is_next_iteration:
        item.destination = INTO_NEXT
    if item.is_merge:
        item.action = MERGE
    elif op in ("_Arg", "_DeviceArg"):
        item.action, item.argument_index = ARG, int(node.attrs["index"])
    elif op in ("_Retval", "_DeviceRetval"):
        item.action, item.argument_index = RETVAL, int(node.attrs["index"])
    elif op in _PASSING:
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
            # A list of one output comes as a tuple of one.
            is_one = item.num_outputs == 1 and not kernel.definition.op_def.has_output_lists
            item.action = PURE_ONE if is_one else PURE


def _connect(
    item: NodeItem, node: Node, items: dict[int, NodeItem], late: LateReads, is_function: bool
) -> None:
    """Turns the node's out-edges into tuples, and notes which inputs arrive as references."""
    data, control = [], []
    for edge in node.out_edges:
        if edge.dst.id == SINK_ID:
            continue
        dst = items[edge.dst.id]
        if edge.dst_input < 0:
            control.append(dst)
        else:
            data.append((edge.src_output, dst, dst.input_start + edge.dst_input))
    item.data_edges = tuple(data)
    item.control_edges = tuple(control)
    if item.action == RETVAL and not is_function:
        return  # read when the step ends, so that the fetch sees the step's own assignments
    allows = node.op_definition is not None and node.op_def.allows_uninitialized_input
    dereference = []
    for edge in node.data_in_edges.values():
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
    """The items so that every edge points forward; for graphs without loops.

    What became ready last goes first, so that a value is used soon after it was made.  Where the
    edges leave it open, a variable is written to after it was read: a loss that is fetched together
    with a training step is that of the weights from before, as it mostly is in TensorFlow.

    Args:
      items: all of them, by number.
      roots: those without inputs.
      readers: the variables whose values an item reads late, by the item's number.
      writers: the variable that an item writes to.
    """
    pending = [item.frame.initial_pending[item.pending_id] for item in items]
    num_readers = Counter(itertools.chain.from_iterable(readers.values()))
    put_off: dict[NodeItem, None] = {}
    order: list[NodeItem] = []
    # Constants cost nothing before they are used, and whoever waits for one need not wait.
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
            # Whoever still wants to read comes after one of these.
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
