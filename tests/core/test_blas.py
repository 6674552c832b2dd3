"""What is taken from NumPy's BLAS directly computes what NumPy would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfnb.core.blas import add_scaled, set_num_threads


def test_numpys_blas_can_be_told_its_threads() -> None:
    """The library that NumPy's wheels bring is one that is known."""
    assert set_num_threads(1)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("size", [0, 1, 5, 1000])
@pytest.mark.parametrize(("alpha", "beta"), [(2, 3), (-1, 1), (0, 1), (3, 0), (0, 0)])
def test_sums_of_multiples(dtype: str, size: int, alpha: Any, beta: Any) -> None:
    """Also with a factor of 0 or 1, and for dtypes that BLAS does not know."""
    rng = np.random.default_rng(0)
    x, y = ((8 * rng.standard_normal(size)).astype(dtype) for _ in range(2))
    want = y * y.dtype.type(beta) + x * x.dtype.type(alpha)
    kept = x.copy()
    add_scaled(x.dtype.type(alpha), x, x.dtype.type(beta), y)
    np.testing.assert_allclose(y, want, rtol=1e-2 if dtype == "f2" else 1e-5)
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize(("alpha", "beta"), [(2, 3), (0, 1), (1, 0)])
def test_what_is_no_number_stays_none(alpha: float, beta: float) -> None:
    """Zero times NaN is NaN, as everywhere."""
    x, y = np.ones(100, "f4"), np.ones(100, "f4")
    x[3], y[5] = np.nan, np.inf
    with np.errstate(all="ignore"):
        want = y * np.float32(beta) + x * np.float32(alpha)
        add_scaled(np.float32(alpha), x, np.float32(beta), y)
    np.testing.assert_array_equal(y, want)


def test_views() -> None:
    """Parts of arrays, and arrays that are not contiguous."""
    x, y = np.arange(20, dtype="f8").reshape(4, 5), np.ones((4, 5))
    add_scaled(np.float64(2), x[1:3], np.float64(1), y[1:3])
    add_scaled(np.float64(2), x[:1, ::2], np.float64(1), y[:1, ::2])
    want = np.ones((4, 5))
    want[1:3] += 2 * x[1:3]
    want[:1, ::2] += 2 * x[:1, ::2]
    np.testing.assert_array_equal(y, want)
