"""Freezing inside functions: bodies that take the handle of a variable get its value instead.

A node that calls functions (If, While, PartitionedCall ...) and gets a value for a handle calls
copies of them, named ``..._frozen``, with another type for that argument. In the copies
ReadVariableOp becomes Identity, and so on; calls of further functions are rewritten in this way,
too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_util import make_tensor_proto

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import TensorLike

# Op -> (attribute with the types of arguments, inputs before them, attributes with functions)
_CALLS: dict[str, tuple[str, int, tuple[str, ...]]] = {
    "If": ("Tin", 1, ("then_branch", "else_branch")),
    "StatelessIf": ("Tin", 1, ("then_branch", "else_branch")),
    "Case": ("Tin", 1, ("branches",)),
    "StatelessCase": ("Tin", 1, ("branches",)),
    "While": ("T", 0, ("cond", "body")),
    "StatelessWhile": ("T", 0, ("cond", "body")),
    "PartitionedCall": ("Tin", 0, ("f",)),
    "StatefulPartitionedCall": ("Tin", 0, ("f",)),
}
_LOOPS = frozenset(("While", "StatelessWhile"))


def is_call(op: str) -> bool:
    """Return whether an op calls functions with its inputs."""
    return op in _CALLS


def outputs_of_call(op: str, inputs: Iterable[int]) -> list[int]:
    """Return the outputs of a call that are handles from its inputs: those of a loop."""
    return list(inputs) if op in _LOOPS else []


class FunctionFreezer:
    """A rewriter that makes the copies of a library's functions.

    Attributes:
      made: the copies.
    """

    def __init__(self, library: Any) -> None:
        self._functions = {function.signature.name: function for function in library.function}
        self._names: dict[tuple[str, tuple[tuple[int, DType], ...]], str] = {}
        # Copies with a result that was the handle of a variable.
        self._returning: set[str] = set()
        self.made: list[TensorLike] = []

    def rewrite_call(self, node: Any, types: Mapping[int, DType]) -> None:
        """Make a node call functions that take values.

        Args:
          node: the node, which is changed.
          types: number of an input -> the type of the value that replaces a handle.
        """
        attr, before, function_attrs = _CALLS[node.op]
        arguments = {position - before: dtype for position, dtype in types.items()}
        for position, dtype in arguments.items():
            node.attr[attr].list.type[position] = dtype.as_datatype_enum
            if node.op in _LOOPS and len(node.attr["output_shapes"].list.shape) > position:
                shape = node.attr["output_shapes"].list.shape[position]
                shape.Clear()
                shape.unknown_rank = True
        for name in function_attrs:
            value = node.attr[name]
            for function in value.list.func if value.HasField("list") else [value.func]:
                function.name = self._frozen(function.name, arguments)
                if function.name in self._returning and node.op not in _LOOPS:
                    raise ValueError(
                        f"'{node.name}' ({node.op}) returns the handle of a variable that would "
                        "become a constant; name it in variable_names_blacklist."
                    )
        node.attr.pop("_read_only_resource_inputs", None)

    def _frozen(self, name: str, types: Mapping[int, DType]) -> str:
        key = (name, tuple(sorted(types.items(), key=lambda item: item[0])))
        found = self._names.get(key)
        if found is None:
            found = f"{name}_frozen"
            while found in self._functions or found in self._names.values():
                found += "_"
            self._names[key] = found
            copy = type(self._functions[name])()
            copy.CopyFrom(self._functions[name])
            copy.signature.name = found
            if _Body(copy, types, self).rewrite():
                self._returning.add(found)
            self.made.append(copy)
        return found


class _Body:
    """The copy of one function while it is rewritten; outputs are texts as in a FunctionDef."""

    def __init__(self, function: Any, types: Mapping[int, DType], freezer: FunctionFreezer) -> None:
        self.function = function
        self.freezer = freezer
        self.values: dict[str, DType] = {}
        self.renamed: dict[str, str] = {}
        for position, dtype in types.items():
            argument = function.signature.input_arg[position]
            argument.type = dtype.as_datatype_enum
            del argument.handle_data[:]
            self.values[argument.name] = dtype

    def rewrite(self) -> bool:
        """Rewrite the nodes and the results; return whether a result was a handle."""
        returns_handle = False
        nodes = list(self.function.node_def)
        while any(self._spread(node) for node in nodes):
            pass
        for node in nodes:
            types = self._types(node)
            if types:
                self._rewrite_node(node, types)
        for node in self.function.node_def:
            for position, text in enumerate(node.input):
                node.input[position] = self.renamed.get(text, text)
        for result in self.function.signature.output_arg:
            text = self.function.ret[result.name]
            if text in self.values:
                returns_handle = True
                result.type = self.values[text].as_datatype_enum
                del result.handle_data[:]
            self.function.ret[result.name] = self.renamed.get(text, text)
        return returns_handle

    def _types(self, node: Any) -> dict[int, DType]:
        return {
            position: self.values[text]
            for position, text in enumerate(node.input)
            if text in self.values
        }

    def _spread(self, node: Any) -> bool:
        """Record the outputs of a node that pass a handle on; return whether one is new."""
        types = self._types(node)
        outputs = list(types) if node.op == "Identity" else outputs_of_call(node.op, types)
        known = len(self.values)
        for position in outputs:
            self.values[f"{node.name}:output:{position}"] = types[position]
        return len(self.values) > known

    def _rewrite_node(self, node: Any, types: dict[int, DType]) -> None:
        if is_call(node.op):
            self.freezer.rewrite_call(node, types)
            return
        if node.op == "ReadVariableOp":
            self.renamed[f"{node.name}:value:0"] = f"{node.name}:output:0"
        if not rewrite_reader(node, next(iter(types.values())), self._add_axis):
            raise ValueError(
                f"'{node.name}' ({node.op}) in function '{self.function.signature.name}' needs a "
                "variable that would become a constant; name it in variable_names_blacklist."
            )

    def _add_axis(self, name: str, axis: int) -> str:
        add_scalar(self.function.node_def.add(name=name), axis)
        return f"{name}:output:0"


def rewrite_reader(node: Any, dtype: DType, add_axis: Callable[[str, int], str]) -> bool:
    """Make a node that reads a variable take its value; return False for other nodes.

    Args:
      node: the node, which is changed.
      dtype: the type of the value.
      add_axis: adds a constant with a name and value, and returns the text that refers to it.
    """
    if node.op in ("Identity", "ReadVariableOp"):
        node.op = "Identity"
        node.attr.pop("dtype", None)
        node.attr["T"].type = dtype.as_datatype_enum
        return True
    if node.op not in ("ResourceGather", "ResourceGatherNd"):
        return False
    indices, batch_dims = node.attr["Tindices"].type, node.attr["batch_dims"].i
    nd = node.op == "ResourceGatherNd"
    node.op = "GatherNd" if nd else "GatherV2"
    node.attr.clear()
    node.attr["Tindices"].type = indices
    node.attr["Tparams"].type = dtype.as_datatype_enum
    if nd:
        return True
    node.attr["Taxis"].type = dtypes.int32.as_datatype_enum
    if batch_dims:
        node.attr["batch_dims"].i = batch_dims
    axis = add_axis(f"{node.name}/axis", batch_dims)
    controls = [text for text in node.input if text.startswith("^")]
    inputs = [text for text in node.input if not text.startswith("^")]
    del node.input[:]
    node.input.extend([*inputs, axis, *controls])
    return True


def add_scalar(node: Any, value: int) -> None:
    """Make an empty node an int32 constant."""
    node.op = "Const"
    node.attr["dtype"].type = dtypes.int32.as_datatype_enum
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, dtype=dtypes.int32, shape=()))
