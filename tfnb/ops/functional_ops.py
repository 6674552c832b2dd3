"""Ops that call functions of the graph's library."""

from __future__ import annotations

from tfnb.core.op_registry import register_op

partitioned_call = register_op(
    "PartitionedCall",
    "args: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "f: func",
    "config: string = ''",
    "config_proto: string = ''",
    "executor_type: string = ''",
)(None)
stateful_partitioned_call = register_op(
    "StatefulPartitionedCall",
    "args: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "f: func",
    "config: string = ''",
    "config_proto: string = ''",
    "executor_type: string = ''",
    stateful=True,
)(None)
if = register_op(
    "If",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "then_branch: func",
    "else_branch: func",
    "output_shapes: list(shape) = []",
    stateful=True,
)(None)
stateless_if = register_op(
    "StatelessIf",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "then_branch: func",
    "else_branch: func",
    "output_shapes: list(shape) = []",
)(None)
_if = register_op(
    "_If",
    "cond: Tcond, input: Tin -> output: Tout",
    "Tcond: type",
    "Tin: list(type) >= 1",
    "Tout: list(type) >= 1",
    "then_branch: func",
    "else_branch: func",
    stateful=True,
)(None)
while = register_op(
    "While",
    "input: T -> output: T",
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    "output_shapes: list(shape) = []",
    "parallel_iterations: int = 10",
    stateful=True,
)(None)
stateless_while = register_op(
    "StatelessWhile",
    "input: T -> output: T",
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    "output_shapes: list(shape) = []",
    "parallel_iterations: int = 10",
)(None)
_while = register_op(
    "_While",
    "input: T -> output: T",
    "T: list(type) >= 0",
    "cond: func",
    "body: func",
    stateful=True,
)(None)
case = register_op(
    "Case",
    "branch_index: int32, input: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "branches: list(func) >= 1",
    "output_shapes: list(shape) = []",
    stateful=True,
)(None)
stateless_case = register_op(
    "StatelessCase",
    "branch_index: int32, input: Tin -> output: Tout",
    "Tin: list(type) >= 0",
    "Tout: list(type) >= 0",
    "branches: list(func) >= 1",
    "output_shapes: list(shape) = []",
)(None)
for = register_op(
    "For",
    "start: int32, limit: int32, delta: int32, input: T -> output: T",
    "T: list(type) >= 0",
    "body: func",
)(None)
to_bool = register_op("ToBool", "input: T -> output: bool", "T: type")(None)
fake_param = register_op("FakeParam", "-> output: dtype", "dtype: type", "shape: shape")(None)
device_index = register_op("DeviceIndex", "-> index: int32", "device_names: list(string)", stateful=True)(None)
symbolic_gradient = register_op(
    "SymbolicGradient",
    "input: Tin -> output: Tout",
    "Tin: list(type) >= 1",
    "Tout: list(type) >= 1",
    "f: func",
)(None)
