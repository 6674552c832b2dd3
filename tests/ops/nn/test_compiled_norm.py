"""Compiled batch normalization gives the plain way's values, up to the order of sums."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import compiling_at_once
from tfnb.core.process import work_sharder
from tfnb.ops.nn.normalization_ops import _batch_norm, _batch_norm_grad

pytest.importorskip("llvmlite")

SHAPES = [(2, 3, 5, 3), (1, 1, 1, 7), (3, 40, 41, 2), (2, 9, 9, 70), (5, 3, 3, 3, 16)]


@pytest.fixture(autouse=True)
def _compiles(monkeypatch):
    monkeypatch.setenv("TFNB_COMPILED", "1")


def random(*shape):
    """Return normal numbers."""
    return np.random.default_rng(4).normal(size=shape).astype(np.float32)


def results(x):
    """Return the results of training, its gradient, and inference."""
    channels = x.shape[-1]
    scale, offset = random(channels), random(channels) + 1
    mean, variance = random(channels), np.abs(random(channels)) + 1
    grad = random(*x.shape[::-1]).reshape(x.shape)
    layout = "NHWC" if x.ndim == 4 else "NDHWC"
    with np.errstate(all="ignore"):
        return [
            *_batch_norm(np, x, scale, offset, mean, variance, 1e-3, 0.9, layout, True),
            *_batch_norm_grad(np, grad, x, scale, mean, variance, 1e-3, layout, True),
            *_batch_norm(np, x, scale, offset, mean, variance, 1e-3, 1.0, layout, False),
        ]


def compiled(x):
    """Return the results once the routines are ready."""
    for _ in range(5):
        results(x)
        HELPER.wait()
    return results(x)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
def test_normalization_equals_the_plain_way(shape, value):
    """Channels of all widths; numbers that are not finite."""
    x = random(*shape)
    x.reshape(-1)[1] = value
    plain = results(x)
    with compiling_at_once():
        found = compiled(x)
    for one, other in zip(found, plain, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, 2e-4, 2e-5)


def test_inference_has_the_bits_of_the_plain_way():
    """Without sums the operations are the same."""
    x = random(2, 9, 9, 6)
    plain = results(x)[-5:]
    with compiling_at_once():
        found = compiled(x)[-5:]
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_layouts_and_empty_arrays_go_the_plain_way():
    """An array whose channels do not lie close to each other, and one without elements."""
    turned = np.moveaxis(random(2, 6, 5, 4), 1, -1)
    for x in (turned, np.zeros((0, 3, 3, 2), np.float32)):
        plain = results(x)
        with compiling_at_once():
            found = compiled(x)
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_array_equal(one, other)


def test_results_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    x, found = random(8, 60, 61, 16), []
    with compiling_at_once():
        for threads in (1, 2):
            monkeypatch.setattr(work_sharder, "_num_threads", threads)
            found.append(compiled(x))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
