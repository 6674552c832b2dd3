"""Large images are normalized in tiles, as small ones are as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.process import work_sharder
from tfnb.ops.base.large_arrays import plain_ways
from tfnb.ops.nn.local_response_ops import lrn, lrn_grad

PARAMETERS = {"depth_radius": 2, "bias": 1.5, "alpha": 0.25, "beta": 0.75}


def results(x, grad):
    """Return the normalized images and the gradient."""
    with np.errstate(all="ignore"):
        found = lrn.function(np, x, **PARAMETERS)
        return found, lrn_grad.function(np, grad, x, found, **PARAMETERS)


@pytest.mark.parametrize("value", [0.5, np.nan, np.inf])
@pytest.mark.parametrize("threads", [1, 2])
def test_tiles_give_what_whole_images_give(monkeypatch, value, threads):
    """A number that is not finite reaches its row only."""
    monkeypatch.setattr(work_sharder, "_num_threads", threads)
    random = np.random.default_rng(2)
    x, grad = (random.normal(size=(3, 70, 71, 13)).astype(np.float32) for _ in range(2))
    x[1, 3, 4, 5] = value
    grad[2, 3] = 0
    with plain_ways():
        plain = results(x, grad)
    for one, other in zip(results(x, grad), plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, 1e-5, 1e-6)


def test_results_do_not_depend_on_threads(monkeypatch):
    """Two threads give the bits of one."""
    random = np.random.default_rng(2)
    x, grad = (random.normal(size=(3, 70, 71, 13)).astype(np.float32) for _ in range(2))
    found = []
    for threads in (1, 2):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found.append(results(x, grad))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
