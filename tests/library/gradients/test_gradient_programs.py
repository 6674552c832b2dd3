"""First and second gradients through control flow, lists, arrays and variables are TensorFlow's."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tfnb
from tests.library.gradients.gradient_programs import PROGRAMS, slopes, values
from tfnb.framework.functions import function

_WANTED = json.loads((Path(__file__).parents[2] / "golden/gradient_programs.json").read_text())
# Their gradients are not derivatives, or do not exist.
_NO_SLOPE = frozenset(["prevented"])


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_gradients_are_tensorflows(name: str) -> None:
    """Results, first and second gradients are equal, including None and errors."""
    found, wanted = values(tfnb, function, name), list(_WANTED[name])
    assert len(found) == len(wanted), (found, wanted)
    for here, there in zip(found, wanted, strict=True):
        if isinstance(there, (str, bool)):
            assert here == there
        else:
            np.testing.assert_allclose(here, there, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - _NO_SLOPE))
def test_gradients_are_derivatives(name: str) -> None:
    """Gradients along a direction agree with differences of values."""
    if isinstance(_WANTED[name][-1], str) and len(_WANTED[name]) == 1:
        pytest.skip("TensorFlow has no gradient")
    by_gradients, by_differences = slopes(tfnb, function, name)
    assert abs(by_gradients - by_differences) <= 1e-6 * max(1.0, abs(by_gradients))
