"""Sums per channel of long rows are those of the plain way."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.ops.base.large_arrays import plain_ways
from tfnb.ops.nn.channel_rows import ChannelRows


def _sum_of_products(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    channels = ChannelRows(np, a.shape, axis)
    return channels.sum_of_products(channels.rows(a), channels.rows(b))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [((2, 3, 5, 7), 3), ((4, 33, 31, 16), 3), ((9, 40, 40, 192), 3), ((4, 16, 33, 31), 1)],
)
def test_sums_of_products(shape: tuple[int, ...], axis: int, dtype: str) -> None:
    """Few and many rows have the same sums, with NaN and infinity in their channels."""
    random = np.random.default_rng(6)
    a, b = (random.integers(-3, 4, shape).astype(dtype) for _ in range(2))
    a[1, 2, 3, 4], b[0, 1, 2, 3] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        found = _sum_of_products(a, b, axis)
        with plain_ways():
            plain = _sum_of_products(a, b, axis)
    np.testing.assert_array_equal(found, plain)
    assert np.isnan(found).any()
    assert np.isfinite(found).any()
