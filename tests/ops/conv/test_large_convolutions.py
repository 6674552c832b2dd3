"""The faster ways with large convolutions, poolings and normalizations equal the plain ones."""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfnb.core import op_registry
from tfnb.core.process import work_sharder
from tfnb.ops.base.large_arrays import plain_ways

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    importlib.import_module("tfnb.ops.all_ops")
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(2)
    with np.errstate(all="ignore"):
        yield
    work_sharder.set_num_threads(before)


def _normal(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def _both(op: str, *inputs: Any, **attrs: Any) -> tuple[Any, Any]:
    """Return the results of the faster and the plain way, which keep their inputs."""
    definition = op_registry.get(op)
    whole = {a.name: a.default for a in definition.op_def.attrs if a.has_default} | attrs
    function: Any = definition.function
    taken = inspect.signature(function).parameters
    given = {
        name: value.decode() if isinstance(value, bytes) else value
        for name, value in whole.items()
        if name in taken
    }
    before = [x.copy() for x in inputs]
    got = function(np, *inputs, **given)
    with plain_ways():
        want = function(np, *inputs, **given)
    for x, kept in zip(inputs, before, strict=True):
        np.testing.assert_array_equal(x, kept)
    return got, want


def _close(got: Any, want: Any, rounding: float = 1e-5) -> None:
    """Compare up to rounding relative to the largest numbers.

    NaN and infinities at the same places.
    """
    assert got.dtype == want.dtype
    assert got.shape == want.shape
    finite = want[np.isfinite(want)]
    atol = rounding * float(abs(finite).max()) if finite.size else 0
    np.testing.assert_allclose(got, want, rtol=rounding, atol=atol)


# (images, filter, stride, dilation, padding): filters for Winograd's way and others, tiles that
# fill the image and others, larger strides, a single image, short rows.
_CONVOLUTIONS = [
    ((2, 24, 24, 32), (3, 3, 32, 32), 1, 1, "SAME"),
    ((2, 29, 26, 40), (3, 3, 40, 33), 1, 1, "SAME"),
    ((3, 26, 30, 32), (3, 3, 32, 32), 1, 1, "VALID"),
    ((2, 27, 24, 32), (5, 5, 32, 32), 1, 1, "SAME"),
    ((2, 24, 24, 32), (2, 4, 32, 34), 1, 1, "SAME"),
    ((2, 24, 24, 32), (5, 3, 32, 34), 1, 1, "VALID"),
    ((1, 40, 40, 32), (3, 3, 32, 48), 1, 1, "SAME"),
    ((4, 20, 20, 16), (3, 3, 16, 24), 1, 1, "SAME"),
    ((4, 20, 20, 16), (3, 3, 16, 24), 1, 2, "SAME"),
    ((4, 21, 20, 16), (3, 3, 16, 24), 2, 1, "SAME"),
    ((4, 21, 20, 16), (3, 3, 16, 24), 2, 1, "VALID"),
    ((4, 21, 23, 16), (3, 2, 16, 24), 3, 1, "SAME"),
    ((4, 20, 20, 16), (1, 1, 16, 24), 1, 1, "SAME"),
    ((4, 20, 20, 16), (1, 1, 16, 24), 2, 1, "SAME"),
    ((8, 28, 28, 1), (5, 5, 1, 12), 1, 1, "SAME"),
    ((2, 60, 60, 3), (7, 7, 3, 16), 2, 1, "SAME"),
    ((1, 300, 200, 3), (7, 7, 3, 16), 2, 1, "SAME"),
    ((4, 20, 20, 16), (3, 3, 8, 24), 1, 1, "SAME"),
    ((1, 8, 6, 64), (1, 1, 64, 19), 1, 1, "SAME"),
    ((2, 25, 25, 32), (5, 5, 32, 1), 1, 1, "VALID"),
    ((1, 70, 50, 32), (3, 3, 32, 40), 1, 1, "SAME"),
    ((1, 17, 17, 192), (1, 7, 192, 192), 1, 1, "SAME"),
    ((1, 17, 18, 400), (1, 1, 400, 192), 1, 1, "SAME"),
    ((3, 33, 33, 40), (3, 3, 40, 120), 2, 1, "SAME"),
    ((1, 8, 6, 16), (3, 3, 16, 4), 1, 1, "SAME"),
]
_SHAPES = pytest.mark.parametrize(
    ("images", "filters", "stride", "dilation", "padding"), _CONVOLUTIONS
)


def _attrs(stride: int, dilation: int, padding: str) -> dict[str, Any]:
    return {
        "strides": [1, stride, stride, 1],
        "dilations": [1, dilation, dilation, 1],
        "padding": padding,
    }


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@_SHAPES
def test_convolutions_and_their_gradients(
    images: tuple[int, ...],
    filters: tuple[int, ...],
    stride: int,
    dilation: int,
    padding: str,
    dtype: str,
) -> None:
    """Forward results and both gradients are compared."""
    x, kernel = _normal(*images).astype(dtype), _normal(*filters, seed=1).astype(dtype)
    attrs = _attrs(stride, dilation, padding)
    got, want = _both("Conv2D", x, kernel, **attrs)
    _close(got, want)
    y = _normal(*want.shape, seed=2).astype(dtype)
    _close(*_both("Conv2DBackpropInput", np.array(images, "i4"), kernel, y, **attrs))
    _close(*_both("Conv2DBackpropFilter", x, np.array(filters, "i4"), y, **attrs))


# (images, filter, strides, padding before and after of each dimension): filters that strides divide
# and others, few channels, paddings of several strides, cells that no window covers.
_STRIDED = [
    ((4, 20, 22, 3), (5, 5, 3, 16), (2, 2), (1, 2, 1, 2)),
    ((4, 20, 21, 3), (4, 4, 3, 16), (2, 2), (1, 1, 0, 0)),
    ((4, 20, 21, 3), (4, 6, 3, 16), (4, 2), (3, 3, 5, 0)),
    ((2, 17, 19, 1), (9, 9, 1, 12), (2, 3), (0, 8, 8, 0)),
    ((2, 16, 24, 8), (2, 3, 8, 16), (2, 3), (0, 0, 0, 0)),
    ((2, 23, 24, 8), (7, 3, 8, 16), (5, 3), (0, 0, 2, 0)),
    ((2, 24, 24, 4), (8, 8, 4, 32), (4, 4), (6, 1, 2, 7)),
    ((2, 9, 8, 10, 3), (3, 3, 2, 3, 24), (2, 2, 2), ()),
]


@pytest.mark.parametrize(("images", "filters", "strides", "padding"), _STRIDED)
def test_gradients_with_strides(
    images: tuple[int, ...],
    filters: tuple[int, ...],
    strides: tuple[int, ...],
    padding: tuple[int, ...],
) -> None:
    """The input's gradient is one convolution, whatever the paddings are."""
    x, kernel = _normal(*images), _normal(*filters, seed=1)
    attrs: dict[str, Any] = {"strides": [1, *strides, 1], "padding": "SAME"}
    suffix = "3DBackpropInputV2" if len(strides) == 3 else "2DBackpropInput"
    if padding:
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *padding, 0, 0]}
    _, y = _both(f"Conv{len(strides)}D", x, kernel, **attrs)
    y = _normal(*y.shape, seed=2)
    _close(*_both(f"Conv{suffix}", np.array(images, "i4"), kernel, y, **attrs))


@pytest.mark.parametrize("size", [3, 5])
def test_rounding_stays_within_what_answers_may_differ(size: int) -> None:
    """Single values near zero are as exact as TensorFlow's."""
    random = np.random.RandomState(0)
    x = np.maximum(random.randn(8, 14, 14, 64), 0).astype("f4")
    kernel = (random.randn(size, size, 64, 64) * 0.1).astype("f4")
    padded = np.pad(x.astype("f8"), ((0, 0), *[(size // 2,) * 2] * 2, (0, 0)))
    exact = sum(
        padded[:, i : i + 14, j : j + 14] @ kernel[i, j].astype("f8")
        for i in range(size)
        for j in range(size)
    )
    attrs = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    got, plain = _both("Conv2D", x, kernel, **attrs)
    assert (got != plain).any()  # it went the other way
    np.testing.assert_allclose(got, exact, 1e-4, 1e-5)


# (images, filter, stride, dilation, padding) of depthwise ones: strides, dilations, multipliers.
_DEPTHWISE = [
    ((2, 20, 20, 16), (3, 3, 16, 1), 1, 1, "SAME"),
    ((1, 40, 20, 16), (3, 3, 16, 1), 1, 1, "VALID"),
    ((2, 21, 20, 16), (3, 3, 16, 1), 2, 1, "SAME"),
    ((2, 21, 24, 16), (3, 2, 16, 1), 2, 1, "VALID"),
    ((2, 20, 22, 16), (3, 3, 16, 1), 1, 2, "SAME"),
    ((9, 20, 20, 8), (3, 5, 8, 3), 1, 1, "SAME"),
    ((9, 20, 20, 8), (3, 5, 8, 3), 2, 1, "SAME"),
    ((9, 20, 20, 8), (2, 2, 8, 1), 3, 1, "SAME"),
    ((1, 8, 6, 64), (3, 3, 64, 1), 1, 1, "SAME"),
    ((1, 9, 6, 16), (3, 3, 16, 2), 2, 1, "SAME"),
    ((1, 8, 6, 64), (1, 1, 64, 1), 1, 1, "SAME"),
    ((1, 8, 6, 16), (1, 1, 16, 3), 1, 1, "VALID"),
    ((1, 8, 6, 96), (1, 1, 96, 1), 2, 1, "SAME"),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("images", "filters", "stride", "dilation", "padding"), _DEPTHWISE)
def test_depthwise_convolutions_and_their_gradients(
    images: tuple[int, ...],
    filters: tuple[int, ...],
    stride: int,
    dilation: int,
    padding: str,
    dtype: str,
) -> None:
    """Forward results and both gradients are compared, with NaN at the same places."""
    x, kernel = _normal(*images).astype(dtype), _normal(*filters, seed=1).astype(dtype)
    attrs, op = _attrs(stride, dilation, padding), "DepthwiseConv2dNative"
    got, want = _both(op, x, kernel, **attrs)
    _close(got, want)
    y = _normal(*want.shape, seed=2).astype(dtype)
    _close(*_both(f"{op}BackpropInput", np.array(images, "i4"), kernel, y, **attrs))
    _close(*_both(f"{op}BackpropFilter", x, np.array(filters, "i4"), y, **attrs))
    x[0, 3, 4, 5], y[0, 2, 1, 3] = np.nan, np.inf
    _close(*_both(op, x, kernel, **attrs))
    _close(*_both(f"{op}BackpropInput", np.array(images, "i4"), kernel, y, **attrs))
    _close(*_both(f"{op}BackpropFilter", x, np.array(filters, "i4"), y, **attrs))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 3e38])
def test_what_is_no_finite_number_stays_where_it_is_seen(bad: float) -> None:
    """Tiles do not spread infinities and NaN, and are not too large for float32."""
    x, kernel = _normal(2, 24, 24, 32), _normal(3, 3, 32, 32, seed=1)
    x[1, 5, 6, 7] = bad
    attrs = _attrs(1, 1, "SAME")
    got, want = _both("Conv2D", x, kernel, **attrs)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
    assert not np.isfinite(want).all()
    y = _normal(*want.shape, seed=2)
    got, want = _both("Conv2DBackpropFilter", x, np.array(kernel.shape, "i4"), y, **attrs)
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("images", [(6, 30, 30, 32), (1, 120, 150, 32), (2, 90, 90, 32)])
def test_the_number_of_threads_changes_nothing(images: tuple[int, ...]) -> None:
    """Sums have the same parts with one thread and with five."""
    x, kernel = _normal(*images), _normal(3, 3, 32, 32, seed=1)
    y = _normal(*images, seed=2)
    found = []
    for number in (1, 5):
        work_sharder.set_num_threads(number)
        for height, width in ((3, 3), (1, 1), (1, 3)):
            some = np.ascontiguousarray(kernel[:height, :width])
            sizes = np.array(some.shape, "i4")
            attrs = _attrs(1, 1, "SAME")
            found.append(_both("Conv2D", x, some, **attrs)[0])
            found.append(_both("Conv2DBackpropFilter", x, sizes, y, **attrs)[0])
    for one, other in zip(found[:6], found[6:], strict=True):
        np.testing.assert_array_equal(one, other)


# (images, window, stride, padding) of pooling: windows that are adjacent, overlap, leave gaps, and
# exceed the edge.
_POOLS = [
    ((4, 20, 20, 8), (2, 2), (2, 2), "VALID"),
    ((4, 21, 19, 8), (2, 2), (2, 2), "SAME"),
    ((4, 20, 22, 8), (3, 3), (2, 2), "SAME"),
    ((4, 20, 22, 8), (3, 2), (1, 3), "SAME"),
    ((40, 8, 7, 8), (7, 7), (1, 1), "SAME"),
    ((4, 20, 22, 8), (1, 3), (3, 1), "VALID"),
    ((1, 60, 60, 8), (3, 3), (2, 2), "VALID"),
    ((4, 20, 22, 8), (20, 22), (1, 1), "VALID"),
    ((4, 20, 22, 8), (20, 1), (5, 1), "VALID"),
    ((40, 20, 22, 8), (1, 22), (1, 2), "SAME"),
    ((3, 8, 7, 130), (8, 7), (8, 7), "SAME"),
    ((1, 8, 7, 6), (8, 7), (1, 1), "VALID"),
    ((3, 8, 7, 6), (8, 7), (1, 1), "SAME"),
]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("images", "size", "steps", "padding"), _POOLS)
def test_pooling_and_its_gradients(
    images: tuple[int, ...], size: tuple[int, int], steps: tuple[int, int], padding: str, dtype: str
) -> None:
    """Maximum and mean are compared, with NaN and infinities at the same places."""
    attrs = {"ksize": [1, *size, 1], "strides": [1, *steps, 1], "padding": padding}
    x = _normal(*images).astype(dtype)
    for _ in range(2):
        got, want = _both("MaxPool", x, **attrs)
        np.testing.assert_array_equal(got, want)
        got, want = _both("AvgPool", x, **attrs)
        _close(got, want)
        y = _normal(*want.shape, seed=1).astype(dtype)
        _close(*_both("AvgPoolGrad", np.array(images, "i4"), y, **attrs))
        pooled, _ = _both("MaxPool", x, **attrs)
        _close(*_both("MaxPoolGrad", x, pooled, y, **attrs))
        _close(*_both("MaxPoolGradGrad", x, pooled, x, **attrs))
        x[0, 3, 4, 5], x[0, 6, 1, 3], x[0, 7, 3, 2] = np.nan, np.inf, -np.inf


@pytest.mark.parametrize("bad", [None, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axes", [(0, 1), (0,), (1,)])
@pytest.mark.parametrize("shape", [(3, 6, 5, 4), (2, 9, 4, 140)])
def test_the_first_of_equal_maxima_of_a_whole_image_wins(
    shape: tuple[int, ...], axes: tuple[int, ...], bad: float | None
) -> None:
    """A NaN wins only if it is the first cell, and columns of minus infinity have a winner."""
    x = np.random.default_rng(0).integers(0, 3, shape).astype("f4")
    if bad is not None:
        x[0, 2, 1, 3] = x[1, 0, 0, 1] = bad
        x[0, :, :, 2] = bad
    size = [shape[1 + axis] if axis in axes else 1 for axis in range(2)]
    attrs = {"ksize": [1, *size, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
    pooled, want = _both("MaxPool", x, **attrs)
    np.testing.assert_array_equal(pooled, want)
    y = _normal(*pooled.shape, seed=1)
    got, want = _both("MaxPoolGrad", x, pooled, y, **attrs)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("size", [(4, 5, 6), (4, 1, 6), (1, 5, 1)])
def test_windows_over_whole_volumes(size: tuple[int, ...]) -> None:
    """Maximum and mean are compared."""
    x = _normal(2, 4, 5, 6, 3)
    attrs = {"ksize": [1, *size, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
    for _ in range(2):
        got, want = _both("MaxPool3D", x, **attrs)
        np.testing.assert_array_equal(got, want)
        _close(*_both("AvgPool3D", x, **attrs))
        x[0, 1, 2, 3, 0], x[1, 1, 2, 3, 1], x[1, 1, 2, 3, 2] = np.nan, np.inf, -np.inf


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize(
    "shape", [(4, 20, 20, 8), (3, 7, 11, 40), (2, 3, 5, 3000), (20_000, 1, 1, 1), (1, 8, 6, 19)]
)
def test_batch_normalization(shape: tuple[int, ...], data_format: str) -> None:
    """Training, inference and the gradient are compared, channels last or first."""
    x = _normal(*shape) + np.float32(3)
    y = _normal(*shape, seed=1)
    if data_format == "NCHW":
        x, y = (np.ascontiguousarray(v.transpose(0, 3, 1, 2)) for v in (x, y))
    scale, offset, mean = (_normal(shape[-1], seed=seed) for seed in range(2, 5))
    variance = abs(mean) + np.float32(1)
    none, attrs = np.zeros(0, "f4"), {"data_format": data_format}
    training = _both("FusedBatchNormV3", x, scale, offset, none, none, **attrs)
    found = _both("FusedBatchNormV3", x, scale, offset, mean, variance, is_training=False, **attrs)
    gradients = [
        _both(
            "FusedBatchNormGradV3", y, x, scale, mean, variance, none,
            is_training=is_training, **attrs,
        )
        for is_training in (False, True)
    ]  # fmt: skip
    for got, want in (training, found, *gradients):
        for one, other in zip(got, want, strict=True):
            _close(one, other, 2e-5)


@pytest.mark.parametrize("shape", [(4, 20, 20, 8), (3, 7, 11, 40), (2, 3, 2, 5), (1, 8, 6, 300)])
def test_batch_normalization_of_nchw_whose_channels_come_last_in_memory(
    shape: tuple[int, ...],
) -> None:
    """The bits are those of NHWC; a gradient in another order of memory is turned before."""
    x, y = _normal(*shape) + np.float32(3), _normal(*shape, seed=1)
    scale, offset, mean = (_normal(shape[-1], seed=seed) for seed in range(2, 5))
    variance, none = abs(mean) + np.float32(1), np.zeros(0, "f4")
    turned = x.transpose(0, 3, 1, 2), y.transpose(0, 3, 1, 2)
    for name, last, rest, attrs in (
        ("FusedBatchNormV3", [x], (scale, offset, none, none), {}),
        ("FusedBatchNormV3", [x], (scale, offset, mean, variance), {"is_training": False}),
        ("FusedBatchNormGradV3", [y, x], (scale, mean, variance, none), {}),
        ("FusedBatchNormGradV3", [y, x], (scale, mean, variance, none), {"is_training": False}),
    ):
        wanted, _ = _both(name, *last, *rest, **attrs)
        first = [turned[0]] if len(last) == 1 else [turned[1], turned[0]]
        others = [[one.copy() for one in first]]
        if len(last) == 2:
            others += [[first[0].copy(), first[1]], [first[0], first[1].copy()]]
        found, _ = _both(name, *first, *rest, data_format="NCHW", **attrs)
        for got, want in zip(found, wanted, strict=True):
            moved = np.moveaxis(got, 1, -1) if got.ndim == 4 else got
            np.testing.assert_array_equal(moved, want)
        for other in others:
            mixed, _ = _both(name, *other, *rest, data_format="NCHW", **attrs)
            for got, want in zip(mixed, found, strict=True):
                _close(got, want, 2e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("dtype", ["f4", "f2"])
@pytest.mark.parametrize("shape", [(1, 8, 6, 19), (2, 90, 70, 24), (3, 1, 2, 5000)])
def test_given_statistics_normalize_every_number_the_same_way(
    shape: tuple[int, ...], dtype: str, data_format: str
) -> None:
    """Blocks, NaN, infinities and statistics that are no finite numbers change no bit."""
    x = _normal(*shape).astype(dtype)
    x[0, 0, 0, 0], x[-1, 0, 0, 1], x[-1, -1, -1, 2] = np.nan, np.inf, -np.inf
    if data_format == "NCHW":
        x = np.ascontiguousarray(x.transpose(0, 3, 1, 2))
    scale, offset, mean, variance = (_normal(shape[-1], seed=seed) for seed in range(2, 6))
    variance[0], mean[3], scale[4] = np.inf, np.nan, 0
    attrs = {"is_training": False, "data_format": data_format, "epsilon": 1e-3}
    got, want = _both("FusedBatchNormV3", x, scale, offset, mean, variance, **attrs)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("shape", [(4, 20, 20, 8), (3, 7, 11, 300), (9, 20, 60, 1)])
@pytest.mark.parametrize("beta", [0.5, 0.75])
def test_local_response_normalization(shape: tuple[int, ...], beta: float) -> None:
    """NaN appears only where a neighbour is NaN."""
    x = _normal(*shape)
    for _ in range(2):
        _close(*_both("LRN", x, depth_radius=2, alpha=0.5, beta=beta))
        _close(*_both("LRNGrad", x, x, x, depth_radius=2, alpha=0.5, beta=beta))
        x[0, 1, 2, 0] = np.nan


@pytest.mark.parametrize("shape", [(4, 20, 20, 8), (1000, 13), (9, 2000)])
def test_biases(shape: tuple[int, ...]) -> None:
    """There is a bias per channel."""
    x = _normal(*shape)
    got, want = _both("BiasAdd", x, _normal(shape[-1], seed=1))
    np.testing.assert_array_equal(got, want)
    _close(*_both("BiasAddGrad", x))
