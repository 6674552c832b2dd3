"""Products in pieces equal products at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.ops.base import piecewise_products
from tfnb.ops.base.large_arrays import plain_ways

# Rows, inner dimension, columns: cut at rows, at columns, in parts of the sum, and not at all.
_SIZES = [
    (9216, 27, 10),
    (5001, 90, 16),
    (16, 256, 500),
    (48, 333, 257),
    (27, 9217, 10),
    (60, 4001, 16),
    (256, 16, 512),
    (1, 2000, 900),
    (2000, 1, 900),
    (2000, 900, 1),
    (200, 300, 400),
    (0, 100, 20_000),
]


@pytest.fixture(autouse=True)
def _small_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise_products, "has_small_kernels", lambda: True)


def _matrices(size: tuple[int, int, int], dtype: str) -> tuple[Any, Any]:
    random = np.random.default_rng(7)
    rows, inner, columns = size
    a, b = (random.integers(-3, 4, s).astype(dtype) for s in ((rows, inner), (inner, columns)))
    a[rows // 2 : rows // 2 + 1, inner // 2], b[0, columns // 2] = np.nan, np.inf
    return a, b


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
@pytest.mark.parametrize("size", _SIZES)
@pytest.mark.parametrize("order", ["CC", "FC", "CF", "FF"])
def test_pieces(size: tuple[int, int, int], dtype: str, order: str) -> None:
    """For all layouts, with and without a given result, NaN and infinity included."""
    a, b = (np.asarray(x, order=o) for x, o in zip(_matrices(size, dtype), order, strict=True))
    with np.errstate(invalid="ignore"):
        found = piecewise_products.multiply(a, b)
        out = np.empty((len(a), b.shape[1]), dtype)
        assert piecewise_products.multiply(a, b, out=out) is out
        with plain_ways():
            assert piecewise_products.plan_of(a, b) is None
            plain = piecewise_products.multiply(a, b)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(out, plain)


def test_sizes_are_cut_where_it_pays() -> None:
    """The rule chooses the long side."""
    plans = [piecewise_products.plan_of(*_matrices(size, "f4")) for size in _SIZES]
    expected = ["rows"] * 2 + ["columns"] * 2 + ["inner"] * 2 + ["rows"] + [None] * 5
    assert [plan and plan[0] for plan in plans] == expected
    for size in (*_SIZES, (64, 4880, 128), (90, 5000, 91), (3, 2_000_000, 2)):
        (rows, inner, columns), plan = size, piecewise_products.plan_of(*_matrices(size, "f4"))
        if plan is not None:
            cut = {"rows": (plan[1], inner, columns), "inner": (rows, plan[1], columns)}
            one, other, third = cut.get(plan[0], (rows, inner, plan[1]))
            assert one * other * third <= piecewise_products.MOST_MULTIPLICATIONS
    a, b = _matrices((256, 16, 512), "f4")
    assert piecewise_products.plan_of(np.asfortranarray(a), b) == ("rows", 88)


@pytest.mark.parametrize("size", [(40_000, 27, 10), (32, 600, 800), (60, 40_000, 10)])
@pytest.mark.parametrize("transposes", [(False, False), (True, False), (False, True)])
def test_products_do_not_depend_on_threads(
    size: tuple[int, int, int], transposes: tuple[bool, bool]
) -> None:
    """Large products are cut at the same places for any number of threads."""
    random = np.random.default_rng(8)
    rows, inner, columns = size
    a, b = random.standard_normal((rows, inner)), random.standard_normal((inner, columns))
    given = [x.T.copy() if turn else x for x, turn in zip((a, b), transposes, strict=True)]
    found = []
    for threads in (1, 2, 3):
        config = tf.ConfigProto(intra_op_parallelism_threads=threads)
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            first, second = (tf.constant(x.astype("f4")) for x in given)
            product = tf.matmul(first, second, transpose_a=transposes[0], transpose_b=transposes[1])
            found.append(session.run(product))
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-4, atol=1e-3)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize(
    "size", [(1001, 33, 33), (260, 64, 64), (128, 64, 128), (33, 1999, 40), (300, 300, 300)]
)
@pytest.mark.parametrize("order", ["CC", "FC", "CF", "FF"])
def test_stacks(size: tuple[int, int, int], dtype: str, order: str) -> None:
    """Rows and parts of the sum of all matrices of a stack, for all layouts."""
    rows, inner, columns = size
    random = np.random.default_rng(9)
    a, b = (
        random.integers(-3, 4, s).astype(dtype) for s in ((3, rows, inner), (3, inner, columns))
    )
    if dtype != "i4":
        a[1, 3, 4], b[2, 5, 6] = np.nan, np.inf
    first, second = (
        x if o == "C" else x.swapaxes(1, 2).copy().swapaxes(1, 2)
        for x, o in zip((a, b), order, strict=True)
    )
    with np.errstate(invalid="ignore"):
        found = piecewise_products.multiply_stacks(first, second)
        out = np.empty((3, rows, columns), dtype)
        assert piecewise_products.multiply_stacks(first, second, out=out) is out
        plain = np.matmul(a, b)
    np.testing.assert_array_equal(found, plain)
    np.testing.assert_array_equal(out, plain)
