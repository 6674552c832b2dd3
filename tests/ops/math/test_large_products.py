"""Large products that are divided among threads have the right results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfnb.core.process import work_sharder
from tfnb.ops.base.large_arrays import plain_ways
from tfnb.ops.math import matmul_ops

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(2)
    yield
    work_sharder.set_num_threads(before)


def _numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> Any:
    """Return numbers that repeat: drawing millions takes longer than multiplying them."""
    return np.resize(rng.standard_normal(10_007), shape)


@pytest.mark.parametrize("dtype", ["f4", "f8", "F", "D"])
@pytest.mark.parametrize(
    "shape", [(600, 150, 200), (150, 200, 600), (1, 3000, 4000), (4000, 1, 3000), (0, 3, 4)]
)
@pytest.mark.parametrize(("flip_a", "flip_b"), [(False, False), (True, True)])
def test_matrices(dtype: str, shape: tuple[int, int, int], flip_a: bool, flip_b: bool) -> None:
    """Rows or columns are divided, whichever are more, also of transposed operands."""
    rng = np.random.default_rng(0)
    rows, inner, columns = shape
    a = _numbers(rng, (inner, rows) if flip_a else (rows, inner)).astype(dtype)
    b = _numbers(rng, (columns, inner) if flip_b else (inner, columns)).astype(dtype)
    want = (a.T if flip_a else a) @ (b.T if flip_b else b)
    got = matmul_ops.mat_mul.function(np, a, b, transpose_a=flip_a, transpose_b=flip_b)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("rows", [1, 2, 8, 33, 64, 65])
@pytest.mark.parametrize(
    ("inner", "columns"), [(512, 192), (100, 1000), (1024, 600), (9000, 1), (64, 192), (3, 600)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8", "F"])
def test_few_rows_times_a_transposed_matrix(
    rows: int, inner: int, columns: int, dtype: str
) -> None:
    """The product is computed in transposed form, and returned in C order."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal((rows, inner)).astype(dtype)
    b = rng.standard_normal((columns, inner)).astype(dtype)
    a[0, 0] = np.nan
    got = matmul_ops.mat_mul.function(np, a, b, transpose_a=False, transpose_b=True)
    with plain_ways():
        want = matmul_ops.mat_mul.function(np, a, b, transpose_a=False, transpose_b=True)
    assert got.flags.c_contiguous
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)


def test_batches() -> None:
    """A batch is divided by its first dimension, a broadcast one is not divided."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 3, 50, 60))
    y = rng.standard_normal((40, 3, 70, 60))
    for right in (y, y[:1]):
        got = matmul_ops.batch_mat_mul_v2.function(np, x, right, adj_x=False, adj_y=True)
        np.testing.assert_allclose(got, x @ right.swapaxes(-1, -2), rtol=1e-12)


def test_what_is_no_number_stays_so() -> None:
    """NaN affects only its own row."""
    a, b = np.ones((600, 200), "f4"), np.ones((200, 100), "f4")
    a[7, 3], a[9, 4] = np.nan, np.inf
    got = matmul_ops.mat_mul.function(np, a, b, transpose_a=False, transpose_b=False)
    assert np.isnan(got[7]).all()
    assert np.isposinf(got[9]).all()
    assert np.isfinite(np.delete(got, [7, 9], 0)).all()


@pytest.mark.parametrize("number_of_threads", [1, 3])
@pytest.mark.parametrize("rows", [2, 3])
@pytest.mark.parametrize(
    ("inner", "columns"), [(200, 300), (1, 40_000), (40_000, 1), (1500, 1000), (0, 9)]
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(("flip_a", "flip_b"), [(False, False), (True, False), (False, True)])
def test_two_and_three_rows(
    inner: int,
    columns: int,
    rows: int,
    dtype: str,
    flip_a: bool,
    flip_b: bool,
    number_of_threads: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each row has its own product: zeros times NaN or infinity are NaN there, too."""
    work_sharder.set_num_threads(number_of_threads)
    # The larger products are divided.
    monkeypatch.setattr(matmul_ops, "_LEAST_PRODUCTS", 1 << 18)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((inner, rows) if flip_a else (rows, inner)).astype(dtype)
    b = rng.standard_normal((columns, inner) if flip_b else (inner, columns)).astype(dtype)
    a[:1] = 0
    b[-1:, :1], b[:1, -1:] = np.nan, np.inf
    a.reshape(-1)[-1:] = -np.inf
    with np.errstate(invalid="ignore"):
        got = matmul_ops.mat_mul.function(np, a, b, transpose_a=flip_a, transpose_b=flip_b)
        with plain_ways():
            want = matmul_ops.mat_mul.function(np, a, b, transpose_a=flip_a, transpose_b=flip_b)
    assert got.dtype == want.dtype
    assert got.flags.c_contiguous
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-3)
