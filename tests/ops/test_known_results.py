"""Kernels about shapes keep results; equal inputs that are other arrays get equal results."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core import errors
from tfnb.ops.array import concat_ops, data_flow_ops, shape_ops, slice_ops
from tfnb.ops.base.known_results import ResultsOfKept, are_kept, kept

_ONE = np.int32(1)


def _sizes(*shape):
    """Return the kept array of a shape, and another array with the same sizes."""
    found = shape_ops.shape_op.function(np, np.empty(shape), out_type=shape_ops.dtypes.int32)
    return found, found.copy()


def test_only_kept_arrays_and_scalars_are_known_by_identity():
    """A result for an array that may change is not kept."""
    results, (known, other) = ResultsOfKept(), _sizes(2, 3)
    assert are_kept([known, _ONE])
    assert not are_kept([known, other])
    assert results.keep((known, _ONE), "a") == "a"
    assert results.get((known, _ONE)) == "a"
    assert results.get((known, _ONE), (2,)) is None
    assert results.keep((other, _ONE), "b") == "b"
    assert results.get((other, _ONE)) is None


def test_a_kept_array_is_read_only():
    """Nothing may change the value that it stands for."""
    with pytest.raises(ValueError, match="read-only"):
        kept(np.array([1]))[0] = 2


def test_kernels_give_kept_inputs_the_results_of_their_values():
    """Each kernel is called twice with kept inputs and once with copies."""
    (small, small_copy), (large, large_copy) = _sizes(1, 3), _sizes(2, 3)
    axes = shape_ops.broadcast_gradient_args.function
    offsets = concat_ops.concat_offset.function
    for call in (
        lambda x, y: axes(np, x, y),
        lambda x, y: axes(np, y, y),
        lambda x, y: offsets(np, np.int32(0), [x, y]),
    ):
        wanted = [one.tolist() for one in call(small_copy, large_copy)]
        for _ in range(2):
            assert [one.tolist() for one in call(small, large)] == wanted


def test_slices_at_kept_places_fit_the_shape():
    """The same places are cut out of tensors of several shapes; an error remains one."""
    function = slice_ops.slice_op.function
    (begin, _), (size, _) = _sizes(0, 1), _sizes(2, 2)
    for shape in ((2, 3), (4, 5), (2, 3), (4, 5)):
        x = np.arange(np.prod(shape)).reshape(shape)
        assert np.array_equal(function(np, x, begin, size), x[0:2, 1:3])
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="Expected size"):
            function(np, np.zeros((1, 3)), begin, size)


def test_scalars_are_stitched_like_arrays():
    """Indices of gradients of sums are NumPy's scalars or arrays of rank 0."""
    function = data_flow_ops.dynamic_stitch.function
    sizes, _ = _sizes(8, 5, 3)
    for one in (_ONE, np.array(1, np.int32)):
        found = function(np, [np.arange(3, dtype=np.int32), one], [sizes, _ONE])
        assert found.tolist() == [8, 1, 3]
