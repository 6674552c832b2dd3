"""Compressed sparse rows: ops with GPU kernels only in TensorFlow, and errors.

TensorFlow's answers of CPU kernels are in tests/golden/single_calls/sparse_matrices.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.base import compressed_rows

R = tf.raw_ops
_INDICES = np.array([[0, 1], [2, 0], [2, 3]], np.int64)
_OTHER = np.array([[0, 0], [2, 0], [2, 1], [2, 3]], np.int64)


def _matrix(indices: Any, values: Any, shape: Any = (3, 4)) -> tf.Tensor:
    return R.SparseTensorToCSRSparseMatrix(
        indices=np.array(indices, np.int64), values=values, dense_shape=np.array(shape, np.int64)
    )


def _values(matrix: tf.Tensor, dtype: Any = tf.float32) -> tf.Tensor:
    return R.CSRSparseMatrixToSparseTensor(sparse_matrix=matrix, type=dtype)[1]


def _dense(matrix: tf.Tensor, dtype: Any = tf.float32) -> Any:
    return tf.Session().run(R.CSRSparseMatrixToDense(sparse_input=matrix, type=dtype))


@pytest.fixture(autouse=True)
def _own_graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_weighted_sums_have_the_elements_of_both() -> None:
    """Values at one place are added, and elements are in order."""
    a, b = _matrix(_INDICES, [1.0, 2.0, 3.0]), _matrix(_OTHER, [10.0, 20.0, 30.0, 40.0])
    total = R.SparseMatrixAdd(a=a, b=b, alpha=2.0, beta=-1.0)
    expected = 2 * _dense(a) - _dense(b)
    assert _dense(total).tolist() == expected.tolist()
    indices = R.CSRSparseMatrixToSparseTensor(sparse_matrix=total, type=tf.float32)[0]
    assert tf.Session().run(indices).tolist() == [[0, 0], [0, 1], [2, 0], [2, 1], [2, 3]]


def test_weighted_sums_of_batches() -> None:
    """Each matrix of a batch is added to its own."""
    a = _matrix([[0, 0, 1], [1, 1, 0]], [1.0, 2.0], (2, 2, 2))
    b = _matrix([[0, 0, 1], [0, 1, 1]], [5.0, 6.0], (2, 2, 2))
    total = R.SparseMatrixAdd(a=a, b=b, alpha=1.0, beta=1.0)
    assert _dense(total).tolist() == [[[0, 6], [0, 6]], [[0, 0], [2, 0]]]
    assert tf.Session().run(R.SparseMatrixNNZ(sparse_matrix=total)).tolist() == [2, 1]


def test_gradients_of_sums_are_at_the_elements_of_each() -> None:
    """The gradient at an operand's elements is the weight times the incoming gradient."""
    v, w = tf.constant([1.0, 2.0, 3.0]), tf.constant([10.0, 20.0, 30.0, 40.0])
    total = R.SparseMatrixAdd(a=_matrix(_INDICES, v), b=_matrix(_OTHER, w), alpha=2.0, beta=-1.0)
    weights = tf.constant(np.arange(12.0, dtype=np.float32).reshape(3, 4))
    y = R.CSRSparseMatrixToDense(sparse_input=total, type=tf.float32) * weights
    found = tf.Session().run(tf.gradients(y, [v, w]))
    assert [one.tolist() for one in found] == [[2, 16, 22], [0, -8, -9, -11]]


def test_products_with_numbers() -> None:
    """There is one number, or one per matrix of the batch."""
    a = _matrix(_INDICES, [1.0, 2.0, 3.0])
    assert tf.Session().run(_values(R.SparseMatrixMul(a=a, b=2.0))).tolist() == [2, 4, 6]
    b = _matrix([[0, 0, 1], [0, 1, 1], [1, 1, 0]], [1.0, 2.0, 3.0], (2, 2, 2))
    scaled = R.SparseMatrixMul(a=b, b=tf.constant([2.0, 10.0], shape=[2, 1, 1]))
    assert tf.Session().run(_values(scaled)).tolist() == [2, 4, 30]


def test_products_with_numbers_of_other_shapes_are_refused() -> None:
    """The message is that of TensorFlow's shape function, at the call or at run time."""
    a = _matrix(_INDICES, [1.0, 2.0, 3.0])
    with pytest.raises(tf.errors.UnimplementedError, match="b must be a scalar or shaped"):
        R.SparseMatrixMul(a=a, b=[1.0, 2.0])
    with pytest.raises(tf.errors.UnimplementedError, match="rank of b is 3 but rank of a is not"):
        R.SparseMatrixMul(a=a, b=tf.ones([2, 1, 1]))
    late = tf.placeholder(tf.float32)
    product = _values(R.SparseMatrixMul(a=a, b=late))
    for wrong, message in ((np.ones(3), "must be a scalar"), (np.ones([1, 1, 1]), "rank of b")):
        with pytest.raises(tf.errors.UnimplementedError, match=message):
            tf.Session().run(product, {late: wrong})
    with pytest.raises(NotImplementedError, match="SparseMatrixMul has no gradient"):
        tf.gradients(product, late)


def test_softmax_of_rows_counts_elements_only() -> None:
    """Missing elements count as minus infinity; an empty row stays empty."""
    values = np.array([1.0, 2.0, 3.0, -800.0, 800.0])
    indices = [[0, 0, 1], [0, 2, 0], [0, 2, 3], [1, 1, 0], [1, 1, 2]]
    softmax = R.SparseMatrixSoftmax(logits=_matrix(indices, values, (2, 3, 4)), type=tf.float64)
    found = tf.Session().run(_values(softmax, tf.float64))
    half = 1 / (1 + np.exp(1.0))
    assert found == pytest.approx([1.0, half, 1 - half, 0.0, 1.0], abs=1e-15)


def test_the_gradient_of_softmax_is_that_of_each_row() -> None:
    """It equals that of a dense softmax of the row; elements missing in the gradient are 0."""
    rows = tf.constant([1.0, -2.0, 3.0, 0.5, 0.25], tf.float64)
    indices = [[0, 0], [0, 1], [0, 3], [2, 1], [2, 2]]
    weights = tf.constant([1.0, 10.0, -3.0, 2.0, 5.0], tf.float64)
    softmax = R.SparseMatrixSoftmax(logits=_matrix(indices, rows), type=tf.float64)
    dense = tf.concat([tf.nn.softmax(rows[:3]), tf.nn.softmax(rows[3:])], 0)
    ours = tf.gradients(_values(softmax, tf.float64) * weights, rows)[0]
    theirs = tf.gradients(dense * weights, rows)[0]
    one, other = tf.Session().run([ours, theirs])
    assert one == pytest.approx(other, rel=1e-13)
    grad = _matrix([[0, 1], [0, 2]], np.array([2.0, 7.0]))
    some = R.SparseMatrixSoftmaxGrad(softmax=softmax, grad_softmax=grad, type=tf.float64)
    p = tf.Session().run(_values(softmax, tf.float64))
    expected = p * (np.array([0, 2, 0, 0, 0]) - np.array([2 * p[1]] * 3 + [0, 0]))
    assert tf.Session().run(_values(some, tf.float64)) == pytest.approx(expected, rel=1e-13)


def test_zeros_and_sums_of_matrices() -> None:
    """Matrices without elements, zeros like a matrix, and AddN for gradients are tested."""
    a = _matrix(_INDICES, [1.0, 2.0, 3.0])
    zeros = R.SparseMatrixZeros(dense_shape=np.array([3, 4]), type=tf.float32)
    assert tf.Session().run(R.SparseMatrixNNZ(sparse_matrix=zeros)) == 0
    assert _dense(tf.zeros_like(a)).tolist() == np.zeros([3, 4]).tolist()
    assert _dense(tf.add_n([a, a, zeros])).tolist() == (2 * _dense(a)).tolist()


def test_a_matrix_used_twice_has_the_sum_of_both_gradients() -> None:
    """Both gradients are added by AddN."""
    v = tf.constant([1.0, 2.0, 3.0])
    a = _matrix(_INDICES, v)
    b = tf.constant(np.arange(8.0, dtype=np.float32).reshape(4, 2))
    y = tf.reduce_sum(R.SparseMatrixMatMul(a=a, b=b)) + 2 * tf.reduce_sum(
        R.SparseMatrixMatMul(a=a, b=b)
    )
    rows = np.arange(8.0).reshape(4, 2).sum(1)
    assert tf.Session().run(tf.gradients(y, v)[0]).tolist() == (3 * rows[[1, 0, 3]]).tolist()


def test_large_products_are_made_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row with more elements than a piece, and empty rows, have no effect."""
    rng = np.random.RandomState(1)
    dense = rng.randint(-3, 4, (20, 30)) * (rng.rand(20, 30) < 0.4)
    dense[[0, 7, 19]] = 0
    indices = np.argwhere(dense)
    b = rng.randint(-3, 4, (30, 5)).astype(np.float64)
    for piece in (1, 7, 40, 1000):
        monkeypatch.setattr(compressed_rows, "_PIECE", piece)
        a = _matrix(indices, dense[tuple(indices.T)].astype(np.float64), (20, 30))
        found = tf.Session().run(R.SparseMatrixMatMul(a=a, b=b))
        assert found.tolist() == (dense @ b).tolist()


def test_a_factor_times_its_adjoint_is_the_matrix_in_the_order_given() -> None:
    """Complex matrices are factored in the order of minimum degree."""
    rng = np.random.RandomState(2)
    half = np.where(rng.rand(40, 40) < 0.06, rng.randn(40, 40) + 1j * rng.randn(40, 40), 0)
    dense = half + half.conj().T + np.eye(40) * 40
    indices = np.argwhere(dense)
    a = _matrix(indices, tf.constant(dense[tuple(indices.T)], tf.complex128), (40, 40))
    order = R.SparseMatrixOrderingAMD(input=a)
    factor = R.SparseMatrixSparseCholesky(input=a, permutation=order, type=tf.complex128)
    found = R.CSRSparseMatrixToDense(sparse_input=factor, type=tf.complex128)
    lower, places = tf.Session().run([found, order])
    assert sorted(places) == list(range(40))
    assert np.tril(lower).tolist() == lower.tolist()
    np.testing.assert_allclose(lower @ lower.conj().T, dense[np.ix_(places, places)], atol=1e-12)


def test_the_order_keeps_factors_sparse() -> None:
    """An arrow matrix fills up with its tip first, and not in the order of minimum degree."""
    n = 50
    arrow = [[0, i] for i in range(n)] + [[i, j] for i in range(1, n) for j in (0, i)]
    values = np.array([float(n) if i == j else 1.0 for i, j in arrow])
    a = _matrix(arrow, values, (n, n))
    counts = []
    for order in (R.SparseMatrixOrderingAMD(input=a), tf.range(n)):
        factor = R.SparseMatrixSparseCholesky(input=a, permutation=order, type=tf.float64)
        counts.append(tf.Session().run(R.SparseMatrixNNZ(sparse_matrix=factor)))
    assert counts == [2 * n - 1, n * (n + 1) // 2]


@pytest.mark.parametrize("order", [[0, 0, 2], [0, 1, 7], [-1, 0, 1]])
def test_an_order_without_all_rows_is_refused(order: list[int]) -> None:
    """TensorFlow reads and writes outside of its memory there."""
    a = _matrix([[0, 0], [1, 1], [2, 2]], [1.0, 1.0, 1.0], (3, 3))
    factor = R.SparseMatrixSparseCholesky(input=a, permutation=order, type=tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="each of the numbers 0 to 2 once"):
        _dense(factor)


def test_elements_of_mixed_batches_are_refused() -> None:
    """TensorFlow returns uninitialized memory."""
    a = _matrix([[1, 0, 0], [0, 0, 0]], [1.0, 2.0], (2, 2, 2))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"use tf\.sparse\.reorder"):
        _dense(a)


def test_sizes_are_checked_before_anything_is_allocated() -> None:
    """Sizes beyond int32, and negative ones, are refused."""
    sizes = tf.placeholder(tf.int64, [2])
    zeros = R.SparseMatrixNNZ(sparse_matrix=R.SparseMatrixZeros(dense_shape=sizes, type=tf.float32))
    for wrong, message in (
        ([2**40, 1], "csr row index size, computed based on the dense_shape, must be <= Int32Max"),
        ([1, 2**40], "columns must be <= Int32Max"),
        ([-3, 1], "Expected shape dimensions to be non-negative, got -3"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            tf.Session().run(zeros, {sizes: wrong})


def test_other_variants_are_no_matrices() -> None:
    """They are unknown when the graph is built, and the error says what was found."""
    with pytest.raises(ValueError, match="Unable to access shape and type info from variant input"):
        R.SparseMatrixNNZ(sparse_matrix=R.EmptyTensorMap())
    a = _matrix(_INDICES, [1.0, 2.0, 3.0])
    count = R.SparseMatrixNNZ(sparse_matrix=a)
    other = tf.Session().run(R.EmptyTensorMap())
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a scalar that holds a CSRSparse"):
        tf.Session().run(count, {a: other})


def test_loops_and_branches_pass_matrices_on() -> None:
    """Static information of a matrix passes tf.cond."""
    a = _matrix(_INDICES, [1.0, 2.0, 3.0])
    turned = tf.cond(
        tf.constant(True), lambda: R.SparseMatrixMul(a=a, b=2.0), lambda: tf.identity(a)
    )
    assert _dense(turned).tolist() == (2 * _dense(a)).tolist()
