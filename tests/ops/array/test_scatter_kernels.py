"""Scattering rows at once equals a loop over them."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.joined import in_one_test
from tfnb.core import op_registry
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once, without_routines
from tfnb.ops.array import compiled_scatter, scatter_kernels
from tfnb.ops.array.scatter_kernels import scatter_rows
from tfnb.ops.base.large_arrays import plain_ways
from tfnb.ops.math import sparse_segment_ops
from tfnb.ops.math.segment_ops import segment_mean, segment_sum

_LOOP: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip
_KINDS = [
    (operation, dtype)
    for operation in ("assign", *_LOOP)
    for dtype in ("f4", "f8", "f2", "i4", "u1", "i8", "F")
    # Complex numbers have no order.
    if dtype != "F" or operation not in ("min", "max")
]


@pytest.mark.parametrize(("operation", "dtype"), _KINDS)
@in_one_test("shape", [(), (5,), (2, 3)])
@in_one_test("sizes", [(1, 9), (40, 400), (200, 9), (300, 1), (0, 3)])
def test_scattered_as_by_a_loop(
    sizes: tuple[int, int], shape: tuple[int, ...], operation: str, dtype: str
) -> None:
    """Indices occur once, often, and more often than there are ranks."""
    count, places = sizes
    rng = np.random.default_rng(0)
    ids = rng.integers(0, places, count).astype("i4")
    rows = (4 * rng.standard_normal((count, *shape))).astype(dtype)
    target = (4 * rng.standard_normal((places, *shape))).astype(dtype)
    want = target.copy()
    with np.errstate(all="ignore"):
        for place, row in zip(ids, rows, strict=True):
            combined = row if operation == "assign" else _LOOP[operation](want[place], row)
            want[place] = combined
        scatter_rows(np, target, ids, rows, operation)
    assert target.dtype == want.dtype
    rounding = {"f2": 0.1, "f4": 1e-4, "F": 1e-4}.get(dtype, 1e-10)
    np.testing.assert_allclose(target, want, rtol=rounding, atol=rounding)


@pytest.mark.parametrize("operation", ["add", "sub", "mul"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4"])
@pytest.mark.parametrize("shape", [(5, 3), (40, 33), (3, 2, 4), (4, 0), (3, 1)])
def test_few_elements_have_the_bits_of_whole_rows(
    operation: str, dtype: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Element by element and rank by rank: NaN, infinity, narrow places, rows that are a view."""
    random = np.random.default_rng(5)
    places = random.integers(0, shape[0], 60).astype("i2")
    rows = (4 * random.normal(size=(*shape[:0:-1], 60))).astype(dtype).T
    start = (4 * random.normal(size=shape)).astype(dtype)
    if start.size and start.dtype.kind == "f":
        rows[3], rows[4, ..., :1], rows[5] = np.nan, np.inf, -0.0
    found, expected = start.copy(), start.copy()
    with np.errstate(all="ignore"):
        scatter_rows(np, found, places, rows, operation)
        monkeypatch.setattr(scatter_kernels, "_MOST_ELEMENTS", -1)
        scatter_rows(np, expected, places, rows, operation)
    np.testing.assert_array_equal(found, expected)


def test_rows_of_the_target_are_read_before_it_changes() -> None:
    """The rows are the target itself, whose rows move to places that were read already."""
    target = np.arange(12, dtype="f4").reshape(4, 3)
    scatter_rows(np, target, np.array([1, 2, 3, 1]), target, "add")
    steps = np.arange(3)
    wanted = [steps, 3 + steps + steps + 9 + steps, 6 + steps + 3 + steps, 9 + steps + 6 + steps]
    np.testing.assert_array_equal(target, wanted)


def test_places_far_away_are_not_cut() -> None:
    """The place of an element does not fit into the type of the indices."""
    target = np.zeros((300, 200), np.float32)
    scatter_rows(np, target, np.array([250, 250, 299], np.int16), np.ones((3, 200), "f4"), "add")
    assert target[250].tolist() == [2] * 200
    assert target[299].tolist() == [1] * 200
    assert target.sum() == 600


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_stays_in_its_row(bad: float) -> None:
    """A NaN in a long run affects only its row."""
    rows, target = np.ones((300, 4), "f4"), np.zeros((4, 4), "f4")
    ids = np.arange(300) % 3
    rows[4, 2] = bad
    scatter_rows(np, target, ids, rows, "add")
    want = np.full((4, 4), 100, "f4")
    want[3], want[1, 2] = 0, bad
    np.testing.assert_array_equal(target, want)


@pytest.mark.parametrize("op", ["SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin"])
@pytest.mark.parametrize("segments", [1, 7, 300, 3000])
def test_sorted_segments(op: str, segments: int) -> None:
    """Runs have one row, some and many; some segments have none."""
    importlib.import_module("tfnb.ops.all_ops")
    rng = np.random.default_rng(0)
    ids = np.sort(rng.integers(0, segments, 1500).astype("i4"))
    rows = rng.standard_normal((1500, 16)).astype("f4")
    rows[7, 8] = np.nan
    function: Any = op_registry.get(op).function
    got = function(np, rows, ids)
    with plain_ways():
        want = function(np, rows, ids)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("operation", ["add", "sub"])
@pytest.mark.parametrize("shape", [(5, 3), (40, 33), (3, 2, 4), (4, 0)])
def test_compiled_rows_have_the_same_bits(
    operation: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Repeated places in the order they are given, NaN and infinity, and rows without elements."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("TFNB_COMPILED", "1")
    random = np.random.default_rng(2)
    places = random.integers(0, shape[0], 90)
    rows = random.normal(size=(90, *shape[1:])).astype(np.float32)
    rows.reshape(-1)[3:4], rows.reshape(-1)[4:5] = np.nan, np.inf
    start = random.normal(size=shape).astype(np.float32)
    expected = start.copy()
    with np.errstate(all="ignore"):
        scatter_rows(np, expected, places, rows, operation)
        with compiling_at_once():
            for _ in range(3):
                found = start.copy()
                scatter_rows(np, found, places, rows, operation)
                HELPER.wait()
                np.testing.assert_array_equal(found, expected)


def test_rows_of_the_target_itself_are_added_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are read before they are written."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("TFNB_COMPILED", "1")
    places = np.array([1, 0, 1, 2])
    expected = np.arange(12, dtype=np.float32).reshape(4, 3)
    scatter_rows(np, expected, places, expected.copy(), "add")
    with compiling_at_once():
        for _ in range(3):
            found = np.arange(12, dtype=np.float32).reshape(4, 3)
            scatter_rows(np, found, places, found[:], "add")
            HELPER.wait()
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("op", [segment_sum, segment_mean])
@pytest.mark.parametrize("shape", [(1, 1), (300, 20), (9000, 4), (4000, 2, 5), (40, 0)])
def test_compiled_segments_have_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, op: Any, shape: tuple[int, ...]
) -> None:
    """Sums of sorted rows, of which some are alone, zeros with signs, or no numbers."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    random = np.random.default_rng(1)
    data = random.normal(size=shape).astype(np.float32)
    if data.size:
        data.reshape(-1)[::7] = -0.0
        data.reshape(-1)[3::31] = np.nan
        data.reshape(-1)[5::29] = np.inf
    ids = np.sort(random.integers(0, shape[0], shape[0])).astype(np.int32)
    with without_routines(), np.errstate(all="ignore"):
        plain = op.function(np, data, ids)
    with compiling_at_once(), np.errstate(all="ignore"):
        op.function(np, data, ids)
        HELPER.wait()
        found = op.function(np, data, ids)
    np.testing.assert_array_equal(found, plain)
    is_number = ~np.isnan(plain)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(plain[is_number]))


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_ids_whose_differences_are_too_large_are_refused(dtype: str) -> None:
    """The type of the ids does not hold their differences, of which none would be negative."""
    limits = np.iinfo(dtype)
    ids = np.array([0, limits.max, limits.min, -5, 3], dtype)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not increasing"):
        segment_sum.function(np, np.ones((5, 2), "f4"), ids)


def test_routines_omit_places_outside_of_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places may change after their check, if they are the value of a variable."""
    pytest.importorskip("llvmlite")
    monkeypatch.setenv("TFNB_COMPILED", "1")
    whole, rows = np.zeros((9, 2), "f4"), np.ones((6, 2), "f4")
    target, places = whole[3:6], np.array([0, 3, -1, 2, 2**62, -(2**62)])
    numbers, factors = np.array([0, 0, 0, 5, 0, 6]), np.ones(6, "f4")
    with compiling_at_once():
        compiled_scatter.combine(target, places, rows, "add")
        compiled_scatter.add_products(target, places, numbers, factors, rows)
        HELPER.wait()
        assert compiled_scatter.combine(target, places, rows, "add")
        assert whole[:, 0].tolist() == [0, 0, 0, 1, 0, 1, 0, 0, 0]
        assert compiled_scatter.add_products(target, places, numbers, factors, rows)
        assert whole[:, 0].tolist() == [0, 0, 0, 2, 0, 2, 0, 0, 0]
        places[:] = 1
        numbers[1:4] = 6, -1, 2**62
        assert compiled_scatter.add_products(target, places, numbers, factors, rows)
        assert whole[:, 0].tolist() == [0, 0, 0, 2, 2, 2, 0, 0, 0]


_SPARSE_SEGMENTS = (
    sparse_segment_ops.sparse_segment_sum_op,
    sparse_segment_ops.sparse_segment_mean_op,
    sparse_segment_ops.sparse_segment_sqrt_n_op,
)


@pytest.mark.parametrize("op", _SPARSE_SEGMENTS)
@pytest.mark.parametrize("shape", [(1, 2), (300, 20), (900, 4), (40, 2, 5), (40, 0), (0, 3)])
@in_one_test("dtype", ["f4", "f8", "f2"])
@in_one_test("has_gaps", [False, True])
def test_compiled_sums_of_selected_rows_are_the_plain_ones(
    monkeypatch: pytest.MonkeyPatch, op: Any, shape: tuple[int, ...], dtype: str, has_gaps: bool
) -> None:
    """Rows may be selected repeatedly, ids may be missing; sums of two rows have the same bits."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    random = np.random.default_rng(2)
    data = random.normal(size=shape).astype(dtype)
    if data.size:
        data.reshape(-1)[::7] = -0.0
        data[:1] = -0.0
        data.reshape(-1)[11::31] = np.nan
        data.reshape(-1)[13::29] = np.inf
    count = 2 * shape[0]
    indices = random.integers(0, max(1, shape[0]), count).astype(np.int64)
    ids = (
        np.sort(random.integers(0, max(1, shape[0]), count)) if has_gaps else np.arange(count) // 2
    )
    ids = ids.astype(np.int32)
    if count:
        indices[:2] = 0
    with without_routines(), np.errstate(all="ignore"):
        plain = op.function(np, data, indices, ids)
    with compiling_at_once(), np.errstate(all="ignore"):
        op.function(np, data, indices, ids)
        HELPER.wait()
        found = op.function(np, data, indices, ids)
    assert found.dtype == plain.dtype
    # NumPy adds several rows in another order.
    rounding = 1e-5 if has_gaps else 0
    np.testing.assert_allclose(found, plain, rounding, rounding)
    is_zero = found == plain if rounding == 0 else (found == 0) & (plain == 0)
    np.testing.assert_array_equal(np.signbit(found[is_zero]), np.signbit(plain[is_zero]))


def test_selected_rows_are_summed_without_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The routine that adds products reads the rows where they lie."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    calls = []
    add = compiled_scatter.add_products
    monkeypatch.setattr(compiled_scatter, "add_products", lambda *a: calls.append(a) or add(*a))
    data = np.ones((5, 3), np.float32)
    op = sparse_segment_ops.sparse_segment_mean_op
    with compiling_at_once():
        for _ in range(2):
            found = op.function(np, data, np.array([4, 0, 2]), np.array([1, 1, 3]))
            HELPER.wait()
    np.testing.assert_array_equal(found[:, 0], [0, 1, 0, 1])
    assert np.shares_memory(calls[-1][-1], data)
