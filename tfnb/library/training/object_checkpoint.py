"""Checkpoints of TensorFlow 2's objects, read by the names that variables had when they were saved.

``tf.train.Checkpoint`` stores values under paths of attributes, and beside them a graph of objects
that has the name of each variable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.process.records import replace
from tfnb.proto import saved_object_graph_pb2

if TYPE_CHECKING:
    from tfnb.core.files.checkpoint_reader import CheckpointReader
    from tfnb.framework.operation import Operation
    from tfnb.library.training.checkpoint_difference import WantedTensor

_OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


def keys_of_variables(reader: CheckpointReader) -> dict[str, str] | None:
    """Return name of a variable -> its key; None if it is not a checkpoint of objects."""
    if not reader.has_tensor(_OBJECT_GRAPH_KEY):
        return None
    stored = reader.lookup(_OBJECT_GRAPH_KEY)
    graph = saved_object_graph_pb2.TrackableObjectGraph.FromString(stored.item())
    return {
        attribute.full_name: attribute.checkpoint_key
        for node in graph.nodes
        for attribute in node.attributes
        if attribute.full_name
    }


def renamed(reader: CheckpointReader, wanted: list[WantedTensor]) -> list[WantedTensor] | None:
    """Return the tensors with their keys in a checkpoint of objects; None for other checkpoints."""
    keys = keys_of_variables(reader)
    if keys is None:
        return None
    return [replace(one, name=keys.get(one.name, one.name)) for one in wanted]


def feeds(wanted: list[WantedTensor]) -> dict[Any, Any]:
    """Return the feeds that make the reading ops read these names."""
    by_reader: dict[Operation, list[str]] = {}
    for one in wanted:
        by_reader.setdefault(one.reader, []).append(one.name)
    return {op.inputs[1]: names for op, names in by_reader.items()}
