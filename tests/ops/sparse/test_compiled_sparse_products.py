"""A sparse matrix times a dense one by a compiled routine."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.ops.sparse.sparse_ops import sparse_tensor_dense_mat_mul

pytest.importorskip("llvmlite")


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
def test_product_equals_the_plain_way(adjoint_a, adjoint_b, value, monkeypatch):
    """Unsorted and repeated places, rows without elements, and numbers that are not finite."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    random = np.random.default_rng(3)
    indices = random.integers(0, [6, 9], [30, 2])
    values = random.normal(size=30).astype(np.float32)
    values[3] = value
    dense = random.normal(size=(6, 5) if adjoint_a else (9, 5)).astype(np.float32)
    if adjoint_b:
        dense = np.ascontiguousarray(dense.T)

    def product():
        with np.errstate(all="ignore"):
            return sparse_tensor_dense_mat_mul.function(
                np,
                indices,
                values,
                np.array([6, 9]),
                dense,
                adjoint_a=adjoint_a,
                adjoint_b=adjoint_b,
            )

    plain = product()
    with compiling_at_once():
        for _ in range(2):
            found = product()
            HELPER.wait()
            assert found.dtype == plain.dtype
            np.testing.assert_allclose(found, plain, 1e-5, 1e-6)
