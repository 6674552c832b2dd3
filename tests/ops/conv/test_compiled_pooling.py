"""Compiled pooling gives the plain way's values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.conv.test_compiled_conv import random, window
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.core.process import work_sharder
from tfnb.ops.conv import compiled_pooling
from tfnb.ops.conv.pooling_kernels import avg_pool, max_pool, max_pool_grad, spread_to_equals

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


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf])
def test_gradients_of_maxima_are_those_of_the_plain_way(case, value):
    """The first of equal cells wins, also where cells are not numbers, and never the padding."""
    for channels in (1, 5, 33):
        windows = [window(size, *case) for size in (7, 8)]
        x = np.round(random(2, 7, 8, channels), 1)
        x[0, :5, :5] = value
        x[1, 3, 3, 0] = value
        grad = random(2, *(w.output for w in windows), channels)
        with np.errstate(all="ignore"):
            plain = max_pool_grad(np, x, grad, windows)
        with compiling_at_once():
            compiled(
                lambda xp, x, windows, grad=grad: max_pool_grad(xp, x, grad, windows), x, windows
            )
            found = max_pool_grad(np, x, grad, windows)
            direct = compiled_pooling.maximum_gradient(x, grad, windows)
        assert found.dtype == plain.dtype
        np.testing.assert_allclose(found, plain, 1e-6, 1e-6)
        has_padding = any(w.pad_before or w.pad_after for w in windows)
        assert (direct is None) == (has_padding and value == -np.inf)


@pytest.mark.parametrize("sizes", [(9,), (4, 5, 6)])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf])
def test_one_and_three_spatial_dimensions(sizes, case, value):
    """Windows of minus infinity have it as their maximum, unless they meet padding."""
    windows = [window(size, *case) for size in sizes]
    x = np.round(random(2, *sizes, 21), 1)
    x[0] = value
    x[(1, *(1,) * len(sizes))] = value
    grad = random(2, *(w.output for w in windows), 21)
    for kernel in (max_pool, avg_pool, lambda xp, x, windows: max_pool_grad(xp, x, grad, windows)):
        with np.errstate(all="ignore"):
            plain = kernel(np, x, windows)
        with compiling_at_once():
            found = compiled(kernel, x, windows)
        np.testing.assert_allclose(found, plain, 1e-6, 1e-6)
    with compiling_at_once():
        finite = np.zeros_like(x)
        assert compiled(lambda _, x, w: compiled_pooling.maximum(x, w), finite, windows) is not None
        gradient = compiled(
            lambda _, x, w: compiled_pooling.maximum_gradient(x, grad, w), finite, windows
        )
        assert gradient is not None


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf, -np.inf])
def test_gradients_of_volumes_reach_all_equal_cells(case, value):
    """Equal cells get the whole gradient each, and padding none."""
    windows = [window(size, *case) for size in (4, 5, 6)]
    x = np.round(random(2, 4, 5, 6, 21), 0)
    x[0, :3, :3] = value
    output, grad = max_pool(np, x, windows), random(2, *(w.output for w in windows), 21)
    grad[1, 0, 0, 0, 3] = np.nan

    def spread(xp, x, windows):
        return spread_to_equals(xp, x, output, grad, windows)

    with np.errstate(all="ignore"):
        plain = spread(np, x, windows)
    with compiling_at_once():
        found = compiled(spread, x, windows)
        near = np.float32(1e-5)
        assert compiled_pooling.spread_to_equals(x, output, grad, windows, near) is not None
    np.testing.assert_allclose(found, plain, 1e-5, 1e-5)


def test_gradients_of_many_images_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    windows = [window(40, 3, 1, 1, (1, 1))] * 2
    x, found = random(9, 40, 40, 20), []
    grad = random(9, 40, 40, 20)
    with compiling_at_once():
        for threads in (1, 2):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            compiled(lambda xp, *_: max_pool_grad(xp, x, grad, windows), x, windows)
            found.append(compiled_pooling.maximum_gradient(x, grad, windows))
    np.testing.assert_array_equal(*found)


def test_results_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    windows = [window(90, 3, 1, 1, (1, 1))] * 2
    x, found = random(4, 90, 90, 20), []
    with compiling_at_once():
        for threads in (1, 2):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            found.append(compiled(avg_pool, x, windows))
    np.testing.assert_array_equal(*found)
