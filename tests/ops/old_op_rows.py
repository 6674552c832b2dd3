"""Ops that only old graphs may contain.

Rows run with TensorFlow and with tfnb, in an old GraphDef.

Both refuse to build these ops today, so a row is a GraphDef of an old version.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests import exact_numbers
from tests.ops.samples import Sample, integers, normal, op

_WELL = normal(2, 3, 3).astype(np.float64) + 3 * np.eye(3)
_POSITIVE = exact_numbers.matmul(_WELL, _WELL.swapaxes(-1, -2))
_LOWER = exact_numbers.cholesky(_POSITIVE)
_VOLUME = {"strides": [1, 2, 1, 1, 1], "padding": "SAME"}
_ARRAYS = normal(1, 4, 5, 3, 2), normal(2, 3, 2, 2, 3), normal(1, 2, 5, 3, 3)

ROWS: list[Sample] = [
    op("BatchCholesky", _POSITIVE),
    op("BatchCholeskyGrad", _LOWER, normal(2, 3, 3).astype(np.float64)),
    op("BatchMatrixBandPart", normal(2, 3, 4), np.int64(1), np.int64(0)),
    op("BatchMatrixDeterminant", _WELL),
    op("BatchMatrixDiag", normal(2, 3)),
    op("BatchMatrixDiagPart", integers(2, 3, 4)),
    op("BatchMatrixInverse", _WELL),
    op("BatchMatrixInverse", _WELL, adjoint=True),
    op("BatchMatrixSetDiag", normal(2, 3, 3), normal(2, 3)),
    op("BatchMatrixSolve", _WELL, normal(2, 3, 2).astype(np.float64)),
    op("BatchMatrixSolveLs", _WELL, normal(2, 3, 2).astype(np.float64), np.float64(0.5)),
    op("BatchMatrixTriangularSolve", _WELL, normal(2, 3, 2).astype(np.float64)),
    op("BatchSelfAdjointEigV2", _POSITIVE, compute_v=False),
    op("BatchSvd", _WELL, compute_uv=False),
    op("MatrixExponential", _WELL),
    op("MatrixExponential", np.zeros((2, 2), np.float32)),
    op("MatrixExponential", (_WELL * (2 + 1j)).astype(np.complex128)),
    op("AdjustContrast", normal(2, 3, 4, 3), 2.0, -1.0, 1.5),
    op("AdjustContrast", integers(3, 4, 3, low=0, high=200).astype(np.uint8), 1.5, 0.0, 255.0),
    *(
        op("RandomCrop", normal(9, 12, 2), np.array([3, 4]), seed=seed, seed2=7)
        for seed in range(3)
    ),
    op("RandomCrop", normal(9, 4, 2), np.array([3, 4]), seed=4, seed2=7),
    op("RandomCrop", normal(9, 4, 2), np.array([9, 5]), seed=4, seed2=7),
    op("Conv3DBackpropInput", *_ARRAYS, **_VOLUME),
    op("Conv3DBackpropFilter", *_ARRAYS, **_VOLUME),
    op("SelfAdjointEig", np.diag([1.0, 4.0, 2.0])),
    op("BatchSelfAdjointEig", np.zeros((2, 0, 0))),
]


def run(tf: Any, row: Sample) -> list[Any]:
    """Return the outputs of the op, in a GraphDef from before its removal.

    Raises:
      OpError: the kernel refuses the inputs.
    """
    with tf.Graph().as_default() as constants:
        for index, value in enumerate(row.inputs):
            tf.constant(value, name=f"input{index}")
    graph_def = constants.as_graph_def()
    graph_def.versions.producer = 1
    node = graph_def.node.add(name="node", op=row.op)
    node.input.extend(f"input{index}" for index in range(len(row.inputs)))
    first = graph_def.node[0].attr["dtype"].type
    node.attr["key_dtype" if "Table" in row.op else "T"].type = first
    for name, value in row.attrs.items():
        if isinstance(value, str):
            node.attr[name].s = value.encode()
        elif isinstance(value, list):
            node.attr[name].list.i.extend(value)
        elif isinstance(value, bool):
            node.attr[name].b = value
        else:
            node.attr[name].i = value
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        found: list[Any] = session.run(graph.get_operation_by_name("node").outputs)
    return found
