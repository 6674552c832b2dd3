"""Stored random calls of single ops: values, errors, shapes and gradients are TensorFlow's.

``python -m tests.random_calls PYTHON --store`` stores TensorFlow's answers again, and so does
``python -m tests.random_calls.edge_calls``; without ``--store`` they make fresh calls.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.joined import in_batches
from tests.ops.stored_calls import EDGES, PATH, decode, stored_calls
from tests.random_calls.checks import differences
from tests.random_calls.makers import makers

if TYPE_CHECKING:
    from pathlib import Path

    from tests.ops.samples import Sample


@cache
def _keys_by_op(path: Path = PATH) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in stored_calls(path).index:
        found.setdefault(key.split("-")[0], []).append(key)
    return found


# Number of calls and of edges of an op in `make test`; the others are further examples.
_NUM_CALLS = 3
_NUM_EDGES = 4


def _check(path: Path, op_type: str, some: slice) -> None:
    for key in _keys_by_op(path)[op_type][some]:
        stored = stored_calls(path).get(key)
        assert stored is not None
        row: Sample = decode(stored["call"])
        with np.errstate(all="ignore"):
            assert not differences(row, stored["answer"]), f"{key}: {row.op} {row.attrs}"


@pytest.mark.slow
@in_batches("op_type", sorted(_keys_by_op()), 6)
def test_calls_agree_with_tensorflow(op_type: str) -> None:
    """A stored call of the op gives TensorFlow's values, error class, shapes and gradients."""
    _check(PATH, op_type, slice(_NUM_CALLS))


@pytest.mark.slow
@pytest.mark.repeats
@in_batches("op_type", sorted(_keys_by_op()))
def test_further_calls_agree_with_tensorflow(op_type: str) -> None:
    """The other stored calls of the op are compared in the same way."""
    _check(PATH, op_type, slice(_NUM_CALLS, None))


@pytest.mark.slow
@in_batches("op_type", sorted(_keys_by_op(EDGES)), 6)
def test_edges_agree_with_tensorflow(op_type: str) -> None:
    """Empty, scalar, infinite and extreme inputs give TensorFlow's values or its error."""
    _check(EDGES, op_type, slice(_NUM_EDGES))


@pytest.mark.slow
@pytest.mark.repeats
@in_batches("op_type", sorted(_keys_by_op(EDGES)))
def test_further_edges_agree_with_tensorflow(op_type: str) -> None:
    """The other stored edges of the op are compared in the same way."""
    _check(EDGES, op_type, slice(_NUM_EDGES, None))


def test_every_op_with_a_maker_has_stored_calls() -> None:
    """Each op with a maker has stored calls."""
    assert set(makers()) == set(_keys_by_op())
