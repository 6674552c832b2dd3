"""Distinct integers by a table equal those by sorting."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.ops.array import unique_ops


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("size", [1, 2, 300, 5000])
def test_a_table_finds_what_sorting_finds(
    size: int, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative numbers, few and many distinct ones, and the ends of a type."""
    info = np.iinfo(dtype)
    rng = np.random.default_rng(size)
    for low, high in (
        (max(info.min, -50), min(info.max, 60)), (info.max - 100, info.max),
        (info.min, info.min + 100), (0, min(info.max, 100_000)), (info.min, info.max),
    ):  # fmt: skip
        x = rng.integers(low, high, size, dtype=dtype, endpoint=True)
        found = unique_ops._order_of_first(x)
        with monkeypatch.context() as patch:
            patch.setattr(unique_ops, "_TABLE", -1)
            patch.setattr(unique_ops, "_TABLE_OF_ELEMENT", 0)
            expected = unique_ops._order_of_first(x)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
