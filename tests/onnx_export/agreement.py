"""Builds small graphs, converts them, and compares onnxruntime with the session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tfnb as tf
from tfnb.onnx_export.check import difference, run_in_onnxruntime
from tfnb.onnx_export.export import export

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def agree(
    build: Callable[..., Any],
    *arrays: Any,
    shapes: Mapping[int, Any] | None = None,
    opset: int = 18,
    tolerance: float = 1e-5,
) -> Any:
    """Build a graph on placeholders, convert it and compare all its outputs.

    Args:
        build: Takes a placeholder for each array; returns a tensor or several.
        *arrays: The fed values.
        shapes: Number of an array -> the shape of its placeholder, if not that of the array.
        opset: The version of the operators.
        tolerance: The largest difference, relative to the largest value above 1.

    Returns:
        The ``onnx.ModelProto``.
    """
    values = [np.asarray(one) for one in arrays]
    with tf.Graph().as_default() as graph:
        fed = []
        for number, value in enumerate(values):
            shape = (shapes or {}).get(number, value.shape)
            fed.append(tf.placeholder(value.dtype, shape, name=f"in{number}"))
        built = build(*fed)
        outputs = list(built) if isinstance(built, list | tuple) else [built]
        with tf.Session(graph=graph) as session:
            session.run(tf.global_variables_initializer())
            wanted = session.run(outputs, dict(zip(fed, values)))
            names = {f"out{number}": one for number, one in enumerate(outputs)}
            model = export(session, fed, names, opset=opset)
    got = run_in_onnxruntime(model, {f"in{n}": value for n, value in enumerate(values)})
    assert list(got) == list(names)
    for name, one in zip(names, wanted):
        expected, found = np.asarray(one), np.asarray(got[name])
        assert found.dtype == expected.dtype, name
        scale = 1.0
        if expected.dtype.kind == "f":
            scale = float(np.abs(expected[np.isfinite(expected)]).max(initial=1.0))
        apart = difference(expected, found, name)
        assert apart <= tolerance * scale, f"{name}: {apart}\n{found}\n{expected}"
    return model


def ops_of(model: Any) -> list[str]:
    """Return the operators of a model in their order, with those of its bodies."""

    def inside(graph: Any) -> list[str]:
        found = []
        for node in graph.node:
            found.append(node.op_type)
            for attr in node.attribute:
                if attr.HasField("g"):
                    found += inside(attr.g)
        return found

    return inside(model.graph)
