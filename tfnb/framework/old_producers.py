"""Mends graphs that older programs wrote and that cannot be imported as they stand.

``import_graph_def`` is as strict as TensorFlow: what is wrong is an error. :func:`repair_graph_def`
mends what is known to be harmless, in a copy, and says what it did, a line each:

* freezing variables to constants leaves ops that want a reference (``RefSwitch``, ``AssignSub``
  behind a moving average) behind a value: they become the op of the same meaning for values;
* an assignment to a resource variable by an op for references becomes that for resources;
* attributes that an op does not have, because it lost them or never had them here, are dropped.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from tfnb.core import dtypes, errors, op_registry
from tfnb.core.attr_value import decode_attrs
from tfnb.framework.graph_def_reader import CONTROL_INDEX, parse_tensor_id
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType

EXPORTS = {"graph_util": ["repair_graph_def"]}

# The op for references, and the op that does the same to values.
_FOR_VALUES: Final = {
    "RefSwitch": "Switch",
    "RefMerge": "Merge",
    "RefEnter": "Enter",
    "RefExit": "Exit",
    "RefNextIteration": "NextIteration",
    "RefIdentity": "Identity",
    "AssignSub": "Sub",
    "AssignAdd": "Add",
}
# The op for references, and the one that does the same to a resource variable, without a result.
_FOR_RESOURCES: Final = {
    "Assign": "AssignVariableOp",
    "AssignSub": "AssignSubVariableOp",
    "AssignAdd": "AssignAddVariableOp",
}


def repair_graph_def(graph_def: graph_pb2.GraphDef) -> tuple[graph_pb2.GraphDef, list[str]]:
    """Mends what is known to be wrong with graphs of older producers.

    Args:
      graph_def: the graph; left as it is.

    Returns:
      A mended copy, and what was done, a line for each node; no line where nothing was wrong.
    """
    own = graph_pb2.GraphDef()
    own.CopyFrom(graph_def)
    repair = _Repair(own)
    repair.mend_references()
    repair.drop_attrs()
    return own, repair.notes


class _Repair:
    """One repair of one GraphDef, which is changed."""

    def __init__(self, graph_def: graph_pb2.GraphDef) -> None:
        self.notes: list[str] = []
        self._producer = graph_def.versions.producer
        self._nodes = {node.name: node for node in graph_def.node}
        self._consumers: dict[str, list[str]] = {}
        for node in graph_def.node:
            for text in node.input:
                source, index = parse_tensor_id(text)
                if index != CONTROL_INDEX:
                    self._consumers.setdefault(source, []).append(node.name)

    def mend_references(self) -> None:
        """Renames ops for references that get none; what follows them is looked at, too."""
        waiting = deque(
            name
            for name, node in self._nodes.items()
            if node.op in _FOR_VALUES or node.op in _FOR_RESOURCES
        )
        while waiting:
            node = self._nodes[waiting.popleft()]
            if self._mend(node):
                waiting.extend(self._consumers.get(node.name, ()))

    def _mend(self, node: graph_pb2.NodeDef) -> bool:
        if not node.input or node.input[0][:1] == "^":
            return False
        given = self._dtype_of(node.input[0])
        if given is None or given.is_ref_dtype:
            return False
        old = node.op
        if given is dtypes.resource:
            if old not in _FOR_RESOURCES or self._consumers.get(node.name):
                return False
            node.op = _FOR_RESOURCES[old]
            node.attr["dtype"].CopyFrom(node.attr["T"])
            del node.attr["T"]
        elif old in _FOR_VALUES:
            node.op = _FOR_VALUES[old]
        elif old == "Assign" and len(node.input) > 1:
            # What was assigned is the result.
            node.op = "Identity"
            variable = node.input[0].removesuffix(":0")
            kept = [text for text in node.input[1:] if text != f"^{variable}"]
            del node.input[:]
            node.input.extend([*kept, f"^{variable.split(':')[0]}"])
        else:
            return False
        known = op_registry.get(node.op).op_def.attr_by_name
        for name in [name for name in node.attr if name not in known and name[:1] != "_"]:
            del node.attr[name]
        self.notes.append(
            f"node '{node.name}': {old} became {node.op}, as it was given no reference"
        )
        return True

    def _dtype_of(self, text: str) -> DType | None:
        """The dtype of a tensor, or None where it cannot be known."""
        source, index = parse_tensor_id(text)
        node = self._nodes.get(source)
        definition = None if node is None else op_registry.find(node.op)
        if node is None or definition is None:
            return None
        op_def = definition.op_def
        try:
            attrs: dict[str, Any] = {a.name: a.default for a in op_def.attrs if a.has_default}
            types = op_def.output_types({**attrs, **decode_attrs(node.attr)})
        except (errors.OpError, KeyError, ValueError, TypeError):  # importing says what is wrong
            return None
        return types[index] if 0 <= index < len(types) else None

    def drop_attrs(self) -> None:
        """Drops what ops do not have."""
        for node in self._nodes.values():
            definition = op_registry.find(node.op)
            if definition is None:
                continue
            known = definition.op_def.attr_by_name
            unknown = sorted(name for name in node.attr if name not in known and name[:1] != "_")
            for name in unknown:
                del node.attr[name]
            if unknown:
                self.notes.append(
                    f"node '{node.name}': {node.op} has no attribute {', '.join(unknown)}, dropped "
                    f"(written by version {self._producer})"
                )
