"""Beam searches by the compiled routine give the sequences of the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.ops.nn import compiled_beam_search
from tfnb.ops.nn.ctc_beam_search import beam_search

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")


def _is_compiled(logits: Any, width: int) -> bool:
    frames = np.asarray(logits, np.float64)
    compiled_beam_search.search(frames, width, 1)
    HELPER.wait()
    return compiled_beam_search.search(frames, width, 1) is not None


def _check(logits: Any, width: int, paths: int, merge_repeated: bool) -> None:
    found = beam_search(logits, width, paths, merge_repeated)
    with without_routines():
        wanted = beam_search(logits, width, paths, merge_repeated)
    if wanted is None:
        assert found is None
        return
    assert found is not None
    assert found[0] == wanted[0]
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (4, 2), (12, 5), (60, 29)])
@pytest.mark.parametrize("width", [1, 2, 7, 40])
@pytest.mark.parametrize("scale", [0, 0.1, 1, 30])
@pytest.mark.parametrize("merge_repeated", [False, True])
def test_sequences_are_those_of_the_plain_way(
    shape: tuple[int, int], width: int, scale: float, merge_repeated: bool
) -> None:
    """Equally likely sequences among them; few frames have fewer sequences than requested."""
    logits = np.random.default_rng(4).normal(size=shape).astype(np.float32) * np.float32(scale)
    assert _is_compiled(logits, width)
    _check(logits, width, min(width, 3), merge_repeated)


def test_more_nodes_than_there_is_room_for_at_first() -> None:
    """The tree of sequences grows between frames."""
    logits = np.random.default_rng(5).normal(size=(300, 12)).astype(np.float32)
    assert _is_compiled(logits, 30)
    _check(logits, 30, 3, False)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_logits_that_are_not_finite_go_the_plain_way(value: float) -> None:
    """They have the results of the plain way, which a network may still produce."""
    logits = np.random.default_rng(6).normal(size=(5, 4)).astype(np.float32)
    logits[2, 1] = value
    assert _is_compiled(np.zeros((5, 4)), 6)
    with np.errstate(all="ignore"):
        assert not _is_compiled(logits, 6)
        _check(logits, 6, 2, False)


def test_impossible_labels_stay_impossible() -> None:
    """Minus infinity ends sequences; the sums of their children leave them out."""
    logits = np.full((3, 3), -np.inf)
    logits[0, 1] = logits[1, 2] = logits[2, 0] = 0.0
    with np.errstate(all="ignore"):
        assert beam_search(logits, 4, 1, False) == ([[1, 0]], [0.0])
