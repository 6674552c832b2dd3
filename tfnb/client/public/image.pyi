# The names of tf.image; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.image_color_ops import hsv_to_rgb as hsv_to_rgb
from tfnb.ops.image_color_ops import rgb_to_hsv as rgb_to_hsv
from tfnb.ops.image_resize_ops import resize_area_op as resize_area
from tfnb.ops.image_resize_ops import resize_bicubic_op as resize_bicubic
from tfnb.ops.image_resize_ops import resize_bilinear_op as resize_bilinear
from tfnb.ops.image_resize_ops import resize_nearest_neighbor_op as resize_nearest_neighbor
from tfnb.ops.random_ops import random_crop as random_crop

__all__ = [
    "hsv_to_rgb",
    "random_crop",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_nearest_neighbor",
    "rgb_to_hsv",
]
