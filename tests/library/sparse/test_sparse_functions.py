"""Public functions on sparse tensors."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.library.sparse import sparse_functions as sparse
from tfnb.ops.sparse import set_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True)
def session() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as made:
        yield made


def _a() -> Any:
    return tf.SparseTensor([[0, 1], [1, 2]], [1.0, 2.0], [2, 3])


def _b() -> Any:
    return tf.SparseTensor([[0, 0], [1, 2]], [4.0, -2.0], [2, 3])


def _dense(value: Any) -> Any:
    return tf.sparse_tensor_to_dense(value)


CASES: dict[str, tuple[Callable[[], Any], Any]] = {
    "add": (lambda: _dense(sparse.sparse_add(_a(), _b())), [[4, 1, 0], [0, 0, 0]]),
    "add_dense": (lambda: sparse.sparse_add(_a(), tf.ones([2, 3])), [[1, 2, 1], [1, 1, 3]]),
    "add_to_dense": (lambda: sparse.sparse_add(tf.ones([2, 3]), _a()), [[1, 2, 1], [1, 1, 3]]),
    "add_drops_small_sums": (
        lambda: sparse.sparse_add(_a(), _b(), thresh=0.1).values,
        [4, 1],
    ),
    "maximum": (lambda: _dense(sparse.sparse_maximum(_a(), _b())), [[4, 1, 0], [0, 0, 2]]),
    "minimum": (lambda: _dense(sparse.sparse_minimum(_a(), _b())), [[0, 0, 0], [0, 0, -2]]),
    "softmax": (lambda: sparse.sparse_softmax(_a()).values, [1, 1]),
    "reduce_sum": (lambda: sparse.sparse_reduce_sum(_a(), 1), [1, 2]),
    "reduce_sum_of_all": (lambda: sparse.sparse_reduce_sum(_a()), 3),
    "reduce_max": (lambda: sparse.sparse_reduce_max(_a(), 0, keepdims=True), [[0, 1, 2]]),
    "reduce_sum_sparse": (
        lambda: _dense(sparse.sparse_reduce_sum_sparse(_a(), reduction_axes=[0])),
        [0, 1, 2],
    ),
    "reduce_max_sparse": (lambda: sparse.sparse_reduce_max_sparse(_a(), 1).values, [1, 2]),
    "reshape": (lambda: _dense(sparse.sparse_reshape(_a(), [3, -1])), [[0, 1], [0, 0], [0, 2]]),
    "concat": (
        lambda: _dense(sparse.sparse_concat(1, [_a(), _b()])),
        [[0, 1, 0, 4, 0, 0], [0, 0, 2, 0, 0, -2]],
    ),
    "concat_of_different_sizes": (
        lambda: _dense(
            sparse.sparse_concat(
                0, [_a(), tf.SparseTensor([[0, 0]], [5.0], [1, 2])], expand_nonconcat_dim=True
            )
        ),
        [[0, 1, 0], [0, 0, 2], [5, 0, 0]],
    ),
    "split": (
        lambda: _dense(sparse.sparse_split(sp_input=_a(), num_split=2, axis=1)[1]),
        [[0], [2]],
    ),
    "transpose": (lambda: _dense(sparse.sparse_transpose(_a())), [[0, 0], [1, 0], [0, 2]]),
    "expand_dims": (
        lambda: _dense(sparse.sparse_expand_dims(_a(), 1))[:, 0],
        [[0, 1, 0], [0, 0, 2]],
    ),
    "eye": (lambda: _dense(sparse.sparse_eye(2, 3)), [[1, 0, 0], [0, 1, 0]]),
    "from_dense": (lambda: sparse.from_dense([[0.0, 3.0], [4.0, 0.0]]).values, [3, 4]),
    "to_indicator": (
        lambda: sparse.sparse_to_indicator(
            tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 1], tf.int64), [2, 1]), 3
        ),
        [[False, False, True], [False, True, False]],
    ),
    "merge": (
        lambda: _dense(
            sparse.sparse_merge(
                tf.SparseTensor([[0, 0], [1, 0]], tf.constant([2, 1], tf.int64), [2, 1]),
                tf.SparseTensor([[0, 0], [1, 0]], [5.0, 6.0], [2, 1]),
                3,
            )
        ),
        [[0, 0, 5], [0, 6, 0]],
    ),
    "retain": (lambda: _dense(sparse.sparse_retain(_a(), [False, True])), [[0, 0, 0], [0, 0, 2]]),
    "reset_shape": (lambda: sparse.sparse_reset_shape(_a(), [3, 4]).dense_shape, [3, 4]),
    "least_shape": (
        lambda: (
            sparse.sparse_reset_shape(
                tf.SparseTensor([[0, 1], [1, 2]], [1.0, 2.0], [9, 9])
            ).dense_shape
        ),
        [2, 3],
    ),
    "mask": (
        lambda: (
            sparse.sparse_mask(
                tf.IndexedSlices(tf.constant([[1.0], [2.0]]), tf.constant([3, 5])), [5]
            ).values
        ),
        [[1]],
    ),
    "map_values": (lambda: sparse.map_values(tf.square, _a()).values, [1, 4]),
    "times_dense": (lambda: _dense(_a() * tf.constant([1.0, 3.0, 5.0])), [[0, 3, 0], [0, 0, 10]]),
    "divided_by_dense": (lambda: _dense(_a() / 2.0), [[0, 0.5, 0], [0, 0, 1]]),
    "serialized": (
        lambda: _dense(
            sparse.deserialize_many_sparse(sparse.serialize_many_sparse(_a()), tf.float32)
        ),
        [[0, 1, 0], [0, 0, 2]],
    ),
    "set_size": (
        lambda: set_ops.set_size(tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 3, 4], [2, 2])),
        [1, 1],
    ),
    "set_intersection": (lambda: set_ops.set_intersection([[1, 2, 2]], [[2, 9, 1]]).values, [1, 2]),
    "set_union": (lambda: set_ops.set_union([[1, 2]], [[2, 9]]).values, [1, 2, 9]),
    "set_difference": (lambda: set_ops.set_difference([[1, 2]], [[2, 9]]).values, [1]),
    "set_difference_the_other_way": (
        lambda: set_ops.set_difference([[1, 2]], [[2, 9]], aminusb=False).values,
        [9],
    ),
    "set_difference_of_sparse_and_dense": (
        lambda: (
            set_ops.set_difference(
                tf.SparseTensor([[0, 0], [0, 1]], [1, 2], [1, 2]), [[2, 9]]
            ).values
        ),
        [1],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_values(session: Any, case: str) -> None:
    """Each function against a result written by hand."""
    make, wanted = CASES[case]
    assert session.run(make()).tolist() == wanted


def _wide(values: list[Any]) -> Any:
    return tf.constant(values, tf.float64)


GRADIENTS: dict[str, Callable[[Any], Any]] = {
    "reduce_sum": lambda s: sparse.sparse_reduce_sum(s, 1),
    "softmax": lambda s: sparse.sparse_softmax(s).values,
    "add": lambda s: sparse.sparse_add(s, tf.SparseTensor([[0, 2]], _wide([1.0]), [2, 3])).values,
    "divided": lambda s: (s / _wide([[2.0], [4.0]])).values,
    "times": lambda s: (s * _wide([1.0, 2.0, 3.0])).values,
}


@pytest.mark.parametrize("case", GRADIENTS)
def test_gradients_are_the_difference_quotients(session: Any, case: str) -> None:
    """Gradients of the values of a sparse tensor are compared with small differences."""
    start = np.array([1.0, 2.0, 0.5])
    values = tf.placeholder(tf.float64, [3])
    made = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], values, [2, 3])
    found = tf.reshape(GRADIENTS[case](made), [-1])
    weights = tf.cast(tf.range(1, tf.size(found) + 1), tf.float64)
    result = tf.reduce_sum(found * found * weights)
    grad = session.run(tf.gradients(result, values)[0], {values: start})
    for i in range(3):
        step = np.zeros(3)
        step[i] = 1e-6
        up, down = (session.run(result, {values: start + sign * step}) for sign in (1, -1))
        np.testing.assert_allclose(grad[i], (up - down) / 2e-6, rtol=1e-4, atol=1e-8)


def test_two_dense_tensors_are_not_added_here() -> None:
    """One of the operands must be sparse."""
    with pytest.raises(TypeError, match="At least one input should be SparseTensor"):
        sparse.sparse_add(tf.ones([1]), tf.ones([1]))


def test_set_operations_need_one_dtype() -> None:
    """Types are compared when the graph is built."""
    with pytest.raises(TypeError, match="Types don't match"):
        set_ops.set_union(tf.constant([[1]]), tf.constant([[1]], tf.int64))


@pytest.mark.slow
def test_operators_need_no_other_sparse_function_first() -> None:
    """The first use of a sparse tensor in a program may be a multiplication."""
    program = (
        "import tfnb as tf\n"
        "s, d = tf.sparse_placeholder(tf.float32, [2]), tf.placeholder(tf.float32, [2])\n"
        "print((s * d).op.type, (s / d).op.type)"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["SparseDenseCwiseMul", "SparseDenseCwiseDiv"]


@pytest.mark.parametrize("indices", [[[1], [10]], [[-1], [0]]])
def test_indices_that_are_not_validated_must_still_fit(indices: list[list[int]]) -> None:
    """TensorFlow's text."""
    with tf.Graph().as_default(), tf.Session() as session:
        dense = tf.sparse_to_dense(indices, [5], [1.0, 2.0], validate_indices=False)
        text = r"\(out of bounds\).  Shape: \[5\]"
        with pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(dense)
