"""Softmax and its losses over large arrays give the same bits on any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from tests.without_kernels import without_kernels
from tfnb.core.process import work_sharder
from tfnb.ops.base.large_arrays import shard_rows
from tfnb.ops.nn import cross_entropy_ops, softmax_ops


def _softmax(x):
    return [softmax_ops.softmax_op.function(np, x)]


def _log_softmax(x):
    return [softmax_ops.log_softmax_op.function(np, x)]


def _cross_entropy(x):
    return cross_entropy_ops.softmax_cross_entropy.function(np, x, abs(x))


@pytest.mark.parametrize("compute", [_softmax, _log_softmax, _cross_entropy])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(200, 1000), (331, 1003), (7, 40000)])
def test_sums_of_rows_do_not_depend_on_threads(compute, dtype, shape, monkeypatch):
    """A product with ones rounds the last rows of a range otherwise than others."""
    x = np.random.default_rng(3).normal(size=shape).astype(dtype)
    found = []
    with without_kernels():
        for threads in (1, 2, 3):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            found.append(compute(x))
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize(("rows", "width"), [(0, 3), (1, 0), (5, 1 << 17), (1000, 700), (9, 1)])
def test_ranges_of_rows_are_those_of_one_thread(rows, width, threads, monkeypatch):
    """All rows are covered once, by ranges of one size."""
    monkeypatch.setattr(work_sharder, "_num_threads", threads)
    ranges = []
    shard_rows(rows, width, lambda first, last: ranges.append((first, last)))
    ranges.sort()
    assert [row for first, last in ranges for row in range(first, last)] == list(range(rows))
    assert len({last - first for first, last in ranges[:-1]}) <= 1
    monkeypatch.setattr(work_sharder, "_num_threads", 1)
    alone = []
    shard_rows(rows, width, lambda first, last: alone.append((first, last)))
    assert ranges == alone
