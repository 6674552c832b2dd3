"""A session that a server keeps, as another process can go on with it: after a kernel restart.

A file holds what identifies the session on its server, and the nodes that the server has. It is
written again whenever the server's graph has grown.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.core.graph_def_message import graph_def_message
from tfnb.framework.importing.importer import import_graph_def
from tfnb.framework.importing.plain_exporter import plain_graph_def_of
from tfnb.proto.graph_pb2 import GraphDef

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation

_FORMAT = 1


class RemoteSession(NamedTuple):
    """What identifies a session on a server.

    Attributes:
        target: The server, ``grpc://host:port``.
        session_handle: The session's name there. Those who know it can use the session.
        graph_version: How often the server's graph had grown.
        graph_def: The nodes that the server has; None if they are not known.
    """

    target: str
    session_handle: str
    graph_version: int
    graph_def: GraphDef | None = None

    def save(self, path: str) -> None:
        """Write a file that only its owner can read; it is complete or does not change."""
        # Few sessions are kept, and these modules import ten others.
        import base64
        import tempfile

        graph_def = b"" if self.graph_def is None else self.graph_def.SerializeToString()
        content = {
            "format": _FORMAT,
            "target": self.target,
            "session_handle": self.session_handle,
            "graph_version": self.graph_version,
            "graph_def": base64.b64encode(graph_def).decode(),
        }
        folder, name = os.path.split(os.path.abspath(path))
        number, temporary = tempfile.mkstemp(prefix=f".{name}.", dir=folder)
        try:
            with open(number, "w", encoding="utf-8") as file:
                json.dump(content, file)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    @classmethod
    def load(cls, path: str) -> Self:
        """Read a file.

        Raises:
            FileNotFoundError: There is no file.
            ValueError: The file is not one of :meth:`save`.
        """
        import base64

        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            content: Any = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"the format {content['format']!r} is not known")
            graph_def = GraphDef.FromString(base64.b64decode(content["graph_def"], validate=True))
            return cls(
                str(content["target"]),
                str(content["session_handle"]),
                int(content["graph_version"]),
                graph_def if graph_def.node else None,
            )
        except Exception as error:
            raise ValueError(
                f"{path} does not describe a session on a server, as `Session.keep` writes it: "
                f"{error}"
            ) from error


def operations_of(state: RemoteSession, graph: Graph) -> Sequence[Operation]:
    """Return the operations of a graph that the server has.

    A graph without operations gets the stored ones. Without stored ones, the server is assumed to
    have the whole graph.

    Raises:
        ValueError: The graph lacks a node of the server, or has another one of that name.
    """
    if state.graph_def is None:
        return list(graph.operation_list)
    if graph.version == 0:
        with graph.as_default():
            import_graph_def(state.graph_def, name="")
        return list(graph.operation_list)
    found: list[Operation] = []
    for node in state.graph_def.node:
        op = graph._nodes_by_name.get(node.name)
        if op is None or op.type != node.op:
            has = "no such node" if op is None else f"an {op.type} of that name"
            raise ValueError(
                f"The session on the server has the node {node.name!r} ({node.op}), and the graph "
                f"has {has}. Build the graph as before, or attach with an empty graph to import "
                "the nodes of the server."
            )
        found.append(op)
    return sorted(found, key=lambda op: op._id)


def graph_def_of(graph: Graph, operations: Sequence[Operation]) -> GraphDef:
    """Return some operations of a graph, and its functions, as a message."""
    with graph._lock:
        return graph_def_message(plain_graph_def_of(graph, operations))
