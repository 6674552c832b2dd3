"""Restoring the variables of a graph that has only nodes.

A GraphDef has no collections and no ``SaverDef``. If it has a saver's nodes, these define which
variable is restored from which name. Otherwise each variable has the name of its node in the
checkpoint, and ``w/part_0``, ``w/part_1`` are the parts of ``w``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.files.checkpoint_reader import CheckpointReader
from tfnb.core.files.tensor_slice import FULL, TensorSlice
from tfnb.core.tensor_shape import TensorShape
from tfnb.library.control_flow.control_flow import group
from tfnb.library.training import checkpoint_difference, object_checkpoint
from tfnb.library.training.saveable import (
    ReferenceVariableSaveable,
    ResourceVariableSaveable,
    SaveableObject,
)
from tfnb.library.training.saver import Saver
from tfnb.ops.state import resource_variable_ops as resource_ops
from tfnb.proto import saver_pb2

if TYPE_CHECKING:
    from tfnb.framework.default_session import SessionLike
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import TensorLike, TensorResult

_VARIABLE_OPS = frozenset(("Variable", "VariableV2", "VarHandleOp"))
_PART = re.compile(r"(.+)/part_(\d+)$")


def restore_variables(sess: SessionLike, checkpoint: str) -> list[str]:
    """Give the variables of a session's graph the values of a checkpoint.

    Args:
      sess: the session.
      checkpoint: the prefix of the checkpoint.

    Returns:
      The names of variables that the checkpoint lacks, which have no value.

    Raises:
      FailedPreconditionError: the graph has no variables.
      NotFoundError: the checkpoint has none of them, or lacks a tensor of the graph's saver.
      InvalidArgumentError: a tensor has another type or shape.
      DataLossError: the checkpoint is damaged.
    """
    graph: Graph = sess.graph
    variables = [op for op in graph.get_operations() if op.type in _VARIABLE_OPS]
    if not variables:
        raise errors.failed_precondition("the graph has no variables to restore")
    saver = saver_in(graph)
    if saver is not None:
        saver.restore(sess, checkpoint)
        return []
    with CheckpointReader(checkpoint) as reader:
        with graph.as_default():
            saveables, missing = _saveables(variables, reader)
    if not saveables:
        shown = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
        raise errors.not_found(f"{checkpoint} has no value for any variable of the graph: {shown}")
    with graph.as_default():
        Saver(saveables).restore(sess, checkpoint)
    return missing


def saver_in(graph: Graph) -> Saver | None:
    """Return a saver that restores with a saver's nodes in the graph; None if there are none."""
    for op in graph.get_operations():
        if op.type != "NoOp" or op.name.rpartition("/")[2] != "restore_all":
            continue
        wanted = checkpoint_difference.wanted_tensors(graph, op)
        paths = {one.reader.inputs[0] for one in wanted}
        if len(paths) == 1:
            path = paths.pop().name
            return Saver(
                saver_def=saver_pb2.SaverDef(
                    filename_tensor_name=path, save_tensor_name=path, restore_op_name=op.name
                )
            )
    return None


def _saveables(
    variables: list[Operation], reader: CheckpointReader
) -> tuple[list[SaveableObject], list[str]]:
    """Return the variables with values in the checkpoint, and the names of the others."""
    keys = object_checkpoint.keys_of_variables(reader) or {}
    found: list[SaveableObject] = []
    missing: list[str] = []
    parts: dict[str, list[tuple[int, Operation]]] = {}
    for op in variables:
        part = _PART.match(op.name)
        key = keys.get(op.name, op.name)
        if reader.has_tensor(key):
            found.append(_saveable(op, "", key))
        elif part is not None and reader.has_tensor(part[1]):
            parts.setdefault(part[1], []).append((int(part[2]), op))
        else:
            missing.append(op.name)
    for name, numbered in parts.items():
        whole, _ = reader.shape_and_dtype(name)
        ops = [op for _, op in sorted(numbered, key=lambda one: one[0])]
        prefix = " ".join(map(str, whole))
        found.append(
            _Parts(
                [
                    _saveable(op, f"{prefix} {where}", name)
                    for op, where in zip(ops, _slices(name, ops, whole), strict=True)
                ]
            )
        )
    return found, missing


class _Parts(SaveableObject):
    """The parts of a variable, each with its own slice."""

    def __init__(self, parts: list[SaveableObject]) -> None:
        super().__init__(
            parts[0].op, [spec for part in parts for spec in part.specs], parts[0].name
        )
        self._parts = parts

    def restore(
        self, restored_tensors: list[TensorLike], restored_shapes: list[TensorLike] | None
    ) -> TensorResult:
        """Assign the restored value to each part."""
        values = zip(self._parts, restored_tensors, strict=True)
        return group(*(part.restore([value], None) for part, value in values))


def _slices(name: str, parts: list[Operation], whole: tuple[int, ...]) -> list[TensorSlice]:
    """Return the slice of each part of a variable: consecutive slices of one dimension."""
    shapes = [TensorShape(op.get_attr("shape")).dim_values for op in parts]
    for axis, size in enumerate(whole):
        expected = [(*whole[:axis], None, *whole[axis + 1 :])] * len(parts)
        lengths = [
            shape[axis]
            for shape, want in zip(shapes, expected, strict=True)
            if shape is not None
            and len(shape) == len(want)
            and all(b is None or a == b for a, b in zip(shape, want, strict=True))
        ]
        if len(lengths) == len(parts) and None not in lengths and sum(lengths) == size:  # type: ignore[arg-type]
            slices, start = [], 0
            for length in lengths:
                assert length is not None
                extents = [(0, FULL)] * len(whole)
                extents[axis] = (start, length)
                slices.append(TensorSlice(tuple(extents)))
                start += length
            return slices
    raise errors.invalid_argument(
        f"the {len(parts)} parts of {name} in the graph do not make up the shape {list(whole)} "
        "that it has in the checkpoint"
    )


def _saveable(op: Operation, spec: str, key: str) -> SaveableObject:
    if op.type != "VarHandleOp":
        return ReferenceVariableSaveable(op.outputs[0], spec, key)
    value = resource_ops.read_variable_op(op.outputs[0], dtype=op.get_attr("dtype"))
    return ResourceVariableSaveable(value, spec, key)
