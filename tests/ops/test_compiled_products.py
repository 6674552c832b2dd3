"""Compiled products give the plain way's values, up to the order of sums."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.core.process import work_sharder
from tfnb.ops.base import compiled_products

pytest.importorskip("llvmlite")

SIZES = [
    (9, 5, 33),
    (6, 70, 64),
    (13, 600, 17),
    (40, 3, 130),
    (8, 1, 128),
    (20, 70, 192),
    (16, 9, 80),
]


@pytest.fixture(autouse=True)
def _compiles(monkeypatch):
    monkeypatch.setenv("TFNB_COMPILED", "1")
    monkeypatch.setattr(compiled_products, "_ARE_FASTER", True)
    monkeypatch.setattr(compiled_products, "_LEAST_PRODUCTS", 1)
    monkeypatch.setattr(compiled_products, "MOST_TURNED", 0)
    with compiling_at_once():
        yield


def random(rows, columns, *, turned=False):
    """Return normal numbers; turned: in Fortran's order."""
    shape = (columns, rows) if turned else (rows, columns)
    found = np.random.default_rng(6).normal(size=shape).astype(np.float32)
    return found.T if turned else found


def compiled(a, b):
    """Return the product once the routines are ready."""
    for _ in range(3):
        compiled_products.matmul(a, b)
        HELPER.wait()
    found = compiled_products.matmul(a, b)
    assert found is not None
    return found


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_product_equals_the_plain_way(sizes, turned):
    """Rows and columns that fill no tile, long sums, and transposed matrices."""
    rows, inner, columns = sizes
    a = random(rows, inner, turned=turned[0])
    b = random(inner, columns, turned=turned[1])
    np.testing.assert_allclose(compiled(a, b), a.dot(b), 1e-5, 1e-4)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_reach_their_row_only(value):
    """One number of the first matrix."""
    a, b = random(9, 600), random(600, 33)
    a[2, 3] = value
    found = compiled(a, b)
    with np.errstate(all="ignore"):
        plain = a.dot(b)
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(plain))
    np.testing.assert_allclose(found, plain, 1e-5, 1e-4)


def test_results_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    a, b = random(300, 700), random(700, 100)
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found.append(compiled(a, b))
    np.testing.assert_array_equal(*found)


def test_parts_of_matrices_are_multiplied_plainly():
    """Rows that do not lie close to each other."""
    a, b = random(20, 40)[:, :30], random(30, 33)
    assert compiled_products.matmul(a, b) is None


def test_few_rows_times_a_large_transposed_matrix_go_the_plain_way(monkeypatch):
    """The copy of the matrix would take longer than the product."""
    b = random(200, 100, turned=True)
    assert compiled(random(16, 200), b) is not None
    monkeypatch.setattr(compiled_products, "MOST_TURNED", 16)
    assert compiled_products.matmul(random(16, 200), b) is None
    compiled(random(17, 200), b)
    assert compiled_products.matmul(random(16, 200), np.ascontiguousarray(b)) is not None
