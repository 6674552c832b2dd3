"""``tf.map_fn``, ``tf.foldl``, ``tf.foldr``, ``tf.scan``: a function for each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def _run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_map_fn_stacks_results() -> None:
    """The number of elements may be known only at run time."""
    x = tf.placeholder(tf.float32, [None, 2])
    y = tf.map_fn(tf.reduce_sum, x)
    assert y.shape.as_list() == [None]
    assert _run(y, {x: [[1.0, 2.0], [3.0, 4.0]]}).tolist() == [3.0, 7.0]


def test_map_fn_takes_and_gives_structures() -> None:
    """``dtype`` has the structure of the results."""
    x = np.arange(3)
    doubled, halved = tf.map_fn(
        lambda e: (e["a"] * 2, tf.cast(e["b"], tf.float32) / 2.0),
        {"a": x, "b": x},
        dtype=(tf.int64, tf.float32),
    )
    assert _run([doubled, halved])[0].tolist() == [0, 2, 4]
    assert _run(halved).tolist() == [0.0, 0.5, 1.0]


def test_map_fn_has_a_gradient() -> None:
    """Gradients flow to the elements and to captured tensors."""
    x, w = tf.constant([1.0, 2.0, 3.0]), tf.constant(2.0)
    dx, dw = tf.gradients(tf.map_fn(lambda a: a * a * w, x), [x, w])
    assert _run(dx).tolist() == [4.0, 8.0, 12.0]
    assert _run(dw) == 14.0


@pytest.mark.parametrize(
    ("function", "elems", "kind", "text"),
    [
        (1, [1], TypeError, "not callable"),
        (lambda a: a, [], ValueError, "does not contain any Tensors"),
        (lambda a: a, 5, ValueError, "1\\+ dimensional"),
        (lambda a: (a, a), np.arange(2), ValueError, "nested structure"),
        (lambda a: a, (np.arange(2), np.arange(3)), ValueError, "not compatible"),
    ],
)
def test_map_fn_checks_its_arguments(
    function: Any, elems: Any, kind: type[Exception], text: str
) -> None:
    """The function, elements and structures are checked."""
    with pytest.raises(kind, match=text):
        tf.map_fn(function, elems)


@pytest.mark.parametrize(
    ("fold", "initializer", "expected"),
    [
        (tf.foldl, None, (1 * 10 + 2) * 10 + 3),
        (tf.foldl, 4, ((4 * 10 + 1) * 10 + 2) * 10 + 3),
        (tf.foldr, None, (3 * 10 + 2) * 10 + 1),
        (tf.foldr, 4, ((4 * 10 + 3) * 10 + 2) * 10 + 1),
    ],
)
def test_folds_go_from_their_side(
    fold: Callable[..., Any], initializer: Any, expected: int
) -> None:
    """Folds from the left and from the right work, with and without an initializer."""
    assert _run(fold(lambda a, b: a * 10 + b, tf.constant([1, 2, 3]), initializer)) == expected


def test_fold_takes_structures() -> None:
    """Elements and accumulators may be structures."""
    x = tf.constant([1.0, 2.0, 3.0])
    total, product = tf.foldl(
        lambda a, b: (a[0] + b[0], a[1] * b[1]), (x, x), initializer=(0.0, 1.0)
    )
    assert _run([total, product]) == [6.0, 6.0]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1, 3, 6]),
        ({"initializer": 10}, [11, 13, 16]),
        ({"reverse": True}, [6, 5, 3]),
        ({"reverse": True, "initializer": 10}, [16, 15, 13]),
    ],
)
def test_scan_gives_what_is_on_the_way(options: dict[str, Any], expected: list[int]) -> None:
    """The results have the places of their elements."""
    result = tf.scan(lambda a, b: a + b, tf.constant([1, 2, 3]), **options)
    assert result.shape.as_list() == [3]
    assert _run(result).tolist() == expected


def test_scan_has_a_gradient() -> None:
    """The gradient of a cumulative product is right."""
    x = tf.constant([2.0, 3.0, 4.0])
    (dx,) = tf.gradients(tf.scan(lambda a, b: a * b, x), x)
    assert _run(dx).tolist() == [1.0 + 3.0 + 12.0, 2.0 + 8.0, 6.0]


def test_scan_compares_structures() -> None:
    """The result of the function must have the structure of the accumulator."""
    with pytest.raises(ValueError, match="nested structure"):
        tf.scan(lambda a, b: (a, b), tf.constant([1, 2]))
