"""Names and objects to operations and tensors; most of it says what was wrong with a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph
    from tfnb.framework.traceback_of_user import CreationSite


def find_element(graph: Graph, obj: Any, allow_tensor: bool, allow_operation: bool) -> Any:
    """The tensor or operation that ``obj`` is or names; see ``Graph.as_graph_element``."""
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


def stranger_text(element: Any, graph: Graph) -> str:
    """Where an element of another graph is from, and how to go on.

    Args:
      element: a Tensor or Operation.
      graph: the graph that it is not in.
    """
    op = element.op if isinstance(element, Tensor) else element
    theirs: Graph = op.graph
    site = op.creation_site
    made = f"'{op.name}' was made {_at(site)}" if site is not None else f"'{op.name}' was made"
    if theirs._is_former:
        return f"{made}, and left its graph when that ran again: take what it has made then."
    default = get_default_graph()
    lines = [
        f"{made}, in a graph of {_graph_text(theirs, default)}.",
        f"This graph has {_graph_text(graph, default)}.",
        f"Make '{op.name}' again inside this graph, or run it in a session of its own graph: "
        "tf.Session(graph=x.graph).",
    ]
    return "\n".join(lines)


def _graph_text(graph: Graph, default: Graph) -> str:
    operations = graph._operations
    count = len(operations)
    text = f"{count:,} operation{'' if count == 1 else 's'}"
    site = operations[0].creation_site if operations else None
    if site is not None:
        text += f", the first made {_at(site)}"
    return text + ("; it is the default one here" if graph is default else "")


def _at(site: CreationSite) -> str:
    return f"{'at' if site.cell is None else 'in'} {site}"


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
