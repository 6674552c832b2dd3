"""Indices of largest and smallest elements, of arrays of all sizes."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.ops.math.reduction_ops import arg_max, arg_min


@pytest.mark.parametrize("dtype", [np.float32, np.float64, dtypes.bfloat16.as_numpy_dtype])
@pytest.mark.parametrize("shape", [(3, 5, 4), (64, 40, 30)])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("has_nan", [False, True])
def test_nan_is_neither_the_largest_nor_the_smallest(
    dtype: type, shape: tuple[int, ...], axis: int, has_nan: bool
) -> None:
    """The first of equal elements counts; of nothing but NaN and infinities, the first one."""
    x = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    if has_nan:
        x[1, 2, :3] = x[0, :, 1] = x[:, 3, 2] = np.nan
        x[2, 2, 0] = np.inf
        x[2, 3, 1] = -np.inf
    for op, best, lowest in ((arg_max, np.argmax, -np.inf), (arg_min, np.argmin, np.inf)):
        found = op.function(np, x, np.int32(axis), output_type=dtypes.int64)
        wide = x.astype(np.float64)
        wanted = best(np.where(np.isnan(wide), lowest, wide), axis=axis)
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype == np.int64
