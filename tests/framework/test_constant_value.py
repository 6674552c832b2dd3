"""get_static_value: values that are determined by the graph alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import tfnb as tf
from tfnb.framework.constant_value import constant_value, constant_value_as_shape

if TYPE_CHECKING:
    from collections.abc import Callable


def known() -> tf.Tensor:
    """A placeholder of shape (2, 3)."""
    return tf.placeholder(tf.float32, [2, 3])


def partial() -> tf.Tensor:
    """A placeholder of shape (2, ?)."""
    return tf.placeholder(tf.float32, [2, None])


@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: tf.constant([1, 2]), [1, 2]),
        (lambda: tf.shape(known(), out_type=tf.int64), [2, 3]),
        (lambda: tf.raw_ops.Shape(input=known()), [2, 3]),
        (lambda: tf.raw_ops.Size(input=known()), 6),
        (lambda: tf.raw_ops.Rank(input=partial()), 2),
        (lambda: tf.range(1, 7, 2), [1, 3, 5]),
        (lambda: tf.cast(tf.constant(1.75), tf.int32), 1),
        (lambda: tf.concat([[1], [2, 3]], 0), [1, 2, 3]),
        (lambda: tf.raw_ops.Concat(concat_dim=0, values=[[1], [2]]), [1, 2]),
        (lambda: tf.raw_ops.Pack(values=[1, 2], axis=0), [1, 2]),
        (lambda: tf.unstack(tf.constant([4, 5]))[1], 5),
        (lambda: tf.split(tf.constant([4, 5]), 2)[1], [5]),
        (lambda: tf.fill([2], 3), [3, 3]),
        (lambda: tf.equal(1, 1), True),
        (lambda: tf.not_equal(1, 1), False),
        (lambda: tf.identity(tf.constant(3)), 3),
        (lambda: tf.stop_gradient(tf.constant(3)), 3),
    ],
)
def test_a_value_that_is_known_is_given_and_can_no_longer_be_fed(
    graph: tf.Graph, make: Callable[[], tf.Tensor], value: object
) -> None:
    """The array has the tensor's dtype.

    The tensor cannot be fed, because the value may be built in.
    """
    tensor = make()
    found = tf.get_static_value(tensor)
    assert np.asarray(found).tolist() == value
    assert np.asarray(found).dtype == tensor.dtype.as_numpy_dtype
    assert not graph.is_feedable(tensor)


@pytest.mark.parametrize(
    "make",
    [
        known,
        lambda: tf.shape(partial()),
        lambda: tf.size(partial()),
        lambda: tf.rank(tf.placeholder(tf.float32)),
        lambda: tf.constant(1) + 1,
        lambda: tf.shape(partial())[0],
        lambda: tf.range(tf.placeholder(tf.int32, [])),
        lambda: tf.range(0, tf.placeholder(tf.int32, [])),
        lambda: tf.range(0, 3, tf.placeholder(tf.int32, [])),
        lambda: tf.fill(tf.placeholder(tf.int32, [1]), 0),
        lambda: tf.equal(tf.placeholder(tf.int32, []), 1),
        lambda: tf.cast(tf.placeholder(tf.int32, []), tf.int64),
        lambda: tf.raw_ops.Pack(values=[tf.placeholder(tf.int32, [])], axis=0),
        lambda: tf.raw_ops.Pack(values=[[1], [2]], axis=1),
        lambda: tf.raw_ops.Unpack(value=[[1, 2]], num=2, axis=1)[0],
    ],
)
def test_what_is_not_known_is_none_and_stays_feedable(
    graph: tf.Graph, make: Callable[[], tf.Tensor]
) -> None:
    """Arithmetic is not evaluated, as in TensorFlow."""
    tensor = make()
    assert constant_value(tensor) is None
    assert graph.is_feedable(tensor)


def test_parts_may_be_known() -> None:
    """partial=True gives None for unknown elements."""
    packed = tf.raw_ops.Pack(values=[tf.placeholder(tf.int32, []), 2], axis=0)
    assert constant_value(packed, partial=True).tolist() == [None, 2]


def test_other_values_are_their_own_value() -> None:
    """A number is returned itself; a sparse tensor has no static value."""
    assert constant_value(3) == 3
    assert constant_value(tf.SparseTensor([[0]], [1.0], [1])) is None


@pytest.mark.parametrize(
    ("make", "dims"),
    [
        (lambda: tf.constant([3, -1]), (3, None)),
        (lambda: tf.constant([], tf.int32), ()),
        (lambda: tf.constant(-1), None),
        (lambda: tf.placeholder(tf.int32, [2]), (None, None)),
        (lambda: tf.placeholder(tf.int32, [None]), None),
        (lambda: tf.raw_ops.Shape(input=partial()), (2, None)),
        (lambda: tf.cast(tf.raw_ops.Shape(input=partial()), tf.int64), (2, None)),
        (lambda: tf.cast(tf.raw_ops.Shape(input=partial()), tf.float32), (None, None)),
        (lambda: tf.stack([tf.placeholder(tf.int32, []), 4, -1]), (None, 4, None)),
        (lambda: tf.concat([tf.raw_ops.Shape(input=partial()), [7]], 0), (2, None, 7)),
        (lambda: tf.raw_ops.Shape(input=partial())[1:], (None,)),
        (lambda: tf.raw_ops.Shape(input=partial())[:1], (2,)),
        (lambda: tf.raw_ops.Shape(input=partial())[::-1], (None, 2)),
    ],
)
def test_a_value_read_as_a_shape_keeps_what_is_known(
    make: Callable[[], tf.Tensor], dims: tuple[int | None, ...] | None
) -> None:
    """-1 and unknown elements are unknown dimensions."""
    assert constant_value_as_shape(make()).dim_values == dims


def test_a_scalar_is_a_shape_only_if_it_is_minus_one() -> None:
    """Other scalars and an unknown one raise different messages."""
    with pytest.raises(ValueError, match="Received a scalar with unknown value as shape"):
        constant_value_as_shape(tf.placeholder(tf.int32, []))
    with pytest.raises(ValueError, match="Received a scalar value '3' as shape"):
        constant_value_as_shape(tf.constant(3))


def test_an_op_may_know_its_value() -> None:
    """`@op.constant_value` has precedence."""
    from tfnb.core.op_registry import find, register_op
    from tfnb.core.shape_inference import scalar_shape

    definition = find("TestSeven")
    if definition is None:
        definition = register_op("TestSeven", "-> x: int32", shape=scalar_shape)(None)
        definition.constant_value(lambda tensor, partial: np.int32(7))
    assert constant_value(definition()) == 7
