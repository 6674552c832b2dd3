"""Sobol sequences beyond the dimensions of tfnb's own table."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc

import tfnb as tf
from tfnb.ops.random import sobol_ops


def _sample(dim: int, count: int) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.math.sobol_sample(dim, count, dtype=tf.float64))


@pytest.mark.parametrize("dim", [1, 3, sobol_ops._OWN_DIMS, sobol_ops._OWN_DIMS + 1, 5000])
def test_points_are_those_of_the_sequence(dim: int) -> None:
    """Points of tfnb's and of SciPy's table are right; the first point, the origin, is omitted."""
    want = qmc.Sobol(dim, scramble=False, bits=31).random(8)[1:]
    np.testing.assert_array_equal(_sample(dim, 7), want)


def test_without_scipy_more_dimensions_are_an_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error suggests SciPy; fewer dimensions do not need it."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    sobol_ops._all_directions.cache_clear()
    monkeypatch.setattr(sobol_ops.resources, "files", missing)
    assert _sample(sobol_ops._OWN_DIMS, 1).shape == (1, sobol_ops._OWN_DIMS)
    with pytest.raises(tf.errors.UnimplementedError, match="pip install scipy"):
        _sample(sobol_ops._OWN_DIMS + 1, 1)
