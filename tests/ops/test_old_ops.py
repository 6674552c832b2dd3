"""Ops that only old graphs may contain compute TensorFlow's results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.ops import old_op_rows
from tests.ops.samples import Sample, op


@cache
def _stored() -> dict[str, Any]:
    with np.load(Path(__file__).parents[1] / "golden" / "old_ops.npz") as stored:
        return {name: stored[name] for name in stored.files}


@pytest.mark.parametrize("row", old_op_rows.ROWS, ids=Sample.key)
def test_values_are_tensorflows(row: Sample) -> None:
    """Values of every output are equal, or the class of the error."""
    wanted = {k: v for k, v in _stored().items() if k.startswith(f"{row.key()}:")}
    assert wanted
    if f"{row.key()}:error" in wanted:
        with pytest.raises(tf.OpError) as caught:
            old_op_rows.run(tf, row)
        assert type(caught.value).__name__ == str(wanted[f"{row.key()}:error"])
        return
    found = old_op_rows.run(tf, row)
    assert len(found) == len(wanted)
    for index, value in enumerate(found):
        stored = wanted[f"{row.key()}:{index}"]
        assert np.asarray(value).dtype == stored.dtype
        tight = stored.dtype.itemsize > 4
        rtol, atol = (1e-9, 1e-12) if tight else (1e-5, 1e-6)
        np.testing.assert_allclose(value, stored, rtol=rtol, atol=atol)


def test_a_new_graph_may_not_hold_them() -> None:
    """The error suggests a replacement, as in TensorFlow."""
    with tf.Graph().as_default(), pytest.raises(NotImplementedError, match="Use MatrixInverse"):
        tf.raw_ops.BatchMatrixInverse(input=[[[1.0]]])


def test_fourier_transforms_of_old_graphs_have_no_kernel() -> None:
    """A graph with them can be imported; running them is refused."""
    row = op("BatchFFT", np.zeros((2, 3), np.complex64))
    with pytest.raises(tf.OpError, match="BatchFFT"):
        old_op_rows.run(tf, row)


def test_a_dense_table_of_an_old_graph_reserves_one_key() -> None:
    """It has an empty key and no deleted key."""
    with tf.Graph().as_default():
        handle = tf.raw_ops.MutableDenseHashTable(
            empty_key=np.int64(-1), value_dtype=tf.string, shared_name="table"
        )
        insert = tf.raw_ops.LookupTableInsert(
            table_handle=handle, keys=np.array([3, 4]), values=["a", "b"]
        )
        with tf.control_dependencies([insert]):
            found = tf.raw_ops.LookupTableFind(
                table_handle=handle, keys=np.array([4, 5]), default_value="none"
            )
            size = tf.raw_ops.LookupTableSize(table_handle=handle)
        wrong = tf.raw_ops.LookupTableInsert(table_handle=handle, keys=np.array([-1]), values=["a"])
        with tf.Session() as session:
            assert session.run(found).tolist() == [b"b", b"none"]
            assert session.run(size) == 2
            with pytest.raises(tf.errors.InvalidArgumentError, match="empty_key"):
                session.run(wrong)


def _old_graph() -> tf.Graph:
    graph, graph_def = tf.Graph(), tf.GraphDef()
    graph_def.versions.producer = 1
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    return graph


@pytest.mark.parametrize("suffix", ["", "V2"])
def test_gradients_go_through_tensor_arrays_of_old_graphs(suffix: str) -> None:
    """Writes and reads, scatters and gathers, splits and concatenations are differentiated."""

    def build(name: str, **attrs: Any) -> Any:
        return getattr(tf.raw_ops, f"TensorArray{name}{suffix}")(**attrs)

    with _old_graph().as_default(), tf.Session() as session:
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        start = tf.constant(0.0)
        sums = []
        for kind in range(3):
            handle = build("", size=2, dtype=tf.float32, dynamic_size=True, clear_after_read=False)
            if kind == 0:
                flow = start
                for index in range(2):
                    flow = build("Write", handle=handle, index=index, value=x[index], flow_in=flow)
                rows = [
                    build("Read", handle=handle, index=index, flow_in=flow, dtype=tf.float32)
                    for index in (1, 0, 1)
                ]
                sums.append(rows[0] * 2.0 + rows[1] * 3.0 + rows[2])
            elif kind == 1:
                flow = build("Scatter", handle=handle, indices=[1, 0], value=x, flow_in=start)
                rows = build(
                    "Gather", handle=handle, indices=[0, 1], flow_in=flow, dtype=tf.float32
                )
                sums.append(rows * [[5.0], [7.0]])
            else:
                lengths = np.array([1, 1])
                flow = build("Split", handle=handle, value=x, lengths=lengths, flow_in=start)
                rows, _ = build("Concat", handle=handle, flow_in=flow, dtype=tf.float32)
                sums.append(rows**2)
        grads = [session.run(tf.gradients(y, x)[0]).tolist() for y in sums]
    assert grads == [[[3, 3], [3, 3]], [[7, 7], [5, 5]], [[2, 4], [6, 8]]]
