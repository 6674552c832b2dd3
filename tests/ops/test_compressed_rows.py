"""Products of sparse and dense matrices: the dense way gives what the sparse one gives."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.base import compressed_rows
from tfnb.ops.base.large_arrays import plain_ways


def _product(indices: np.ndarray, values: np.ndarray, right: np.ndarray, rows: int) -> np.ndarray:
    starts = np.searchsorted(indices[:, 0], np.arange(rows + 1))
    out = np.zeros((rows, right.shape[1]), right.dtype)
    compressed_rows.add_product(starts, indices[:, 1], values, right, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_with_many_elements_is_multiplied_as_a_dense_one(dtype: type) -> None:
    """Elements of one place are added; an infinite factor stays where it belongs."""
    random = np.random.default_rng(3)
    indices = np.argwhere(random.random((50, 200)) < 0.3)
    indices = np.concatenate([indices[:40], indices[39:]])  # one place twice
    values = random.integers(-3, 4, len(indices)).astype(dtype)
    right = random.integers(-9, 9, (200, 60)).astype(dtype)
    found = _product(indices, values, right, 50)
    with plain_ways():
        plain = _product(indices, values, right, 50)
    np.testing.assert_array_equal(found, plain)
    right[7, 3] = np.inf
    with np.errstate(invalid="ignore"):
        found = _product(indices, values, right, 50)
        with plain_ways():
            np.testing.assert_array_equal(found, _product(indices, values, right, 50))


def test_rows_in_any_order_are_added() -> None:
    """SparseTensorDenseMatMul and its adjoint take elements that are not sorted."""
    random = np.random.default_rng(4)
    for rows in (5, 70_000):
        indices = np.stack([random.integers(0, rows, 500), random.integers(0, 6, 500)], 1)
        values = random.integers(-3, 4, 500).astype(np.float32)
        dense = np.zeros((rows, 6), np.float32)
        np.add.at(dense, tuple(indices.T), values)
        a = tf.SparseTensor(indices, values, [rows, 6])
        right = random.integers(-3, 4, (6, 4)).astype(np.float32)
        left = random.integers(-3, 4, (rows, 2)).astype(np.float32)
        with tf.Session() as sess:
            forward = tf.sparse.sparse_dense_matmul(a, right)
            adjoint = tf.sparse.sparse_dense_matmul(a, left, adjoint_a=True)
            forward, adjoint = sess.run([forward, adjoint])
        np.testing.assert_array_equal(forward, dense @ right)
        np.testing.assert_array_equal(adjoint, dense.T @ left)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("width", [1, 7, 8, 31, 40, 300])
def test_rows_of_one_length_are_summed_together(dtype: type, width: int) -> None:
    """Rows without elements are zero, and NaN and infinity stay in their rows and columns."""
    random = np.random.default_rng(5)
    lengths = np.repeat([0, 1, 3, 0, 900], [40, 200, 300, 7, 2])
    random.shuffle(lengths)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    indices = np.stack([rows, random.integers(0, 9_000, len(rows))], 1)
    values = random.integers(-3, 4, len(rows)).astype(dtype)
    right = random.integers(-9, 9, (9_000, width)).astype(dtype)
    right[indices[5, 1], 0], right[indices[70, 1], -1] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        found = _product(indices, values, right, len(lengths))
        with plain_ways():
            plain = _product(indices, values, right, len(lengths))
    np.testing.assert_array_equal(found, plain)
    assert np.isnan(found).any()
    assert not found[lengths == 0].any()
