"""Kernels keep small results about shapes; nothing can change what is kept."""

from __future__ import annotations

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.array import concat_ops, data_flow_ops, shape_ops
from tfnb.ops.array.concat_ops import concat_offset
from tfnb.ops.array.data_flow_ops import dynamic_stitch
from tfnb.ops.array.shape_ops import broadcast_gradient_args, shape_op


def _vector(*numbers: int, dtype: str = "i4") -> np.ndarray:
    return np.array(numbers, dtype)


def test_a_caller_may_change_what_was_fetched() -> None:
    """The next step returns the sizes, whatever happened to the array of the last one."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, None])
        sizes = tf.shape(x)
        both = tf.shape_n([x, x])
        for _ in range(4):
            for found in (session.run(sizes, {x: np.ones((2, 3))}), *session.run(both, {x: [[1]]})):
                assert found.tolist() in ([2, 3], [1, 1])
                found += 7


def test_a_variable_that_gets_a_shape_is_changed_alone() -> None:
    """An update in place writes to a copy."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        for use_resource in (False, True):
            v = tf.Variable(tf.shape(np.ones(5)), use_resource=use_resource)
            session.run(v.initializer)
            changed = tf.assign_add(tf.assign(v, tf.shape(x)), [1])
            for _ in range(3):
                assert session.run(changed, {x: np.ones(5)}).tolist() == [6]
                assert session.run(tf.shape(x), {x: np.ones(5)}).tolist() == [5]


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_results_depend_on_all_inputs(dtype: str) -> None:
    """Equal bytes in other shapes and dtypes have results of their own."""
    out_type = tf.as_dtype(np.dtype(dtype))
    for _ in range(2):
        sizes = shape_op.function(np, np.ones((2, 0, 3)), out_type=out_type)
        assert (sizes.tolist(), sizes.dtype) == ([2, 0, 3], np.dtype(dtype))
        s0, s1 = _vector(2, 1, 3, dtype=dtype), _vector(4, 3, dtype=dtype)
        axes = broadcast_gradient_args.function(np, s0, s1)
        assert [one.tolist() for one in axes] == [[1], [0]]
        assert all(one.dtype == np.dtype(dtype) for one in axes)
        offsets = concat_offset.function(np, np.array(-1, "i4"), [s0, _vector(2, 1, 5)])
        assert [one.tolist() for one in offsets] == [[0, 0, 0], [0, 0, 3]]
        places = [_vector(0, 1), np.array(2, "i4")]
        stitched = dynamic_stitch.function(np, places, [s1, np.array(9, dtype)])
        assert (stitched.tolist(), stitched.dtype) == ([4, 3, 9], np.dtype(dtype))
        places = [_vector(1, 0), np.array(2, "i4")]
        stitched = dynamic_stitch.function(np, places, [s1, np.array(9, dtype)])
        assert stitched.tolist() == [3, 4, 9]


def test_errors_stay_errors() -> None:
    """A call that fails fails again."""
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Incompatible shapes"):
            broadcast_gradient_args.function(np, _vector(2), _vector(3))
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            concat_offset.function(np, np.array(3, "i4"), [_vector(1), _vector(1)])
        with pytest.raises(tf.errors.InvalidArgumentError, match="out of range"):
            dynamic_stitch.function(np, [_vector(-1)], [_vector(1)])


def _kept() -> list[int]:
    """Return how many results are kept."""
    functions = shape_ops._gradient_axes, concat_ops._offsets
    counts = [one.cache_info().currsize for one in functions]
    return [*counts, len(data_flow_ops._STITCHED._results)]


def test_large_results_are_not_kept() -> None:
    """Long vectors, many vectors, and an index that makes a long result."""
    before = _kept()
    long, twos = np.ones(17, "i4"), np.full(17, 2, "i4")
    first, second = broadcast_gradient_args.function(np, long, twos)
    assert (first.tolist(), second.tolist()) == (list(range(17)), [])
    offsets = concat_offset.function(np, np.array(0, "i4"), [long, long])
    assert [one.tolist() for one in offsets] == [[0] * 17, [1] + [0] * 16]
    offsets = concat_offset.function(np, np.array(0, "i4"), [_vector(7)] * 65)
    assert [one.tolist() for one in offsets] == [[7 * i] for i in range(65)]
    assert dynamic_stitch.function(np, [_vector(100)], [_vector(1)]).tolist() == [0] * 100 + [1]
    places, values = ([_vector(i + shift) for i in range(40)] for shift in (0, 5))
    assert dynamic_stitch.function(np, places, values).tolist() == list(range(5, 45))
    assert _kept() == before
