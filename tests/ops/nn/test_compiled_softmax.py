"""Compiled softmax and log-softmax give the plain way's values, up to their rounding."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.core.process import work_sharder
from tfnb.ops.nn import compiled_softmax
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
