"""A GraphDef without messages, in which a session's graph is sent inside one process.

Writing and reading a message of a hundred thousand nodes takes longer than making the nodes. Nodes
that were built alike share one mapping of attributes, and nodes made from them share it, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.process.records import field, record
from tfnb.core.versions import VersionDef

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.proto import graph_pb2


@record(slots=True)
class PlainNodeDef:
    """A NodeDef as plain values.

    Attributes:
      name: the node's name.
      op: the name of its op, or of the function it calls.
      device: the requested device.
      inputs: the node and the output that each input comes from; -1 is a control input.
      attrs: the values of :mod:`tfnb.core.attr_value`; not to be changed.
    """

    name: str
    op: str
    device: str
    inputs: list[tuple[str, int]]
    attrs: Mapping[str, Any]


@record(slots=True)
class PlainGraphDef:
    """A GraphDef as plain nodes; functions stay messages.

    Attributes:
      node: the nodes.
      versions: the version that wrote it, and the versions that may read it.
      library: the functions that nodes call; None for none.
    """

    node: list[PlainNodeDef]
    versions: VersionDef = field(default_factory=VersionDef)
    library: graph_pb2.FunctionDefLibrary | None = None


if TYPE_CHECKING:
    type_of_graph_def = graph_pb2.GraphDef | PlainGraphDef
