"""What functions of the public API build: expressions, run with TensorFlow and with tfnb.

A row, one line of api_rows.txt, is an expression over `tf`, `np` and the tensors below.
scripts/oracle/api_rows.py stores in tests/golden/api.json what TensorFlow builds of it: nodes with
names, ops, inputs, and the dtype and shape of the result, or the error. test_api_rows.py compares
tfnb's. This file imports neither library.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

# name -> (dtype, shape); `u` has an unknown shape.
TENSORS: dict[str, tuple[str, list[int | None] | None]] = {
    "x": ("float32", [2, 3]),
    "y": ("float32", [2, 3]),
    "v": ("float32", [3]),
    "s": ("float32", []),
    "i": ("int32", [2, 3]),
    "j": ("int32", [3]),
    "l": ("int64", [3]),
    "b": ("bool", [2, 3]),
    "d": ("float64", [2, 3]),
    "h": ("float16", [2, 3]),
    "c": ("complex64", [2, 3]),
    "w": ("float32", [3, 4]),
    "t": ("string", [2]),
    "u": ("float32", None),
    "p": ("float32", [None, 3]),
    "m": ("float32", [4, 2, 3]),
    "img": ("float32", [2, 8, 9, 3]),
    "ker": ("float32", [3, 3, 3, 4]),
    "ids": ("int32", [2]),
}


def rows() -> list[str]:
    """Every expression."""
    return Path(__file__).with_suffix(".txt").read_text().splitlines()


def describe(tf: Any, expression: str) -> dict[str, Any]:
    """Return the nodes that the expression builds in a separate graph, or its error."""
    with tf.Graph().as_default() as graph:
        names: dict[str, Any] = {
            name: tf.placeholder(dtype, shape, name=name)
            for name, (dtype, shape) in TENSORS.items()
        }
        try:
            result = eval(expression, {"tf": tf, "np": np, **names})
        except Exception as error:
            return {"error": type(error).__name__, "message": str(error)}
        nodes = [
            [node.name, node.op, list(node.input)]
            for node in graph.as_graph_def().node
            if node.name not in TENSORS
        ]
        return {"nodes": nodes, "result": _result(result)}


def _result(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_result(item) for item in value]
    if isinstance(value, dict):
        return {key: _result(value[key]) for key in sorted(value)}
    if hasattr(value, "dense_shape") and hasattr(value, "indices"):
        return [_result(part) for part in (value.indices, value.values, value.dense_shape)]
    if hasattr(value, "dtype") and hasattr(value, "op"):
        rank = value.shape.ndims
        dims = None if rank is None else value.shape.as_list()
        return [value.name, value.dtype.name, dims]
    if hasattr(value, "node_def"):
        return value.name
    return repr(value)
