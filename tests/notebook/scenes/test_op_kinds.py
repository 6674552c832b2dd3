"""Kinds of ops in pictures follow from the declarations of ops."""

from __future__ import annotations

import pytest

from tfnb.core import dtypes, op_registry
from tfnb.notebook.scenes.op_kinds import KINDS, op_kind


@pytest.mark.parametrize(
    ("kind", "ops"),
    [
        ("input", "Placeholder _Arg IteratorGetNext WholeFileReaderV2 RestoreV2"),
        ("constant", "Const HostConst"),
        ("state", "VariableV2 VarHandleOp QueueEnqueueV2 MutableDenseHashTableV2 MapStage SaveV2"),
        ("state", "ResourceStridedSliceAssign StatefulUniform TensorArrayWriteV2 CountUpTo"),
        ("math", "MatMul RandomUniform BatchDataset Softmax NoSuchOp"),
        ("array", "Identity Reshape ConcatV2 RefIdentity Shape"),
        ("control", "Switch _SwitchN RefMerge While NoOp StatefulPartitionedCall"),
        ("transfer", "_Send _HostRecv _Retval"),
        ("other", "PyFunc PrintV2 DecodePng ReduceJoin UnicodeEncode ScalarSummary CSVDataset"),
    ],
)
def test_an_op_has_its_kind(kind, ops):
    """Each kind has ops, some with names that do not show it."""
    assert {op: op_kind(op) for op in ops.split()} == dict.fromkeys(ops.split(), kind)


def test_every_op_on_a_resource_is_state_or_more_special():
    """An op with a handle is not drawn as a computation."""
    for name, definition in op_registry.all_ops().items():
        args = (*definition.op_def.inputs, *definition.op_def.outputs)
        kind = op_kind(name)
        assert kind in KINDS
        if any(arg.type is dtypes.resource for arg in args):
            assert kind in ("state", "input"), name
