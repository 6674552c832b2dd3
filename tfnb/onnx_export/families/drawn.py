"""Random numbers: drawn by the runtime, from the same distribution, never the same numbers."""

from __future__ import annotations

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts, onnx_type


def _template(node: NodeToConvert) -> str:
    return node.add("ConstantOfShape", node.int64(0), value=np.zeros(1, np.float32))


@converts("RandomUniform", "RandomStandardNormal", "TruncatedNormal")
def random(node: NodeToConvert) -> str:
    """Convert a draw; a truncated normal is clipped at two deviations."""
    seed = int(node.attr("seed", 0) or 0)
    attrs = {"seed": float(seed)} if seed else {}
    op = "RandomUniformLike" if node.op == "RandomUniform" else "RandomNormalLike"
    found = node.add(op, _template(node), dtype=onnx_type(dtypes.float32), **attrs)
    if node.op == "TruncatedNormal":
        found = node.add("Max", found, node.value(-2, np.float32))
        found = node.add("Min", found, node.value(2, np.float32))
    target = node.output_dtype()
    return found if target == dtypes.float32 else node.cast(found, target)


@converts("RandomShuffle")
def shuffle(node: NodeToConvert) -> str:
    """Convert another order of rows: that of drawn numbers."""
    if not node.rank(0):
        return node.inputs[0]
    number = node.add("Slice", node.add("Shape", node.inputs[0]), node.ints(0), node.ints(1))
    keys = node.add("ConstantOfShape", number, value=np.zeros(1, np.float32))
    drawn = node.add("RandomUniformLike", keys, dtype=onnx_type(dtypes.float32))
    order = node.add_many("TopK", 2, drawn, number, sorted=1)[1]
    return node.add("Gather", node.inputs[0], order)


@converts("Multinomial")
def multinomial(node: NodeToConvert) -> str:
    """Convert draws of classes: the largest sum of a logit and a drawn number."""
    number = node.vector(1)
    logits = node.add("Unsqueeze", node.as_type(0, dtypes.float32), node.ints(1))
    shape = node.add("Shape", node.inputs[0])
    rows, classes = (
        node.add("Slice", shape, node.ints(axis), node.ints(axis + 1)) for axis in (0, 1)
    )
    whole = node.add("Concat", rows, number, classes, axis=0)
    template = node.add("ConstantOfShape", whole, value=np.zeros(1, np.float32))
    drawn = node.add(
        "RandomUniformLike", template, dtype=onnx_type(dtypes.float32), low=1e-7, high=1.0
    )
    gumbel = node.add("Neg", node.add("Log", node.add("Neg", node.add("Log", drawn))))
    found = node.add("ArgMax", node.add("Add", logits, gumbel), axis=2, keepdims=0)
    return node.as_output(found)


@converts("RandomUniformInt")
def random_int(node: NodeToConvert) -> str:
    """Convert a draw of integers."""
    drawn = node.add("RandomUniformLike", _template(node), dtype=onnx_type(dtypes.float64))
    low, high = (node.cast(one, dtypes.float64) for one in node.inputs[1:3])
    wide = node.add("Mul", drawn, node.add("Sub", high, low))
    return node.cast(node.add("Floor", node.add("Add", wide, low)), node.output_dtype())
