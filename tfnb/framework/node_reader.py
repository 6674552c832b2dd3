"""Reading of node attributes from messages, for the nodes of one op.

Defaults are filled in, values are checked against what the op allows, and the dtypes of inputs and
outputs are looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.attr_value import decode_attr, encode_attr, kind_of_list
from tfnb.core.dtypes import as_dtype
from tfnb.core.process.later import later
from tfnb.framework.attr_conversion import field_of, undeclared_attr
from tfnb.framework.node_validation import check_allowed, check_list_lengths, check_required
from tfnb.framework.op_plan import OpPlan, plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import AttrDef
    from tfnb.core.op_registry import OpDefinition
    from tfnb.proto import attr_value_pb2, graph_pb2
else:
    node_text = later("tfnb.core.node_text", in_step=True)


class NodeReader:
    """A reader of the attributes of one op's nodes, which adds defaults and checks values."""

    __slots__ = ("_defaults", "_fields", "definition", "plan")

    definition: OpDefinition
    plan: OpPlan

    def __init__(self, definition: OpDefinition) -> None:
        self.definition = definition
        self.plan = plan_of(definition)
        attrs = definition.op_def.attrs
        # name -> (the field that must be set, the definition, whether values are restricted)
        self._fields: dict[str, tuple[str, AttrDef, bool]] = {
            attr.name: (field_of(attr.type), attr, bool(attr.allowed) or attr.minimum is not None)
            for attr in attrs
        }
        self._defaults = {a.name: (a.default, a.type) for a in attrs if a.has_default}

    def read_attrs(self, node: graph_pb2.NodeDef) -> dict[str, Any]:
        """Return the plain values of a node's attributes.

        Raises:
          ValueError: an attribute is missing, of another kind, or not allowed.
        """
        attrs: dict[str, Any] = {}
        fields = self._fields
        num_declared = 0
        for name, message in node.attr.items():
            expected = fields.get(name)
            if expected is None:
                attrs[name] = undeclared_attr(message)
                continue
            num_declared += 1
            kind = message.WhichOneof("value")
            if kind != expected[0]:
                attrs[name] = self._odd_value(node, name, message, kind)
                continue
            if kind == "type":
                value: Any = _DTYPES.get(message.type)
                if value is None:
                    raise self._attr_error(
                        node, f"AttrValue has invalid DataType enum: {message.type}", name
                    )
                if value.is_ref_dtype:
                    word = node_text.type_word(value)
                    text = f"AttrValue must not have reference type value of {word}"
                    raise self._attr_error(node, text, name)
            elif kind in _PLAIN:
                value = getattr(message, kind)
            else:
                try:
                    value = decode_attr(message)
                except (errors.InvalidArgumentError, ValueError) as error:
                    raise self._attr_error(node, str(error), name) from error
                if kind == "list":
                    found = kind_of_list(message.list)
                    wanted = expected[1].type
                    if found is not None and found != wanted:
                        text = f"AttrValue had value with type '{found}' when '{wanted}' expected"
                        raise self._attr_error(node, text, name)
            if expected[2]:
                check_allowed(self.plan.op_def, node.name, expected[1], value)
            attrs[name] = value
        if num_declared < len(fields):
            self._fill_in(node, attrs)
        return attrs

    def _fill_in(self, node: graph_pb2.NodeDef, attrs: dict[str, Any]) -> None:
        """Set missing attributes to their defaults, in the message, too."""
        check_required(self.plan.op_def, node.name, attrs)
        for name, (default, attr_type) in self._defaults.items():
            if name not in attrs:
                attrs[name] = default
                if default is not None:
                    node.attr[name].CopyFrom(encode_attr(default, attr_type))

    def types(
        self, node: graph_pb2.NodeDef, attrs: dict[str, Any]
    ) -> tuple[Sequence[DType], Sequence[DType]]:
        """Return the dtypes of a node's inputs and outputs."""
        deciding = self.plan.deciding
        if len(deciding) == 1:
            key = attrs[deciding[0]]
            if type(key) is list:
                key = tuple(key)
        else:
            key = tuple(
                [tuple(v) if type(v) is list else v for v in [attrs[name] for name in deciding]]
            )
        found = self.plan.types.get(key)
        if found is None:
            op_def = self.plan.op_def
            check_list_lengths(op_def, node.name, attrs)
            found = tuple(op_def.input_types(attrs)), tuple(op_def.output_types(attrs))
            self.plan.types[key] = found
        return found

    def _odd_value(
        self,
        node: graph_pb2.NodeDef,
        name: str,
        message: attr_value_pb2.AttrValue,
        kind: str | None,
    ) -> Any:
        """Return an attribute whose message holds no value, or one of an unexpected kind."""
        attr_def = self._fields[name][1]
        if kind is None and attr_def.type.startswith("list("):
            return []
        if kind is None and attr_def.has_default:
            if attr_def.default is not None:
                message.CopyFrom(encode_attr(attr_def.default, attr_def.type))
            return attr_def.default
        if kind is None or kind == "placeholder":
            found = "" if kind is None else f" found the placeholder '{message.placeholder}'"
            text = f"AttrValue missing value with expected type '{attr_def.type}'{found}"
        else:
            word = _KIND_WORDS[kind]
            text = f"AttrValue had value with type '{word}' when '{attr_def.type}' expected"
        raise self._attr_error(node, text, name)

    def _attr_error(self, node: graph_pb2.NodeDef, text: str, name: str) -> ValueError:
        return ValueError(
            f"{text}\n\t for attr '{name}'\n\t; NodeDef: {{{{node {node.name}}}}}; "
            f"{node_text.op_def_text(self.plan.op_def)}"
        )


_PLAIN = frozenset("ifbs")
_KIND_WORDS = {
    "i": "int",
    "f": "float",
    "b": "bool",
    "s": "string",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
    "list": "list",
}


def _all_dtypes() -> dict[int, DType]:
    found = {}
    for base in range(1, 34):
        for number in (base, base + 100):
            found[number] = as_dtype(number)
    return found


_DTYPES = _all_dtypes()
