"""The dtypes of a node's inputs and outputs, looked up instead of computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tfnb.core.dtypes import DType
    from tfnb.core.op_def import OpDef
    from tfnb.core.op_registry import OpDefinition


class SignatureCache:
    """Input and output dtypes by op and the attributes that decide them; grows, never shrinks.

    Graphs made from each other share one cache, so that a thousand equal ``MatMul`` nodes look
    their types up.
    """

    __slots__ = ("_deciding", "_types", "accepted")

    def __init__(self) -> None:
        self.accepted: set[Any] = set()
        self._deciding: dict[OpDefinition, tuple[str, ...]] = {}
        self._types: dict[Any, tuple[tuple[DType, ...], tuple[DType, ...]]] = {}

    def types(
        self, definition: OpDefinition, attrs: Mapping[str, Any]
    ) -> tuple[tuple[DType, ...], tuple[DType, ...]]:
        """Return the input and output dtypes of a node.

        Raises:
          KeyError: an attribute that decides them is missing.
        """
        deciding = self._deciding.get(definition)
        if deciding is None:
            deciding = self._deciding[definition] = _deciding_attrs(definition.op_def)
        if len(deciding) == 1:
            value = attrs[deciding[0]]
            key: Any = (definition, tuple(value) if type(value) is list else value)
        else:
            key = (definition, *(_hashable(attrs[name]) for name in deciding))
        found = self._types.get(key)
        if found is None:
            op_def = definition.op_def
            found = tuple(op_def.input_types(attrs)), tuple(op_def.output_types(attrs))
            self._types[key] = found
        return found


def _deciding_attrs(op_def: OpDef) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for arg in (*op_def.inputs, *op_def.outputs):
        for name in (arg.type_attr, arg.number_attr, arg.type_list_attr):
            if name:
                names[name] = None
    return tuple(names)


def _hashable(value: Any) -> Any:
    return tuple(value) if type(value) is list else value
