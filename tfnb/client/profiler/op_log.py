"""Additional data of a graph's nodes for the profiler: an OpLogProto.

Each op computes its number of float operations (:mod:`tfnb.core.float_ops`), and each node stores
where it was made; trainable variables get a type to select them by.
"""

from __future__ import annotations

import os.path
import sys
from typing import TYPE_CHECKING, Any

from tfnb.client.files.gfile import GFile
from tfnb.client.profiler.option_builder import TRAINABLE_VARIABLES
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.collections import GraphKeys
from tfnb.framework.default_graph import get_default_graph
from tfnb.proto import tfprof_log_pb2

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.proto.config_pb2 import RunMetadata
    from tfnb.proto.tfprof_log_pb2 import OpLogEntry, OpLogProto

EXPORTS = {"profiler": ["write_op_log"]}


def write_op_log(
    graph: Graph | None,
    log_dir: str,
    op_log: OpLogProto | None = None,
    run_meta: RunMetadata | None = None,
    add_trace: bool = True,
) -> None:
    """Write the profiler's data of a graph into the file ``tfprof_log``.

    Args:
      graph: the graph; None for the default graph.
      log_dir: the directory of the file.
      op_log: further data.
      run_meta: the metadata of a run, whose shapes complete those of the graph.
      add_trace: whether to add where nodes were made.
    """
    log = merged_op_log(graph or get_default_graph(), op_log, run_meta, add_trace)
    with GFile(os.path.join(log_dir, "tfprof_log"), "wb") as file:
        file.write(log.SerializeToString())


def merged_op_log(
    graph: Graph,
    op_log: OpLogProto | None = None,
    run_meta: RunMetadata | None = None,
    add_trace: bool = True,
) -> OpLogProto:
    """Return the caller's data, followed by the data of the graph itself."""
    if run_meta is not None:
        _complete_shapes(graph, run_meta)
    merged = tfprof_log_pb2.OpLogProto()
    ids = {"none": 0}
    entries = {}
    for entry in op_log.log_entries if op_log is not None else ():
        entries[entry.name] = tfprof_log_pb2.OpLogEntry()
        entries[entry.name].CopyFrom(entry)

    def entry_of(op: Operation) -> OpLogEntry:
        return entries.setdefault(op.name, tfprof_log_pb2.OpLogEntry(name=op.name))

    without_shapes = 0
    for op in graph.get_operations():
        count = op.op_definition.float_ops_function
        try:
            float_ops = int(count(op)) if count is not None else 0
        except ValueError:
            without_shapes += 1
            float_ops = 0
        if float_ops or add_trace:
            entry = entry_of(op)
            entry.float_ops = entry.float_ops or float_ops
        if add_trace and not entry.code_def.traces:
            for file, line, function, text in op.traceback:
                entry.code_def.traces.add(
                    lineno=line or -1,
                    func_start_line=-1,
                    file_id=_id_of(file, ids),
                    function_id=_id_of(function, ids),
                    line_id=_id_of(text, ids),
                )
    for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES):
        entry_of(variable.op).types.append(TRAINABLE_VARIABLES)
    if without_shapes and run_meta is None:
        sys.stderr.write(f"{without_shapes} ops no flops stats due to incomplete shapes.\n")
    merged.log_entries.extend(entries.values())
    for text, number in ids.items():
        merged.id_to_string[number] = text
    return merged


def _id_of(text: str | None, ids: dict[str, int]) -> int:
    return ids.setdefault(text, len(ids)) if text else 0


def _complete_shapes(graph: Graph, run_meta: Any) -> None:
    """Set the static shapes of tensors to the shapes that they had in a run."""
    for device in run_meta.step_stats.dev_stats:
        for node in device.node_stats:
            try:
                op = graph.get_operation_by_name(node.node_name)
            except (KeyError, ValueError):
                continue  # a node of another graph, or of the runtime
            if len(op.outputs) != len(node.output):
                continue
            for tensor, ran in zip(op.outputs, node.output):
                shape = TensorShape([dim.size for dim in ran.tensor_description.shape.dim])
                try:
                    if not tensor.shape.is_fully_defined():
                        tensor.set_shape(shape)
                except ValueError as error:
                    sys.stderr.write(f"Node {node.node_name} incompatible shapes: {error}.\n")
