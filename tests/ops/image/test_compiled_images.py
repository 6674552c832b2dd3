"""Compiled kernels of images give the plain way's bits, or its values up to rounded sums."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core import dtypes
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import without_routines
from tfnb.core.process import work_sharder
from tfnb.ops.image import (
    compiled_crops,
    compiled_resize,
    compiled_suppression,
    image_box_ops,
    image_crop_ops,
    image_resize_ops,
)

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.usefixtures("kernels_at_once")

# Shapes of images, and heights and widths of results.
RESIZED = [
    ((1, 1, 1, 1), (1, 3)),
    ((1, 2, 5, 1), (7, 3)),
    ((2, 6, 4, 3), (3, 9)),
    ((2, 5, 7, 8), (10, 14)),
    ((3, 9, 8, 17), (4, 4)),
    ((1, 40, 30, 3), (1, 1)),
    ((0, 4, 4, 3), (2, 2)),
]
MODES = [(False, False), (True, False), (False, True)]
NUMBERS = [0.5, np.nan, np.inf, -np.inf]


def both(kernel, *given, **attrs):
    """Return the result of the routine, and the plain one."""
    with np.errstate(all="ignore"):
        kernel(np, *given, **attrs)
        HELPER.wait()
        found = kernel(np, *given, **attrs)
        with without_routines():
            plain = kernel(np, *given, **attrs)
    for one, other in zip(as_tuple(found), as_tuple(plain), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
    return found, plain


def as_tuple(outputs):
    """Return outputs as a tuple."""
    return outputs if isinstance(outputs, tuple) else (outputs,)


def numbers(shape, value=0.5, seed=1):
    """Return random numbers, of which one in the middle and the last are given."""
    made = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    if made.size:
        made.reshape(-1)[[made.size // 2, -1]] = value
    return made


def attrs_of(mode):
    """Return the attrs of an op that resizes."""
    return {"align_corners": mode[0], "half_pixel_centers": mode[1]}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "size"), RESIZED)
@pytest.mark.parametrize("value", NUMBERS)
def test_resized_images_have_the_bits_of_the_plain_way(shape, size, mode, value):
    """Bilinear and nearest neighbour: larger and smaller, with few and with many channels."""
    given = numbers(shape, value), np.array(size, np.int32)
    for op in (
        image_resize_ops.resize_bilinear_op,
        image_resize_ops.resize_nearest_neighbor_op,
    ):
        np.testing.assert_array_equal(*both(op.function, *given, **attrs_of(mode)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("shape", "size"), RESIZED)
@pytest.mark.parametrize("value", NUMBERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_of_resized_images_are_those_of_the_plain_way(shape, size, mode, value, dtype):
    """Nearest neighbours have the same bits, bilinear images the same up to rounded sums."""
    grads = numbers((shape[0], *size, shape[3]), value)
    height_and_width = np.array(shape[1:3], np.int32)
    kernel = image_resize_ops.resize_nearest_neighbor_grad.function
    found, plain = both(kernel, grads.astype(dtype), height_and_width, **attrs_of(mode))
    np.testing.assert_array_equal(found, plain)
    kernel = image_resize_ops.resize_bilinear_grad.function
    found, plain = both(kernel, grads, np.zeros(shape, dtype), **attrs_of(mode))
    np.testing.assert_allclose(found, plain, 1e-5, 1e-5)


def test_integers_keep_their_bits():
    """Pixels are copied, whatever their bits mean."""
    images = np.random.default_rng(1).integers(-(2**31), 2**31, (2, 5, 4, 3)).astype(np.int32)
    kernel = image_resize_ops.resize_nearest_neighbor_op.function
    np.testing.assert_array_equal(
        *both(kernel, images, np.array([3, 9], np.int32), **attrs_of((False, False)))
    )


def test_routines_resize():
    """They return results once they are ready, and None for arrays that they do not take."""
    images, size = numbers((1, 6, 5, 3)), np.array([12, 10], np.int32)
    both(image_resize_ops.resize_bilinear_op.function, images, size, **attrs_of((False, False)))
    both(
        image_resize_ops.resize_nearest_neighbor_op.function,
        images, size, **attrs_of((False, False)),
    )  # fmt: skip
    tables = image_resize_ops.bilinear_tables((6, 5), (12, 10), 3, False, False)
    assert compiled_resize.bilinear(images, 12, 10, lambda: tables) is not None
    assert compiled_resize.bilinear(images.astype(np.float64), 12, 10, lambda: tables) is None
    assert compiled_resize.bilinear(images[:, ::2], 12, 10, lambda: tables) is None
    near = image_resize_ops.nearest_tables((6, 5), (12, 10), 3, False, False)
    assert compiled_resize.nearest(images, 12, 10, lambda: near) is not None
    assert compiled_resize.nearest(images.astype(np.float64), 12, 10, lambda: near) is None


@pytest.mark.parametrize("channels", [3, 32])
def test_results_do_not_depend_on_threads(monkeypatch, channels):
    """Rows of one image, and gradients of several, are shared between threads."""
    images, size = numbers((3, 40, 60, channels)), np.array([150, 90], np.int32)
    grads = numbers((3, 150, 90, channels))
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        attrs = attrs_of((False, True))
        found.append(
            [
                both(image_resize_ops.resize_bilinear_op.function, images, size, **attrs)[0],
                both(image_resize_ops.resize_bilinear_grad.function, grads, images, **attrs)[0],
            ]
        )
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


# Shapes of images, number of boxes, and sizes of crops.
CROPS = [
    ((1, 1, 1, 1), 2, (3, 4)),
    ((2, 7, 5, 3), 6, (4, 9)),
    ((2, 7, 5, 3), 5, (1, 1)),
    ((3, 12, 9, 8), 7, (5, 2)),
    ((1, 30, 20, 11), 40, (6, 6)),
    ((2, 7, 5, 3), 0, (4, 9)),
    ((2, 7, 5, 0), 3, (4, 9)),
]


def boxes_of(count, seed=1):
    """Return boxes, some of which reach out of their image, turned or without an area."""
    made = np.random.default_rng(seed).uniform(-0.3, 1.3, (count, 4)).astype(np.float32)
    if count > 2:
        made[1] = 0, 0, 1, 1
        made[2] = 0.5, 0.25, 0.5, 0.75
        made[-1] = -3e38, 0, 3e38, 1
    return made


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize(("shape", "count", "size"), CROPS)
@pytest.mark.parametrize("value", NUMBERS)
def test_crops_have_the_bits_of_the_plain_way(shape, count, size, method, value):
    """Crops and the gradients of their images, also for boxes that reach out of them."""
    boxes, images = boxes_of(count), numbers(shape, value)
    which = np.random.default_rng(2).integers(0, shape[0], count).astype(np.int32)
    kernel = image_crop_ops.crop_and_resize_op.function
    found, plain = both(
        kernel, images, boxes, which, np.array(size, np.int32),
        method=method, extrapolation_value=-2.5,
    )  # fmt: skip
    np.testing.assert_array_equal(found, plain)
    grads = numbers((count, *size, shape[3]), value)
    for dtype in (dtypes.float32, dtypes.float64, dtypes.float16):
        kernel = image_crop_ops.crop_and_resize_grad_image.function
        found, plain = both(
            kernel, grads, boxes, which, np.array(shape, np.int32), T=dtype, method=method
        )
        np.testing.assert_array_equal(found, plain)


def test_crops_do_not_depend_on_threads(monkeypatch):
    """Threads share the boxes."""
    images, boxes = numbers((2, 60, 50, 3)), boxes_of(90)
    found = []
    for threads in (1, 3):
        monkeypatch.setattr(work_sharder, "_num_threads", threads)
        found += both(
            image_crop_ops.crop_and_resize_op.function,
            images, boxes, np.arange(90, dtype=np.int32) % 2, np.array([24, 24], np.int32),
            method="bilinear", extrapolation_value=0.0,
        )  # fmt: skip
    for one in found[1:]:
        np.testing.assert_array_equal(found[0], one)


def test_crops_of_other_types_go_the_plain_way():
    """The routine takes images of 32-bit floats in C order."""
    images, boxes, which = numbers((1, 6, 5, 3)), boxes_of(4), np.zeros(4, np.int32)
    size = np.array([3, 3], np.int32)
    options = {"is_nearest": False, "outside": 0.0}
    both(
        image_crop_ops.crop_and_resize_op.function,
        images, boxes, which, size, method="bilinear", extrapolation_value=0.0,
    )  # fmt: skip
    assert compiled_crops.crops(images, boxes, which, (3, 3), **options) is not None
    assert compiled_crops.crops(images.astype("d"), boxes, which, (3, 3), **options) is None
    assert compiled_crops.crops(images[:, ::2], boxes, which, (3, 3), **options) is None


def candidates(count, value=None, seed=1):
    """Return overlapping boxes with scores, of which some are equal."""
    random = np.random.default_rng(seed)
    corners = random.uniform(0, 1, (count, 2, 2)).astype(np.float32)
    corners[:, 1] = corners[:, 0] + 0.3 * corners[:, 1]
    boxes = corners.reshape(count, 4)
    boxes[::5] = boxes[::5, [2, 3, 0, 1]]  # the other corner first
    boxes[3::7, 2] = boxes[3::7, 0]  # no area
    if value is not None and count:
        boxes[count // 2] = value
    return boxes, np.round(random.normal(size=count), 1).astype(np.float32)


@pytest.mark.parametrize("count", [0, 1, 5, 40, 333])
@pytest.mark.parametrize("limit", [0, 1, 17, 1000])
@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("value", [None, np.nan, np.inf, -3e38, 1e-30])
def test_kept_boxes_are_those_of_the_plain_way(count, limit, threshold, value):
    """All versions of the op; boxes may have no area, corners in any order, and no number."""
    boxes, scores = candidates(count, value)
    if count:
        scores[count // 3] = np.nan
    given = boxes, scores, np.int32(limit), np.float32(threshold)
    lowest = np.float32(-0.25)
    ops, pads = image_box_ops, {"pad_to_max_output_size": True}
    calls = [
        (ops.non_max_suppression_op, given[:3], {"iou_threshold": threshold}),
        (ops.non_max_suppression_v2, given, {}),
        (ops.non_max_suppression_v3, (*given, lowest), {}),
        (ops.non_max_suppression_v4, (*given, lowest), pads),
        (ops.non_max_suppression_v5, (*given, lowest, np.float32(0)), pads),
        (ops.non_max_suppression_v5, (*given, lowest, np.float32(0.5)), pads),
    ]
    for op, inputs, attrs in calls:
        for one, other in zip(*map(as_tuple, both(op.function, *inputs, **attrs)), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("value", [None, np.nan, 3e38])
def test_kept_boxes_of_classes_are_those_of_the_plain_way(value):
    """An overlap that is NaN drops no box here."""
    boxes, _ = candidates(60, value)
    scores = np.random.default_rng(3).uniform(size=(1, 60, 3)).astype(np.float32)
    found, plain = both(
        image_box_ops.combined_non_max_suppression_op.function,
        boxes[None, :, None], scores, np.int32(20), np.int32(30), np.float32(0.4), np.float32(0.2),
        pad_per_class=False, clip_boxes=True,
    )  # fmt: skip
    for one, other in zip(found, plain, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_routine_keeps_boxes():
    """It returns None where an overlap is NaN, since areas of finite boxes may be infinite."""
    boxes, scores = candidates(40)
    image_box_ops.non_max_suppression_v2.function(np, boxes, scores, np.int32(9), np.float32(0.5))
    HELPER.wait()
    order = np.argsort(-scores, kind="stable")
    kept = compiled_suppression.kept_boxes(boxes, lambda: order, 9, np.float32(0.5))
    assert kept is not None
    assert kept[0] == order[0]
    huge = np.array([[-3e38, -3e38, 3e38, 3e38]] * 2, np.float32)
    order = np.array([0, 1])
    assert compiled_suppression.kept_boxes(huge, lambda: order, 2, np.float32(0.5)) is None


def test_an_image_that_does_not_exist_is_outside():
    """The numbers of boxes' images may change after their check, if they are a variable's value."""
    images, boxes = np.ones((5, 4, 4, 1), np.float32), np.array([[0, 0, 1, 1]] * 4, np.float32)
    options = {"is_nearest": False, "outside": -2.0}
    which = np.array([0, 1, -1, 2**31 - 1], np.int32)
    compiled_crops.crops(images[2:3], boxes, which, (2, 2), **options)
    HELPER.wait()
    found = compiled_crops.crops(images[2:3], boxes, which, (2, 2), **options)
    assert found[..., 0].tolist() == [[[one] * 2] * 2 for one in (1, -2, -2, -2)]


SIDE = 2**24 + 4
"""A 32-bit float rounds up the index of the last pixel of an image this long."""


@pytest.mark.parametrize("mode", MODES)
def test_pixels_of_long_images_exist(mode):
    """The places of resized pixels are inside of their image."""
    for size in (2, 3):
        lower, upper, _ = image_resize_ops.neighbours(SIDE, size, *mode)
        assert 0 <= lower.min() <= upper.max() < SIDE
    images, size = np.zeros((1, 1, SIDE, 1), np.float32), np.array([1, 2], np.int32)
    images[..., -1, :] = 3
    kernel = image_resize_ops.resize_bilinear_op.function
    np.testing.assert_array_equal(*both(kernel, images, size, **attrs_of(mode)))


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_pixels_of_crops_of_long_images_exist(method):
    """The last pixel is that at the end, also in the gradient."""
    images, box = np.zeros((1, 1, SIDE, 1), np.float32), np.array([[0, 0, 0, 1]], np.float32)
    images[..., -1, :] = 3
    which = np.zeros(1, np.int32)
    kernel = image_crop_ops.crop_and_resize_op.function
    size, options = np.array([1, 2], np.int32), {"method": method, "extrapolation_value": 7.0}
    for found in both(kernel, images, box, which, size, **options):
        assert found.reshape(-1).tolist() == [0, 3]
    kernel = image_crop_ops.crop_and_resize_grad_image.function
    grads, shape = np.ones((1, 1, 2, 1), np.float32), np.array(images.shape, np.int32)
    for found in both(kernel, grads, box, which, shape, T=dtypes.float32, method=method):
        assert found.reshape(-1)[[0, -1]].tolist() == [1, 1]
        assert found.sum() == 2


def test_places_of_pixels_may_be_larger_than_numbers_of_images():
    """They are computed in 64 bits."""
    total, pixel = np.zeros((101, 3, 1, 1), np.float32), np.ones((1, 1, 1, 1), np.float32)
    which, zeros = np.full((1, 1, 1), 100, np.int8), np.zeros((1, 1, 1), np.int8)

    def add():
        image_resize_ops.add_pixels(total, which, zeros, zeros, pixel)

    add()
    HELPER.wait()
    add()
    assert total[100].reshape(-1).tolist() == [2, 0, 0]
