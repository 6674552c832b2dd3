"""Compiled rows' largest numbers are those of the plain way, with the same indices."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.core.process import work_sharder
from tfnb.ops.nn import compiled_top_k
from tfnb.ops.nn.top_k_ops import top_k_v2

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


def check(x, k, index_type=dtypes.int32):
    """Compare values and indices; return them."""

    def run():
        return top_k_v2.function(np, x, np.int32(k), sorted=True, index_type=index_type)

    run()
    HELPER.wait()
    found = run()
    with without_routines():
        plain = run()
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    return found


def rows(shape, seed=1):
    """Return rows in which numbers are equal to others, and zeros have both signs."""
    x = np.round(np.random.default_rng(seed).normal(size=shape), 2).astype(np.float32)
    return np.where(np.abs(x) < 0.05, np.float32(-0.0), x)


@pytest.mark.parametrize("shape", [(2,), (1, 7), (3, 40), (2, 3, 100), (1, 5000), (0, 9)])
@pytest.mark.parametrize("k", [0, 1, 2, 5, 40, 64, 65])
@pytest.mark.parametrize("index_type", [dtypes.int16, dtypes.int32, dtypes.int64])
def test_values_and_indices_are_those_of_the_plain_way(shape, k, index_type):
    """Rows of all lengths, up to whole ones."""
    if k <= shape[-1]:
        check(rows(shape), k, index_type)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 3, 30, 99])
def test_numbers_that_are_not_finite(value, place):
    """NaN counts as the largest number."""
    x = rows((2, 100))
    x[1, place] = value
    check(x, 8)
    x[1] = value
    check(x, 8)


@pytest.mark.parametrize("order", [1, -1])
def test_rising_and_falling_numbers(order):
    """Rising ones, of which each is inserted, are given up."""
    x = np.ascontiguousarray(np.arange(4000, dtype=np.float32)[None, ::order])
    check(x, 60)
    is_given_up = compiled_top_k.largest(x, 60) is None
    assert is_given_up == (order == 1)


def test_the_routine_runs():
    """It takes 32-bit floats in C order."""
    x = rows((3, 50))
    check(x, 5)
    assert compiled_top_k.largest(x, 5) is not None
    assert compiled_top_k.largest(x.astype(np.float64), 5) is None
    assert compiled_top_k.largest(x[:, ::2], 5) is None
    assert compiled_top_k.largest(x[:0], 5) is None


def test_threads_share_rows(monkeypatch):
    """Results are the same."""
    x = rows((700, 500))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found.append(check(x, 20))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint32])
@pytest.mark.parametrize("value", [0, 7, np.nan, np.inf])
def test_one_row_alone_is_as_one_of_two(dtype, value):
    """The plain way of one row has a shorter path."""
    x = np.round(10 * np.random.default_rng(1).normal(size=(1, 300))).astype(dtype)
    if np.dtype(dtype).kind == "f" or np.isfinite(value):
        x[0, ::50] = value
    both = np.concatenate([x, x])
    with without_routines():
        for k in (2, 20, 37):
            given = np.int32(k), {"sorted": True, "index_type": dtypes.int32}
            one = top_k_v2.function(np, x, given[0], **given[1])
            two = top_k_v2.function(np, both, given[0], **given[1])
            distinct = np.arange(300, dtype=dtype)[None] * 7 % 300
            np.testing.assert_array_equal(
                top_k_v2.function(np, distinct.astype(dtype), given[0], **given[1])[0],
                np.arange(299, 299 - k, -1, dtype=dtype)[None],
            )
            for alone, among in zip(one, two, strict=True):
                np.testing.assert_array_equal(alone, among[:1])


@pytest.mark.parametrize("count", [1, 2])
def test_nan_comes_before_equal_numbers(count):
    """A row with NaN has fewer numbers that reach its limit, one with equal numbers has more."""
    x = np.zeros((2, 40), np.float32)
    x[0, [3, 9, 11]] = np.nan, 5, 5
    x[1, [2, 4, 5]] = 4
    found = check(x[:count], 2)[1].tolist()
    assert found == [[3, 9], [2, 4]][:count]
    x[0, 11] = 4
    assert check(x[:count], 2)[1].tolist() == found
