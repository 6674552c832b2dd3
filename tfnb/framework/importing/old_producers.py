"""Repair of graphs that older programs wrote and that cannot be imported unchanged.

``import_graph_def`` is as strict as TensorFlow: every defect is an error. :func:`repair_graph_def`
repairs defects known to be harmless, in a copy, and reports each change in one line:

* freezing variables to constants leaves ops that require a reference (``RefSwitch``, ``AssignSub``
  behind a moving average) with a value as input: they become the op of the same meaning for values,
  and where there is none (``ScatterAdd``, ``ApplyAdam``) they update a temporary variable that is
  set to the value in every step;
* an assignment to a resource variable by an op for references becomes the op for resources;
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
    from tfnb.core.op_def import OpDef

EXPORTS = {"graph_util": ["repair_graph_def"]}

# op for references -> the op with the same effect for values
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
# op for references -> the op with the same effect on a resource variable, without a result
_FOR_RESOURCES: Final = {
    "Assign": "AssignVariableOp",
    "AssignSub": "AssignSubVariableOp",
    "AssignAdd": "AssignAddVariableOp",
}


# The errors of reading the attributes of a damaged node.
_UNREADABLE: Final = (errors.OpError, KeyError, ValueError, TypeError)


def repair_graph_def(graph_def: graph_pb2.GraphDef) -> tuple[graph_pb2.GraphDef, list[str]]:
    """Repair known defects in graphs of older producers.

    Args:
      graph_def: the graph; not changed.

    Returns:
      A repaired copy, and the changes, one line for each changed node.
    """
    own = graph_pb2.GraphDef()
    own.CopyFrom(graph_def)
    repair = _Repair(own)
    repair.mend_references()
    repair.drop_attrs()
    return own, repair.notes


def _takes_references(op: str) -> bool:
    definition = op_registry.find(op)
    return definition is not None and any(arg.is_ref for arg in definition.op_def.inputs)


def _attrs_of(op_def: OpDef, node: graph_pb2.NodeDef) -> dict[str, Any]:
    """Return a node's attributes, with defaults for missing ones."""
    attrs = {attr.name: attr.default for attr in op_def.attrs if attr.has_default}
    return {**attrs, **decode_attrs(node.attr)}


class _Repair:
    """One repair of one GraphDef, which is changed."""

    def __init__(self, graph_def: graph_pb2.GraphDef) -> None:
        self.notes: list[str] = []
        self._graph_def = graph_def
        self._producer = graph_def.versions.producer
        self._nodes = {node.name: node for node in graph_def.node}
        self._consumers: dict[str, list[str]] = {}
        for node in graph_def.node:
            for text in node.input:
                source, index = parse_tensor_id(text)
                if index != CONTROL_INDEX:
                    self._consumers.setdefault(source, []).append(node.name)

    def mend_references(self) -> None:
        """Rename ops for references that get values, then the ops that consume their outputs."""
        waiting = deque(
            name
            for name, node in self._nodes.items()
            if node.op in _FOR_RESOURCES or _takes_references(node.op)
        )
        while waiting:
            node = self._nodes[waiting.popleft()]
            if self._mend(node):
                waiting.extend(self._consumers.get(node.name, ()))

    def _mend(self, node: graph_pb2.NodeDef) -> bool:
        return self._rename(node) or self._lend(node)

    def _rename(self, node: graph_pb2.NodeDef) -> bool:
        """Replace an op for references by the equivalent op for values or resources."""
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
            # The assigned value is the result.
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

    def _lend(self, node: graph_pb2.NodeDef) -> bool:
        """Give an op a temporary variable for each value where it requires a reference."""
        definition = op_registry.find(node.op)
        if definition is None:
            return False
        try:
            wanted = definition.op_def.input_types(_attrs_of(definition.op_def, node))
        except _UNREADABLE:  # importing says what is wrong
            return False
        lent = []
        for index, (text, dtype) in enumerate(zip(list(node.input), wanted)):
            given = self._dtype_of(text)
            is_value = given is dtype.base_dtype and given is not dtypes.resource
            if dtype.is_ref_dtype and text[:1] != "^" and is_value:
                node.input[index] = self._temporary_variable(node, index, text, dtype)
                lent.append(text)
        if lent:
            self.notes.append(
                f"node '{node.name}': {node.op} updates a temporary variable that begins with "
                f"{', '.join(lent)}, as it was given no reference"
            )
        return bool(lent)

    def _temporary_variable(
        self, node: graph_pb2.NodeDef, index: int, value: str, dtype: DType
    ) -> str:
        """Add a variable that has the value of a tensor; return the name of its reference."""
        name = f"{node.name}/reference_{index}"
        while name in self._nodes or f"{name}/assign" in self._nodes:
            name += "_"
        enum: Any = dtype.base_dtype.as_datatype_enum
        variable = self._graph_def.node.add(name=name, op="TemporaryVariable", device=node.device)
        # In a loop the variable belongs to the iteration of its value.
        variable.input.append(f"^{parse_tensor_id(value)[0]}")
        variable.attr["dtype"].type = enum
        variable.attr["shape"].shape.SetInParent()
        assign = self._graph_def.node.add(name=f"{name}/assign", op="Assign", device=node.device)
        assign.input.extend([name, value])
        assign.attr["T"].type = enum
        assign.attr["validate_shape"].b = False
        self._nodes[name], self._nodes[assign.name] = variable, assign
        return assign.name

    def _dtype_of(self, text: str) -> DType | None:
        """Return the dtype of a tensor, or None if it cannot be determined."""
        source, index = parse_tensor_id(text)
        node = self._nodes.get(source)
        definition = None if node is None else op_registry.find(node.op)
        if node is None or definition is None:
            return None
        op_def = definition.op_def
        try:
            types = op_def.output_types(_attrs_of(op_def, node))
        except _UNREADABLE:  # importing says what is wrong
            return None
        return types[index] if 0 <= index < len(types) else None

    def drop_attrs(self) -> None:
        """Drop attributes that the ops do not have."""
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
