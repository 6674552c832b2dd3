"""Describes a graph from a file: its nodes, with the shapes inferred for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.errors import OpError
from tfnb.framework.graph import Graph
from tfnb.framework.importing.importer import import_graph_def
from tfnb.notebook.scenes.function_bodies import with_bodies
from tfnb.notebook.scenes.graph_def_scene import describe_graph_def
from tfnb.notebook.scenes.graph_scene import tensor_shape_text

if TYPE_CHECKING:
    from tfnb.notebook.scenes.scene import SceneNode
    from tfnb.proto.graph_pb2 import GraphDef


def describe_file(graph_def: GraphDef) -> list[SceneNode]:
    """Return one description per node, with the types and static shapes of its outputs.

    Shapes are those that importing the graph would infer, and calls have the bodies of their
    functions. If a graph cannot be imported, the description has only the contents of its nodes.
    """
    nodes = describe_graph_def(graph_def)
    graph = Graph()
    try:
        with graph.as_default():
            import_graph_def(graph_def, name="")
    except (OpError, ValueError, TypeError, RecursionError):
        return nodes
    by_name = {op.name: op for op in graph.get_operations()}
    described = [
        node._replace(
            outputs=tuple(
                (tensor.dtype.name, tensor_shape_text(tensor))
                for tensor in by_name[node.name].outputs
            ),
        )
        for node in nodes
    ]
    return with_bodies(described, graph)
