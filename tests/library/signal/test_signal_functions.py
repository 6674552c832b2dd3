"""Functions of tf.signal compute TensorFlow's results."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.library.signal import signal_rows


@cache
def _ours() -> dict[str, Any]:
    return signal_rows.values(tf)


@cache
def _wanted() -> dict[str, Any]:
    path = Path(__file__).parents[2] / "golden" / "signal_functions.npz"
    with np.load(path) as stored:
        return {row: stored[row] for row in stored.files}


@pytest.mark.slow
@pytest.mark.parametrize("row", signal_rows.ROWS)
def test_value_is_tensorflows(row: str) -> None:
    """Dtype and shape are equal, numbers up to rounding."""
    wanted, found = _wanted()[row], np.asarray(_ours()[row])
    assert (wanted.dtype, wanted.shape) == (found.dtype, found.shape)
    np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)
