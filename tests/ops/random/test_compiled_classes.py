"""Compiled draws of classes are those of the plain way."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.core.process import work_sharder
from tfnb.ops.random import compiled_classes, random_distributions
from tfnb.ops.random.philox import Philox
from tfnb.ops.random.random_ops import classes

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")

GENERATOR = Philox.from_seeds(3, 5)


def check(logits, samples, dtype=dtypes.int64):
    """Compare the classes of both ways; return them."""
    with np.errstate(all="ignore"):
        classes(GENERATOR, logits, samples, dtype)
        HELPER.wait()
        found = classes(GENERATOR, logits, samples, dtype)
        with without_routines():
            plain = classes(GENERATOR, logits, samples, dtype)
    assert found.dtype == plain.dtype
    np.testing.assert_array_equal(found, plain)
    return found


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 33), (2, 3000)])
@pytest.mark.parametrize("samples", [1, 2, 3, 100])
@pytest.mark.parametrize("dtype", [dtypes.int32, dtypes.int64])
@pytest.mark.parametrize("scale", [1, 300])
def test_classes_are_those_of_the_plain_way(shape, samples, dtype, scale):
    """Rows of all lengths; large logits, of which few classes are possible."""
    logits = np.random.default_rng(1).normal(size=shape).astype(np.float32) * np.float32(scale)
    check(logits, samples, dtype)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -1e10, 3e38])
def test_logits_that_are_not_finite(value):
    """They have no share; a row without possible classes gives the number of classes."""
    logits = np.random.default_rng(1).normal(size=(3, 20)).astype(np.float32)
    logits[0, 4] = logits[1, 1:] = logits[2] = value
    check(logits, 50)


def test_other_types_go_the_plain_way():
    """The routine takes 32-bit floats in C order."""
    logits, numbers = np.zeros((4, 6), np.float32), np.full(4, 0.5)
    check(logits, 1)
    np.testing.assert_array_equal(compiled_classes.classes(logits, numbers, 1), [[3]] * 4)
    assert compiled_classes.classes(logits.astype(np.float64), numbers, 1) is None
    assert compiled_classes.classes(logits[:, ::2], numbers, 1) is None


def test_threads_share_rows(monkeypatch):
    """Results are the same."""
    logits = np.random.default_rng(1).normal(size=(90, 700)).astype(np.float32)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found.append(check(logits, 5))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_doubles_are_the_first_of_many(count):
    """One or two are made without arrays of blocks."""
    many = random_distributions.uniform(np, GENERATOR, 10, dtypes.float64)
    few = random_distributions.uniform(np, GENERATOR, count, dtypes.float64)
    np.testing.assert_array_equal(few, many[:count])
