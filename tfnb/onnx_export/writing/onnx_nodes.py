"""The graph that is written: nodes of ONNX as plain objects, until ``model_proto.py`` writes them.

A value is the name of a tensor or a sequence. Bodies of If and Loop are :class:`Body` objects in
the attributes of their node, and may read the values around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.process.records import field, record
from tfnb.core.shape_inference import SCALAR_SHAPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tfnb.core.tensor_shape import TensorShape


@record(frozen=True, slots=True)
class Kind:
    """The type of a value.

    Attributes:
      dtype: the type of its elements.
      is_sequence: whether it is a sequence of tensors.
      is_gradient: whether the sequence is the gradient of a tensor array or a list: writes add to
        its elements, and it may be empty where nothing was added.
    """

    dtype: Any
    is_sequence: bool = False
    is_gradient: bool = False


@record(slots=True, eq=False)
class OnnxNode:
    """A node.

    Attributes:
      op: its operator.
      inputs: its inputs; "" is one that is left out.
      outputs: its outputs.
      attrs: its attributes: numbers, text, lists, arrays, or bodies.
      origin: the TensorFlow node that it belongs to.
    """

    op: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any] = field(default_factory=dict)
    origin: str = ""

    def bodies(self) -> Iterator[Body]:
        """Return the bodies of an If or a Loop."""
        return (one for one in self.attrs.values() if isinstance(one, Body))


@record(slots=True, eq=False)
class Body:
    """A graph, or the body of a node.

    Attributes:
      nodes: the nodes in a topological order.
      inputs: the inputs with their types.
      outputs: the outputs.
    """

    nodes: list[OnnxNode] = field(default_factory=list)
    inputs: list[tuple[str, Kind]] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def reads(self) -> set[str]:
        """Return all values that the nodes and the outputs read, with those of inner bodies."""
        found = set(self.outputs)
        for node in self.nodes:
            found.update(node.inputs)
            for body in node.bodies():
                found |= body.reads()
        return found


@record(slots=True, eq=False)
class OnnxGraph:
    """The whole graph.

    Attributes:
      body: its nodes, inputs and outputs.
      initializers: the values of constants.
      kinds: value -> its type, where the type is known.
      shapes: the shapes of inputs and outputs.
      opset: the version of the operators.
    """

    opset: int
    body: Body = field(default_factory=Body)
    initializers: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)
    shapes: dict[str, TensorShape] = field(default_factory=dict)


def loop_body(graph: OnnxGraph, names: Names) -> tuple[Body, str, str]:
    """Return a body for a Loop with its first inputs: the number of the turn, and whether to go on.

    Args:
      graph: the whole graph.
      names: makes the names of the inputs.
    """
    turn, going = names.new("turn"), names.new("goes_on")
    body = Body()
    for name, dtype in ((turn, dtypes.int64), (going, dtypes.bool)):
        graph.kinds[name] = Kind(dtype)
        graph.shapes[name] = SCALAR_SHAPE
        body.inputs.append((name, graph.kinds[name]))
    return body, turn, going


class Names:
    """A maker of names that are used once."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {"": 0}

    def new(self, wanted: str) -> str:
        """Return a name that begins with the wanted one."""
        text = wanted.encode("utf-8", "replace").decode()
        if text not in self._taken:
            self._taken[text] = 0
            return text
        while True:
            self._taken[text] += 1
            found = f"{text}__{self._taken[text]}"
            if found not in self._taken:
                self._taken[found] = 0
                return found


class Writer:
    """Adds nodes to a body.

    Attributes:
      graph: the whole graph.
      body: where nodes are added.
      origin: the name of the TensorFlow node that is converted.
    """

    def __init__(self, graph: OnnxGraph, names: Names) -> None:
        self.graph = graph
        self.names = names
        self.body = graph.body
        self.origin = ""
        self._constants: dict[tuple[Any, ...], str] = {}

    def add(
        self, op: str, inputs: Sequence[str], attrs: dict[str, Any] | None = None, outputs: int = 1
    ) -> list[str]:
        """Add a node; return its outputs."""
        made = [self.names.new(f"{self.origin}:{op}") for _ in range(outputs)]
        self.body.nodes.append(OnnxNode(op, list(inputs), made, attrs or {}, self.origin))
        return made

    def constant(self, value: Any) -> str:
        """Return the name of a constant; equal small ones share it."""
        array = np.ascontiguousarray(value).reshape(np.shape(value))
        key: tuple[Any, ...] = (id(value),)
        if array.size <= 64 and array.dtype != object:
            key = (str(array.dtype), array.shape, array.tobytes())
            if key in self._constants:
                return self._constants[key]
        name = self.names.new(f"{self.origin or 'constant'}:value")
        self.graph.initializers[name] = array
        if len(key) > 1:
            self._constants[key] = name
        return name

    def inside(self, body: Body) -> Inside:
        """Return a context in which nodes are added to a body."""
        return Inside(self, body)


class Inside:
    """A context in which a writer adds to another body."""

    def __init__(self, writer: Writer, body: Body) -> None:
        self._writer, self._body = writer, body
        self._before = writer.body

    def __enter__(self) -> Body:
        self._before, self._writer.body = self._writer.body, self._body
        return self._body

    def __exit__(self, *_: object) -> None:
        self._writer.body = self._before


def close_body(writer: Writer, body: Body, outputs: Iterable[str]) -> None:
    """Set the outputs of a body, which must be made inside of it, each once."""
    made = {name for node in body.nodes for name in node.outputs}
    for name in outputs:
        if name not in made or name in body.outputs:
            kind = writer.graph.kinds.get(name)
            with writer.inside(body):
                [name] = writer.add("Identity", [name])
            if kind is not None:
                writer.graph.kinds[name] = kind
        body.outputs.append(name)
