"""A graph and its steps in plain Python: neither TensorFlow nor tfnb is imported.

One generator serves both: :meth:`Case.fill` writes the nodes into any GraphDef message, and the
rest of a case is names and numbers that pass through JSON unchanged.

* A value is ``[dtype name, shape, flat list]``; strings are str.
* An attribute is ``[kind, value]`` with the kinds of :func:`_set_attr`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

# DataType numbers of the protocol.
DTYPES = {"float32": 1, "int32": 3, "string": 7, "int64": 9, "bool": 10, "resource": 20}

Value = list[Any]


@dataclass(slots=True)
class Node:
    """One NodeDef."""

    name: str
    op: str
    inputs: list[str]
    attrs: dict[str, list[Any]]
    device: str = ""


@dataclass(slots=True)
class Step:
    """One run, or one partial run where there are ``pieces``.

    Attributes:
      feeds: tensor name -> value.
      fetches: tensor names, in any order, perhaps twice.
      targets: names of nodes.
      pieces: (tensors fed, tensors fetched) of each partial run.
    """

    feeds: dict[str, Value]
    fetches: list[str]
    targets: list[str]
    pieces: list[tuple[list[str], list[str]]] | None = None


@dataclass(slots=True)
class Case:
    """A graph and its steps, which run in order in one session.

    Attributes:
      nodes: the graph.
      steps: the script.
      has_state: a failing step leaves variables in an unspecified state.
      is_odd: a front end would not build this graph.
    """

    nodes: list[Node]
    steps: list[Step]
    has_state: bool = False
    is_odd: bool = False
    notes: list[str] = field(default_factory=list)

    def fill(self, graph_def: Any) -> Any:
        """Writes the graph into an empty GraphDef message of any implementation."""
        graph_def.versions.producer = 1000
        for node in self.nodes:
            made = graph_def.node.add(name=node.name, op=node.op, device=node.device)
            made.input.extend(node.inputs)
            for name, (kind, value) in node.attrs.items():
                _set_attr(made.attr[name], kind, value)
        return graph_def

    def to_json(self) -> dict[str, Any]:
        """Something ``json`` writes."""
        return {
            "nodes": [[n.name, n.op, n.inputs, n.attrs, n.device] for n in self.nodes],
            "steps": [asdict(step) for step in self.steps],
            "has_state": self.has_state,
            "is_odd": self.is_odd,
            "notes": self.notes,
        }

    @classmethod
    def from_json(cls, read: dict[str, Any]) -> Case:
        """The inverse of :meth:`to_json`."""
        return cls(
            [Node(*fields) for fields in read["nodes"]],
            [Step(**fields) for fields in read["steps"]],
            read["has_state"],
            read["is_odd"],
            read["notes"],
        )


def array_of(value: Value) -> np.ndarray[Any, Any]:
    """A value as an array; strings as objects."""
    dtype, shape, flat = value
    if dtype == "string":
        array = np.empty(len(flat), object)
        array[:] = [text.encode() for text in flat]
        return array.reshape(shape)
    return np.array(flat, dtype).reshape(shape)


def value_of(array: Any) -> Value:
    """An array, a scalar or bytes as a value."""
    if isinstance(array, bytes | str):
        array = np.array(array, object)
    array = np.asarray(array)
    flat = array.ravel().tolist()
    if array.dtype.kind in "OSU":
        texts = [text.decode() if isinstance(text, bytes) else text for text in flat]
        return ["string", list(array.shape), texts]
    return [array.dtype.name, list(array.shape), flat]


def _set_attr(attr: Any, kind: str, value: Any) -> None:
    if kind == "type":
        attr.type = DTYPES[value]
    elif kind == "types":
        attr.list.type.extend(DTYPES[name] for name in value)
    elif kind == "int":
        attr.i = value
    elif kind == "bool":
        attr.b = value
    elif kind == "text":
        attr.s = value.encode()
    elif kind == "shape":
        _set_shape(attr.shape, value)
    elif kind == "shapes":
        for one in value:
            _set_shape(attr.list.shape.add(), one)
    elif kind == "tensor":
        _set_tensor(attr.tensor, value)
    else:
        raise ValueError(f"An attribute cannot be of the kind {kind!r}.")


def _set_shape(shape: Any, sizes: list[int] | None) -> None:
    if sizes is None:
        shape.unknown_rank = True
        return
    shape.SetInParent()
    for size in sizes:
        shape.dim.add(size=size)


def _set_tensor(tensor: Any, value: Value) -> None:
    dtype, shape, flat = value
    tensor.dtype = DTYPES[dtype]
    _set_shape(tensor.tensor_shape, shape)
    if dtype == "string":
        tensor.string_val.extend(text.encode() for text in flat)
        return
    names = {"float32": "float_val", "int32": "int_val", "int64": "int64_val", "bool": "bool_val"}
    getattr(tensor, names[dtype]).extend(flat)
