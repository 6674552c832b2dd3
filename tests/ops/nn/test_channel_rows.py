"""Arithmetic in long rows, block by block, gives what the plain way gives."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.channel_order import positions_of_row, repeated
from tfnb.core.process import work_sharder
from tfnb.ops.base.large_arrays import plain_ways
from tfnb.ops.nn.bias_ops import _add_bias
from tfnb.ops.nn.channel_rows import ChannelRows
from tfnb.ops.nn.normalization_ops import _batch_norm, _batch_norm_grad


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


def _norms(x: np.ndarray, data_format: str) -> list[np.ndarray]:
    """Return the results of training, its gradient, inference, and the gradient of inference."""
    channels = x.shape[-1] if data_format == "NHWC" else x.shape[1]
    random = np.random.default_rng(8)
    scale, offset, mean = (random.normal(size=(channels,)).astype("f4") for _ in range(3))
    variance = random.uniform(0.5, 2, (channels,)).astype("f4")
    grad = random.normal(size=x.shape).astype("f4")
    given = scale, offset, mean, variance
    with np.errstate(all="ignore"):
        return [
            *_batch_norm(np, x, *given, 1e-3, 0.9, data_format, True),
            *_batch_norm_grad(np, grad, x, scale, mean, variance, 1e-3, data_format, True),
            *_batch_norm(np, x, *given, 1e-3, 1.0, data_format, False),
            *_batch_norm_grad(np, grad, x, scale, mean, variance, 1e-3, data_format, False),
        ]


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
@pytest.mark.parametrize(
    ("shape", "data_format"),
    [
        ((3, 4, 5, 6), "NHWC"),
        ((5, 41, 40, 64), "NHWC"),
        ((1, 1021, 521, 1), "NHWC"),
        ((3, 7, 5, 4099), "NHWC"),
        ((3, 6, 40, 41), "NCHW"),
    ],
)
def test_batch_norms_equal_the_plain_way(
    shape: tuple[int, ...], data_format: str, value: float
) -> None:
    """One block and several, channels first and last, numbers that are not finite."""
    x = np.random.default_rng(7).normal(size=shape).astype("f4")
    x[0, 1 % shape[1], 2, 0] = value
    found = _norms(x, data_format)
    with plain_ways():
        plain = _norms(x, data_format)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 2e-4, 2e-4)


def test_batch_norms_do_not_depend_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads give the bits of one: the blocks are the same."""
    x = np.random.default_rng(9).normal(size=(5, 61, 60, 32)).astype("f4")
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found.append(_norms(x, "NHWC"))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_blocks_are_every_row_once_in_order() -> None:
    """A large array has several blocks, an array with channels first in memory has one."""
    large = np.zeros((9, 61, 60, 32), "f4")
    channels = ChannelRows(np, large.shape, 3)
    rows = channels.rows(large)
    blocks = channels.by_blocks(rows, lambda block: range(len(rows))[block])
    assert len(blocks) > 1
    assert list(range(len(rows))) == [row for block in blocks for row in block]
    first = ChannelRows(np, large.shape, 1)
    assert first.by_blocks(first.rows(large), lambda block: block) == [slice(None)]


@pytest.mark.parametrize("positions", [1, 6, 49, 1369, 12500, 1021 * 521, 1 << 16])
@pytest.mark.parametrize("channels", [1, 3, 64, 768, 4096, 20000])
def test_rows_divide_the_positions(positions: int, channels: int) -> None:
    """Rows fit into two buffers, and those of small arrays are too short for slow copies."""
    number = positions_of_row(positions, channels)
    assert positions % number == 0
    if number > 1:
        assert number * channels <= (512 if positions * channels < 1 << 16 else 1 << 14)


def test_rows_of_images_are_long() -> None:
    """Positions of large images have divisors that make rows of the wanted length."""
    assert positions_of_row(100 * 25 * 5, 64) == 100
    assert positions_of_row(8 * 32 * 32, 16) == 512
    assert positions_of_row(1021 * 521, 1) == 1021


def test_repeated_vectors_are_tiles() -> None:
    """The vector comes as often as asked, in its type."""
    vector = np.arange(3, dtype="f8")
    found = repeated(vector, 4)
    assert found.dtype == vector.dtype
    np.testing.assert_array_equal(found, np.tile(vector, 4))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(300, 1000), (131, 4096), (53, 5001), (2, 90, 91, 40), (0, 3)])
def test_biases_are_added_in_rows_of_any_length(shape: tuple[int, ...], dtype: str) -> None:
    """Each sum has the bits of the plain addition, in joined rows and in those of the array."""
    random = np.random.default_rng(5)
    value, bias = random.normal(size=shape).astype(dtype), random.normal(size=shape[-1:])
    value.reshape(-1)[:2] = np.nan
    bias = bias.astype(dtype)
    np.testing.assert_array_equal(_add_bias(np, value, bias, -1), value + bias)


@pytest.mark.parametrize("shape", [(1, 1, 1, 9001), (2, 1, 1, 270_001), (3, 1, 1, 180_001)])
def test_blocks_of_one_row_leave_the_inputs_unchanged(shape: tuple[int, ...]) -> None:
    """The sum of one row is no view of it, to which the sums of other blocks are added."""
    random = np.random.default_rng(11)
    x, grad = (random.normal(size=shape).astype("f4") for _ in range(2))
    kept = x.copy(), grad.copy()
    ones, zeros = np.ones(shape[-1], "f4"), np.zeros(shape[-1], "f4")
    y, mean, *_ = _batch_norm(np, x, ones, zeros, zeros, ones, 1e-3, 1.0, "NHWC", True)
    found = _batch_norm_grad(np, grad, x, ones, mean, ones, 1e-3, "NHWC", True)
    np.testing.assert_array_equal(x, kept[0])
    np.testing.assert_array_equal(grad, kept[1])
    np.testing.assert_allclose(y.sum((0, 1, 2)), zeros, atol=1e-4)
    np.testing.assert_allclose(found[2], kept[1].sum((0, 1, 2)), atol=1e-5)
    assert not np.shares_memory(found[2], grad)
