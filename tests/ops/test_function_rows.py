"""Functions built of several ops compute what TensorFlow's compute."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.ops import function_rows


@cache
def _stored() -> dict[str, Any]:
    with np.load(Path(__file__).parents[1] / "golden" / "function_rows.npz") as stored:
        return {row: stored[row] for row in stored.files}


@pytest.mark.slow
@pytest.mark.parametrize("row", function_rows.ROWS)
def test_values_are_tensorflows(row: str) -> None:
    """Dtype and shape are equal, numbers up to rounding."""
    found = function_rows.values(tf, [row])
    wanted = {name: value for name, value in _stored().items() if name.startswith(f"{row}:")}
    assert sorted(wanted) == sorted(found)
    for name, value in wanted.items():
        assert (value.dtype, value.shape) == (found[name].dtype, found[name].shape)
        if value.dtype.kind not in "fc":
            assert value.tolist() == found[name].tolist()
            continue
        rtol = 1e-8 if value.dtype.itemsize > 8 - 4 * (value.dtype.kind == "f") else 2e-4
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=2e-5)
