"""Boxes on images: selection among overlapping boxes, and drawing.

Corresponds to TensorFlow's ``non_max_suppression_op.cc`` and ``draw_bounding_box_op.cc``.
"""

from __future__ import annotations

import heapq
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image import compiled_suppression

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.core.shape_inference import InferenceContext

    # Overlaps of candidates (a row each) with other boxes (a column each), all by index.
    _Overlaps = Callable[[Array, Array], Array]

_T = "T: {half, float} = DT_FLOAT"
_THRESHOLD = "T_threshold: {half, float} = DT_FLOAT"
_PADS = "pad_to_max_output_size: bool = false"
_CPU: dict[str, Any] = {"devices": ("CPU",)}

# ----------------------------------------------------------------------------- non-max suppression


def _check_inputs(c: InferenceContext) -> None:
    boxes, scores = c.with_rank(0, 2).dim_values, c.with_rank(1, 1).dim_values
    for scalar in range(2, len(c.inputs)):
        c.with_rank(scalar, 0)
    if boxes is not None and scores is not None:
        merge_dims(boxes[0], scores[0])
    if boxes is not None and boxes[1] is not None and boxes[1] != 4:
        raise ValueError(f"Dimension must be 4 but is {boxes[1]}")


def _selected_shape(c: InferenceContext) -> TensorShape:
    _check_inputs(c)
    return TensorShape([None])


def _padded_shape(c: InferenceContext) -> TensorShape:
    _check_inputs(c)
    size = c.constant_value(2)
    is_padded = c.attr("pad_to_max_output_size")
    if is_padded and size is not None:
        if int(size) < 0:
            raise ValueError("max_output_size must be non-negative")
        return TensorShape([int(size)])
    return TensorShape([None])


def _smaller(x: Array, y: Array) -> Array:
    """Return the smaller number; the first if one of them is NaN."""
    return np.where(y < x, y, x)


def _larger(x: Array, y: Array) -> Array:
    return np.where(x < y, y, x)


class _Boxes:
    """Boxes with their areas, for overlaps of several boxes with several others."""

    def __init__(self, corners: Array) -> None:
        corners = corners.astype(np.float32, copy=False)
        if bool(np.isfinite(corners).all()):  # the ufuncs are faster; they differ for NaN
            self._smaller: Callable[[Array, Array], Array] = np.minimum
            self._larger: Callable[[Array, Array], Array] = np.maximum
        else:
            self._smaller, self._larger = _smaller, _larger
        self._low = self._smaller(corners[:, :2], corners[:, 2:])
        self._high = self._larger(corners[:, :2], corners[:, 2:])
        sides = self._high - self._low
        self._area = sides[:, 0] * sides[:, 1]

    def overlaps(self, ones: Array, others: Array) -> Array:
        """Return intersection over union of each of ``ones`` with each of ``others``."""
        common = self._common_side(ones, others, 0)
        common *= self._common_side(ones, others, 1)
        area, other_area = self._area[ones][:, None], self._area[others]
        together = area + other_area
        together -= common
        is_real = ~((area <= 0) | (other_area <= 0))
        if not bool(is_real.all()):
            together = np.where(is_real, together, np.float32(1))
            return np.where(is_real, common / together, np.float32(0))
        return np.divide(common, together, out=together)

    def _common_side(self, ones: Array, others: Array, axis: int) -> Array:
        low = self._larger(self._low[ones, axis][:, None], self._low[others, axis])
        high = self._smaller(self._high[ones, axis][:, None], self._high[others, axis])
        return self._larger(high - low, np.float32(0))


def _finite_overlaps(overlaps_of: _Overlaps, ones: Array, others: Array) -> Array:
    return np.fmax(overlaps_of(ones, others), 0)


def _select_boxes(
    corners: Array,
    scores: Array,
    limit: int,
    iou_threshold: float,
    score_threshold: float,
    sigma: float = 0.0,
    *,
    is_finite: bool = False,
) -> tuple[list[int], list[float]]:
    """Return what :func:`_select` does for boxes; with `is_finite`, overlaps of NaN count as 0."""
    if sigma <= 0:
        one_type = scores.astype(np.float32, copy=False)
        kept = compiled_suppression.kept_boxes(
            corners,
            partial(_candidates, one_type, score_threshold),
            limit,
            np.float32(iou_threshold),
        )
        if kept is not None:
            return kept.tolist(), one_type[kept].tolist()
    overlaps: _Overlaps = _Boxes(corners).overlaps
    if is_finite:
        overlaps = partial(_finite_overlaps, overlaps)
    return _select(overlaps, scores, limit, iou_threshold, score_threshold, sigma)


def _candidates(scores: Array, score_threshold: float) -> Array:
    """Return the numbers of the boxes with scores above a threshold, the best first."""
    # The threshold in double precision, as a comparison of Python numbers has it.
    (candidates,) = np.nonzero(scores > np.float64(score_threshold))
    return candidates[np.argsort(-scores[candidates], kind="stable")]


def _select(
    overlaps_of: _Overlaps,
    scores: Array,
    limit: int,
    iou_threshold: float,
    score_threshold: float,
    sigma: float = 0.0,
) -> tuple[list[int], list[float]]:
    """Return indices of the kept boxes in the order of their scores, and these scores.

    A box that overlaps a kept one too much is dropped; with a sigma, other boxes get a lower score,
    which is 0 for an overlap that is NaN.
    """
    scores = scores.astype(np.float32)
    if sigma <= 0:
        kept = _select_in_blocks(overlaps_of, scores, limit, iou_threshold, score_threshold)
        if kept is not None:
            return kept, scores[kept].tolist()
    return _select_one_by_one(overlaps_of, scores, limit, iou_threshold, score_threshold, sigma)


# Candidates that are compared with the kept boxes, and with each other, at once.
_BLOCK = 128


def _select_in_blocks(
    overlaps_of: _Overlaps,
    scores: Array,
    limit: int,
    iou_threshold: float,
    score_threshold: float,
) -> list[int] | None:
    """Return indices of the kept boxes, or None if an overlap is NaN.

    No score changes here, so the order of the candidates is known before.
    """
    most = np.float32(iou_threshold)
    candidates = _candidates(scores, score_threshold)
    kept = np.empty(min(limit, len(candidates)), np.int64)
    count = 0
    for start in range(0, len(candidates), _BLOCK):
        if count == limit:
            break
        block = candidates[start : start + _BLOCK]
        overlaps = overlaps_of(block, kept[:count])
        if not bool((overlaps > -np.inf).all()):
            return None
        block = block[~(overlaps > most).any(axis=1)]
        overlaps = overlaps_of(block, block)
        if not bool((overlaps > -np.inf).all()):
            return None
        # By kept box, those after it that it drops.
        drops = (overlaps > most).T.copy()
        is_dropped = np.zeros(len(block), np.bool_)
        for place in range(len(block)):
            if is_dropped[place]:
                continue
            kept[count] = block[place]
            count += 1
            if count == limit:
                break
            is_dropped |= drops[place]
    return list(kept[:count].tolist())


def _select_one_by_one(
    overlaps_of: _Overlaps,
    scores: Array,
    limit: int,
    iou_threshold: float,
    score_threshold: float,
    sigma: float,
) -> tuple[list[int], list[float]]:
    """Return what :func:`_select` returns, where scores change or overlaps are NaN."""
    scale = np.float32(-0.5 / sigma) if sigma > 0 else np.float32(0)
    most = np.float32(np.inf if sigma > 0 else iou_threshold)
    # (falling score, index, number of kept boxes it was compared with)
    queue = [(-s, i, 0) for i, s in enumerate(scores.tolist()) if s > score_threshold]
    heapq.heapify(queue)
    kept: list[int] = []
    kept_scores: list[float] = []
    while queue and len(kept) < limit:
        negative, index, seen = heapq.heappop(queue)
        original = score = np.float32(-negative)
        is_dropped = False
        if seen < len(kept):
            # The latest first: boxes with similar scores often overlap.
            overlaps = overlaps_of(np.array([index]), np.array(kept[seen:], np.int64))[0, ::-1]
            if sigma <= 0:  # the other overlaps change no score
                overlaps = overlaps[~((overlaps <= most) & (overlaps > -np.inf))]
            for overlap in overlaps:
                is_dropped = bool(overlap > most)
                if is_dropped:
                    break
                weight = math.exp(scale * overlap * overlap) if overlap <= most else 0
                score = score * np.float32(weight)
                if score <= score_threshold:
                    break
        if is_dropped:
            continue
        if score == original:
            kept.append(index)
            kept_scores.append(float(score))
        elif score > score_threshold:
            heapq.heappush(queue, (-float(score), index, len(kept)))
    return kept, kept_scores


def _require_scalars(**values: Array) -> None:
    for name, value in values.items():
        if value.ndim:
            raise errors.invalid_argument(
                f"{name} must be 0-D, got shape {shape_text(value.shape)}"
            )


def _check_boxes(
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array | float,
    **others: Array,
) -> int:
    _require_scalars(max_output_size=max_output_size)
    if not isinstance(iou_threshold, float):
        _require_scalars(iou_threshold=iou_threshold, **others)
    if int(max_output_size) < 0:
        raise errors.invalid_argument("output size must be non-negative")
    if not 0 <= float(iou_threshold) <= 1:
        raise errors.invalid_argument("iou_threshold must be in [0, 1]")
    if boxes.ndim != 2:
        raise errors.invalid_argument(f"boxes must be 2-D{shape_text(boxes.shape)}")
    if boxes.shape[1] != 4:
        raise errors.invalid_argument("boxes must have 4 columns")
    if scores.ndim != 1:
        raise errors.invalid_argument(f"scores must be 1-D{shape_text(scores.shape)}")
    if scores.shape[0] != boxes.shape[0]:
        raise errors.invalid_argument("scores has incompatible shape")
    return int(max_output_size)


_LOWEST = float(np.finfo(np.float32).min)


@register_op(
    "NonMaxSuppression",
    "boxes: float, scores: float, max_output_size: int32 -> selected_indices: int32",
    "iou_threshold: float = 0.5",
    shape=_selected_shape,
    **_CPU,
)
def non_max_suppression_op(
    xp: Xp, boxes: Array, scores: Array, max_output_size: Array, *, iou_threshold: float
) -> Array:
    """Return the best boxes by score, without those that overlap a better one."""
    limit = _check_boxes(boxes, scores, max_output_size, iou_threshold)
    kept, _ = _select_boxes(boxes, scores, limit, iou_threshold, _LOWEST)
    return np.array(kept, np.int32)


non_max_suppression_op.not_differentiable()


@register_op(
    "NonMaxSuppressionV2",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold -> "
    "selected_indices: int32",
    _T,
    _THRESHOLD,
    shape=_selected_shape,
    **_CPU,
)
def non_max_suppression_v2(
    xp: Xp, boxes: Array, scores: Array, max_output_size: Array, iou_threshold: Array
) -> Array:
    """Return the boxes of NonMaxSuppression; the threshold is an input."""
    limit = _check_boxes(boxes, scores, max_output_size, iou_threshold)
    kept, _ = _select_boxes(boxes, scores, limit, float(iou_threshold), _LOWEST)
    return np.array(kept, np.int32)


non_max_suppression_v2.not_differentiable()


@register_op(
    "NonMaxSuppressionV3",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold -> selected_indices: int32",
    _T,
    _THRESHOLD,
    shape=_selected_shape,
    **_CPU,
)
def non_max_suppression_v3(
    xp: Xp,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
) -> Array:
    """Return the boxes of NonMaxSuppressionV2 without boxes of low scores."""
    limit = _check_boxes(
        boxes, scores, max_output_size, iou_threshold, score_threshold=score_threshold
    )
    kept, _ = _select_boxes(boxes, scores, limit, float(iou_threshold), float(score_threshold))
    return np.array(kept, np.int32)


def _padded(values: Array, size: int, dtype: Attr) -> Array:
    check_fits(np, (size,), np.dtype(dtype))
    result = np.zeros(size, dtype)
    result[: len(values)] = values
    return result


@register_op(
    "NonMaxSuppressionV4",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T_threshold, "
    "score_threshold: T_threshold -> selected_indices: int32, valid_outputs: int32",
    _T,
    _THRESHOLD,
    _PADS,
    shape=lambda c: [_padded_shape(c), SCALAR_SHAPE],
    **_CPU,
)
def non_max_suppression_v4(
    xp: Xp,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_to_max_output_size: bool,
) -> Outputs:
    """Return the boxes of NonMaxSuppressionV3, padded with zeros on request, and their number."""
    limit = _check_boxes(
        boxes, scores, max_output_size, iou_threshold, score_threshold=score_threshold
    )
    kept, _ = _select_boxes(boxes, scores, limit, float(iou_threshold), float(score_threshold))
    size = limit if pad_to_max_output_size else len(kept)
    return _padded(kept, size, np.int32), np.int32(len(kept))


@register_op(
    "NonMaxSuppressionV5",
    "boxes: T, scores: T, max_output_size: int32, iou_threshold: T, score_threshold: T, "
    "soft_nms_sigma: T -> selected_indices: int32, selected_scores: T, valid_outputs: int32",
    _T,
    _PADS,
    shape=lambda c: [_padded_shape(c), _padded_shape(c), SCALAR_SHAPE],
    **_CPU,
)
def non_max_suppression_v5(
    xp: Xp,
    boxes: Array,
    scores: Array,
    max_output_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    soft_nms_sigma: Array,
    *,
    pad_to_max_output_size: bool,
) -> Outputs:
    """Return the boxes of NonMaxSuppressionV3 and their scores, which sigma lowers by overlap."""
    limit = _check_boxes(
        boxes,
        scores,
        max_output_size,
        iou_threshold,
        score_threshold=score_threshold,
        soft_nms_sigma=soft_nms_sigma,
    )
    sigma = float(soft_nms_sigma)
    if not sigma >= 0:
        raise errors.invalid_argument("soft_nms_sigma must be non-negative")
    kept, kept_scores = _select_boxes(
        boxes,
        scores,
        limit,
        float(iou_threshold),
        float(score_threshold),
        sigma,
    )
    size = limit if pad_to_max_output_size else len(kept)
    return (
        _padded(kept, size, np.int32),
        _padded(kept_scores, size, scores.dtype),
        np.int32(len(kept)),
    )


@register_op(
    "NonMaxSuppressionWithOverlaps",
    "overlaps: float, scores: float, max_output_size: int32, overlap_threshold: float, "
    "score_threshold: float -> selected_indices: int32",
    **_CPU,
)
def non_max_suppression_with_overlaps(
    xp: Xp,
    overlaps: Array,
    scores: Array,
    max_output_size: Array,
    overlap_threshold: Array,
    score_threshold: Array,
) -> Array:
    """Return the boxes of NonMaxSuppressionV3; a matrix holds the overlaps of boxes."""
    _require_scalars(
        max_output_size=max_output_size,
        overlap_threshold=overlap_threshold,
        score_threshold=score_threshold,
    )
    if overlaps.ndim != 2:
        raise errors.invalid_argument(f"overlaps must be 2-D{shape_text(overlaps.shape)}")
    if overlaps.shape[0] != overlaps.shape[1]:
        raise errors.invalid_argument("overlaps must be square")
    if scores.ndim != 1:
        raise errors.invalid_argument(f"scores must be 1-D{shape_text(scores.shape)}")
    if scores.shape[0] != overlaps.shape[0]:
        raise errors.invalid_argument("scores has incompatible shape")
    limit, threshold = int(max_output_size), float(overlap_threshold)
    if limit < 0:
        raise errors.invalid_argument("output size must be non-negative")
    kept, _ = _select(
        lambda ones, others: overlaps[ones[:, None], others],
        scores,
        limit,
        threshold,
        float(score_threshold),
    )
    return np.array(kept, np.int32)


@non_max_suppression_with_overlaps.shape
def _(c: InferenceContext) -> TensorShape:
    overlaps, scores = c.with_rank(0, 2).dim_values, c.with_rank(1, 1).dim_values
    for index in (2, 3, 4):
        c.with_rank(index, 0)
    assert overlaps is not None
    assert scores is not None
    merge_dims(overlaps[0], scores[0])
    merge_dims(overlaps[0], overlaps[1])
    return TensorShape([None])


non_max_suppression_with_overlaps.not_differentiable()


def _combined_shape(c: InferenceContext) -> list[TensorShape]:
    boxes, scores = c.with_rank(0, 4).dim_values, c.with_rank(1, 3).dim_values
    for scalar in range(2, 6):
        c.with_rank(scalar, 0)
    batch = None if boxes is None else boxes[0]
    if boxes is not None and scores is not None:
        batch = merge_dims(boxes[0], scores[0])
        merge_dims(boxes[1], scores[1])
        if boxes[3] is not None and boxes[3] != 4:
            raise ValueError(f"Dimension must be 4 but is {boxes[3]}")
        if None not in (boxes[2], scores[2]) and boxes[2] not in (1, scores[2]):
            raise ValueError(
                "third dimension of boxes must be either 1 or equal to the third dimension of "
                f"scores, found {boxes[2]} and {scores[2]}"
            )
    total, per_class = c.constant_value(3), c.constant_value(2)
    size: int | None = None
    if per_class is not None and int(per_class) < bool(c.attr("pad_per_class")):
        raise ValueError(f"max_output_size_per_class must be > 0 but is {int(per_class)}")
    if total is not None:
        if int(total) <= 0:
            raise ValueError("max_total_size should be > 0")
        size = int(total)
        if c.attr("pad_per_class"):
            classes = None if scores is None else scores[2]
            known = per_class is not None and classes is not None
            size = min(size, int(per_class) * classes) if known else None  # type: ignore[arg-type, operator]
    return [
        TensorShape([batch, size, 4]),
        TensorShape([batch, size]),
        TensorShape([batch, size]),
        TensorShape([batch]),
    ]


@register_op(
    "CombinedNonMaxSuppression",
    "boxes: float, scores: float, max_output_size_per_class: int32, max_total_size: int32, "
    "iou_threshold: float, score_threshold: float -> nmsed_boxes: float, nmsed_scores: float, "
    "nmsed_classes: float, valid_detections: int32",
    "pad_per_class: bool = false",
    "clip_boxes: bool = true",
    shape=_combined_shape,
    **_CPU,
)
def combined_non_max_suppression_op(
    xp: Xp,
    boxes: Array,
    scores: Array,
    max_output_size_per_class: Array,
    max_total_size: Array,
    iou_threshold: Array,
    score_threshold: Array,
    *,
    pad_per_class: bool,
    clip_boxes: bool,
) -> Outputs:
    """Keep the best boxes of each class of each image, then the best of all classes."""
    if boxes.ndim != 4:
        raise errors.invalid_argument(f"boxes must be 4-D{shape_text(boxes.shape)}")
    if scores.ndim != 3:
        raise errors.invalid_argument(f"scores must be 3-D{shape_text(scores.shape)}")
    for value in (max_output_size_per_class, max_total_size, iou_threshold, score_threshold):
        if value.ndim:
            raise errors.invalid_argument(
                f"sizes and thresholds must be 0-D, got shape {shape_text(value.shape)}"
            )
    per_class, total = int(max_output_size_per_class), int(max_total_size)
    if per_class <= 0:
        raise errors.invalid_argument("max_size_per_class must be positive")
    if total <= 0:
        raise errors.invalid_argument("max_total_size must be > 0")
    if not 0 <= float(iou_threshold) <= 1:
        raise errors.invalid_argument("iou_threshold must be in [0, 1]")
    if boxes.shape[:2] != scores.shape[:2] or boxes.shape[3] != 4:
        raise errors.invalid_argument("boxes and scores must have compatible shapes")
    if boxes.shape[2] not in (1, scores.shape[2]):
        raise errors.invalid_argument(
            "third dimension of boxes must be either 1 or equal to the third dimension of scores"
        )
    batch, _, classes = scores.shape
    size = min(total, per_class * classes) if pad_per_class else total
    check_fits(np, (batch, size, 4), np.dtype(np.float32))
    out_boxes = np.zeros((batch, size, 4), np.float32)
    out_scores, out_classes = np.zeros((2, batch, size), np.float32)
    valid = np.zeros(batch, np.int32)
    for image in range(batch):
        found: list[tuple[float, int, Array]] = []
        for label in range(classes):
            corners = boxes[image, :, label if boxes.shape[2] > 1 else 0]
            kept, kept_scores = _select_boxes(
                corners,
                scores[image, :, label],
                min(per_class, len(corners)),
                float(iou_threshold),
                float(score_threshold),
                is_finite=True,  # an overlap that is NaN drops no box here
            )
            found += [(s, label, corners[i]) for i, s in zip(kept, kept_scores, strict=True)]
        found.sort(key=lambda one: -one[0])
        del found[size:]
        valid[image] = len(found)
        for place, (score, label, corner) in enumerate(found):
            out_scores[image, place], out_classes[image, place] = score, label
            out_boxes[image, place] = np.clip(corner, 0, 1) if clip_boxes else corner
    return out_boxes, out_scores, out_classes, valid


# ------------------------------------------------------------------------------------------ drawing

_COLORS = (
    (1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1),
    (0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1),
)  # fmt: skip


def _drawn_shape(c: InferenceContext) -> TensorShape:
    dims, boxes = c.with_rank(0, 4).dim_values, c.with_rank(1, 3).dim_values
    if dims is not None and dims[3] not in (None, 1, 3, 4):
        raise ValueError("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    if boxes is not None and boxes[2] is not None and boxes[2] != 4:
        raise ValueError(f"Dimension must be 4 but is {boxes[2]}")
    return c.inputs[0]


def _default_colors(images: Array) -> Array:
    """Return ten colours; for grey images only one, which is white."""
    return [[1.0]] if images.shape[-1:] == (1,) else _COLORS


def _draw(images: Array, boxes: Array, colors: Array) -> Array:
    if images.ndim != 4:
        raise errors.invalid_argument("The rank of the images should be 4")
    if boxes.ndim != 3:
        raise errors.invalid_argument("The rank of the boxes tensor should be 3")
    if boxes.shape[0] != images.shape[0]:
        raise errors.invalid_argument("The batch sizes should be the same")
    if boxes.shape[2] != 4:
        raise errors.invalid_argument("Each box needs four corners")
    depth = images.shape[3]
    if depth not in (1, 3, 4):
        raise errors.invalid_argument(
            "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)"
        )
    height, width = images.shape[1:3]
    result = images.copy()
    # As in TensorFlow, computed in the boxes' precision; NaN becomes the least integer.
    corners = boxes * np.array([height - 1, width - 1] * 2, boxes.dtype)
    corners = np.where(np.abs(corners) < 2.0**63, corners, -(2.0**63)).astype(np.int64)
    for canvas, group in zip(result, corners.tolist(), strict=True):
        for number, (first_row, first_column, last_row, last_column) in enumerate(group):
            color = np.array(colors[number % len(colors)], np.float32)[:depth]
            if first_row > last_row or first_column > last_column:
                continue
            if first_row >= height or last_row < 0 or first_column >= width or last_column < 0:
                continue
            if not height or not width:
                raise errors.invalid_argument("cannot draw a box into an image without pixels")
            rows = slice(max(first_row, 0), min(last_row, height - 1) + 1)
            columns = slice(max(first_column, 0), min(last_column, width - 1) + 1)
            if first_row >= 0:
                canvas[first_row, columns] = color
            if last_row < height:
                canvas[last_row, columns] = color
            if first_column >= 0:
                canvas[rows, first_column] = color
            if last_column < width:
                canvas[rows, last_column] = color
    return result


@register_op(
    "DrawBoundingBoxes",
    "images: T, boxes: float -> output: T",
    "T: {float, half} = DT_FLOAT",
    shape=_drawn_shape,
    **_CPU,
)
def draw_bounding_boxes_op(xp: Xp, images: Array, boxes: Array) -> Array:
    """Return the images with the edges of boxes in ten colours."""
    return _draw(images, boxes, _default_colors(images))


draw_bounding_boxes_op.not_differentiable()


@register_op(
    "DrawBoundingBoxesV2",
    "images: T, boxes: float, colors: float -> output: T",
    "T: {float, half} = DT_FLOAT",
    shape=lambda c: c.with_rank_at_least(0, 3),
    **_CPU,
)
def draw_bounding_boxes_v2(xp: Xp, images: Array, boxes: Array, colors: Array) -> Array:
    """Return the images with the edges of boxes in given colours; ten colours if none are given."""
    if colors.ndim != 2:
        raise errors.invalid_argument(f"colors must be a 2-D matrix{shape_text(colors.shape)}")
    if colors.shape[0] and images.ndim == 4 and colors.shape[1] < images.shape[3]:
        raise errors.invalid_argument(
            f"colors must have equal or more channels than the image provided: {colors.shape[1]} "
            f"vs. {images.shape[3]}"
        )
    return _draw(images, boxes, colors.tolist() or _default_colors(images))
