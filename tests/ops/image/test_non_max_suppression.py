"""Non-max suppression: candidates in blocks are chosen as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.ops.image import image_box_ops


def _boxes(count: int, size: float) -> np.ndarray:
    random = np.random.default_rng(count)
    low, sides = random.random((2, count, 2))
    return np.concatenate([low * size, low * size + sides * 0.3], 1).astype(np.float32)


@pytest.mark.parametrize("count", [1, 127, 128, 129, 400])
def test_blocks_of_candidates_keep_what_single_candidates_keep(count: int) -> None:
    """Ties, limits, thresholds, equal boxes and boxes without an area make no difference."""
    scores = np.random.default_rng(1).integers(0, 30, count).astype(np.float32) / 30
    for size in (0.3, 1.0, 5.0):
        corners = _boxes(count, size)
        corners[count // 2] = corners[0]
        corners[count // 3, 2:] = corners[count // 3, :2]
        overlaps = image_box_ops._Boxes(corners).overlaps
        for limit in (0, 1, 60, count):
            for threshold in (-np.inf, 0.4):
                rule = (scores, limit, 0.5, threshold)
                kept = image_box_ops._select_in_blocks(overlaps, *rule)
                assert kept == image_box_ops._select_one_by_one(overlaps, *rule, 0.0)[0]


def test_overlaps_that_are_nan_are_compared_one_by_one() -> None:
    """An overlap of infinite boxes lowers a score to 0, which no block computes."""
    corners = np.array([[0, 0, np.inf, np.inf], [0, 0, np.inf, 1], [0, 0, 1, 1]], np.float32)
    scores = np.array([0.9, 0.8, 0.7], np.float32)
    overlaps = image_box_ops._Boxes(corners).overlaps
    with np.errstate(invalid="ignore"):
        assert image_box_ops._select_in_blocks(overlaps, scores, 3, 0.5, 0.1) is None
        kept, kept_scores = image_box_ops._select(overlaps, scores, 3, 0.5, 0.1)
    assert kept[0] == 0
    assert len(kept) == len(kept_scores)
