"""Helper functions for GraphDefs: extraction of parts, shapes of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.graph_def_reader import parse_tensor_id
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.graph import Graph

EXPORTS = {
    "graph_util": [
        "extract_sub_graph", "tensor_shape_from_node_def_name", "must_run_on_cpu",
        "remove_training_nodes",
    ],
}  # fmt: skip

_VARIABLE_OPS = frozenset(
    [
        "Assign",
        "AssignAdd",
        "AssignSub",
        "Queue",
        "ScatterAdd",
        "ScatterSub",
        "ScatterUpdate",
        "TruncatedNormal",
        "Variable",
        "VariableV2",
    ]
)


def extract_sub_graph(
    graph_def: graph_pb2.GraphDef, dest_nodes: Iterable[str]
) -> graph_pb2.GraphDef:
    """Return the nodes of a GraphDef that any of ``dest_nodes`` needs or must be colocated with.

    Args:
      graph_def: the whole graph.
      dest_nodes: names of nodes.

    Returns:
      A GraphDef with these nodes in their order, and the library and versions of the whole graph.

    Raises:
      TypeError: ``graph_def`` is not a GraphDef, or ``dest_nodes`` is one string.
      AssertionError: a name is not in the graph.
    """
    if not isinstance(graph_def, graph_pb2.GraphDef):
        raise TypeError(
            f"graph_def must be a graph_pb2.GraphDef proto, but got type {type(graph_def)}."
        )
    if isinstance(dest_nodes, str):
        raise TypeError(
            f"dest_nodes must be an iterable of strings, but got type {type(dest_nodes)}."
        )
    nodes = {node.name: node for node in graph_def.node}
    waiting = list(dest_nodes)
    for name in waiting:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph")
    kept: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in kept or name not in nodes:
            continue
        kept.add(name)
        waiting += _sources(nodes[name])
    found = graph_pb2.GraphDef()
    found.node.extend([node for node in graph_def.node if node.name in kept])
    if graph_def.HasField("library"):
        found.library.CopyFrom(graph_def.library)
    found.versions.CopyFrom(graph_def.versions)
    return found


def _sources(node: graph_pb2.NodeDef) -> list[str]:
    names = [parse_tensor_id(text)[0] for text in node.input]
    if "_class" in node.attr:
        names += [group.decode().removeprefix("loc:@") for group in node.attr["_class"].list.s]
    return names


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Return the static shape of the tensor that a node's input text names.

    Raises:
      KeyError: nothing in the graph has this name.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).get_shape()


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Return whether a node processes text or int32 in a way that only a CPU supports.

    Args:
      node: an Operation or a NodeDef.
      pin_variables_on_cpu: whether to return True for variables.
    """
    node_def = node if isinstance(node, graph_pb2.NodeDef) else node.node_def
    if pin_variables_on_cpu and node_def.op in _VARIABLE_OPS:
        return True
    if node_def.op == "Const":
        return node_def.attr["dtype"].type in (dtypes.string, dtypes.int32)
    if node_def.op in ("DynamicStitch", "ParallelDynamicStitch"):
        return bool(dtypes.int32 == node_def.attr["T"].type)
    if node_def.op == "Cast":
        return bool(dtypes.int32 == node_def.attr["SrcT"].type)
    return False


def remove_training_nodes(
    input_graph: graph_pb2.GraphDef, protected_nodes: Iterable[str] | None = None
) -> graph_pb2.GraphDef:
    """Return a GraphDef without nodes that serve only training.

    Removed are CheckNumerics, and each Identity without control edges and colocated nodes.

    Args:
      input_graph: the whole graph.
      protected_nodes: names of nodes that stay.
    """
    protected = set(protected_nodes or ())
    stripped = _without_nodes(input_graph, {"CheckNumerics"}, protected, set())
    with_control: set[str] = set()
    for node in stripped.node:
        if any(text.startswith("^") for text in node.input):
            with_control.add(node.name)
        with_control.update(text[1:] for text in node.input if text.startswith("^"))
        if "_class" in node.attr:
            with_control.update(
                group.decode().removeprefix("loc:@") for group in node.attr["_class"].list.s
            )
    return _without_nodes(stripped, {"Identity"}, protected, with_control)


def _without_nodes(
    graph_def: graph_pb2.GraphDef, ops: set[str], protected: set[str], excluded: set[str]
) -> graph_pb2.GraphDef:
    """Return the graph with one-input nodes of some ops replaced by their inputs.

    Control edges from these nodes are dropped.
    """
    replaced: dict[str, str] = {}
    for node in graph_def.node:
        if (
            node.op in ops
            and node.name not in protected
            and node.name not in excluded
            and node.input
        ):
            replaced[node.name] = node.input[0]

    def resolve(text: str) -> str:
        while text in replaced or text.removesuffix(":0") in replaced:
            text = replaced[text.removesuffix(":0")]
        return text

    found = graph_pb2.GraphDef()
    for node in graph_def.node:
        if node.name in replaced:
            continue
        copy = found.node.add()
        copy.CopyFrom(node)
        copy.ClearField("input")
        copy.input.extend(
            [
                resolve(text)
                for text in node.input
                if not (text.startswith("^") and text[1:] in replaced)
            ]
        )
    if graph_def.HasField("library"):
        found.library.CopyFrom(graph_def.library)
    if graph_def.HasField("versions"):
        found.versions.CopyFrom(graph_def.versions)
    return found
