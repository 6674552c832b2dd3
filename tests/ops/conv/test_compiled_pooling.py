"""Compiled pooling gives the plain way's values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.conv.test_compiled_conv import random, window
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.core.process import work_sharder
from tfnb.ops.conv.pooling_kernels import avg_pool, max_pool

pytest.importorskip("llvmlite")


@pytest.fixture(autouse=True)
def _compiles(monkeypatch):
    monkeypatch.setenv("TFNB_COMPILED", "1")


def compiled(kernel, x, windows):
    """Return the result once the routine is ready."""
    with np.errstate(all="ignore"):
        kernel(np, x, windows)
        HELPER.wait()
        return kernel(np, x, windows)


CASES = [(2, 2, 1, (0, 0)), (3, 2, 1, (0, 1)), (3, 1, 1, (1, 1)), (2, 1, 2, (0, 0))]


@pytest.mark.parametrize("kernel", [max_pool, avg_pool])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf])
def test_values_are_those_of_the_plain_way(kernel, case, value):
    """Paddings, strides, dilations, and numbers that are not finite."""
    for channels in (1, 5, 33):
        windows = [window(size, *case) for size in (7, 8)]
        x = random(2, 7, 8, channels)
        x[0, 2:5, 2:5] = value
        x[1, 3, 3, 0] = value
        with np.errstate(all="ignore"):
            plain = kernel(np, x, windows)
        with compiling_at_once():
            found = compiled(kernel, x, windows)
        assert found.dtype == plain.dtype
        exact = kernel is max_pool
        np.testing.assert_allclose(found, plain, 0 if exact else 1e-6, 0 if exact else 1e-6)


def test_results_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    windows = [window(90, 3, 1, 1, (1, 1))] * 2
    x, found = random(4, 90, 90, 20), []
    with compiling_at_once():
        for threads in (1, 2):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            found.append(compiled(avg_pool, x, windows))
    np.testing.assert_array_equal(*found)
