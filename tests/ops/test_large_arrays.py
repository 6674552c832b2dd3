"""The faster ways with large arrays give the results of the plain ways.

Tiles are small here, so that a few hundred elements make many tiles and a remainder.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.joined import in_one_test
from tfnb.core import op_registry
from tfnb.core.process import work_sharder
from tfnb.ops.base import large_arrays
from tfnb.ops.base.large_arrays import choose, plain_ways, sum_of_squares, sum_over, zero_where

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPECIAL = [0.0, -0.0, 1.0, -1.0, 6.0, 1e-30, -1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan]


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    importlib.import_module("tfnb.ops.all_ops")
    monkeypatch.setattr(large_arrays, "LARGE", 8)
    monkeypatch.setattr(large_arrays, "TILE", 64)
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(2)
    with np.errstate(all="ignore"):
        yield
    work_sharder.set_num_threads(before)


def _values(size: int, dtype: str, seed: int = 0) -> Any:
    """Return ordinary numbers and some special ones."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(size).astype(dtype)
    count = min(size, 40)
    values[rng.permutation(size)[:count]] = rng.choice(_SPECIAL, count).astype(dtype)
    return values


_ONE = ["Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign", "Sigmoid", "Tanh",
        "Exp", "Log", "Log1p", "Expm1", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Sqrt",
        "Rsqrt"]  # fmt: skip
_TWO = ["ReluGrad", "Relu6Grad", "EluGrad", "SeluGrad", "LeakyReluGrad", "SoftplusGrad",
        "SoftsignGrad", "SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad",
        "InvGrad", "Maximum", "Minimum", "SquaredDifference"]  # fmt: skip


@pytest.mark.parametrize("op", _ONE + _TWO)
@in_one_test("shape", [(0,), (7,), (64,), (300,), (13, 40)])
@in_one_test("dtype", ["f4", "f8", "f2"])
def test_elementwise_ops_equal_the_plain_ones(op: str, shape: tuple[int, ...], dtype: str) -> None:
    """All bits but the sign of zero are equal, with NaN and infinities, in tiles or whole."""
    size = int(np.prod(shape))
    inputs = [_values(size, dtype, seed).reshape(shape) for seed in range(1 + (op in _TWO))]
    attrs = {"alpha": 0.25} if op.startswith("Leaky") else {}
    function: Any = op_registry.get(op).function
    kept = [x.copy() for x in inputs]
    got = function(np, *inputs, **attrs)
    with plain_ways():
        want = function(np, *inputs, **attrs)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)
    for x, before in zip(inputs, kept, strict=True):
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("op", ["Relu", "Elu", "TanhGrad", "Sigmoid"])
def test_arrays_that_are_not_contiguous(op: str) -> None:
    """Scalars and arrays with gaps take the plain way."""
    function: Any = op_registry.get(op).function
    count = 2 if op in _TWO else 1
    turned = [_values(520, "f4", seed).reshape(13, 40).T for seed in range(count)]
    for inputs in (turned, [np.float32(-0.5)] * count, [x[::2] for x in turned]):
        got = function(np, *inputs)
        with plain_ways():
            np.testing.assert_array_equal(got, function(np, *inputs))


def _turned(x: Any) -> Any:
    """Return an array with its last dimension second; memory keeps its order."""
    return np.moveaxis(x, -1, 1)


@pytest.mark.parametrize("op", _ONE + _TWO)
@in_one_test("shape", [(2, 5, 7), (3, 5, 7, 4), (2, 3, 5, 7, 2), (3, 1, 1, 90)])
@in_one_test("dtype", ["f4", "f8", "f2"])
def test_images_of_nchw_whose_channels_come_last_in_memory(
    op: str, shape: tuple[int, ...], dtype: str
) -> None:
    """The bits are those of the same memory with the channels last, in this order of memory."""
    size = int(np.prod(shape))
    inputs = [_values(size, dtype, seed).reshape(shape) for seed in range(1 + (op in _TWO))]
    attrs = {"alpha": 0.25} if op.startswith("Leaky") else {}
    function: Any = op_registry.get(op).function
    kept = [x.copy() for x in inputs]
    want = function(np, *inputs, **attrs)
    got = function(np, *map(_turned, inputs), **attrs)
    np.testing.assert_array_equal(got, _turned(want))
    assert np.moveaxis(got, 1, -1).flags.c_contiguous
    for x, before in zip(inputs, kept, strict=True):
        np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("op", _TWO)
def test_images_of_nchw_in_two_orders_of_memory(op: str) -> None:
    """One input has its channels last in memory, the other has not."""
    x, y = (_values(420, "f4", seed).reshape(3, 5, 7, 4) for seed in range(2))
    attrs = {"alpha": 0.25} if op.startswith("Leaky") else {}
    function: Any = op_registry.get(op).function
    for inputs in ((_turned(x), _turned(y).copy()), (_turned(x).copy(), _turned(y))):
        got = function(np, *inputs, **attrs)
        with plain_ways():
            np.testing.assert_array_equal(got, function(np, *inputs, **attrs))


@pytest.mark.parametrize("limit", [0.0, -1.0, 1.0, np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("op", ["Maximum", "Minimum"])
def test_limits_by_a_number(op: str, limit: float) -> None:
    """A NaN on either side stays NaN."""
    x, function = _values(300, "f4"), op_registry.get(op).function
    got = function(np, x, np.float32(limit))  # type: ignore[misc]
    with plain_ways():
        want = function(np, x, np.float32(limit))  # type: ignore[misc]
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i1", "u2", "i4", "i8", "F", "?", "O"])
@pytest.mark.parametrize("where", ["new", "x", "y"])
def test_choices_are_those_of_where(dtype: str, where: str) -> None:
    """All dtypes are equal to the last bit, also if an operand is overwritten."""
    x, y = (_values(300, "f4", seed).astype(dtype) for seed in range(2))
    condition = np.random.default_rng(1).random(300) < 0.4
    want = np.where(condition, x, y)
    out = {"new": None, "x": x, "y": y}[where]
    got = choose(np, condition, x, y, out=out)
    assert got.dtype == want.dtype
    assert got.tobytes() == want.tobytes()
    assert out is None or np.shares_memory(out, got)


@pytest.mark.parametrize("where", ["new", "x", "y", "other"])
def test_choices_among_images_of_nchw(where: str) -> None:
    """Operands whose channels come last in memory may be overwritten, too."""
    x, y = (_turned(_values(420, "f4", seed).reshape(3, 5, 7, 4)) for seed in range(2))
    condition = _turned(np.random.default_rng(1).random((3, 5, 7, 4)) < 0.4)
    want = np.where(condition, x, y)
    out = {"new": None, "x": x, "y": y, "other": np.empty_like(x)}[where]
    got = choose(np, condition, x, y, out=out)
    np.testing.assert_array_equal(got, want)
    if out is not None:
        np.testing.assert_array_equal(out, want)
        assert np.shares_memory(out, got)


@in_one_test("dtype", ["f4", "f8", "f2", "i1", "u2", "i4", "i8", "F"])
@in_one_test("zero", [0.0, -0.0])
def test_choices_with_a_zero_are_those_of_where(dtype: str, zero: float) -> None:
    """A scalar as one operand, as dropout and its gradient write it."""
    x, scalar = _values(300, "f4").astype(dtype), np.array(zero, dtype)[()]
    condition = np.random.default_rng(1).random(300) < 0.4
    for operands in ((x, scalar), (scalar, x), (x.reshape(3, 100)[:, ::2], scalar)):
        marks = np.resize(condition, max(map(np.shape, operands), key=len))
        found, want = choose(np, marks, *operands), np.where(marks, *operands)
        assert found.tobytes() == want.tobytes()


def test_choices_broadcast() -> None:
    """Different shapes take the plain way."""
    x, condition = _values(300, "f4").reshape(3, 100), np.arange(100) % 3 == 0
    got = choose(np, condition, x, np.float32(1))
    np.testing.assert_array_equal(got, np.where(condition, x, np.float32(1)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_zeros_hide_what_is_no_number(dtype: str) -> None:
    """Zeros replace chosen NaNs."""
    x = _values(300, dtype)
    condition = ~np.isfinite(x)
    got = zero_where(np, condition, x.copy())
    np.testing.assert_array_equal(got, np.where(condition, 0, x))


def test_zeros_in_images_of_nchw() -> None:
    """The array itself is overwritten where this is asked for."""
    x = _turned(_values(420, "f4").reshape(3, 5, 7, 4))
    condition = ~np.isfinite(x)
    want = np.where(condition, 0, x)
    np.testing.assert_array_equal(zero_where(np, condition, x.copy("K")), want)
    zero_where(np, condition, x, out=x)
    np.testing.assert_array_equal(x, want)


_SHAPES = [((7, 9), (0,)), ((7, 9), (1,)), ((7, 9), (0, 1)), ((3000, 3), (0,)), ((3, 3000), (1,)),
           ((2, 70_000), (1,)), ((70_000,), (0,)), ((4, 5, 6, 7), (0, 2)), ((4, 5, 6, 7), (1, 3)),
           ((4, 5, 6, 7), (1, 2)), ((4, 1, 6, 1), (1, 3)), ((4, 1, 6, 1), (0, 1, 2, 3)),
           ((0, 5), (0,)), ((5, 0), (0,)), ((2, 5000, 3), (1,)),
           ((5, 2500, 1), (0, 1)), ((60, 26, 8), (1,)), ((900, 3, 8), (1,)), ((900, 2, 5), (1,)),
           ((90, 4, 3), (1,)), ((5, 3, 2, 8), (0, 2))]  # fmt: skip


@pytest.mark.parametrize(("shape", "axes"), _SHAPES)
@in_one_test("dtype", ["f4", "f8", "i4", "F", "f2"])
@in_one_test("keep_dims", [False, True])
def test_sums_are_sums(
    shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, keep_dims: bool
) -> None:
    """Shape and dtype are NumPy's, values up to rounding.

    Results are arrays or scalars as NumPy's.
    """
    x = np.random.default_rng(0).standard_normal(shape)
    x = (x * 8).astype(dtype)
    got = sum_over(np, x, axes, keep_dims)
    wide = np.complex128 if dtype == "F" else np.float64
    want = x.astype(wide).sum(axis=axes, keepdims=keep_dims)
    assert got.dtype == x.dtype
    assert got.shape == want.shape
    assert isinstance(got, np.generic) == isinstance(want, np.generic)
    rounding = {"f4": 1e-5, "F": 1e-5, "f8": 1e-13, "f2": 5e-2, "i4": 0}[dtype]
    size = np.abs(x.astype(wide)).sum(axis=axes, keepdims=keep_dims)
    assert (abs(got - want) <= rounding * size).all()


@in_one_test("axes", [(0,), (1,), (2, 3), (0, 2, 3), (1, 2), (0, 1), (3,), (0, 1, 2, 3), ()])
@in_one_test("keep_dims", [False, True])
def test_sums_of_images_of_nchw(axes: tuple[int, ...], keep_dims: bool) -> None:
    """Memory whose channels come last is summed in the order of the dimensions."""
    x = _turned(np.random.default_rng(0).standard_normal((4, 5, 6, 7)))
    got = sum_over(np, x, axes, keep_dims)
    want = x.copy().sum(axis=axes, keepdims=keep_dims)
    assert got.shape == want.shape
    assert isinstance(got, np.generic) == isinstance(want, np.generic)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_sums_of_views() -> None:
    """Arrays with gaps are summed, too."""
    x = np.random.default_rng(0).standard_normal((60, 50)).astype("f4")
    for view in (x.T, x[::2], x[:, ::3], np.broadcast_to(x[0], (40, 50))):
        want = view.astype("f8").sum(axis=0)
        np.testing.assert_allclose(sum_over(np, view, (0,)), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_sums_of_what_is_no_number(bad: float, axes: tuple[int, ...]) -> None:
    """A NaN affects only its own sum."""
    x = np.ones((50, 60), "f4")
    x[3, 4] = bad
    np.testing.assert_array_equal(sum_over(np, x, axes), x.sum(axis=axes))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(700, 26, 8), (3000, 3, 4), (3000, 2, 4), (1500, 4, 3)])
def test_sums_of_short_columns_of_what_is_no_number(shape: tuple[int, ...], bad: float) -> None:
    """A NaN or an infinity reaches neither other columns nor other rows."""
    x = np.ones(shape, "f4")
    x[3, 1, 2] = x[5, 0, 0] = bad
    x[5, 1, 0] = -bad
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(sum_over(np, x, (1,)), x.sum(axis=1))


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 5000])
def test_sums_of_squares(size: int) -> None:
    """Vectors have any length."""
    x = np.random.default_rng(0).standard_normal(size).astype("f4")
    np.testing.assert_allclose(sum_of_squares(np, x), (x.astype("f8") ** 2).sum(), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(0, 5), (5, 1), (1, 300), (70, 9), (4, 5, 6), (300,)])
@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_of_large_arrays(op: str, shape: tuple[int, ...], dtype: str) -> None:
    """Rows with infinities and NaN are compared, too."""
    function: Any = op_registry.get(op).function
    rng = np.random.default_rng(0)
    plain = (5 * rng.standard_normal(shape)).astype(dtype)
    for x in (plain, plain - 50, plain * 50, _values(plain.size, dtype).reshape(shape)):
        got = function(np, x)
        with plain_ways():
            want = function(np, x)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(0, 5), (5, 1), (1, 300), (70, 9), (9, 70)])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_cross_entropies_of_large_arrays(
    shape: tuple[int, int], dtype: str, is_sparse: bool
) -> None:
    """Losses and gradients are compared, also with infinities and NaN."""
    rng = np.random.default_rng(0)
    name = ("Sparse" if is_sparse else "") + "SoftmaxCrossEntropyWithLogits"
    function: Any = op_registry.get(name).function
    numbers = rng.integers(0, shape[1], shape[0])
    labels = numbers if is_sparse else rng.random(shape).astype(dtype)
    plain = (5 * rng.standard_normal(shape)).astype(dtype)
    for x in (plain, _values(plain.size, dtype).reshape(shape)):
        got = function(np, x, labels)
        with plain_ways():
            want = function(np, x, labels)
        for one, other in zip(got, want, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
