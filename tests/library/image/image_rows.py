"""Calls of tf.image whose values are compared: run with TensorFlow and with us."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.exact_numbers import RandomNumbers

ROWS = [
    "tf.image.resize_images(a, [5, 11])",
    "tf.image.resize_images(a[0], [20, 5], method=1)",
    "tf.image.resize_images(a, [40, 50], preserve_aspect_ratio=True)",
    "tf.image.resize_image_with_pad(a, 20, 21)",
    "tf.image.resize_image_with_pad(a[0], 30, 9)",
    "tf.image.resize_image_with_crop_or_pad(a, 10, 30)",
    "tf.image.resize_image_with_crop_or_pad(dynamic, 10, 30)",
    "tf.image.crop_to_bounding_box(dynamic, 1, 2, 3, 4)",
    "tf.image.pad_to_bounding_box(dynamic, 1, 2, 33, 34)",
    "tf.image.central_crop(a, 0.4)",
    "tf.image.central_crop(dynamic, 0.7)",
    "tf.image.flip_left_right(a)",
    "tf.image.flip_up_down(dynamic)",
    "tf.image.random_flip_left_right(a[0], seed=5)",
    "tf.image.random_flip_up_down(a, seed=6)",
    "tf.image.rot90(a[0])",
    "tf.image.rot90(a, 2)",
    "tf.image.rot90(dynamic, 3)",
    "tf.image.transpose_image(a)",
    "tf.image.adjust_brightness(bytes8, 0.1)",
    "tf.image.adjust_contrast(a, 1.7)",
    "tf.image.adjust_contrast(bytes8, 0.5)",
    "tf.image.adjust_gamma(a, 1.3, 0.8)",
    "tf.image.adjust_hue(a, 0.3)",
    "tf.image.adjust_saturation(bytes8, 1.4)",
    "tf.image.random_brightness(a, 0.3, seed=1)",
    "tf.image.random_contrast(a, 0.3, 0.9, seed=1)",
    "tf.image.random_hue(a, 0.3, seed=1)",
    "tf.image.random_saturation(a, 0.3, 0.9, seed=1)",
    "tf.image.per_image_standardization(a)",
    "tf.image.per_image_standardization(bytes8)",
    "tf.image.rgb_to_grayscale(a)",
    "tf.image.rgb_to_grayscale(bytes8)",
    "tf.image.grayscale_to_rgb(a[..., :1])",
    "tf.image.rgb_to_yuv(a)",
    "tf.image.yuv_to_rgb(a)",
    "tf.image.rgb_to_yiq(a)",
    "tf.image.yiq_to_rgb(a)",
    "tf.image.convert_image_dtype(a, tf.uint8, saturate=True)",
    "tf.image.convert_image_dtype(bytes8, tf.float32)",
    "tf.image.convert_image_dtype(bytes8, tf.uint16)",
    "tf.image.total_variation(a)",
    "tf.image.psnr(a, b, 1.0)",
    "tf.image.psnr(bytes8, bytes8[:, ::-1], 255)",
    "tf.image.ssim(a, b, 1.0)",
    "tf.image.ssim(a, b, 1.0, return_index_map=True)",
    "tf.image.ssim(a, b, 1.0, filter_size=5, filter_sigma=0.9, k1=0.02, k2=0.05)",
    "tf.image.ssim_multiscale(a, b, 1.0, power_factors=(0.4, 0.6), filter_size=4)",
    "tf.image.sobel_edges(a)",
    "tf.image.image_gradients(a)[0]",
    "tf.image.image_gradients(a)[1]",
    "tf.image.extract_image_patches(a, [1, 3, 3, 1], [1, 5, 5, 1], [1, 1, 1, 1], 'VALID')",
    "tf.image.non_max_suppression(boxes, scores, 4, iou_threshold=0.3)",
]


def values(tf: Any) -> dict[str, Any]:
    """The value of each row."""
    state = RandomNumbers(4)
    a = state.uniform(size=(2, 16, 18, 3)).astype(np.float32)
    b = (a * 0.8 + 0.2 * state.uniform(size=a.shape)).astype(np.float32)
    found = {}
    for row in ROWS:
        with tf.Graph().as_default(), tf.Session() as session:
            dynamic = tf.placeholder(tf.float32, [None, None, None, 3])
            names = {
                "tf": tf,
                "a": tf.constant(a),
                "b": tf.constant(b),
                "bytes8": tf.constant((a * 255).astype(np.uint8)),
                "dynamic": dynamic,
                "boxes": tf.constant(a[0, :, 0, :1] + b[0, :, :4, 0] * 0.3),
                "scores": tf.constant(b[1, :, 0, 0]),
            }
            found[row] = session.run(eval(row, names), {dynamic: a})
    return found
