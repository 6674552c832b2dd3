# The names of tf.image; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.image_codec_ops import decode_and_crop_jpeg_op as decode_and_crop_jpeg
from tfnb.ops.image_codec_ops import decode_bmp_op as decode_bmp
from tfnb.ops.image_codec_ops import decode_gif_op as decode_gif
from tfnb.ops.image_codec_ops import decode_image as decode_image
from tfnb.ops.image_codec_ops import decode_jpeg_op as decode_jpeg
from tfnb.ops.image_codec_ops import decode_png_op as decode_png
from tfnb.ops.image_codec_ops import encode_jpeg_op as encode_jpeg
from tfnb.ops.image_codec_ops import encode_png_op as encode_png
from tfnb.ops.image_codec_ops import extract_jpeg_shape_op as extract_jpeg_shape
from tfnb.ops.image_color_ops import hsv_to_rgb as hsv_to_rgb
from tfnb.ops.image_color_ops import rgb_to_hsv as rgb_to_hsv
from tfnb.ops.image_resize_ops import resize_area_op as resize_area
from tfnb.ops.image_resize_ops import resize_bicubic_op as resize_bicubic
from tfnb.ops.image_resize_ops import resize_bilinear_op as resize_bilinear
from tfnb.ops.image_resize_ops import resize_nearest_neighbor_op as resize_nearest_neighbor
from tfnb.ops.random_ops import random_crop as random_crop

__all__ = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "hsv_to_rgb",
    "random_crop",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_nearest_neighbor",
    "rgb_to_hsv",
]
