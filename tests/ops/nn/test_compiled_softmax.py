"""Compiled softmax and log-softmax give the plain way's values, up to their rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.core.process import work_sharder
from tfnb.ops.nn import compiled_softmax
from tfnb.ops.nn.cross_entropy_ops import softmax_cross_entropy, sparse_softmax_cross_entropy
from tfnb.ops.nn.softmax_ops import log_softmax_op, softmax_op

pytest.importorskip("llvmlite")

KERNELS = [softmax_op.function, log_softmax_op.function]


@pytest.fixture(autouse=True)
def _compiles(monkeypatch):
    monkeypatch.setenv("TFNB_COMPILED", "1")


def compiled(kernel, x):
    """Return the result once the routine is ready."""
    with np.errstate(all="ignore"):
        kernel(np, x)
        HELPER.wait()
        return kernel(np, x)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 1), (4, 5, 33), (2, 20_000)])
@pytest.mark.parametrize("value", [0.5, 300.0, -300.0, np.nan, np.inf, -np.inf])
def test_values_are_those_of_the_plain_way(kernel, shape, value):
    """Rows of all lengths; large numbers, and numbers that are not finite."""
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    x.reshape(-1)[-1] = value
    with np.errstate(all="ignore"):
        plain = kernel(np, x)
    with compiling_at_once():
        found = compiled(kernel, x)
    assert found.dtype == plain.dtype
    assert found.shape == plain.shape
    np.testing.assert_allclose(found, plain, 2e-6, 1e-6)


@pytest.mark.parametrize(
    ("kernel", "routine"),
    [
        (softmax_op.function, compiled_softmax.softmax),
        (log_softmax_op.function, compiled_softmax.log_softmax),
    ],
)
def test_kernels_use_the_routine(kernel, routine):
    """Its rounding shows that it has run."""
    x = np.random.default_rng(1).normal(size=(40, 300)).astype(np.float32)
    plain = kernel(np, x)
    with compiling_at_once():
        found = compiled(kernel, x)
        np.testing.assert_array_equal(found, routine(x))
    assert (found != plain).any()


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (40, 33), (9, 2000)])
@pytest.mark.parametrize("value", [0.5, 300.0, -300.0, np.nan, np.inf, -np.inf])
def test_cross_entropies_are_those_of_the_plain_way(is_sparse, shape, value):
    """Loss and gradient, for numbers of all kinds."""
    random = np.random.default_rng(1)
    x = random.normal(size=shape).astype(np.float32)
    x.reshape(-1)[-1] = value
    if is_sparse:
        labels = random.integers(0, shape[1], shape[0]).astype(np.int32)
        kernel = sparse_softmax_cross_entropy.function
    else:
        labels = random.uniform(size=shape).astype(np.float32)
        kernel = softmax_cross_entropy.function
    with np.errstate(all="ignore"):
        plain = kernel(np, x, labels)
        with compiling_at_once():
            kernel(np, x, labels)
            HELPER.wait()
            found = kernel(np, x, labels)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 1e-5, 2e-6)


def test_a_row_of_minus_infinity_is_not_a_number():
    """The same as the plain way."""
    x = np.full((2, 5), -np.inf, np.float32)
    x[1] = 1
    with compiling_at_once():
        found = compiled(softmax_op.function, x)
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], 0.2, 1e-6)


def test_results_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    x = np.random.default_rng(1).normal(size=(500, 700)).astype(np.float32)
    found = []
    with compiling_at_once():
        for threads in (1, 2):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            found.append(compiled(softmax_op.function, x))
    np.testing.assert_array_equal(*found)


def test_empty_and_strided_arrays_go_the_plain_way():
    """There the routine returns None."""
    with compiling_at_once():
        compiled(softmax_op.function, np.ones((2, 3), np.float32))
        assert compiled_softmax.softmax(np.ones((0, 3), np.float32)) is None
        assert compiled_softmax.softmax(np.ones((4, 3), np.float32)[::2]) is None
        assert compiled_softmax.softmax(np.ones((4, 3))) is None
