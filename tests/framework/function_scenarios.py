"""Programs with functions of the graph, built in the same way with TensorFlow and with tfnb.

Each takes the module ``tf`` and ``kit``, the modules that TensorFlow keeps under
``tensorflow.python`` (``function``, ``functional_ops``), builds into the default graph and returns
the fetches: a tensor or operation, a list of these, None where there is no gradient.
``scripts/oracle/functions.py`` stores TensorFlow's results.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from google.protobuf import text_format

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Kit(NamedTuple):
    """The modules outside of the public ones."""

    function: Any
    functional_ops: Any


class Scenario(NamedTuple):
    """A program and the parts that are compared.

    Attributes:
      program: the program.
      nodes: whether the nodes of the graph are compared.
      functions: whether the functions of its library are.
    """

    program: Callable[[Any, Kit], Any]
    nodes: bool
    functions: bool


SCENARIOS: dict[str, Scenario] = {}


def scenario(nodes: bool = True, functions: bool = True) -> Callable[[Any], Any]:
    """Register a program under its name."""

    def register(program: Callable[[Any, Kit], Any]) -> Callable[[Any, Kit], Any]:
        assert program.__name__ not in SCENARIOS
        SCENARIOS[program.__name__] = Scenario(program, nodes, functions)
        return program

    return register


# ------------------------------------------------------------------------------ what is compared

# Numbers of a counter in the process.
_SERIAL = re.compile(r"(true|false|cond|body|branch\d+|grad)_\d+")


def _text(message: Any) -> str:
    # Types beyond dtypes are not compared.
    for node in getattr(message, "node_def", [message]):
        if hasattr(node, "experimental_type"):
            node.ClearField("experimental_type")
    for argument in (
        [*message.signature.input_arg, *message.signature.output_arg]
        if hasattr(message, "signature")
        else []
    ):
        argument.ClearField("experimental_full_type")
    return _SERIAL.sub(r"\1_N", text_format.MessageToString(message))


def _node_text(node: Any) -> str:
    # TensorFlow marks control inputs in any graph, tfnb in functions only.
    if "_has_manual_control_dependencies" in node.attr:
        del node.attr["_has_manual_control_dependencies"]
    return _text(node)


def graph_texts(graph: Any) -> dict[str, list[str]]:
    """The nodes and the functions of a graph, as text."""
    message = graph.as_graph_def()
    return {
        "nodes": [_node_text(node) for node in message.node],
        "functions": sorted(_text(function) for function in message.library.function),
        "gradients": sorted(_text(gradient) for gradient in message.library.gradient),
    }


def flat(result: Any) -> list[Any]:
    """Return the result of a program as a list."""
    if isinstance(result, (list, tuple)):
        return [one for part in result for one in flat(part)]
    return [result]


def values_of(tf: Any, graph: Any, result: Any) -> list[Any]:
    """Return the value of each fetch, None for None; or the class of the error."""
    fetches = flat(result)
    wanted = [one for one in fetches if one is not None]
    with tf.Session(graph=graph) as session:
        try:
            if tf.global_variables():
                session.run(tf.global_variables_initializer())
            values = iter(session.run(wanted))
        except Exception as error:
            return [type(error).__name__]
    return [None if one is None else _plain(next(values)) for one in fetches]


def _plain(value: Any) -> Any:
    if hasattr(value, "dense_shape"):
        return [_plain(value.values), _plain(value.indices)]
    if value is None:
        return "ran"
    if isinstance(value, bytes):
        return value.decode()
    array = np.asarray(value)
    if array.dtype == object:
        return [one.decode() for one in array.ravel()]
    return array.tolist()


def answer_of(tf: Any, kit: Kit, name: str) -> dict[str, Any]:
    """Return everything that is compared of a program."""
    case = SCENARIOS[name]
    with tf.Graph().as_default() as graph:
        try:
            result = case.program(tf, kit)
        except Exception as error:
            return {"error": type(error).__name__}
        texts = graph_texts(graph)
        answer: dict[str, Any] = {"values": values_of(tf, graph, result)}
        if case.nodes:
            answer["nodes"] = texts["nodes"]
        if case.functions:
            answer["functions"] = texts["functions"]
            answer["gradients"] = texts["gradients"]
        return answer


def names(scenarios: Iterable[str]) -> list[str]:
    """Return the sorted names, for parametrization."""
    return sorted(scenarios)
