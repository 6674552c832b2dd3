"""Functions over arrays that are built of several ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

CUBE = np.random.RandomState(1).permutation(24).reshape(2, 3, 4)


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "int8", "uint8"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort_and_argsort(session: Any, dtype: str, axis: int) -> None:
    """Every axis and both directions are sorted; equal elements keep their order."""
    array = (CUBE % 7).astype(dtype)
    if dtype == "uint8":
        array = array * 40
    if dtype == "int8":
        array = array * 40 - np.int8(127) - np.int8(1)
    up = np.argsort(array, axis=axis, kind="stable")
    # NumPy has no stable descending order.
    down = np.argsort(-array.astype(np.int64), axis=axis, kind="stable")
    found = session.run(
        [
            tf.sort(array, axis=axis),
            tf.argsort(array, axis=axis),
            tf.sort(array, axis=axis, direction="DESCENDING"),
            tf.argsort(array, axis=axis, direction="DESCENDING"),
        ]
    )
    np.testing.assert_array_equal(found[0], np.sort(array, axis=axis))
    np.testing.assert_array_equal(found[1], up)
    np.testing.assert_array_equal(found[2], np.take_along_axis(array, down, axis))
    np.testing.assert_array_equal(found[3], down)
    assert found[0].dtype == array.dtype


def test_sort_without_a_known_rank(session: Any) -> None:
    """The axis is determined at run time."""
    fed = tf.placeholder(tf.int32)
    for axis in (0, 1, -1, -2, -3):
        found = session.run(tf.sort(fed, axis=axis), {fed: CUBE})
        np.testing.assert_array_equal(found, np.sort(CUBE, axis=axis))


@pytest.mark.parametrize(("repeats", "axis"), [(2, None), ([3], 1), ([1, 0, 2], 1), ([0, 2], 0),
                                               ([1, 2, 0, 3], -1), (0, 2)])  # fmt: skip
def test_repeat(session: Any, repeats: Any, axis: Any) -> None:
    """Results equal NumPy's."""
    found = session.run(tf.repeat(CUBE, repeats, axis))
    np.testing.assert_array_equal(found, np.repeat(CUBE, repeats, axis))


def test_repeat_of_unknown_rank(session: Any) -> None:
    """One count applies to all elements."""
    fed = tf.placeholder(tf.int32)
    found = session.run(tf.repeat(fed, 2, axis=1), {fed: CUBE})
    np.testing.assert_array_equal(found, np.repeat(CUBE, 2, 1))
    assert session.run(tf.repeat(fed, 2, axis=0), {fed: 3}).tolist() == [3, 3]


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_meshgrid(session: Any, indexing: str, count: int) -> None:
    """Results equal NumPy's."""
    vectors = [np.arange(size + 2, dtype=np.float32) * 0.5 for size in range(count)]
    found = session.run(tf.meshgrid(*vectors, indexing=indexing))
    wanted = np.meshgrid(*vectors, indexing=indexing)  # type: ignore[call-overload]
    for ours, theirs in zip(found, wanted):
        np.testing.assert_array_equal(ours, theirs)


def test_sequence_mask(session: Any) -> None:
    """The mask is True within the length of each sequence."""
    found = session.run(tf.sequence_mask([1, 0, 3]))
    assert found.tolist() == [[True, False, False], [False] * 3, [True] * 3]
    found = session.run(tf.sequence_mask([[1], [5]], 2, tf.float32))
    assert found.tolist() == [[[1, 0]], [[1, 1]]]
    assert session.run(tf.sequence_mask(tf.constant([], tf.int32))).shape == (0, 0)
    fed = tf.placeholder(tf.int64)
    assert session.run(tf.sequence_mask(fed), {fed: [2]}).tolist() == [[True, True]]
    assert session.run(tf.sequence_mask(tf.constant([-3, -1]))).shape == (2, 0)


def test_checks_of_the_whole_graph(session: Any) -> None:
    """Every float tensor of the graph is checked."""
    fed = tf.placeholder(tf.float32, [2], name="fed")
    quotient = tf.divide(1.0, fed, name="quotient")
    check = tf.add_check_numerics_ops()
    session.run([quotient, check], {fed: [1, 2]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="quotient:0 : Tensor had Inf values"):
        session.run([quotient, check], {fed: [1, 0]})
    bad = tf.verify_tensor_all_finite(fed, "not finite")
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite : Tensor had NaN values"):
        session.run(bad, {fed: [np.nan, 1]})


def test_gradients_are_checked_too(session: Any) -> None:
    """The gradient of a check is checked as well."""
    fed = tf.placeholder(tf.float32, [])
    root = tf.sqrt(tf.check_numerics(fed, "the root"))
    gradient = tf.gradients(root, fed)[0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"detected in gradient. the root"):
        session.run(gradient, {fed: 0.0})


@pytest.mark.parametrize("kind", ["quint8", "qint8", "qint16", "quint16", "qint32"])
def test_quantized_numbers_are_cast_as_the_integers_they_are_stored_as(
    session: Any, kind: str
) -> None:
    """Casts from and to all numeric types are compared."""
    quantized = tf.cast(tf.constant([1.7, 100.0, 3.0]), kind)
    assert quantized.dtype == tf.as_dtype(kind)
    for target in (tf.float32, tf.int64, tf.uint8):
        assert session.run(tf.cast(quantized, target)).tolist() == [1, 100, 3]
    assert session.run(tf.cast(quantized, tf.bool)).tolist() == [True, True, True]
