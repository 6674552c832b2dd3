"""Hue, saturation and value of images, changed in the space YIQ."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.client.public.api import tf

_YIQ = np.array(
    [[0.299, 0.587, 0.114], [0.596, -0.274, -0.322], [0.211, -0.523, 0.312]], np.float32
)


def adjust_hsv_in_yiq(
    image: Any,
    delta_hue: Any = 0,
    scale_saturation: Any = 1,
    scale_value: Any = 1,
    name: str | None = None,
) -> Any:
    """Return an image whose chroma is turned and scaled, and whose colours are scaled.

    Args:
      image: [..., 3], red, green and blue.
      delta_hue: the angle, in radians.
      scale_saturation: factor of the chroma.
      scale_value: factor of everything.
      name: the name of the scope.
    """
    with tf.name_scope(name, "adjust_hsv_in_yiq", [image]):
        image = tf.convert_to_tensor(image, name="image")
        given = tf.image.convert_image_dtype(image, tf.float32)
        angle, saturation, value = (
            tf.cast(one, tf.float32) for one in (delta_hue, scale_saturation, scale_value)
        )
        along = value * saturation * tf.cos(angle)
        across = value * saturation * tf.sin(angle)
        zero = tf.zeros_like(value)
        turned = tf.reshape(
            tf.stack([value, zero, zero, zero, along, -across, zero, across, along]), [3, 3]
        )
        whole = tf.matmul(tf.constant(np.linalg.inv(_YIQ)), tf.matmul(turned, tf.constant(_YIQ)))
        flat = tf.matmul(tf.reshape(given, [-1, 3]), whole, transpose_b=True)
        found = tf.reshape(flat, tf.shape(given))
        found.set_shape(image.shape)
        return tf.image.convert_image_dtype(found, image.dtype)


def random_hsv_in_yiq(
    image: Any,
    max_delta_hue: float = 0,
    lower_saturation: float = 1,
    upper_saturation: float = 1,
    lower_value: float = 1,
    upper_value: float = 1,
    seed: Any = None,
) -> Any:
    """Return an image with another hue, saturation and value, at random.

    Args:
      image: [..., 3], red, green and blue.
      max_delta_hue: the largest angle of the hue, in radians.
      lower_saturation: the smallest factor of the chroma.
      upper_saturation: the largest factor of the chroma.
      lower_value: the smallest factor of everything.
      upper_value: the largest factor of everything.
      seed: of the random numbers.

    Raises:
      ValueError: a number is negative, or a range is empty.
    """
    if max_delta_hue < 0:
        raise ValueError("max_delta must be non-negative.")
    for what, low, high in (
        ("saturation", lower_saturation, upper_saturation),
        ("value", lower_value, upper_value),
    ):
        if low < 0:
            raise ValueError(f"lower_{what} must be non-negative.")
        if low > high:
            raise ValueError(f"lower_{what} must be < upper_{what}.")

    def drawn(low: float, high: float) -> Any:
        return low if low == high else tf.random_uniform([], low, high, seed=seed)

    return adjust_hsv_in_yiq(
        image,
        drawn(-max_delta_hue, max_delta_hue),
        drawn(lower_saturation, upper_saturation),
        drawn(lower_value, upper_value),
    )
