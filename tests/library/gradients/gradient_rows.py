"""Rows of gradient_rows.txt: expressions whose gradient nodes are compared with TensorFlow's.

A row is an expression over `tf` and the tensors below; gradients are taken by all differentiable
tensors that it names. TensorFlow's Python reads this file too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

# name -> (dtype, shape); None is an unknown one.
TENSORS: dict[str, tuple[str, list[int | None] | None]] = {
    "x": ("float32", [2, 3]),
    "y": ("float32", [2, 3]),
    "z": ("float32", [2, 3]),
    "v": ("float32", [3]),
    "t3": ("float32", [3]),
    "v4": ("float32", [4]),
    "s": ("float32", []),
    "s1": ("float32", [1]),
    "p": ("float32", [None, 3]),
    "q": ("float32", [None, 3]),
    "u": ("float32", None),
    "w": ("float32", [3, 4]),
    "m": ("float32", [4, 2, 3]),
    "sq": ("float32", [3, 3]),
    "sqs": ("float32", [2, 3, 3]),
    "v3": ("float32", [3, 1]),
    "img": ("float32", [2, 8, 9, 3]),
    "img4": ("float32", [2, 4, 4, 8]),
    "nchw": ("float32", [2, 3, 8, 9]),
    "ker": ("float32", [3, 3, 3, 4]),
    "out": ("float32", [2, 8, 9, 4]),
    "deep": ("float32", [2, 8, 9, 12]),
    "vol": ("float32", [1, 4, 4, 4, 2]),
    "ker3": ("float32", [3, 3, 3, 2, 2]),
    "d": ("float64", [2, 3]),
    "e": ("float64", [2, 3]),
    "c": ("complex64", [2, 3]),
    "g": ("complex64", [2, 3]),
    "i": ("int32", [2, 3]),
    "j": ("int32", [3]),
    "ids": ("int32", [2]),
    "ids3": ("int32", [3]),
    "s32": ("int32", []),
    "b": ("bool", [2, 3]),
}
_SPARSE = "sp"


def rows() -> list[str]:
    """Every expression."""
    return Path(__file__).with_suffix(".txt").read_text().splitlines()


def nodes(tf: Any, row: str) -> dict[str, Any]:
    """Return the graph of a row and its gradients.

    Each node's op and inputs by name, or the error.
    """
    code = compile(row, "<row>", "eval")
    used = set(code.co_names) | {
        name for inner in code.co_consts if hasattr(inner, "co_names") for name in inner.co_names
    }
    with tf.Graph().as_default() as graph:
        names: dict[str, Any] = {
            name: tf.placeholder(dtype, shape, name=name)
            for name, (dtype, shape) in TENSORS.items()
            if name in used
        }
        sources = [
            tensor
            for tensor in names.values()
            if tensor.dtype.is_floating or tensor.dtype.is_complex
        ]
        if _SPARSE in used:
            values = tf.placeholder(tf.float32, [4], name="values")
            names[_SPARSE] = tf.SparseTensor([[0, 0], [0, 2], [1, 1], [1, 2]], values, [2, 3])
            sources.append(values)
        try:
            result = eval(code, {"tf": tf, **names})
            if getattr(result, "dtype", tf.float32).is_complex:
                result = tf.real(result)
            tf.gradients(result, sources)
        except Exception as error:
            return {"error": type(error).__name__}
        return {
            node.name: [node.op, list(node.input), _attrs(node)]
            for node in graph.as_graph_def().node
        }


def _attrs(node: Any) -> dict[str, str]:
    """Return the attrs that are numbers, words, types or lists of these, as text."""
    found = {}
    for name, value in node.attr.items():
        if name in ("_has_manual_control_dependencies", "message"):
            # Later versions of TensorFlow mark nodes for their own statistics, and Python 3 changes
            # this text.
            continue
        kind = value.WhichOneof("value")
        if kind in ("i", "f", "b", "s", "type"):
            found[name] = repr(getattr(value, kind))
        elif kind == "list" and not value.list.shape and not value.list.tensor:
            found[name] = " ".join(str(value.list).split())
    return found
