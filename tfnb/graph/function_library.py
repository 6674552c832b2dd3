"""The function library of a graph, whose functions can be looked up as ops.

Corresponds to TensorFlow's FunctionLibraryDefinition. A :class:`FunctionDefinition` keeps the
FunctionDef message; :mod:`tfnb.graph.function_body` makes a graph from it when it is called.  A
library in use is never changed: extending a graph makes an extended copy of its library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors, op_registry
from tfnb.core.attr_value import NameAttrList, decode_attr, decode_attrs
from tfnb.core.op_def import MISSING, ArgDef, AttrDef, OpDef
from tfnb.core.op_registry import OpDefinition
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from tfnb.graph.node import Node
    from tfnb.proto import attr_value_pb2, op_def_pb2


class FunctionDefinition(OpDefinition):
    """A function of the library, with the interface of an op for building and placing nodes.

    Attributes:
      function_def: the message that defines it.
      attrs: attributes of the function itself (``_noinline`` and the like).
    """

    __slots__ = ("_called", "attrs", "function_def")

    def __init__(self, function_def: graph_pb2.FunctionDef) -> None:
        signature = op_def_of_signature(function_def.signature)
        super().__init__(
            signature.name,
            "->",
            (),
            shape=None,
            host_memory=(),
            flags={"stateful": signature.is_stateful},
            expensive=False,  # the kernels of its body are measured instead
        )
        self.op_def = signature
        self.function_def = function_def
        self.attrs: Mapping[str, Any] = decode_attrs(function_def.attr)
        self._called: list[str] | None = None

    def called(self) -> list[str]:
        """Return the ops and functions that its nodes may call, each as often as it occurs."""
        if self._called is None:
            found: list[str] = []
            for node_def in self.function_def.node_def:
                found.append(node_def.op)
                found += _function_names_of_protos(node_def.attr.values())
            self._called = found
        return self._called

    def called_by(self, ops: Container[str]) -> list[str]:
        """Return the functions in the attributes of those of its nodes that have these ops."""
        nodes = [node_def for node_def in self.function_def.node_def if node_def.op in ops]
        return [f for node in nodes for f in _function_names_of_protos(node.attr.values())]

    def has_kernel(self, device_type: str, attrs: Mapping[str, Any] | None = None) -> bool:
        """Return True: any device can make a call; its body is placed at the call."""
        return True


class FunctionLibraryDefinition:
    """Functions by name, and the gradient function of each function that has one."""

    __slots__ = ("_functions", "_gradients")

    def __init__(self, library: graph_pb2.FunctionDefLibrary | None = None) -> None:
        self._functions: dict[str, FunctionDefinition] = {}
        self._gradients: dict[str, str] = {}
        if library is not None:
            self.add_library(library)

    def __len__(self) -> int:
        return len(self._functions)

    def __contains__(self, name: str) -> bool:
        return name in self._functions

    def find(self, name: str) -> FunctionDefinition | None:
        """Return the function of that name, or None."""
        return self._functions.get(name)

    def op_definition(self, op: str) -> OpDefinition | None:
        """Return the function of that name as an op, or None."""
        return self._functions.get(op)

    def find_gradient(self, name: str) -> str:
        """Return the name of a function's gradient function, or ""."""
        return self._gradients.get(name, "")

    def names(self) -> list[str]:
        """Return the functions' names, in the order they were added."""
        return list(self._functions)

    def copy(self) -> FunctionLibraryDefinition:
        """Return a library that shares the functions and can be extended independently."""
        twin = FunctionLibraryDefinition()
        twin._functions = dict(self._functions)
        twin._gradients = dict(self._gradients)
        return twin

    def add_function(self, function_def: graph_pb2.FunctionDef) -> None:
        """Add a function; adding an equal one again does nothing.

        Raises:
          InvalidArgumentError: another function or an op has that name.
        """
        name = function_def.signature.name
        found = self._functions.get(name)
        if found is None:
            if op_registry.find(name) is not None:
                raise errors.invalid_argument(
                    f"Cannot add function '{name}' because an op with the same name already exists."
                )
            self._functions[name] = FunctionDefinition(function_def)
        elif found.function_def != function_def:
            raise errors.invalid_argument(
                f"Cannot add function '{name}' because a different function with the same name "
                "already exists."
            )

    def add_gradient(self, function_name: str, gradient_name: str) -> None:
        """Declare one function the gradient of another.

        Raises:
          InvalidArgumentError: the function has another gradient already.
        """
        found = self._gradients.setdefault(function_name, gradient_name)
        if found != gradient_name:
            raise errors.invalid_argument(
                f"Cannot assign gradient function '{gradient_name}' to '{function_name}' because "
                f"it already has gradient function '{found}'"
            )

    def add_library(self, library: graph_pb2.FunctionDefLibrary) -> None:
        """Add all functions and gradients of a message, or none of them.

        Raises:
          InvalidArgumentError: a name has two definitions.
        """
        functions, gradients = dict(self._functions), dict(self._gradients)
        try:
            for function_def in library.function:
                self.add_function(function_def)
            for gradient in library.gradient:
                self.add_gradient(gradient.function_name, gradient.gradient_func)
        except errors.OpError:
            self._functions, self._gradients = functions, gradients
            raise

    def reachable_from(self, nodes: Iterable[Node]) -> FunctionLibraryDefinition:
        """Return the functions that nodes can call, directly or through others."""
        if not self._functions:
            return self
        wanted: dict[str, None] = {}
        waiting: list[str] = []

        def want(names: Iterable[str]) -> None:
            for name in names:
                if name in self._functions and name not in wanted:
                    wanted[name] = None
                    waiting.append(name)

        for node in nodes:
            want([node.op])
            want(_function_names(node.attrs.values()))
        while waiting:
            name = waiting.pop()
            want([self._gradients.get(name, "")])
            want(self._functions[name].called())
        fewer = FunctionLibraryDefinition()
        fewer._functions = {name: self._functions[name] for name in wanted}
        fewer._gradients = {f: g for f, g in self._gradients.items() if f in wanted}
        return fewer

    def sizes(self, name: str) -> tuple[int, int]:
        """Return the number of nodes of a function and all it calls: distinct, and expanded.

        A function that calls itself counts once per path; the recursive call adds nothing.
        """
        expanded: dict[str, int] = {}
        stack = [(name, False)]
        entered: set[str] = set()
        while stack:
            one, is_done = stack.pop()
            function = self._functions.get(one)
            if function is None:
                continue
            if is_done:
                called = function.called()
                expanded[one] = len(function.function_def.node_def) + sum(
                    expanded.get(callee, 0) for callee in called if callee in self._functions
                )
            elif one not in entered:
                entered.add(one)
                stack.append((one, True))
                stack += [(callee, False) for callee in set(function.called())]
        once = sum(len(self._functions[one].function_def.node_def) for one in entered)
        return once, expanded.get(name, 0)

    def to_proto(self) -> graph_pb2.FunctionDefLibrary:
        """Return the library as a message."""
        library = graph_pb2.FunctionDefLibrary()
        library.function.extend(f.function_def for f in self._functions.values())
        for function_name, gradient_name in self._gradients.items():
            library.gradient.add(function_name=function_name, gradient_func=gradient_name)
        return library


def _function_names(values: Iterable[Any]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, NameAttrList):
            found.append(value.name)
            found += _function_names(value.attrs.values())
        elif isinstance(value, list) and value and isinstance(value[0], NameAttrList):
            found += _function_names(value)
    return found


def _function_names_of_protos(values: Iterable[attr_value_pb2.AttrValue]) -> list[str]:
    found: list[str] = []
    for value in values:
        kind = value.WhichOneof("value")
        functions = [value.func] if kind == "func" else value.list.func if kind == "list" else []
        for function in functions:
            found.append(function.name)
            found += _function_names_of_protos(function.attr.values())
    return found


def op_def_of_signature(proto: op_def_pb2.OpDef) -> OpDef:
    """Return a function's signature as the OpDef class that registered ops use."""
    return OpDef(
        proto.name,
        inputs=tuple(_arg_def(arg) for arg in proto.input_arg),
        outputs=tuple(_arg_def(arg) for arg in proto.output_arg),
        attrs=tuple(_attr_def(attr) for attr in proto.attr),
        is_stateful=proto.is_stateful,
        control_outputs=tuple(proto.control_output),
    )


def _arg_def(proto: op_def_pb2.OpDef.ArgDef) -> ArgDef:
    if not (proto.type or proto.type_attr or proto.type_list_attr):
        raise errors.invalid_argument(f"No type fields in argument '{proto.name}' of a function")
    try:
        dtype = dtypes.as_dtype(proto.type) if proto.type else None
    except TypeError:
        raise errors.invalid_argument(
            f"Argument '{proto.name}' of a function has the unknown dtype enum ({proto.type})"
        ) from None
    return ArgDef(
        proto.name,
        type=dtype,
        type_attr=proto.type_attr,
        number_attr=proto.number_attr,
        type_list_attr=proto.type_list_attr,
        is_ref=proto.is_ref,
    )


def _attr_def(proto: op_def_pb2.OpDef.AttrDef) -> AttrDef:
    allowed = decode_attr(proto.allowed_values) if proto.HasField("allowed_values") else ()
    return AttrDef(
        proto.name,
        proto.type,
        default=decode_attr(proto.default_value) if proto.HasField("default_value") else MISSING,
        allowed=tuple(allowed),
        minimum=proto.minimum if proto.has_minimum else None,
    )
