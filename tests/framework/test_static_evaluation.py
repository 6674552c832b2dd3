"""Values that shape functions can determine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.framework import static_evaluation
from tfnb.framework.static_evaluation import constant_as_shape, evaluate_constant

if TYPE_CHECKING:
    from collections.abc import Callable


def partial() -> tf.Tensor:
    """A placeholder of shape (2, ?)."""
    return tf.placeholder(tf.float32, [2, None])


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: tf.constant([1, 2]) * 3 + 1, [4, 7]),
        (lambda: tf.raw_ops.Shape(input=tf.zeros([2, 3])) + 1, [3, 4]),
        (lambda: tf.raw_ops.Size(input=tf.placeholder(tf.float32, [2, 3])) // 4, 1),
        (lambda: tf.raw_ops.Rank(input=partial()), 2),
        (lambda: tf.shape(partial())[0] * 5, 10),
        (lambda: tf.shape(partial())[-2], 2),
        (lambda: tf.reduce_prod(tf.constant([2, 3])), 6),
    ],
)
def test_pure_ops_on_known_values_are_computed(
    graph: tf.Graph, make: Callable[[], tf.Tensor], value: object
) -> None:
    """The ops' own kernels compute them; feeding stays allowed."""
    tensor = make()
    found = evaluate_constant(tensor)
    assert found is not None
    assert found.tolist() == value
    assert found.dtype == tensor.dtype.as_numpy_dtype
    assert graph.is_feedable(tensor)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.placeholder(tf.int32, []) + 1,
        lambda: tf.shape(partial())[1],
        lambda: tf.raw_ops.Shape(input=partial()),
        lambda: tf.placeholder_with_default(3, []),
        lambda: tf.zeros([1000, 1000]) + 1.0,
        lambda: tf.raw_ops.FloorDiv(x=1, y=0),
    ],
)
def test_everything_else_is_not_known(make: Callable[[], tf.Tensor]) -> None:
    """Fed values, unknown dimensions, tensors too large for shapes, and failing ops are unknown."""
    assert evaluate_constant(make()) is None


def test_very_long_computations_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain beyond the limit is not evaluated; one below the limit needs no recursion."""
    x = tf.constant(0)
    for _ in range(60):
        x = x + 1
    monkeypatch.setattr(static_evaluation, "MAX_NODES", 50)
    assert evaluate_constant(x) is None
    monkeypatch.setattr(static_evaluation, "MAX_NODES", 100)
    assert evaluate_constant(x) == 60


@pytest.mark.parametrize(
    ("make", "dims"),
    [
        (lambda: tf.constant([3, -1]), (3, None)),
        (lambda: tf.constant([], tf.int32), ()),
        (lambda: tf.constant(-1), None),
        (lambda: tf.placeholder(tf.int32, []), None),
        (lambda: tf.placeholder(tf.int32, [2]), (None, None)),
        (lambda: tf.placeholder(tf.int32), None),
        (lambda: tf.shape(partial()), (2, None)),
        (lambda: tf.shape_n([partial(), tf.zeros([5])])[1], (5,)),
        (lambda: tf.cast(tf.shape(partial()), tf.int64), (2, None)),
        (lambda: tf.stack([tf.shape(partial())[0], -1]), (2, None)),
        (lambda: tf.concat([tf.shape(partial())[:1], [7]], 0), (2, 7)),
        (lambda: tf.shape(partial())[1:], (None,)),
        (lambda: tf.constant([1, 2]) * 2, (2, 4)),
    ],
)
def test_a_value_read_as_a_shape_keeps_what_is_known(
    make: Callable[[], tf.Tensor], dims: tuple[int | None, ...] | None
) -> None:
    """The shape function of Reshape needs this."""
    assert constant_as_shape(make()).dim_values == dims


def test_a_known_scalar_is_no_shape() -> None:
    """Unless it is -1."""
    with pytest.raises(ValueError, match="Received a scalar value '3' as shape"):
        constant_as_shape(tf.constant(3))


@pytest.mark.parametrize(
    ("make", "dims"),
    [
        (lambda x: tf.reshape(x, [-1]), [None]),
        (lambda x: tf.reshape(x, tf.stack([tf.shape(x)[0], -1])), [2, None]),
        (lambda x: tf.reshape(x, tf.constant([1, 2]) * 2), [2, 4]),
        (lambda x: tf.zeros(tf.shape(x)), [2, None]),
        (lambda x: tf.zeros([2, tf.placeholder(tf.int32, [])]), [2, None]),
        (lambda x: tf.ones(tf.shape(x)[1:]), [None]),
    ],
)
def test_shapes_of_results_follow(
    make: Callable[[tf.Tensor], tf.Tensor], dims: list[int | None]
) -> None:
    """Known parts of a shape argument are known in the result."""
    assert make(partial()).shape.as_list() == dims
