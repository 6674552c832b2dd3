"""Describes the user's graph, and its form in the runtime, for a picture.

Nothing is evaluated and no large constant is decoded.  A partitioned graph is described from the
runtime's names and edges (``core/step_events.py``).  Data that only the user's graph has (attrs,
shapes, the cell that made a node) is looked up there by name; nodes that the runtime added have
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.core.attr_value import NameAttrList, TensorAttr
from tfnb.core.dtypes import DType
from tfnb.core.errors import OpError
from tfnb.core.step_events import PlacementView
from tfnb.core.tensor_shape import TensorShape
from tfnb.notebook.scenes.attr_text import (
    MAX_ITEMS,
    array_text,
    bytes_text,
    cut,
    list_text,
    shape_text,
)
from tfnb.notebook.scenes.graph_def_scene import attr_value_text
from tfnb.notebook.scenes.node_notes import colocation_groups, kernel_text, passes_by_node
from tfnb.notebook.scenes.scene import CONTROL, ENDPOINTS, SceneNode, Site

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tfnb.core.step_events import PartitionedGraph, PlacedGraph
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

_HIDDEN_ATTRS = frozenset({"_output_shapes"})
_MAX_PREVIEW = 64


def describe_graph(
    graph: Graph,
    placements: Mapping[str, PlacementView] | None = None,
    passes: Mapping[str, tuple[str, ...]] | None = None,
) -> list[SceneNode]:
    """Return one description per operation, with its device and the reason if a session placed it.

    Args:
      graph: the graph to describe.
      placements: where sessions put its nodes, by name.
      passes: the passes' reports about its nodes, by name.
    """
    ops = graph.get_operations()
    index = {op: place for place, op in enumerate(ops)}
    known = placements or {}
    about = _About(graph, passes)
    nodes = []
    for op in ops:
        view = known.get(op.name)
        where: dict[str, Any] = {}
        if view is not None:
            where = {**_placement(view), "assigned_device": view.chosen}
        nodes.append(about.operation(op, _inputs_of(op, index), **where))
    return nodes


def describe_operation(
    op: Operation, inputs: tuple[tuple[int, int], ...], view: PlacementView | None = None
) -> SceneNode:
    """Describe one operation, with its device and the reason if a session placed it."""
    where = {} if view is None else {**_placement(view), "assigned_device": view.chosen}
    return _About(None).operation(op, inputs, **where)


def _inputs_of(op: Operation, index: dict[Operation, int]) -> tuple[tuple[int, int], ...]:
    data = [(index[t.op], t.value_index) for t in op.inputs if t.op in index]
    control = [(index[c], CONTROL) for c in op.control_inputs if c in index]
    return (*data, *control)


class _About:
    """Makes descriptions; texts that many nodes share are made once.

    Nodes that were built alike share their attributes, sites and shapes.
    """

    def __init__(
        self, graph: Graph | None, passes: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._sites: dict[Any, Site | None] = {}
        # By op, device and attributes; the attributes live as long as the operations.
        self._texts: dict[tuple[str, str, int], tuple[tuple[tuple[str, str], ...], str]] = {}
        self._outputs: dict[Any, tuple[tuple[str, str], ...]] = {}
        self._passes = passes or {}
        classes = {
            op.name: op.attrs["_class"]
            for op in (() if graph is None else graph.get_operations())
            if "_class" in op.attrs
        }
        self._groups = colocation_groups(classes)

    def added(self, name: str, op: str, own: list[tuple[int, int]], where: Any) -> SceneNode:
        """Return a node that the user's graph does not have."""
        kernel = kernel_text(op, where["assigned_device"], {})
        touched = self._passes.get(name, ())
        return SceneNode(name, op, tuple(own), kernel=kernel, touched=touched, **where)

    def operation(
        self, op: Operation, inputs: tuple[tuple[int, int], ...], **placed: Any
    ) -> SceneNode:
        device = placed.get("assigned_device", "")
        key = (op.type, device, id(op.attrs))
        texts = self._texts.get(key)
        if texts is None:
            texts = operation_attrs(op), kernel_text(op.type, device, op.attrs)
            self._texts[key] = texts
        return SceneNode(
            name=op.name,
            op=op.type,
            inputs=inputs,
            requested_device=placed.pop("requested_device", op.device),
            attrs=texts[0],
            outputs=self._output_texts(op),
            site=self.site(op),
            kernel=texts[1],
            colocated=self._groups.get(op.name, ""),
            touched=self._passes.get(op.name, ()),
            **placed,
        )

    def _output_texts(self, op: Operation) -> tuple[tuple[str, str], ...]:
        key = tuple([(tensor.dtype, tensor.shape.dim_values) for tensor in op.outputs])
        found = self._outputs.get(key)
        if found is None:
            found = tuple([(dtype.name, shape_text(dims)) for dtype, dims in key])
            self._outputs[key] = found
        return found

    def site(self, op: Operation) -> Site | None:
        key = op.site
        if key not in self._sites:
            found = op.creation_site
            self._sites[key] = (
                None
                if found is None
                else Site(found.cell, found.file, found.line, found.function, cut(found.text))
            )
        return self._sites[key]


def operation_attrs(op: Operation) -> tuple[tuple[str, str], ...]:
    """Return an operation's attrs as (name, text), large values cut, sorted by name."""
    attrs = op.attrs
    return tuple(
        (name, plain_attr_text(attrs[name])) for name in sorted(attrs) if name not in _HIDDEN_ATTRS
    )


def tensor_shape_text(tensor: Tensor) -> str:
    """Return a tensor's static shape in TensorFlow's notation."""
    return shape_text(tensor.shape.dim_values)


def shape_of_output(graph: Graph | None, name: str, op_type: str, slot: int) -> str:
    """Return the shape of a runtime node's output, if the user's graph has it."""
    op = _operation_named(graph, name, op_type)
    if op is None or slot >= len(op.outputs):
        return shape_text(None)
    return tensor_shape_text(op.outputs[slot])


def plain_attr_text(value: Any) -> str:
    """Return an attr's value, in the plain form of ``core/attr_value.py``, in at most one line."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return shape_text(value.dim_values)
    if isinstance(value, TensorAttr):
        return _tensor_attr_text(value)
    if isinstance(value, bytes):
        return bytes_text(value)
    if isinstance(value, NameAttrList):
        return cut(f"function {value.name}")
    if isinstance(value, list | tuple):
        shown = [plain_attr_text(item) for item in value[:MAX_ITEMS]]
        return cut(list_text([*shown, *[""] * (len(value) - len(shown))]))
    if hasattr(value, "WhichOneof"):
        return attr_value_text(value)  # an attr the op does not declare stays a message
    return cut(str(value))


def _tensor_attr_text(attr: TensorAttr) -> str:
    text = f"{attr.dtype.name} {shape_text(attr.shape.dim_values)}"
    size = attr.shape.num_elements()
    if size is None or size > _MAX_PREVIEW:
        return text
    try:
        return cut(f"{text} {array_text(attr.value())}")
    except (OpError, ValueError, TypeError):
        return f"{text}, malformed"


@dataclass(frozen=True, slots=True)
class PartitionedDescription:
    """A signature's nodes over all partitions.

    ``start[p] + node_id`` is the place of a partition's node among ``nodes``.
    """

    nodes: list[SceneNode]
    start: tuple[int, ...]
    devices: tuple[str, ...]


def describe_partitions(
    partitioned: PartitionedGraph, placed: PlacedGraph | None, graph: Graph | None
) -> PartitionedDescription:
    """Describe all partitions of a signature as one graph, each Recv with its Send as input."""
    start: list[int] = []
    total = 0
    for view in partitioned.partitions:
        start.append(total)
        total += len(view.node_names)
    inputs: list[list[tuple[int, int]]] = [[] for _ in range(total)]
    for view, first in zip(partitioned.partitions, start):
        for source, destination, is_control in view.edges:
            slot = CONTROL if is_control else 0
            inputs[first + destination].append((first + source, slot))
    for send, recv in _pairs(partitioned, start):
        inputs[recv].append((send, 0))

    reasons = {} if placed is None else {view.node: view for view in placed.placements}
    passes = () if placed is None else placed.passes
    about = _About(graph, passes_by_node(passes))
    nodes = []
    for view, first in zip(partitioned.partitions, start):
        for node_id, (name, op_type) in enumerate(zip(view.node_names, view.node_ops)):
            found = _operation_named(graph, name, op_type)
            where: dict[str, Any] = {
                "assigned_device": view.device,
                "partition": view.index,
                **_placement(reasons.get(name)),
            }
            own = inputs[first + node_id]
            if found is None:
                nodes.append(about.added(name, op_type, own, where))
            else:
                ordered = _as_the_user_wired_it(found, own, view.node_names, first)
                nodes.append(about.operation(found, ordered, **where))
    devices = tuple(view.device for view in partitioned.partitions)
    return PartitionedDescription(nodes, tuple(start), devices)


def describe_placement(
    placed: PlacedGraph, graph: Graph | None, feeds: Sequence[str] = ()
) -> list[SceneNode]:
    """Describe a placed signature before it was cut: each node with its device and the reason.

    Args:
      placed: the placement of its nodes.
      graph: the graph that the user built.
      feeds: the names of the tensors that are fed; their nodes stand where the values enter.
    """
    views = [view for view in placed.placements if view.op not in ENDPOINTS]
    views = [*fed_placements(placed, graph, feeds), *views]
    index = {view.node: place for place, view in enumerate(views)}
    about = _About(graph, passes_by_node(placed.passes))
    nodes = []
    for view in views:
        found = _operation_named(graph, view.node, view.op)
        where: dict[str, Any] = {"assigned_device": view.chosen, **_placement(view)}
        if found is None:
            nodes.append(about.added(view.node, view.op, [], where))
            continue
        data = [(index[t.op.name], t.value_index) for t in found.inputs if t.op.name in index]
        control = [(index[c.name], CONTROL) for c in found.control_inputs if c.name in index]
        nodes.append(about.operation(found, (*data, *control), **where))
    return nodes


def fed_placements(
    placed: PlacedGraph, graph: Graph | None, feeds: Sequence[str]
) -> list[PlacementView]:
    """Return the nodes whose tensors are fed: they do not run, their values enter on a device."""
    known = {view.node for view in placed.placements}
    arguments = {view.node: view for view in placed.placements if view.op in ENDPOINTS}
    found = {}
    for number, feed in enumerate(feeds):
        name, _, slot = feed.partition(":")
        comes_in = arguments.get(f"_arg_{name}_{slot or 0}_{number}")
        if comes_in is None or name in known or graph is None:
            continue
        try:
            op = graph.get_operation_by_name(name)
        except (KeyError, ValueError):
            continue
        found[name] = PlacementView(
            name,
            op.type,
            op.device,
            comes_in.allowed,
            comes_in.chosen,
            "is fed: its value comes in",
        )
    return list(found.values())


def _pairs(partitioned: PartitionedGraph, start: Sequence[int]) -> Iterable[tuple[int, int]]:
    """Return each Recv with the Send of the same edge, as places among all nodes."""
    sends: dict[str, int] = {}
    recvs: list[tuple[str, int]] = []
    for view, first in zip(partitioned.partitions, start):
        for node_id, edge in view.send_recv:
            if view.node_ops[node_id].endswith("Send"):
                sends[edge] = first + node_id
            else:
                recvs.append((edge, first + node_id))
    return [(sends[edge], recv) for edge, recv in recvs if edge in sends]


def _operation_named(graph: Graph | None, name: str, op_type: str) -> Operation | None:
    """Return the user's operation for a runtime node; folding may have changed the op."""
    if graph is None:
        return None
    try:
        op = graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None
    return op if op.type == op_type else None


def _placement(view: PlacementView | None) -> dict[str, Any]:
    if view is None:
        return {}
    return {"requested_device": view.requested, "reason": view.why, "allowed": view.allowed}


def _as_the_user_wired_it(
    op: Operation, own: list[tuple[int, int]], names: Sequence[str], first: int
) -> tuple[tuple[int, int], ...]:
    """Return a node's inputs with slots in their order, as far as the user's graph has them."""
    left = {
        names[source - first]: source
        for source, slot in own
        if slot != CONTROL and 0 <= source - first < len(names)
    }
    known = [
        (left[tensor.op.name], tensor.value_index) for tensor in op.inputs if tensor.op.name in left
    ]
    placed = {source for source, _ in known}
    return (*known, *(pair for pair in own if pair[1] == CONTROL or pair[0] not in placed))
