"""``Defun`` and what is built of functions is as in TensorFlow, by golden/functions.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.framework import (  # noqa: F401  # register programs
    cond_v2_scenarios,
    defun_scenarios,
    functional_scenarios,
    mixed_scenarios,
    while_v2_scenarios,
)
from tests.framework.function_scenarios import SCENARIOS, Kit, answer_of
from tfnb.framework import function
from tfnb.ops import functional_control_flow

_GOLDEN = Path(__file__).parents[1] / "golden" / "functions.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_program_is_as_in_tensorflow(name: str) -> None:
    """The same nodes, functions, values and classes of errors."""
    expected = _ANSWERS[name]
    actual = answer_of(tf, Kit(function, functional_control_flow), name)
    wanted, got = expected.pop("values", []), actual.pop("values", [])
    assert expected == actual
    assert len(wanted) == len(got)
    for one, other in zip(wanted, got, strict=True):
        if _has_text(one) or _has_text(other):
            assert one == other
        else:
            np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def _has_text(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_has_text, value))
    return value is None or isinstance(value, str)
