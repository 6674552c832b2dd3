"""Lookup of operations and tensors by names and objects, with errors that explain a wrong name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.same_graph import assert_same_graph, stranger_text
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.framework.graph import Graph


def find_element(graph: Graph, obj: Any, allow_tensor: bool, allow_operation: bool) -> Any:
    """Return the tensor or operation that ``obj`` is or names; see ``Graph.as_graph_element``."""
    if allow_tensor and allow_operation:
        wanted = "Tensor or Operation"
    elif allow_tensor:
        wanted = "Tensor"
    elif allow_operation:
        wanted = "Operation"
    else:
        raise ValueError("allow_tensor and allow_operation can't both be False.")
    as_graph_element = getattr(obj, "_as_graph_element", None)
    if callable(as_graph_element):
        obj = as_graph_element()
    if isinstance(obj, (str, bytes)):
        name = obj.decode() if isinstance(obj, bytes) else obj
        if ":" in name:
            if not allow_tensor:
                raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {wanted}.")
            return _tensor_by_name(graph, name)
        if not allow_operation:
            raise _operation_where_tensor_wanted(graph, name, wanted)
        return _operation_by_name(graph, name)
    if isinstance(obj, Tensor) and allow_tensor:
        kind = "Tensor"
    elif isinstance(obj, Operation) and allow_operation:
        kind = "Operation"
    else:
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")
    if obj.graph is not graph:
        raise ValueError(
            f"{kind} {_text(obj)} is not an element of this graph.\n{stranger_text(obj, graph)}"
        )
    return obj


def graph_of_inputs(values: Iterable[Any], graph: Graph | None = None) -> Graph:
    """Return the graph that an op on these values belongs to: that of the values, or the default.

    A default graph that builds a function accepts tensors of any graph.

    Args:
      values: tensors, operations, and other values (which are ignored).
      graph: the graph that all must belong to.

    Raises:
      ValueError: the values are of several graphs.
    """
    default = get_default_graph()
    if default._building_function:
        return default
    found = graph
    first: Any = None
    for value in values:
        element = value if isinstance(value, (Tensor, Operation)) else _graph_element_of(value)
        if element is None:
            continue
        if found is None:
            first, found = element, element.graph
        elif first is not None:
            assert_same_graph(first, element)
        elif element.graph is not found:
            raise ValueError(f"{element} is not from the passed-in graph.")
    return default if found is None else found


def _graph_element_of(value: Any) -> Any:
    as_graph_element = getattr(value, "_as_graph_element", None)
    return as_graph_element() if callable(as_graph_element) else None


def _text(element: Tensor | Operation) -> str:
    return str(element) if isinstance(element, Tensor) else repr(element)


def _operation_by_name(graph: Graph, name: str) -> Operation:
    op = graph._nodes_by_name.get(name)
    if op is None:
        raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
    return op


def _tensor_by_name(graph: Graph, name: str) -> Tensor:
    op_name, _, index_text = name.partition(":")
    if not index_text.isdecimal():
        raise ValueError(
            f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor names "
            'must be of the form "<op_name>:<output_index>".'
        )
    op = graph._nodes_by_name.get(op_name)
    if op is None:
        raise KeyError(
            f"The name {name!r} refers to a Tensor which does not exist. The operation, "
            f"{op_name!r}, does not exist in the graph."
        )
    index = int(index_text)
    if index >= len(op.outputs):
        raise KeyError(
            f"The name {name!r} refers to a Tensor which does not exist. The operation, "
            f"{op_name!r}, exists but only has {len(op.outputs)} outputs."
        )
    return op.outputs[index]


def _operation_where_tensor_wanted(graph: Graph, name: str, wanted: str) -> ValueError:
    if name in graph._nodes_by_name:
        what = f"The name {name!r} refers to an Operation, not a {wanted}."
    else:
        what = f"The name {name!r} looks like an (invalid) Operation name, not a {wanted}."
    return ValueError(f'{what} Tensor names must be of the form "<op_name>:<output_index>".')
