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


@converts("RandomUniformInt")
def random_int(node: NodeToConvert) -> str:
    """Convert a draw of integers."""
    drawn = node.add("RandomUniformLike", _template(node), dtype=onnx_type(dtypes.float64))
    low, high = (node.cast(one, dtypes.float64) for one in node.inputs[1:3])
    wide = node.add("Mul", drawn, node.add("Sub", high, low))
    return node.cast(node.add("Floor", node.add("Add", wide, low)), node.output_dtype())
