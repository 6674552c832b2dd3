"""Rows of embedding matrices by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

MATRIX = np.arange(20, dtype=np.float32).reshape(10, 2)


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def _parts(count: int, strategy: str) -> list[Any]:
    if strategy == "mod":
        return [MATRIX[start::count] for start in range(count)]
    return list(np.array_split(MATRIX, count))


@pytest.mark.parametrize("strategy", ["mod", "div"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_rows_are_those_of_the_whole_matrix(session: Any, strategy: str, count: int) -> None:
    """The matrix may be divided over any number of parts."""
    ids = [[9, 0, 3], [3, 7, 8]]
    parts = [tf.constant(part) for part in _parts(count, strategy)]
    found = tf.nn.embedding_lookup(parts, ids, partition_strategy=strategy)
    np.testing.assert_array_equal(session.run(found), MATRIX[ids])


@pytest.mark.parametrize("use_resource", [False, True])
def test_rows_of_partitioned_variables(session: Any, use_resource: bool) -> None:
    """Partitioned variables are accepted directly, and get sparse gradients."""
    with tf.variable_scope(
        "v", partitioner=tf.fixed_size_partitioner(3), use_resource=use_resource
    ):
        whole = tf.get_variable("w", initializer=MATRIX)
    found = tf.nn.embedding_lookup(whole, [9, 4, 9], partition_strategy="div")
    gradients = tf.gradients(found, list(whole))
    assert all(isinstance(gradient, tf.IndexedSlices) for gradient in gradients)
    session.run(tf.global_variables_initializer())
    np.testing.assert_array_equal(session.run(found), MATRIX[[9, 4, 9]])
    indices = [gradient.indices for gradient in gradients]
    assert [part.tolist() for part in session.run(indices)] == [[], [0], [2, 2]]


def test_long_rows_are_scaled(session: Any) -> None:
    """Rows are scaled to the given maximal norm."""
    rows = session.run(tf.nn.embedding_lookup(tf.constant(MATRIX), [0, 5], max_norm=2.0))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [1, 2], rtol=1e-6)
    parts = [tf.constant(MATRIX[::2]), tf.constant(MATRIX[1::2])]
    split = session.run(tf.nn.embedding_lookup(parts, [0, 5], max_norm=2.0))
    np.testing.assert_allclose(split, rows)


def _ids() -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], tf.constant([1, 3, 9], tf.int64), [3, 2])


def _weights() -> Any:
    return tf.SparseTensor([[0, 0], [0, 1], [2, 0]], [2.0, 1.0, 0.5], [3, 2])


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("combiner", "plain", "weighted"),
    [
        ("sum", MATRIX[1] + MATRIX[3], 2 * MATRIX[1] + MATRIX[3]),
        ("mean", (MATRIX[1] + MATRIX[3]) / 2, (2 * MATRIX[1] + MATRIX[3]) / 3),
        ("sqrtn", (MATRIX[1] + MATRIX[3]) / 2**0.5, (2 * MATRIX[1] + MATRIX[3]) / 5**0.5),
    ],
)
def test_rows_are_combined(
    session: Any, count: int, combiner: str, plain: Any, weighted: Any
) -> None:
    """Weights are optional; rows without ids are zeros."""
    parts = [tf.constant(part) for part in _parts(count, "mod")]
    found = tf.nn.embedding_lookup_sparse(parts, _ids(), None, combiner=combiner)
    np.testing.assert_allclose(session.run(found), [plain, [0, 0], MATRIX[9]], rtol=1e-6)
    found = tf.nn.embedding_lookup_sparse(parts, _ids(), _weights(), combiner=combiner)
    last = {"sum": 0.5, "mean": 1, "sqrtn": 1}[combiner] * MATRIX[9]
    np.testing.assert_allclose(session.run(found), [weighted, [0, 0], last], rtol=1e-6)


def test_half_precision_is_combined_in_single(session: Any) -> None:
    """The result has the type of the matrix."""
    matrix = tf.constant(MATRIX, tf.float16)
    found = tf.nn.embedding_lookup_sparse(matrix, _ids(), _weights(), combiner="mean")
    assert found.dtype == tf.float16
    assert session.run(found)[2].tolist() == MATRIX[9].tolist()


def test_bad_ids_and_empty_rows_are_safe(session: Any) -> None:
    """Invalid ids are dropped, and empty rows get the default."""
    indices = [[0, 0, 0], [0, 1, 1], [1, 0, 0]]
    ids = tf.SparseTensor(indices, tf.constant([4, -1, 2], tf.int64), [2, 2, 2])
    matrix = tf.constant(MATRIX)
    found = tf.nn.safe_embedding_lookup_sparse(matrix, ids)
    nothing = [0, 0]
    wanted = [[MATRIX[4], nothing], [MATRIX[2], nothing]]
    np.testing.assert_array_equal(session.run(found), wanted)
    found = tf.nn.safe_embedding_lookup_sparse([matrix], ids, default_id=1)
    wanted = [[MATRIX[4], MATRIX[1]], [MATRIX[2], MATRIX[1]]]
    np.testing.assert_array_equal(session.run(found), wanted)


def test_entries_without_positive_weight_do_not_count(session: Any) -> None:
    """Entries without positive weight are left out of averages."""
    weights = tf.SparseTensor(_ids().indices, [0.0, 1.0, -1.0], [3, 2])
    found = tf.nn.safe_embedding_lookup_sparse(tf.constant(MATRIX), _ids(), weights)
    np.testing.assert_array_equal(session.run(found), [MATRIX[3], [0, 0], [0, 0]])


def test_ids_out_of_range_are_refused(session: Any) -> None:
    """The error is that of tf.gather."""
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices\[1\] = 10 is not in \[0, 10\)"
    ):
        session.run(tf.nn.embedding_lookup(tf.constant(MATRIX), [1, 10]))
