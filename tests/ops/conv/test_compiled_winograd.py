"""Compiled transformations give the convolutions of the definition, up to their rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.core.process import work_sharder
from tfnb.core.process.records import replace
from tfnb.ops.conv import compiled_winograd, conv_kernels
from tfnb.ops.conv.windows import Window

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


def window(size, filter_, pads):
    """Return a window with stride 1, with the paddings before and after."""
    return Window(size, filter_, 1, 1, size + sum(pads) - filter_ + 1, *pads)


def random(*shape):
    """Return normal numbers."""
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def convolved(x, kernel, windows):
    """Return the convolution by the routines, which are ready then, and whether it is finite."""
    outputs = (one.output for one in windows)
    out = np.full((len(x), *outputs, kernel.shape[-1]), 7, np.float32)
    with np.errstate(all="ignore"):
        compiled_winograd.forward(x, kernel, windows, out)
        HELPER.wait()
        is_finite = compiled_winograd.forward(x, kernel, windows, out)
    assert is_finite is not None
    return out, is_finite


def gradient(x, grad, kernel_shape, windows):
    """Return the gradient of the filter by the routines, which are ready then."""
    with np.errstate(all="ignore"):
        compiled_winograd.filter_gradient(x, grad, kernel_shape, windows)
        HELPER.wait()
        found = compiled_winograd.filter_gradient(x, grad, kernel_shape, windows)
    assert found is not None
    return found


def defined_gradient(x, grad, kernel_shape, windows):
    """Return the gradient of the filter by its definition, in double precision."""
    with without_routines(), np.errstate(all="ignore"):
        given = x.astype(np.float64), grad.astype(np.float64)
        return conv_kernels.backprop_filter(np, *given, kernel_shape, windows)


def defined(x, kernel, windows):
    """Return the convolution by its definition, in double precision."""
    with without_routines(), np.errstate(all="ignore"):
        return conv_kernels.forward(np, x.astype(np.float64), kernel.astype(np.float64), windows)


@pytest.mark.parametrize("filters", [(2, 2), (3, 3), (4, 4), (5, 5), (2, 5), (4, 3)])
@pytest.mark.parametrize("sizes", [(6, 6), (7, 13), (16, 9), (4, 5)])
@pytest.mark.parametrize("pads", [(0, 0), (1, 2), (4, 4)])
@pytest.mark.parametrize("channels", [(16, 16), (19, 33)])
def test_convolutions_are_those_of_the_definition(filters, sizes, pads, channels):
    """Filters and images of all sizes; tiles beyond the images; channels that fill no vector."""
    windows = [window(size, one, pads) for size, one in zip(sizes, filters, strict=True)]
    if min(one.output for one in windows) < 1:
        return
    x, kernel = random(3, *sizes, channels[0]), random(*filters, *channels)
    found, is_finite = convolved(x, kernel, windows)
    expected = defined(x, kernel, windows)
    assert is_finite
    np.testing.assert_allclose(found, expected, 1e-4, 2e-5 * np.abs(expected).max())
    grad = random(*found.shape)
    found = gradient(x, grad, kernel.shape, windows)
    expected = defined_gradient(x, grad, kernel.shape, windows)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, 1e-4, 2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("is_wide", [False, True])
def test_many_tiles_make_several_blocks(monkeypatch, is_wide):
    """The result is that of one block, for any number of threads."""
    shape = (3, 40, 22, 40) if is_wide else (40, 6, 5, 17)
    windows = [window(size, 3, (1, 1)) for size in shape[1:3]]
    x, kernel = random(*shape), random(3, 3, shape[3], 48)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        result = convolved(x, kernel, windows)[0]
        found.append((result, gradient(x, random(*result.shape), kernel.shape, windows)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
    monkeypatch.setattr(compiled_winograd, "_BLOCK_BYTES", 1 << 30)
    np.testing.assert_allclose(convolved(x, kernel, windows)[0], found[0][0], 1e-4, 1e-4)
    monkeypatch.setattr(compiled_winograd, "_SUMMED_BYTES", 1 << 19)
    once_more = gradient(x, random(*found[0][0].shape), kernel.shape, windows)
    np.testing.assert_allclose(once_more, found[0][1], 1e-3, 1e-3)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0, 0, 0), (1, 30, 30, 65), (1, 12, 31, 7)])
def test_numbers_that_are_not_finite_stay_where_they_belong(value, place):
    """They reach the results that depend on them, and no others of their tile."""
    windows = [window(32, 3, (1, 1))] * 2
    x, kernel = random(2, 32, 32, 66), random(3, 3, 66, 72)
    x[place] = value
    expected = defined(x, kernel, windows)
    assert not convolved(x, kernel, windows)[1]
    for _ in range(3):
        with np.errstate(all="ignore"):
            found = conv_kernels.forward(np, x, kernel, windows)
        HELPER.wait()
    assert compiled_winograd.suits(kernel.shape, windows, found)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, 1e-4, 1e-3)
    grad = random(*found.shape)
    expected = defined_gradient(x, grad, kernel.shape, windows)
    for _ in range(3):
        with np.errstate(all="ignore"):
            found = conv_kernels.backprop_filter(np, x, grad, kernel.shape, windows)
        HELPER.wait()
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, 1e-4, 1e-2)


def test_kernels_use_the_routines():
    """The convolution, the gradient of its input, which is one, too, and that of its filter."""
    windows = [window(32, 3, (1, 1))] * 2
    x, kernel, grad = random(2, 32, 32, 64), random(3, 3, 64, 80), random(2, 32, 32, 80)
    for _ in range(3):
        found = conv_kernels.forward(np, x, kernel, windows)
        of_input = conv_kernels.backprop_input(np, x.shape, kernel, grad, windows)
        of_filter = conv_kernels.backprop_filter(np, x, grad, kernel.shape, windows)
        HELPER.wait()
    np.testing.assert_array_equal(found, convolved(x, kernel, windows)[0])
    turned = np.ascontiguousarray(kernel[::-1, ::-1].swapaxes(2, 3))
    np.testing.assert_array_equal(of_input, convolved(grad, turned, windows)[0])
    np.testing.assert_array_equal(of_filter, gradient(x, grad, kernel.shape, windows))


def test_small_and_other_convolutions_are_not_transformed():
    """Strides, gaps, filters of other sizes, few channels, few tiles, results with strides."""
    out = np.empty((4, 32, 32, 64), np.float32)
    one = window(32, 3, (1, 1))
    assert compiled_winograd.suits((3, 3, 64, 64), [one] * 2, out)
    for other in (
        replace(one, stride=2), replace(one, dilation=2), window(32, 1, (0, 0)),
        window(32, 7, (3, 3)),
    ):  # fmt: skip
        assert not compiled_winograd.suits((3, other.filter, 64, 64), [one, other], out)
    assert not compiled_winograd.suits((3, 3, 64, 64), [one], out)
    assert not compiled_winograd.suits((3, 3, 3, 64), [one] * 2, out)
    assert not compiled_winograd.suits((3, 3, 64, 64), [window(4, 3, (1, 1))] * 2, out[:1, :4, :4])
    assert not compiled_winograd.suits((3, 3, 64, 64), [one] * 2, out.swapaxes(1, 2))


def test_memory_of_earlier_calls_is_limited(monkeypatch):
    """What is kept for later calls stays below a number of bytes."""
    monkeypatch.setattr(compiled_winograd, "_MOST_SPARE_BYTES", 1 << 20)
    windows = [window(20, 3, (1, 1))] * 2
    for channels in (16, 40, 64, 80):
        convolved(random(2, 20, 20, channels), random(3, 3, channels, 32), windows)
        kept = sum(one.nbytes for one in compiled_winograd._spare)
        assert kept <= 1 << 20
