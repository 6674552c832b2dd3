"""Compiled convolutions and their gradients give the plain way's values, up to their rounding."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once, without_routines
from tfnb.core.process import work_sharder
from tfnb.ops.base.large_arrays import plain_ways
from tfnb.ops.conv import compiled_conv, conv_kernels, conv_plans, depthwise_kernels
from tfnb.ops.conv.windows import Window

pytest.importorskip("llvmlite")


def window(size, filter_, stride, dilation, pads):
    """Return a window, with the paddings before and after."""
    before, after = pads
    reach = (filter_ - 1) * dilation + 1
    output = (size + before + after - reach) // stride + 1
    return Window(size, filter_, stride, dilation, output, before, after)


def random(*shape):
    """Return normal numbers."""
    return np.random.default_rng(5).normal(size=shape).astype(np.float32)


def results(kernels, x, kernel, grad, windows):
    """Return the convolution, and the gradients of input and filter."""
    return (
        kernels.forward(np, x, kernel, windows),
        kernels.backprop_input(np, x.shape, kernel, grad, windows),
        kernels.backprop_filter(np, x, grad, kernel.shape, windows),
    )


def compiled_results(*args):
    """Call the kernels until their routines are ready, then return their results."""
    for _ in range(4):
        results(*args)
        HELPER.wait()
    return results(*args)


@pytest.fixture(autouse=True)
def _compiles(monkeypatch):
    monkeypatch.setenv("TFNB_COMPILED", "1")


@pytest.mark.parametrize("dtype", [dtypes.float16.numpy_dtype, dtypes.bfloat16.numpy_dtype])
@pytest.mark.parametrize("kernels", [conv_kernels, depthwise_kernels])
@pytest.mark.parametrize("stride", [1, 2])
def test_results_of_short_floats_are_short_floats(kernels, stride, dtype):
    """They are computed in float32, and rounded once."""
    windows = [window(9, 3, stride, 1, (1, 1))] * 2
    channels = (6, 5) if kernels is conv_kernels else (6, 1)
    out_channels = 5 if kernels is conv_kernels else 6
    arrays = (
        random(2, 9, 9, 6), random(3, 3, *channels),
        random(2, *(one.output for one in windows), out_channels),
    )  # fmt: skip
    arrays = [one.astype(dtype) for one in arrays]
    with without_routines():
        plain = results(kernels, *arrays, windows)
    with compiling_at_once():
        found = compiled_results(kernels, *arrays, windows)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype == dtype
        np.testing.assert_allclose(one.astype("f4"), other.astype("f4"), 2e-2, 2e-2)


SIZES = [(7, 9), (5, 4)]
CASES = [  # filter, stride, dilation, pads
    (3, 1, 1, (1, 1)),
    (3, 2, 1, (0, 1)),
    (2, 3, 1, (0, 0)),
    (3, 1, 2, (2, 2)),
    (4, 2, 1, (1, 2)),
    (1, 1, 1, (0, 0)),
    (3, 2, 2, (2, 2)),
]


@pytest.mark.parametrize("case", [(1, 1, 1, (0, 0)), (3, 2, 1, (1, 1)), (2, 1, 2, (1, 1))])
@pytest.mark.parametrize("channels", [(300, 40), (90, 150), (33, 260)])
@pytest.mark.parametrize("sizes", [(4, 5), (23, 19)])
def test_wide_filters_are_copied_in_parts(case, channels, sizes):
    """Sums of several parts, several groups of channels, chunks of positions and of cells."""
    windows = [window(size, *case) for size in sizes]
    x, kernel = random(3, *sizes, channels[0]), random(case[0], case[0], *channels)
    grad = random(3, *(one.output for one in windows), channels[1])
    with without_routines():
        plain = results(conv_kernels, x, kernel, grad, windows)
    with compiling_at_once():
        found = compiled_results(conv_kernels, x, kernel, grad, windows)
        threads = work_sharder.num_threads()
        work_sharder.set_num_threads(3)
        try:
            again = results(conv_kernels, x, kernel, grad, windows)
        finally:
            work_sharder.set_num_threads(threads)
    for one, other, third in zip(found, plain, again, strict=True):
        np.testing.assert_allclose(one, other, 1e-4, 2e-3)
        np.testing.assert_array_equal(one, third)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("channels", [(3, 2), (5, 70), (17, 1), (32, 1)])
def test_convolution_equals_the_plain_way(case, channels):
    """Strides, dilations, paddings, and channels that fill no vector."""
    sizes = SIZES[channels[1] > 2]
    windows = [window(size, *case) for size in sizes]
    x, kernel = random(2, *sizes, channels[0]), random(case[0], case[0], *channels)
    grad = random(2, *(one.output for one in windows), channels[1])
    plain = results(conv_kernels, x, kernel, grad, windows)
    with compiling_at_once():
        found = compiled_results(conv_kernels, x, kernel, grad, windows)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-4, 2e-5)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("multiplier", [1, 3])
def test_depthwise_convolution_equals_the_plain_way(case, multiplier):
    """Channels that fill no vector, and a multiplier."""
    windows = [window(size, *case) for size in SIZES[0]]
    channels = 21 if multiplier == 1 else 3
    x, kernel = random(2, *SIZES[0], channels), random(case[0], case[0], channels, multiplier)
    grad = random(2, *(one.output for one in windows), channels * multiplier)
    plain = results(depthwise_kernels, x, kernel, grad, windows)
    with compiling_at_once():
        found = compiled_results(depthwise_kernels, x, kernel, grad, windows)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-4, 2e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("kernels", [conv_kernels, depthwise_kernels])
def test_numbers_that_are_not_finite_stay_where_they_belong(kernels, value):
    """One NaN or infinity reaches the results that depend on it, and no others."""
    windows = [window(size, 3, 1, 1, (1, 1)) for size in (8, 9)]
    outputs = 6 if kernels is conv_kernels else 1
    x, kernel = random(2, 8, 9, 5), random(3, 3, 5, outputs)
    grad = random(2, 8, 9, outputs if kernels is conv_kernels else 5)
    x[1, 2, 3, 4] = grad[0, 5, 5, 1] = value
    with np.errstate(all="ignore"):
        plain = results(kernels, x, kernel, grad, windows)
    with compiling_at_once(), np.errstate(all="ignore"):
        found = compiled_results(kernels, x, kernel, grad, windows)
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_array_equal(np.isnan(one), np.isnan(other))
        np.testing.assert_allclose(one, other, 1e-4, 2e-5)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    ("kernels", "case", "channels"),
    [
        (conv_kernels, (3, 1, 1, (1, 1)), (9, 6)),
        (conv_kernels, (5, 2, 1, (1, 2)), (9, 12)),
        (conv_kernels, (3, 2, 1, (0, 1)), (33, 6)),
        (conv_kernels, (1, 1, 1, (0, 0)), (9, 6)),
        (depthwise_kernels, (3, 1, 1, (1, 1)), (64, 1)),
        (depthwise_kernels, (4, 3, 1, (0, 0)), (64, 2)),
    ],
)
def test_filters_that_are_not_finite_reach_the_cells_that_they_meet(
    kernels, case, channels, compiled, value
):
    """No gradient of an input has a NaN from an infinite filter times the zeros of a padding."""
    windows = [window(size, *case) for size in (13, 12)]
    x, kernel = random(2, 13, 12, channels[0]), random(case[0], case[0], *channels)
    outputs = channels[1] if kernels is conv_kernels else channels[0] * channels[1]
    grad = random(2, *(one.output for one in windows), outputs)
    for given in (kernel, grad):
        before = given[0, -1, 0, 0]
        given[0, -1, 0, 0] = value
        arrays = x.shape, kernel, grad, windows
        with np.errstate(all="ignore"):
            with plain_ways():
                plain = kernels.backprop_input(np, *arrays)
            with compiling_at_once() if compiled else without_routines():
                kernels.backprop_input(np, *arrays)
                HELPER.wait()
                found = kernels.backprop_input(np, *arrays)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(plain))
        np.testing.assert_allclose(found, plain, 1e-4, 2e-5)
        given[0, -1, 0, 0] = before


@pytest.mark.parametrize("kernels", [conv_kernels, depthwise_kernels])
def test_results_do_not_depend_on_threads(kernels, monkeypatch):
    """Two threads give the bits of one."""
    windows = [window(size, 3, 1, 1, (1, 1)) for size in (40, 41)]
    outputs = 33 if kernels is conv_kernels else 1
    x, kernel = random(4, 40, 41, 34), random(3, 3, 34, outputs)
    grad = random(4, 40, 41, outputs if kernels is conv_kernels else 34)
    found = []
    with compiling_at_once():
        for threads in (1, 2):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            found.append(compiled_results(kernels, x, kernel, grad, windows))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("filter_", [(3, 2), (2, 2), (3, 3), (2, 1)])
@pytest.mark.parametrize("order", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
def test_filter_gradients_of_small_and_of_reversed_images(filter_, order):
    """Tiles of cells span rows that lie apart, or in the other direction."""
    for channels, width in itertools.product((1, 2, 3, 5), (3, 4)):
        x = random(2, 5, width, channels)[:, :: order[0], :: order[1]]
        windows = [
            window(size, one, 1, 1, (0, 0)) for size, one in zip((5, width), filter_, strict=True)
        ]
        kernel = random(*filter_, channels, 200)  # for which cells are copied
        grad = random(2, *(one.output for one in windows), 200)
        with without_routines():
            plain = results(conv_kernels, x, kernel, grad, windows)
        with compiling_at_once():
            found = compiled_results(conv_kernels, x, kernel, grad, windows)
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_allclose(one, other, 1e-4, 1e-4)


def test_one_and_three_spatial_dimensions():
    """Offsets fit any number of dimensions."""
    for sizes in ((11,), (4, 5, 6)):
        windows = [window(size, 3, 1, 1, (1, 1)) for size in sizes]
        x, kernel = random(2, *sizes, 3), random(*[3] * len(sizes), 3, 4)
        grad = random(2, *sizes, 4)
        plain = results(conv_kernels, x, kernel, grad, windows)
        with compiling_at_once():
            found = compiled_results(conv_kernels, x, kernel, grad, windows)
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_allclose(one, other, 1e-4, 2e-5)


def test_large_images_are_padded_with_zeros():
    """Uneven paddings on all sides."""
    windows = [window(40, 4, 1, 1, pads) for pads in ((1, 2), (2, 1))]
    x, kernel, grad = random(2, 40, 40, 17), random(4, 4, 17, 5), random(2, 40, 40, 5)
    plain = results(conv_kernels, x, kernel, grad, windows)
    with compiling_at_once():
        found = compiled_results(conv_kernels, x, kernel, grad, windows)
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_allclose(one, other, 1e-3, 2e-4)


def test_forms_that_were_forgotten_are_made_again(monkeypatch):
    """Many shapes in turns, of which a few are kept."""
    monkeypatch.setattr(conv_plans, "_MOST_PLANS", 2)
    kernel = random(3, 3, 4, 5)
    forms = []
    for size in (5, 6, 7, 8):
        windows = [window(size, 3, 1, 1, (1, 1))] * 2
        x, grad = random(2, size, size, 4), random(2, size, size, 5)
        forms.append((x, kernel, grad, windows))
    with compiling_at_once():
        compiled_results(conv_kernels, *forms[0])
        for form in forms * 2:
            found = results(conv_kernels, *form)
            with without_routines():
                plain = results(conv_kernels, *form)
            for one, other in zip(found, plain, strict=True):
                np.testing.assert_allclose(one, other, 1e-4, 2e-5)
    assert len(conv_plans._plans) <= 2


@pytest.mark.parametrize("kernels", [conv_kernels, depthwise_kernels])
def test_what_is_ready_computes_other_numbers_of_the_same_form(kernels):
    """Images and filters in other orders of memory, and of other dtypes, are of other forms."""
    windows = (window(9, 3, 1, 1, (1, 1)), window(8, 2, 1, 1, (0, 1)))
    x, kernel = random(2, 9, 8, 6), random(3, 2, 6, 1 if kernels is depthwise_kernels else 5)
    turned = np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    swapped = np.asfortranarray(kernel)
    forms = [
        (x, kernel), (x * 2, kernel * 3), (turned, kernel), (x, swapped),
        (x.astype(np.float64), kernel.astype(np.float64)), (x[:1], kernel),
    ]  # fmt: skip
    with compiling_at_once():
        for _ in range(4):
            kernels.forward(np, x, kernel, windows)
            HELPER.wait()
        kind = "depthwise " if kernels is depthwise_kernels else ""
        assert conv_plans.ready_for(kind, x, kernel, windows) is not None
        for images, taps in forms * 2:
            found = kernels.forward(np, images, taps, windows)
            with without_routines():
                plain = kernels.forward(np, images, taps, windows)
            assert found.dtype == plain.dtype
            np.testing.assert_allclose(found, plain, 1e-4, 2e-5)


def test_many_orders_of_memory_are_forgotten():
    """Filters that lie in other ways have the same plan; a few of them are kept."""
    windows = (window(9, 3, 1, 1, (1, 1)),) * 2
    x = random(1, 9, 9, 4)
    with compiling_at_once():
        for width in (3, *range(3, 60), 3):
            kernel = np.ones((3, 3, 4, width), np.float32)[..., :3]
            found = conv_kernels.forward(np, x, kernel, windows)
            HELPER.wait()
        for plan in conv_plans._plans.values():
            assert len(plan.known_by) <= conv_plans._MOST_KEYS
    known = sum(len(plan.known_by) for plan in conv_plans._plans.values())
    assert len(conv_plans._ready) == known
    np.testing.assert_allclose(found[0, 4, 4], x[0, 3:6, 3:6].sum(), 1e-4)


def test_routines_that_were_forgotten_are_not_ready():
    """Outside of the block, the plain way computes until they are found again."""
    windows = (window(9, 3, 1, 1, (1, 1)),) * 2
    x, kernel = random(1, 9, 9, 4), random(3, 3, 4, 5)
    with compiling_at_once():
        for _ in range(4):
            conv_kernels.forward(np, x, kernel, windows)
            HELPER.wait()
        assert conv_plans.ready_for("", x, kernel, windows) is not None
        with without_routines():
            assert conv_plans.ready_for("", x, kernel, windows) is None
    assert conv_plans.ready_for("", x, kernel, windows) is None


@pytest.mark.parametrize("shape", [(270, 301), (3, 2, 256, 260), (2, 40, 30)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_filters_with_swapped_channels_are_copied_in_order(shape, dtype, monkeypatch):
    """Large ones by a routine; cells may be reversed or left out, and NaN keeps its place."""
    filters = random(*shape).astype(dtype)
    if dtype is not np.int32:
        filters[..., 1, 2] = np.nan
    turned = []
    copy_turned = compiled_conv.copy_turned

    def noted(*arguments):
        turned.append(copy_turned(*arguments))
        return turned[-1]

    monkeypatch.setattr(compiled_conv, "copy_turned", noted)
    monkeypatch.setenv("TFNB_COMPILED", "1")
    with compiling_at_once():
        compiled_conv.filter_in_order(filters.swapaxes(-1, -2))
        HELPER.wait()
        turned.clear()
        for given in (filters, filters.swapaxes(-1, -2), filters[::-1].swapaxes(-1, -2)):
            found = compiled_conv.filter_in_order(given)
            assert found.flags.c_contiguous
            np.testing.assert_array_equal(found, given)
        assert all(turned)
        is_large = shape[-1] * shape[-2] >= 1 << 16
        assert bool(turned) == (is_large and dtype is np.float32)


@pytest.mark.parametrize("channels", [(64, 256), (300, 200), (512, 40), (70, 40)])
def test_gradients_of_filters_of_one_cell(channels):
    """One product takes the place of the routine where it is faster; both give the same."""
    x, grad = random(2, 9, 8, channels[0]), random(2, 9, 8, channels[1])
    windows = [window(9, 1, 1, 1, (0, 0)), window(8, 1, 1, 1, (0, 0))]
    found = conv_kernels.backprop_filter(np, x, grad, (1, 1, *channels), windows)
    wanted = x.reshape(-1, channels[0]).T.astype(float) @ grad.reshape(-1, channels[1])
    np.testing.assert_allclose(found[0, 0], wanted, rtol=1e-3, atol=1e-3)


def test_tables_that_forms_share_with_places_count_once():
    """A form that has little beside its places leaves memory for other forms."""
    windows = (window(60, 3, 1, 1, (1, 1)), window(50, 3, 1, 1, (1, 1)))
    x, out = random(2, 60, 50, 4), np.empty((2, 60, 50, 8), np.float32)
    known = []

    def tables(places):
        known.append(places)
        return [places.seen, places.targets, places.runs, np.zeros(4, np.int64)], []

    plan = conv_plans.Plan(x, windows, out, tables)
    assert plan.nbytes == known[0].nbytes + 32


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", [(1, 14, 14, 600), (2, 3, 1, 1024)])
def test_gradients_of_few_positions_and_a_large_filter_are_those_of_a_product(shape, threads):
    """The input's gradient has the same bits with routines and without, for any threads."""
    x, kernel = random(*shape), random(1, 1, shape[-1], 520)
    windows = [window(size, 1, 1, 1, (0, 0)) for size in shape[1:3]]
    grad = random(*shape[:3], 520)
    grad[0, 1, 0, 3] = np.nan
    with without_routines():
        wanted = conv_kernels.backprop_input(np, x.shape, kernel, grad, windows)
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(threads)
    try:
        with compiling_at_once():
            found = compiled_results(conv_kernels, x, kernel, grad, windows)[1]
    finally:
        work_sharder.set_num_threads(before)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.isnan(found[..., 0]).sum(), 1)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("case", [(4, 1, 1, (0, 0)), (3, 2, 1, (0, 0)), (3, 1, 1, (1, 1))])
@pytest.mark.parametrize("shape", [(5, 1, 23, 21), (1, 1, 23, 21), (3, 2, 4, 40), (3, 1, 40, 4)])
def test_images_turned_from_channels_first(shape, case, compiled):
    """An axis of one element keeps the stride that it had before the turn."""
    x = np.moveaxis(random(*shape), 1, -1)
    windows = [window(size, *case) for size in x.shape[1:3]]
    for kernels, outputs in ((conv_kernels, 4), (depthwise_kernels, 1), (depthwise_kernels, 2)):
        kernel = random(case[0], case[0], x.shape[-1], outputs)
        depth = outputs if kernels is conv_kernels else outputs * x.shape[-1]
        grad = np.moveaxis(random(len(x), depth, *(one.output for one in windows)), 1, -1)
        with plain_ways():
            plain = results(kernels, x, kernel, grad, windows)
        with compiling_at_once() if compiled else without_routines():
            found = compiled_results(kernels, x, kernel, grad, windows)
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_allclose(one, other, 1e-4, 1e-4)
