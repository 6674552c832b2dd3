"""`tf.contrib.image`: transformations, warps and colours against NumPy."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("as_tensorflow")

_IMAGE = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def tf() -> Any:
    """Return TensorFlow as a program gets it, with a graph of the test's own as the default."""
    tf = importlib.import_module("tensorflow")
    with tf.Graph().as_default():
        yield tf


def _values(tf: Any, fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(fetches)


def test_quarter_turns_are_exact(tf: Any) -> None:
    """Counterclockwise, for images of all ranks and types."""
    square = np.arange(9).reshape(3, 3)
    rotate, angle = tf.contrib.image.rotate, np.pi / 2
    for dtype in (np.uint8, np.int32, np.float32):
        given = square.astype(dtype)
        got = _values(tf, rotate(tf.constant(given), angle))
        np.testing.assert_array_equal(got, np.rot90(given))
    batch = np.stack([square, square + 9]).astype(np.float32)[..., None]
    got = _values(tf, rotate(tf.constant(batch), [angle, np.pi], interpolation="BILINEAR"))
    np.testing.assert_allclose(got[0], np.rot90(batch[0]), atol=1e-4)
    np.testing.assert_allclose(got[1], np.rot90(batch[1], 2), atol=1e-4)


def test_translations_move_and_fill_with_zeros(tf: Any) -> None:
    """To the right and down; half places are means."""
    translate = tf.contrib.image.translate
    got = _values(tf, translate(tf.constant(_IMAGE), [1, 1]))
    want = np.zeros_like(_IMAGE)
    want[1:, 1:] = _IMAGE[:-1, :-1]
    np.testing.assert_array_equal(got, want)
    got = _values(tf, translate(tf.constant(_IMAGE), [-0.5, 0], "BILINEAR"))
    np.testing.assert_allclose(got[:, :-1], (_IMAGE[:, 1:] + _IMAGE[:, :-1]) / 2)


def test_transforms_are_composed_and_have_gradients(tf: Any) -> None:
    """Two moves are one; a gradient is moved back."""
    image = tf.contrib.image
    x = tf.constant(_IMAGE)
    moves = [image.translations_to_projective_transforms([dx, dy]) for dx, dy in ((1, 0), (0, 1))]
    whole = image.compose_transforms(*moves)
    found = image.transform(x, whole, output_shape=[3, 4])
    got, flat, slope = _values(
        tf, [found, whole, tf.gradients(tf.reduce_sum(found * _IMAGE), x)[0]]
    )
    np.testing.assert_allclose(flat, [[1, 0, -1, 0, 1, -1, 0, 0]])
    np.testing.assert_array_equal(got[1:, 1:], _IMAGE[:-1, :-1])
    np.testing.assert_array_equal(slope[:-1, :-1], _IMAGE[1:, 1:])
    with pytest.raises(ValueError, match="empty"):
        image.compose_transforms()


@pytest.mark.parametrize("what", ["rank", "type", "angles"])
def test_what_is_no_image_is_refused(tf: Any, what: str) -> None:
    """With TensorFlow's class of error."""
    given = {
        "rank": (tf.zeros([3]), 0.1),
        "type": (tf.zeros([3, 3], tf.complex64), 0.1),
        "angles": (tf.zeros([3, 3]), [[0.1]]),
    }
    with pytest.raises(TypeError):
        tf.contrib.image.rotate(*given[what])


def test_flows_move_colours(tf: Any) -> None:
    """A flow of whole places is a move, with edges that are repeated."""
    batch = np.stack([_IMAGE, _IMAGE * 2])[..., None]
    flow = np.broadcast_to(np.float32([0, 1]), (2, 3, 4, 2))
    got = _values(tf, tf.contrib.image.dense_image_warp(tf.constant(batch), tf.constant(flow)))
    np.testing.assert_allclose(got[:, :, 1:], batch[:, :, :-1])
    np.testing.assert_allclose(got[:, :, 0], batch[:, :, 0])
    got = _values(
        tf, tf.contrib.image.dense_image_warp(tf.constant(batch), tf.constant(flow * 0.25))
    )
    want = 0.75 * batch[:, :, 1:] + 0.25 * batch[:, :, :-1]
    np.testing.assert_allclose(got[:, :, 1:], want, rtol=1e-5)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_splines_go_through_their_points_and_follow_lines(tf: Any, order: int) -> None:
    """A linear function is found everywhere."""
    rng = np.random.default_rng(1)
    points, asked = rng.random((2, 8, 2)), rng.random((2, 5, 2))
    line = np.array([[2.0, 1.0], [-1.0, 0.5]])
    waves = np.sin(points * 3)
    spline = tf.contrib.image.interpolate_spline
    at_points, on_line = _values(
        tf, [spline(points, waves, points, order), spline(points, points @ line + 3, asked, order)]
    )
    np.testing.assert_allclose(at_points, waves, atol=1e-3)
    np.testing.assert_allclose(on_line, asked @ line + 3, atol=1e-5)


def test_sparse_warps_move_their_points(tf: Any) -> None:
    """A point takes its colour along; corners stay where they are held."""
    image = np.zeros((1, 9, 9, 1), np.float32)
    image[0, 4, 4] = 1
    source, target = np.float32([[[4, 4]]]), np.float32([[[4, 5]]])
    warped, flow = _values(
        tf,
        tf.contrib.image.sparse_image_warp(
            tf.constant(image), source, target, num_boundary_points=2
        ),
    )
    assert warped[0, 4, 5, 0] == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(flow[0, 4, 5], [0, 1], atol=1e-3)
    np.testing.assert_allclose(flow[0, ::8, ::8], np.zeros((2, 2, 2)), atol=1e-3)


def test_hues_are_turned_in_yiq(tf: Any) -> None:
    """Greys keep their colour, a whole turn changes nothing, a value scales."""
    adjust = tf.contrib.image.adjust_hsv_in_yiq
    colours = np.float32([[0.5, 0.5, 0.5], [0.9, 0.1, 0.3]])
    turned, whole, scaled, grey = _values(
        tf,
        [
            adjust(tf.constant(colours), 1.0),
            adjust(tf.constant(colours), 2 * np.pi),
            adjust(tf.constant(colours), scale_value=0.5),
            adjust(tf.constant(colours), scale_saturation=0.0),
        ],
    )
    np.testing.assert_allclose(turned[0], colours[0], atol=2e-3)
    assert np.abs(turned[1] - colours[1]).max() > 0.1
    np.testing.assert_allclose(whole, colours, atol=1e-5)
    np.testing.assert_allclose(scaled, colours * 0.5, atol=1e-5)
    luma = colours[1] @ np.float32([0.299, 0.587, 0.114])
    np.testing.assert_allclose(grey[1], [luma] * 3, atol=2e-3)


def test_random_hues_check_their_ranges(tf: Any) -> None:
    """An empty range is refused; one number is no draw."""
    draw = tf.contrib.image.random_hsv_in_yiq
    with pytest.raises(ValueError, match="lower_value must be < upper_value"):
        draw(tf.zeros([1, 1, 3]), lower_value=2)
    with pytest.raises(ValueError, match="non-negative"):
        draw(tf.zeros([1, 1, 3]), max_delta_hue=-1)
    one = np.full((1, 1, 3), 0.5, np.float32)
    got = _values(tf, draw(tf.constant(one), lower_value=0.5, upper_value=0.5))
    np.testing.assert_allclose(got, one / 2, atol=1e-6)
