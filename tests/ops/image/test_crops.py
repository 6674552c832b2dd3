"""Crops made in blocks equal crops that are made pixel by pixel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tfnb.core.process import work_sharder
from tfnb.ops.image.image_crop_ops import crop_and_resize_op

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, params=[1, 3])
def _threads(request: pytest.FixtureRequest) -> Iterator[None]:
    before = work_sharder.num_threads()
    work_sharder.set_num_threads(request.param)
    with np.errstate(all="ignore"):
        yield
    work_sharder.set_num_threads(before)


def _crops(image: Any, boxes: Any, which: Any, size: tuple[int, int], **attrs: Any) -> Any:
    function: Any = crop_and_resize_op.function
    given = {"method": "bilinear", "extrapolation_value": 0.0, **attrs}
    return function(np, image, boxes, which, np.array(size, "i4"), **given)


def _place(first: Any, last: Any, index: int, crop: int, length: int) -> Any:
    far = np.float32(length - 1)
    if crop == 1:
        return np.float32(0.5) * (first + last) * far
    return first * far + np.float32(index) * ((last - first) * far / np.float32(crop - 1))


def _pixel(image: Any, y: Any, x: Any, method: str, outside: float) -> Any:
    """Return one pixel of a crop, as TensorFlow's loop computes it."""
    height, width = image.shape[:2]
    if not (0 <= y <= height - 1 and 0 <= x <= width - 1):
        return np.full(image.shape[-1], outside, "f4")
    if method == "nearest":
        # Halves are rounded away from zero.
        return image[math.floor(y + 0.5), math.floor(x + 0.5)].astype("f4")
    top, left, bottom, right = math.floor(y), math.floor(x), math.ceil(y), math.ceil(x)
    y_part, x_part = y - np.float32(top), x - np.float32(left)
    pixels = image.astype("f4")
    upper = pixels[top, left] + (pixels[top, right] - pixels[top, left]) * x_part
    lower = pixels[bottom, left] + (pixels[bottom, right] - pixels[bottom, left]) * x_part
    return upper + (lower - upper) * y_part


def _one_by_one(
    image: Any, boxes: Any, which: Any, size: tuple[int, int], method: str, outside: float
) -> Any:
    out = np.zeros((len(boxes), *size, image.shape[-1]), "f4")
    for number, (y1, x1, y2, x2) in enumerate(boxes):
        for i in range(size[0]):
            y = _place(y1, y2, i, size[0], image.shape[1])
            for j in range(size[1]):
                x = _place(x1, x2, j, size[1], image.shape[2])
                out[number, i, j] = _pixel(image[which[number]], y, x, method, outside)
    return out


def _boxes(count: int) -> Any:
    random = np.random.default_rng(count)
    boxes = (random.random((count, 4)) * 1.4 - 0.2).astype("f4")
    boxes[0] = [0, 0, 1, 1]
    boxes[-1] = [0.8, 0.9, 0.1, 0.2]  # mirrored
    return boxes


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "u1", "i2"])
@pytest.mark.parametrize(
    ("shape", "count", "size"),
    [
        ((2, 9, 7, 3), 5, (4, 6)),
        ((1, 1, 5, 1), 3, (1, 3)),
        ((3, 6, 1, 2), 4, (5, 1)),
        ((1, 12, 10, 40), 30, (7, 9)),
        ((2, 8, 9, 40), 2, (30, 28)),
    ],
)
def test_blocks_of_crops_equal_single_pixels(
    shape: tuple[int, ...], count: int, size: tuple[int, int], dtype: str, method: str
) -> None:
    """Boxes beyond the image, mirrored boxes and crops larger than a block make no difference."""
    random = np.random.default_rng(0)
    image = (random.random(shape) * 100).astype(dtype)
    which = random.integers(0, shape[0], count).astype("i4")
    boxes = _boxes(count)
    got = _crops(image, boxes, which, size, method=method, extrapolation_value=-3.5)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, _one_by_one(image, boxes, which, size, method, -3.5))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_finite_number_stays_where_it_is_seen(bad: float) -> None:
    """A crop that does not see the pixel has no such number; one outside of the image has none."""
    image = np.random.default_rng(0).random((1, 8, 9, 3)).astype("f4")
    image[0, 0, 0, 1] = image[0, 4, 5, 2] = bad
    boxes, which = _boxes(6), np.zeros(6, "i4")
    got = _crops(image, boxes, which, (5, 6))
    np.testing.assert_array_equal(got, _one_by_one(image, boxes, which, (5, 6), "bilinear", 0))
    assert not np.isfinite(got).all()


def test_crops_without_numbers_keep_their_shape() -> None:
    """There may be no boxes, and no channels."""
    image, none = np.ones((1, 4, 4, 3), "f4"), np.zeros((0, 4), "f4")
    assert _crops(image, none, np.zeros(0, "i4"), (2, 3)).shape == (0, 2, 3, 3)
    assert _crops(image[..., :0], _boxes(2), np.zeros(2, "i4"), (2, 3)).shape == (2, 2, 3, 0)


def test_images_that_are_views_are_read_in_their_order() -> None:
    """A transposed image is no list of pixels in memory."""
    image = np.random.default_rng(0).random((2, 6, 7, 4)).astype("f4").transpose(3, 1, 2, 0)
    boxes, which = _boxes(4), np.arange(4, dtype="i4")
    got = _crops(image, boxes, which, (3, 4))
    np.testing.assert_array_equal(got, _one_by_one(image, boxes, which, (3, 4), "bilinear", 0))
