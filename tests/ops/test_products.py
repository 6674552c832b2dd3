"""Products by SciPy's BLAS, which replace NumPy's where NumPy has none."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tfnb.core import array_module
from tfnb.ops.base import products

_LAYOUTS = (np.ascontiguousarray, np.asfortranarray, lambda x: np.repeat(x, 2, axis=-1)[..., ::2])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("lead", [(), (3,)], ids=["matrices", "stacks"])
def test_products_equal_numpys(dtype: str, lead: tuple[int, ...]) -> None:
    """For all layouts of the operands, with and without a given result."""
    pytest.importorskip("scipy")
    random = np.random.RandomState(1)
    x = random.standard_normal((*lead, 30, 40)).astype(dtype)
    y = random.standard_normal((*lead, 40, 20)).astype(dtype)
    for first, second in product(_LAYOUTS, _LAYOUTS):
        a: Any = first(x)
        b: Any = second(y)
        out = np.empty((*lead, 30, 20), dtype)
        found = products.scipy_matmul(a, b)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)
        assert products.scipy_matmul(a, b, out=out) is out
        np.testing.assert_array_equal(out, found)


def test_other_products_are_numpys() -> None:
    """Small matrices, vectors and integers; a wrong size is NumPy's error."""
    a, b = np.arange(6).reshape(2, 3), np.arange(3)
    np.testing.assert_array_equal(products.scipy_matmul(a, b), a @ b)
    with pytest.raises(ValueError, match="matmul"):
        products.scipy_matmul(np.ones((60, 60)), np.ones((61, 60)))


def test_narrow_indices_keep_what_is_out_of_range(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pointers have 32 bits, an index beyond them stays beyond every array."""
    indices = np.array([3, -1, 2**40, -(2**40)], np.int64)
    assert array_module.as_places(indices) is indices
    monkeypatch.setattr(array_module, "HAS_NARROW_INDICES", True)
    monkeypatch.setattr(array_module.np, "intp", np.int32)
    found = array_module.as_places(indices)
    assert found.dtype == np.int32
    assert found.tolist() == [3, -1, 2**31 - 1, -(2**31)]
