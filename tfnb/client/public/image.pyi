# The names of tf.image; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.image.image_adjustments import (
    combined_non_max_suppression as combined_non_max_suppression,
)
from tfnb.library.image.image_adjustments import (
    non_max_suppression_overlaps as non_max_suppression_overlaps,
)
from tfnb.library.image.image_adjustments import (
    non_max_suppression_padded as non_max_suppression_padded,
)
from tfnb.library.image.image_adjustments import (
    non_max_suppression_with_scores as non_max_suppression_with_scores,
)
from tfnb.library.image.image_adjustments import (
    per_image_standardization as per_image_standardization,
)
from tfnb.library.image.image_adjustments import adjust_brightness as adjust_brightness
from tfnb.library.image.image_adjustments import adjust_contrast as adjust_contrast
from tfnb.library.image.image_adjustments import adjust_gamma as adjust_gamma
from tfnb.library.image.image_adjustments import adjust_hue as adjust_hue
from tfnb.library.image.image_adjustments import adjust_jpeg_quality as adjust_jpeg_quality
from tfnb.library.image.image_adjustments import adjust_saturation as adjust_saturation
from tfnb.library.image.image_adjustments import convert_image_dtype as convert_image_dtype
from tfnb.library.image.image_adjustments import draw_bounding_boxes as draw_bounding_boxes
from tfnb.library.image.image_adjustments import grayscale_to_rgb as grayscale_to_rgb
from tfnb.library.image.image_adjustments import non_max_suppression as non_max_suppression
from tfnb.library.image.image_adjustments import random_brightness as random_brightness
from tfnb.library.image.image_adjustments import random_contrast as random_contrast
from tfnb.library.image.image_adjustments import random_hue as random_hue
from tfnb.library.image.image_adjustments import random_jpeg_quality as random_jpeg_quality
from tfnb.library.image.image_adjustments import random_saturation as random_saturation
from tfnb.library.image.image_adjustments import rgb_to_grayscale as rgb_to_grayscale
from tfnb.library.image.image_adjustments import rgb_to_yiq as rgb_to_yiq
from tfnb.library.image.image_adjustments import rgb_to_yuv as rgb_to_yuv
from tfnb.library.image.image_adjustments import yiq_to_rgb as yiq_to_rgb
from tfnb.library.image.image_adjustments import yuv_to_rgb as yuv_to_rgb
from tfnb.library.image.image_measures import image_gradients as image_gradients
from tfnb.library.image.image_measures import psnr as psnr
from tfnb.library.image.image_measures import sobel_edges as sobel_edges
from tfnb.library.image.image_measures import ssim as ssim
from tfnb.library.image.image_measures import ssim_multiscale as ssim_multiscale
from tfnb.library.image.image_measures import total_variation as total_variation
from tfnb.library.image.image_ops import (
    resize_image_with_crop_or_pad as resize_image_with_crop_or_pad,
)
from tfnb.library.image.image_ops import ResizeMethod as ResizeMethod
from tfnb.library.image.image_ops import central_crop as central_crop
from tfnb.library.image.image_ops import crop_and_resize as crop_and_resize
from tfnb.library.image.image_ops import crop_to_bounding_box as crop_to_bounding_box
from tfnb.library.image.image_ops import extract_image_patches as extract_image_patches
from tfnb.library.image.image_ops import extract_patches as extract_patches
from tfnb.library.image.image_ops import flip_left_right as flip_left_right
from tfnb.library.image.image_ops import flip_up_down as flip_up_down
from tfnb.library.image.image_ops import pad_to_bounding_box as pad_to_bounding_box
from tfnb.library.image.image_ops import random_flip_left_right as random_flip_left_right
from tfnb.library.image.image_ops import random_flip_up_down as random_flip_up_down
from tfnb.library.image.image_ops import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from tfnb.library.image.image_ops import resize_image_with_pad as resize_image_with_pad
from tfnb.library.image.image_ops import resize_images as resize
from tfnb.library.image.image_ops import resize_images as resize_images
from tfnb.library.image.image_ops import rot90 as rot90
from tfnb.library.image.image_ops import transpose as transpose
from tfnb.library.image.image_ops import transpose as transpose_image
from tfnb.library.image.random_crop import random_crop as random_crop
from tfnb.ops.image.image_codec_ops import decode_and_crop_jpeg_op as decode_and_crop_jpeg
from tfnb.ops.image.image_codec_ops import decode_bmp_op as decode_bmp
from tfnb.ops.image.image_codec_ops import decode_gif_op as decode_gif
from tfnb.ops.image.image_codec_ops import decode_image as decode_image
from tfnb.ops.image.image_codec_ops import decode_jpeg_op as decode_jpeg
from tfnb.ops.image.image_codec_ops import decode_png_op as decode_png
from tfnb.ops.image.image_codec_ops import encode_jpeg_op as encode_jpeg
from tfnb.ops.image.image_codec_ops import encode_png_op as encode_png
from tfnb.ops.image.image_codec_ops import extract_jpeg_shape_op as extract_jpeg_shape
from tfnb.ops.image.image_codec_ops import is_jpeg as is_jpeg
from tfnb.ops.image.image_color_ops import hsv_to_rgb as hsv_to_rgb
from tfnb.ops.image.image_color_ops import rgb_to_hsv as rgb_to_hsv
from tfnb.ops.image.image_distortion_ops import (
    sample_distorted_bounding_box as sample_distorted_bounding_box,
)
from tfnb.ops.image.image_distortion_ops import extract_glimpse as extract_glimpse
from tfnb.ops.image.image_resize_ops import resize_area_op as resize_area
from tfnb.ops.image.image_resize_ops import resize_bicubic as resize_bicubic
from tfnb.ops.image.image_resize_ops import resize_bilinear as resize_bilinear
from tfnb.ops.image.image_resize_ops import resize_nearest_neighbor as resize_nearest_neighbor

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]
