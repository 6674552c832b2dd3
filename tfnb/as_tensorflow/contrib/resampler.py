"""``tf.contrib.resampler``: pictures read between their pixels."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf


def resampler(data: Any, warp: Any, name: str = "resampler") -> Any:
    """Return the values of pictures at points, each from the four pixels around it.

    A pixel outside of a picture counts as 0. Gradients pass to both arguments.

    Args:
      data: [batch, height, width, channels].
      warp: [batch, ..., 2], the x and y of points in pixels.
      name: the name of the scope.

    Returns:
      [batch, ..., channels].
    """
    with tf.name_scope(name):
        data, warp = tf.convert_to_tensor(data), tf.convert_to_tensor(warp)
        points = tf.reshape(warp, [tf.shape(warp)[0], -1, 2])
        # A point that is no number is outside, as -1 is.
        points = tf.where(tf.is_finite(points), points, -tf.ones_like(points))
        low = tf.floor(points)
        share = points - low
        right, below = share[..., 0], share[..., 1]
        corners = [
            ((1 - right) * (1 - below), [0.0, 0.0]),
            (right * (1 - below), [1.0, 0.0]),
            ((1 - right) * below, [0.0, 1.0]),
            (right * below, [1.0, 1.0]),
        ]
        found = tf.add_n(
            [weight[..., None] * _pixels(data, low + corner) for weight, corner in corners]
        )
        shape = tf.concat([tf.shape(warp)[:-1], tf.shape(data)[-1:]], 0)
        result = tf.reshape(found, shape)
        result.set_shape(warp.shape[:-1].concatenate(data.shape[-1:]))
        return result


def _pixels(data: Any, points: Any) -> Any:
    """Return the pixels at whole points, [batch, points, channels], and 0 outside."""
    size = tf.shape(data)
    last = tf.cast(tf.stack([size[2], size[1]]) - 1, points.dtype)
    is_inside = tf.reduce_all((points >= 0) & (points <= last), -1, keepdims=True)
    inside = tf.where(tf.tile(is_inside, [1, 1, 2]), points, tf.zeros_like(points))
    places = tf.cast(tf.reverse(inside, [-1]), tf.int32)
    batch = tf.tile(tf.range(size[0])[:, None, None], [1, tf.shape(points)[1], 1])
    pixels = tf.gather_nd(data, tf.concat([batch, places], -1))
    keep = tf.tile(is_inside, [1, 1, size[3]])
    return tf.where(keep, pixels, tf.zeros_like(pixels))


def __getattr__(name: str) -> Any:
    if name == "resampler_is_available":
        return lambda: True
    if name[:1].isupper():
        return missing_name("tensorflow.contrib.resampler", name, "use resampler")
    raise AttributeError(f"module 'tensorflow.contrib.resampler' has no attribute {name!r}")
