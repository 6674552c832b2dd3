"""Stored random calls of single ops: values, errors, shapes and gradients are TensorFlow's.

``python -m tests.random_calls PYTHON --store`` asks TensorFlow again; without ``--store`` it makes
fresh calls.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.ops.golden import Golden
from tests.random_calls.checks import differences
from tests.random_calls.makers import makers
from tests.random_calls.stored import PATH, decode

if TYPE_CHECKING:
    from tests.ops.samples import Sample


@cache
def _stored() -> Golden:
    return Golden(PATH)


def _keys_by_op() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in _stored().index:
        found.setdefault(key.rsplit("-", 1)[0], []).append(key)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("op_type", sorted(_keys_by_op()))
def test_calls_agree_with_tensorflow(op_type: str) -> None:
    """Every stored call of the op gives TensorFlow's values, error class, shapes and gradients."""
    for key in _keys_by_op()[op_type]:
        stored = _stored().get(key)
        assert stored is not None
        row: Sample = decode(stored["call"])
        with np.errstate(all="ignore"):
            assert not differences(row, stored["answer"]), f"{key}: {row.op} {row.attrs}"


def test_every_op_with_a_maker_has_stored_calls() -> None:
    """No family of calls is left out of the stored ones."""
    assert set(makers()) == set(_keys_by_op())
