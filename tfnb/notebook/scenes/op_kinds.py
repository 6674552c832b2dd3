"""The kind of an op, which a picture shows by shape and colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes, op_registry
from tfnb.core.op_traits import Trait
from tfnb.graph.node_kind import node_kind

if TYPE_CHECKING:
    from tfnb.core.op_registry import OpDefinition

KINDS = ("input", "constant", "state", "math", "array", "control", "transfer", "other")

# Ops that control which nodes run, besides the primitives of node_kind.py.
_STEERING = frozenset(
    (
        "NoOp", "Abort", "Assert", "If", "StatelessIf", "While", "StatelessWhile", "Case",
        "StatelessCase", "PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient",
        "RemoteCall", "For",
    )
)  # fmt: skip


def op_kind(op: str) -> str:
    """Return the kind of an op type; unknown ops are ``"math"``, the most common kind.

    >>> op_kind("MatMul"), op_kind("Const"), op_kind("Switch"), op_kind("AssignAdd")
    ('math', 'constant', 'control', 'state')
    """
    kind = node_kind(op)
    if kind.is_constant:
        return "constant"
    if kind.is_arg:
        return "input"
    if kind.is_control_flow or kind.is_loop_cond or kind.is_control_trigger or op in _STEERING:
        return "control"
    if kind.is_transfer_node or kind.is_retval:
        return "transfer"
    definition = op_registry.find(op)
    if definition is None:
        return "math" if op else "other"
    return _kind_of(definition)


def _kind_of(definition: OpDefinition) -> str:
    traits = definition.traits
    if Trait.PLACEHOLDER in traits or Trait.LOADS in traits:
        return "input"
    if Trait.REARRANGES in traits:
        return "array"
    if Trait.CHECKPOINT in traits or Trait.KEEPS_STATE in traits:
        return "state"
    args = (*definition.op_def.inputs, *definition.op_def.outputs)
    if any(arg.is_ref or arg.type is dtypes.resource for arg in args):
        return "state"
    is_text = any(arg.type is dtypes.string for arg in args)
    return "other" if is_text or definition.effects or Trait.REPORTS in traits else "math"
