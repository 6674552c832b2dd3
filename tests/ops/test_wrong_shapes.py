"""Inputs whose shapes are known only in a run, and wrong: TensorFlow's errors and texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf

SCALAR = np.float32(0.5)
VECTOR = np.array([0.5], np.float32)
BOXES, SCORES, TWO = np.zeros((3, 4), np.float32), np.zeros(3, np.float32), np.int32(2)
IMAGE = np.zeros((1, 4, 4, 1), np.float32)
ONES = np.ones(4, np.int32)
PAIR = np.array([1, 2], np.int32)
CELL = [np.zeros(size, np.float32) for size in ((2, 3), (2, 4), (2, 4), (7, 16), 4, 4, 4, 16)]


def _result(op: str, *values: Any, **attrs: Any) -> Any:
    """Run one node; no shape of its inputs is known when the graph is built."""
    graph_def = tf.GraphDef()
    node = graph_def.node.add(name="out", op=op)
    node.attr["T"].type = tf.float32.as_datatype_enum
    for name, value in attrs.items():
        if isinstance(value, bool):
            node.attr[name].b = value
        elif isinstance(value, str):
            node.attr[name].s = value.encode()
        else:
            node.attr[name].type = value.as_datatype_enum
    feeds = {}
    for number, value in enumerate(values):
        fed = graph_def.node.add(name=f"in{number}", op="Placeholder")
        fed.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        node.input.append(fed.name)
        feeds[f"{fed.name}:0"] = value
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(graph_def, name="")
        return session.run("out:0", feeds)


def _suppression(version: int, position: int) -> tuple[Any, ...]:
    values = [BOXES, SCORES, TWO, *[SCALAR] * {2: 1, 3: 2, 4: 2, 5: 3}[version]]
    values[position] = VECTOR
    return (f"NonMaxSuppressionV{version}", *values)


CASES = [
    *(
        (_suppression(version, position), f"{name} must be 0-D, got shape [1]")
        for version in (2, 3, 4, 5)
        for position, name in ((3, "iou_threshold"), (4, "score_threshold"), (5, "soft_nms_sigma"))
        if position - 1 <= (2, 3, 3, 4)[version - 2]
    ),
    *(
        ((op, VECTOR, np.int32(0), rows, columns, SCALAR), f"{name} must be a scalar")
        for op in ("MatrixDiagV2", "MatrixDiagV3")
        for rows, columns, name in ((PAIR, TWO, "num_rows"), (TWO, PAIR, "num_cols"))
    ),
    (
        ("MatrixSolveLs", np.zeros((3, 2), np.float32), np.zeros((3, 1), np.float32), np.zeros(2)),
        "l2_regularizer must be scalar, got shape [2]",
    ),
    (
        ("MaxPoolV2", IMAGE, np.int32(1), ONES, {"padding": "SAME"}),
        "Sliding window ksize field must specify 4 dimensions",
    ),
    (
        ("MaxPoolGradV2", IMAGE, IMAGE, IMAGE, PAIR, ONES, {"padding": "SAME"}),
        "Sliding window ksize field must specify 4 dimensions",
    ),
    *(
        (
            ("LSTMBlockCell", *(VECTOR if at == place else one for at, one in enumerate(CELL)),
             {"use_peephole": True}),
            f"{name}.dim_size(0) is 1: its shape should be [4]",
        )
        for place, name in ((4, "wci"), (5, "wcf"), (6, "wco"))
    ),
    (
        ("SparseAddGrad", VECTOR, *(np.zeros(2, np.int64),) * 3),
        "Input indices should be matrices but received shapes: [2] and [2] and [2]",
    ),
    (("Fill", np.ones(300, np.int32), SCALAR), "Too many dimensions"),
    (("BroadcastTo", SCALAR, np.ones(300, np.int32)), "Too many dimensions"),
    (("TileGrad", VECTOR, PAIR), "Expected multiples argument to be a vector of length 1"),
    (("TileGrad", VECTOR, np.zeros(1, np.int32)), "but got size 1 and 0"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "text"), CASES)
def test_the_error_says_which_input_has_which_shape(call: tuple[Any, ...], text: str) -> None:
    """The text has no words of NumPy."""
    op, *values = call
    attrs = values.pop() if isinstance(values[-1], dict) else {}
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        _result(op, *values, **attrs)
    assert text in caught.value.message
    assert "TypeError" not in caught.value.message
    assert "ValueError" not in caught.value.message


def test_window_sizes_may_have_any_shape() -> None:
    """As in TensorFlow, which reads them in order."""
    sizes = ONES.reshape(1, 4)
    assert _result("MaxPoolV2", IMAGE, sizes, sizes, padding="SAME").shape == IMAGE.shape


@pytest.mark.parametrize("size", [255, 2**20])
def test_a_shape_with_more_dimensions_than_tensors_have_is_not_known(size: int) -> None:
    """The op fails when it runs; until then no memory is taken for each dimension."""
    with tf.Graph().as_default():
        sizes = tf.placeholder(tf.int32, [size])
        given = tf.constant(np.ones(size, np.int32))
        x = tf.placeholder(tf.float32)
        for made in (
            *(tf.reshape(x, one) for one in (sizes, given)),
            *(tf.fill(one, 1.0) for one in (sizes, given)),
            *(tf.broadcast_to(x, one) for one in (sizes, given)),
            *(tf.transpose(x, one) for one in (sizes,)),
            tf.random_uniform(sizes),
            tf.sparse.to_dense(
                tf.SparseTensor(
                    tf.zeros([0, size], tf.int64), tf.zeros([0]), tf.cast(sizes, tf.int64)
                )
            ),
        ):
            assert made.shape.ndims is None
