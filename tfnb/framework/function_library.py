"""The functions of a graph: bodies that nodes call by name.

A graph's library maps names to objects like :class:`GraphFunction`; the functions that ``Defun``
makes have the same attributes. Functions read from a GraphDef keep their message unchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core import dtypes, errors, op_registry
from tfnb.core.attr_value import NameAttrList
from tfnb.core.op_def_proto import op_def_from_proto
from tfnb.core.op_registry import OpDefinition
from tfnb.core.process.records import replace
from tfnb.core.shape_inference import unknown_shapes
from tfnb.proto import attr_value_pb2, graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.proto import op_def_pb2

# Older readers do not support function libraries.
MIN_CONSUMER_WITH_FUNCTIONS = 12


class LibraryFunction(Protocol):
    """A function in a graph's library, read from a message or defined by Python code."""

    python_grad_func: Any
    is_loaded: bool

    @property
    def name(self) -> str:
        """The name by which nodes call it."""

    @property
    def definition(self) -> graph_pb2.FunctionDef:
        """The FunctionDef message; not changed once the function is in a graph."""

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that is its gradient."""

    def add_to_graph(self, graph: Graph) -> None:
        """Add it, and the functions it needs, to a graph's library."""

    def add_alone_to_graph(self, graph: Graph) -> None:
        """Add it to a graph's library, without the functions it needs."""

    def needed_functions(self) -> Iterable[LibraryFunction]:
        """Return the functions that it calls, and its gradient, as far as they are known."""

    def op_definition(self) -> OpDefinition:
        """Return the definition of an op for nodes that call the function."""


class GraphFunction:
    """A function defined by its message.

    Attributes:
      definition: the FunctionDef message; not changed once the function is in a graph.
      grad_func_name: the name of the function that is its gradient, or None.
      python_grad_func: a Python gradient, or None.
      is_loaded: whether it came from a file; see loaded_nodes.py.
    """

    __slots__ = ("definition", "grad_func_name", "is_loaded", "python_grad_func")

    def __init__(
        self, definition: graph_pb2.FunctionDef, grad_func_name: str | None = None
    ) -> None:
        self.definition = definition
        self.grad_func_name = grad_func_name
        self.python_grad_func: Any = None
        self.is_loaded = False

    @property
    def name(self) -> str:
        """The name by which nodes call it."""
        return self.definition.signature.name

    def add_to_graph(self, graph: Graph) -> None:
        """Add it, and the functions it needs, to a graph's library, unless it is there already."""
        add_with_needed(graph, self)

    def add_alone_to_graph(self, graph: Graph) -> None:
        """Add it to a graph's library, unless it is there already."""
        if not graph._is_function(self.name):
            graph._add_function(self)

    def needed_functions(self) -> Iterable[LibraryFunction]:
        """Return nothing: the file of the function also contains the functions it needs."""
        return ()

    def op_definition(self) -> OpDefinition:
        """Return the definition of an op for nodes that call the function."""
        return function_op_definition(self.definition)

    def __repr__(self) -> str:
        return f"<GraphFunction {self.name}>"


def function_op_definition(definition: graph_pb2.FunctionDef) -> OpDefinition:
    """Return a function's signature as the definition of an op without kernels."""
    op_def = op_def_from_proto(definition.signature)
    found = OpDefinition(
        op_def.name,
        "->",
        (),
        shape=unknown_shapes,
        host_memory=(),
        flags={"stateful": op_def.is_stateful},
    )
    found.op_def = op_def
    return found


def functions_from_library(library: graph_pb2.FunctionDefLibrary) -> list[GraphFunction]:
    """Return the functions of a message, each with a copy of its definition.

    Raises:
      ValueError: a gradient declaration names a function that is not in the message, or an
        argument has a type that does not exist.
    """
    names = {function.signature.name for function in library.function}
    for gradient in library.gradient:
        for name in (gradient.function_name, gradient.gradient_func):
            if name not in names:
                raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef\n{library}")
    gradients = {g.function_name: g.gradient_func for g in library.gradient}
    functions = []
    for definition in library.function:
        copy = graph_pb2.FunctionDef()
        copy.CopyFrom(definition)
        _check_types(copy.signature)
        functions.append(GraphFunction(copy, gradients.get(copy.signature.name)))
    return functions


def _check_types(signature: op_def_pb2.OpDef) -> None:
    for arg in (*signature.input_arg, *signature.output_arg):
        try:
            if arg.type:
                dtypes.as_dtype(arg.type)
            elif not (arg.type_attr or arg.type_list_attr):
                raise ValueError(f"No type fields in argument '{arg.name}' of '{signature.name}'")
        except TypeError:
            raise ValueError(
                f"Argument '{arg.name}' of function '{signature.name}' has the unknown dtype enum "
                f"({arg.type})"
            ) from None


def add_with_needed(graph: Graph, function: LibraryFunction) -> None:
    """Add a function and all that it needs, directly or indirectly, to a graph's library.

    Raises:
      ValueError: a function has two gradients.
      InvalidArgumentError: the graph has another function with one of the names.
    """
    # Visit a function once even if several others call it: the number of paths may double at each
    # level.
    seen: set[int] = set()
    todo = [function]
    while todo:
        function = todo.pop()
        if id(function) not in seen:
            seen.add(id(function))
            function.add_alone_to_graph(graph)
            todo.extend(reversed([*function.needed_functions()]))


def check_function(graph: Graph, function: LibraryFunction) -> None:
    """Refuse a function that cannot be added to a graph.

    Raises:
      ValueError: it has two gradients.
      InvalidArgumentError: an op or another function has its name.
    """
    if function.grad_func_name and getattr(function, "python_grad_func", None):
        raise ValueError(f"Gradient defined twice for function {function.name}")
    if op_registry.find(function.name) is not None:
        raise errors.invalid_argument(
            f"Cannot add function '{function.name}' because an op with the same name already "
            "exists."
        )
    old = graph._functions.get(function.name)
    if old is not None and old is not function and old.definition != function.definition:
        raise errors.invalid_argument(
            f"Cannot add function '{function.name}' because a different function with the same "
            "name already exists."
        )


def add_function(graph: Graph, function: LibraryFunction) -> None:
    """Add a function to a graph's library; adding an equal one again does nothing.

    Raises:
      ValueError: it has two gradients.
      InvalidArgumentError: another function has its name.
    """
    with graph._lock:
        check_function(graph, function)
        graph._functions.setdefault(function.name, function)
        if graph.def_versions.min_consumer < MIN_CONSUMER_WITH_FUNCTIONS:
            graph.def_versions = replace(
                graph.def_versions, min_consumer=MIN_CONSUMER_WITH_FUNCTIONS
            )


def library_to_proto(
    graph: Graph, library: graph_pb2.FunctionDefLibrary, names: Iterable[str] | None = None
) -> None:
    """Return a message with a graph's functions, or with those of the given names."""
    for name in graph._functions if names is None else names:
        function = graph._functions[name]
        library.function.add().CopyFrom(function.definition)
        if function.grad_func_name:
            library.gradient.add(function_name=name, gradient_func=function.grad_func_name)


def needed_function_names(graph: Graph, operations: Iterable[Operation]) -> list[str]:
    """Return the functions that operations need, directly or indirectly, and their gradients.

    They are in the library's order.
    """
    known = graph._functions
    if not known:
        return []
    found: set[str] = set()
    todo: list[str] = []
    for op in operations:
        todo.append(op.type)
        for value in op.attrs.values():
            if isinstance(value, attr_value_pb2.AttrValue):
                todo += _names_in(value)
            elif isinstance(value, NameAttrList | list | tuple):
                todo += _names_called(value)
    while todo:
        name = todo.pop()
        if name in found or name not in known:
            continue
        found.add(name)
        function = known[name]
        if function.grad_func_name:
            todo.append(function.grad_func_name)
        for node in function.definition.node_def:
            todo.append(node.op)
            for attr in node.attr.values():
                todo += _names_in(attr)
    return [name for name in known if name in found]


def _names_called(value: Any) -> Iterable[str]:
    """Yield the functions named in the Python value of an attribute."""
    if isinstance(value, NameAttrList):
        yield value.name
        for one in value.attrs.values():
            yield from _names_called(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _names_called(one)


def _names_in(attr: attr_value_pb2.AttrValue) -> Iterable[str]:
    """Yield the functions named in the message of an attribute."""
    calls = [attr.func] if attr.HasField("func") else attr.list.func
    for call in calls:
        yield call.name
        for one in call.attr.values():
            yield from _names_in(one)
