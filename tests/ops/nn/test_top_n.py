"""``TopKV2(sorted=False)``: the largest elements in the order of TensorFlow's heap."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf

# Elements of a row, the number of different ones, k, TensorFlow's indices.
_ROWS = [
    (8, 17, 3, [[3, 2, 5], [5, 4, 1]]),
    (23, 7, 5, [[9, 7, 2, 6, 12], [9, 15, 4, 5, 10]]),
    (30, 1000, 4, [[17, 13, 7, 25], [11, 17, 14, 20]]),
    (9, 4, 9, [[2, 4, 6, 3, 1, 8, 0, 5, 7], [2, 5, 8, 1, 4, 7, 0, 3, 6]]),
    (9, 100, 1, [[7], [8]]),
]  # fmt: skip


def _rows(size: int, most: int) -> np.ndarray:
    first = [i * i * 37 % 101 % most for i in range(size)]
    return np.array([first, [i * 29 % 83 % most for i in range(size)]], np.float32)


@pytest.mark.parametrize(("size", "most", "k", "indices"), _ROWS)
def test_unsorted_elements_lie_as_in_tensorflow(
    size: int, most: int, k: int, indices: list[list[int]]
) -> None:
    """Equal elements occur; all elements, and a single one, are sorted."""
    x = _rows(size, most)
    with tf.Graph().as_default(), tf.Session() as sess:
        values, found = sess.run(tf.nn.top_k(x, k, sorted=False))
    assert found.tolist() == indices
    np.testing.assert_array_equal(values, np.take_along_axis(x, found, -1))


# Kinds of 20,000 elements, k, TensorFlow's first indices, and a checksum: the sum of index times
# place.
_LONG = [
    ("int64", 5000, [4628, 13691, 16330, 6323], 125504615496),
    ("float32", 19999, [0, 18273, 1741, 8266], 2079492759060),
    ("nan", 7000, [6950, 6050, 6750, 4768], 88687642538),
    ("float16", 3000, [14272, 13600, 11329, 18090], 45039396557),
]  # fmt: skip


def _long_row(kind: str) -> np.ndarray:
    x = np.array([i * i * 7919 % 10_007 for i in range(20_000)])
    if kind != "nan":
        return x.astype(kind)
    row = x.astype(np.float32)
    row[::50] = np.nan
    return row


@pytest.mark.parametrize(("kind", "k", "first", "total"), _LONG)
def test_elements_of_a_long_row_lie_as_in_tensorflow(
    kind: str, k: int, first: list[int], total: int
) -> None:
    """Thousands of elements of every type are compared, with NaN."""
    x = _long_row(kind)
    with tf.Graph().as_default(), tf.Session() as sess:
        values, found = sess.run(tf.nn.top_k(x, k, sorted=False))
    assert found[:4].tolist() == first
    assert int((found.astype(np.int64) * np.arange(k)).sum()) == total
    np.testing.assert_array_equal(values, x[found])


def test_of_very_many_rows_they_are_sorted() -> None:
    """No order is specified, and heaps in Python would take too long."""
    x = np.tile(_rows(40, 1000), (20_000, 1))
    with tf.Graph().as_default(), tf.Session() as sess:
        free, in_order = sess.run([tf.nn.top_k(x, 20, sorted=s)[1] for s in (False, True)])
    np.testing.assert_array_equal(free, in_order)
