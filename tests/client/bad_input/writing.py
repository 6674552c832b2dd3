"""How a wrong graph is written down: NodeDefs as text, and the table of cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from google.protobuf import text_format

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Case(NamedTuple):
    """One mistake, and the node that its error must name."""

    do: Callable[[Any, Any], Any]
    node: str


CASES: dict[str, Case] = {}


def case(node: str = "") -> Callable[[Callable[[Any, Any], Any]], Callable[[Any, Any], Any]]:
    """Adds a function to the table under its own name."""

    def add(do: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        assert do.__name__ not in CASES
        CASES[do.__name__] = Case(do, node)
        return do

    return add


FLOAT, INT, LONG, BOOL, STRING = (
    f"type: DT_{name}" for name in ("FLOAT", "INT32", "INT64", "BOOL", "STRING")
)


def node(name: str, op: str, *inputs: str, device: str = "", **attrs: str) -> str:
    """One NodeDef as text; attributes as the text of an AttrValue."""
    quoted = "".join(f" input: {_quoted(one)}" for one in inputs)
    pairs = "".join(f" attr {{ key: '{k}' value {{ {v} }} }}" for k, v in attrs.items())
    place = f" device: '{device}'" if device else ""
    return f"node {{ name: {_quoted(name)} op: '{op}'{quoted}{place}{pairs} }}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def const(name: str, dtype: str, value: str, shape: Sequence[int] = ()) -> str:
    """A Const; ``value`` is the text of a TensorProto's list, like ``int_val: 3``."""
    dims = " ".join(f"dim {{ size: {size} }}" for size in shape)
    tensor = f"dtype: {dtype[6:]} tensor_shape {{ {dims} }} {value}"
    return node(name, "Const", dtype=dtype, value=f"tensor {{ {tensor} }}")


def placeholder(name: str, dtype: str) -> str:
    """A placeholder of any shape."""
    return node(name, "Placeholder", dtype=dtype, shape="shape { unknown_rank: true }")


def load(tf: Any, *nodes: str, **options: Any) -> None:
    """Imports nodes under their own names."""
    message = tf.GraphDef()
    for one in nodes:
        message.MergeFrom(text_format.Parse(one, tf.GraphDef()))
    tf.import_graph_def(message, name="", **options)


def run_nodes(
    tf: Any, sess: Any, fetches: Any, *nodes: str, feeds: Mapping[str, Any] | None = None
) -> Any:
    """Imports nodes and runs some."""
    load(tf, *nodes)
    return sess.run(fetches, feeds or {})


_DTYPES = {
    np.dtype("float32"): FLOAT,
    np.dtype("int32"): INT,
    np.dtype("int64"): LONG,
    np.dtype("bool"): BOOL,
    np.dtype("object"): STRING,
}
_KERNEL_INPUTS = "abcdefgh"


def run_kernel(tf: Any, sess: Any, op: str, values: Sequence[Any], **attrs: str) -> Any:
    """Run one op named ``bad`` on values that cannot be checked before the step."""
    arrays = [np.asarray(value) for value in values]
    feeds = {f"{name}:0": array for name, array in zip(_KERNEL_INPUTS, arrays)}
    nodes = [placeholder(n, _DTYPES[a.dtype]) for n, a in zip(_KERNEL_INPUTS, arrays)]
    nodes.append(node("bad", op, *_KERNEL_INPUTS[: len(arrays)], **attrs))
    return run_nodes(tf, sess, "bad:0", *nodes, feeds=feeds)


def ints(*values: int) -> Any:
    """An int32 vector."""
    return np.array(values, np.int32)


def floats(*shape: int) -> Any:
    """A float32 array of zeros."""
    return np.zeros(shape, np.float32)


def numbers(*values: int) -> str:
    """The text of a list attribute."""
    return "list { " + " ".join(f"i: {value}" for value in values) + " }"


def text(value: str) -> str:
    """The text of a string attribute."""
    return f"s: '{value}'"
