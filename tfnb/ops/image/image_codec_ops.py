"""Image files: PNG, JPEG, GIF and BMP to pixels and back, through Pillow (imported on first use).

BMP is read here as in TensorFlow: without a palette, and with exactly the size in its header.

The decoding ops take any of the formats, whatever their names say, as in TensorFlow
(``decode_image_op.cc``). PNG is written, and PNG of 16 bits read, by ``png_files.py``, which needs
no Pillow. A file's size is checked against the memory before its pixels are decoded.
"""

from __future__ import annotations

import io
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, merge_dims
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import name_scope
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image import png_files

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Attr, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.tensor_types import TensorLike, TensorResult

_DECODERS = [
    "decode_and_crop_jpeg:decode_and_crop_jpeg_op",
    "decode_bmp:decode_bmp_op",
    "decode_gif:decode_gif_op",
    "decode_image",
    "decode_jpeg:decode_jpeg_op",
    "decode_png:decode_png_op",
    "encode_jpeg:encode_jpeg_op",
    "extract_jpeg_shape:extract_jpeg_shape_op",
]
EXPORTS = {
    "image": [*_DECODERS, "encode_png:encode_png_op", "is_jpeg"],
    "io": [*_DECODERS, "encode_png:encode_png_op", "is_jpeg"],
}

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_JPEG_ATTRS = (
    "channels: int = 0",
    "ratio: int = 1",
    "fancy_upscaling: bool = true",
    "try_recover_truncated: bool = false",
    "acceptable_fraction: float = 1",
    "dct_method: string = ''",
)
_MAGIC = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF", b"BM": "BMP"}


# ------------------------------------------------------------------------------------------- shapes


def _channels(c: InferenceContext) -> int | None:
    if "channels" not in c.attrs or c.attr("channels") == 0:
        return None
    channels: int = c.attr("channels")
    if channels < 0:
        raise ValueError(f"channels must be non-negative, got {channels}")
    return channels


def _image_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    return TensorShape([None, None, _channels(c)])


def _gif_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    return TensorShape([None, None, None, 3])


def _any_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    channels = _channels(c)
    return UNKNOWN_SHAPE if c.attr("expand_animations") else TensorShape([None, None, channels])


def _cropped_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    merge_dims((c.with_rank(1, 1).dim_values or (None,))[0], 4)
    window = c.constant_value(1)
    sides = [None, None] if window is None else [int(window[2]), int(window[3])]
    return TensorShape([*sides, _channels(c)])


# ----------------------------------------------------------------------------------------- decoding


def _pillow() -> Array:
    try:
        from PIL import Image
    except ImportError:
        raise errors.unimplemented(
            "Image files are read through Pillow, which is not installed: pip install pillow"
        ) from None
    return Image


def _text(contents: Array) -> bytes:
    value = contents[()] if isinstance(contents, np.ndarray) and contents.ndim == 0 else contents
    if not isinstance(value, bytes):
        raise errors.invalid_argument(
            f"contents must be scalar, got shape {shape_text(contents.shape)}"
        )
    return value


def _format_of(data: bytes) -> str:
    if not data:
        raise errors.invalid_argument("Input is empty.")
    for magic, name in _MAGIC.items():
        if data.startswith(magic):
            return name
    raise errors.invalid_argument(
        "Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required. (JPEG XL "
        "and WebP cannot be read here.)"
    )


def _broken(form: str, size: int, why: object) -> errors.OpError:
    begin = {
        "JPEG": f"jpeg::Uncompress failed. Invalid JPEG data or crop window. Size {size}",
        "GIF": f"Invalid GIF data (size {size}), failed to open gif file",
    }.get(form, f"Invalid {form} data, size {size}")
    return errors.invalid_argument(f"{begin}: {why}")


def _opened(data: bytes, form: str) -> Array:
    """Return the file's header, read by Pillow, after a check of the size."""
    image_module = _pillow()
    try:
        image = image_module.open(io.BytesIO(data), formats=[form])
        frames = getattr(image, "n_frames", 1) if form == "GIF" else 1
    except Exception as error:  # Pillow raises errors of many classes for damaged files
        raise _broken(form, len(data), error) from None
    width, height = image.size
    check_fits(np, (frames, height, width, 4), np.dtype(np.uint8))
    return image


_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _pixels(image: Array, channels: int, form: str, size: int) -> Array:
    """Return a (height, width, channels) array of bytes; 0 channels mean those of the file."""
    if channels == 0:
        channels = {"1": 1, "L": 1, "I;16": 1, "I": 1, "LA": 2, "RGBA": 4, "PA": 4}.get(
            image.mode, 4 if "transparency" in image.info else 3
        )
    try:
        if channels == 1 and image.mode == "RGB" and form == "JPEG":
            image.draft("L", None)
        if channels == 2:
            converted = np.asarray(image.convert("LA"))
        elif channels == 1 and image.mode in ("RGB", "RGBA", "P") and form == "PNG":
            converted = png_files.gray(np.asarray(image.convert("RGB")))
        else:
            converted = np.asarray(image.convert(_MODES[channels]))
    except Exception as error:
        raise _broken(form, size, error) from None
    return np.array(converted.reshape(*converted.shape[:2], channels))


def _jpeg(data: bytes, channels: int, ratio: int = 1, recover: bool = False) -> Array:
    # With an end marker appended, a truncated file yields the rows that it has.
    image = _opened(data + b"\xff\xd9" if recover else data, "JPEG")
    if channels not in (0, 1, 3):
        raise errors.invalid_argument(f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    if ratio != 1:
        width, height = image.size
        mode = "L" if channels == 1 else image.mode
        image.draft(mode, (max(width // ratio, 1), max(height // ratio, 1)))
    return _pixels(image, channels, "JPEG", len(data))


def _check_ratio(ratio: int) -> None:
    if ratio not in (1, 2, 4, 8):
        raise errors.invalid_argument(f"ratio must be 1, 2, 4, or 8, got {ratio}")


def _png(data: bytes, channels: int, dtype: Attr) -> Array:
    if png_files.bit_depth(data) == 16:
        pixels = png_files.read_16_bits(data, channels)
        return pixels if dtype == np.uint16 else (pixels >> 8).astype(np.uint8)
    png_files.check_is_whole(data)
    image = _opened(data, "PNG")
    is_opaque = image.mode not in ("LA", "RGBA") and "transparency" not in image.info
    pixels = _pixels(image, channels, "PNG", len(data))
    if is_opaque and pixels.shape[2] in (2, 4) and png_files.is_gray(data):
        # Opaque is the largest number that fits in the file's bit depth.
        pixels[..., -1] = (1 << min(png_files.bit_depth(data), 8)) - 1
    return pixels.astype(np.uint16) * np.uint16(257) if dtype == np.uint16 else pixels


def _gif(data: bytes, only_first: bool = False) -> Array:
    image = _opened(data, "GIF")
    frames = []
    try:
        for index in range(1 if only_first else image.n_frames):
            image.seek(index)
            frames.append(np.asarray(image.convert("RGB")))
    except Exception as error:
        raise _broken("GIF", len(data), error) from None
    return np.stack(frames)


def _bmp(data: bytes, channels: int) -> Array:
    if len(data) < 32:
        raise errors.invalid_argument(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, "
            f"height, and bpp, got {len(data)} bytes"
        )
    header, _, width, height, _, bits = struct.unpack_from("<4i2H", data, 10)
    own = bits // 8
    row = (width * own + 3) // 4 * 4
    excess = len(data) - header - row * abs(height)
    for is_fine, message in (
        (header >= 0, "header size must be nonnegative"),
        (width > 0, "Width must be positive"),
        (height != 0, "Height must be nonzero"),
        (abs(width * height) * own < 1 << 30, "Total possible pixel bytes must be less than 2^30"),
        (
            own in (1, 3, 4),
            f"Number of channels inherent in the image must be 1, 3 or 4, was {own}",
        ),
        (
            not excess,
            "Input size should match (header_size + row_size * abs_height) but they differ by "
            f"{excess}",
        ),
    ):
        if not is_fine:
            raise errors.invalid_argument(message)
    rows = np.frombuffer(data, np.uint8, offset=header).reshape(abs(height), row)
    pixels = rows[:: -1 if height > 0 else 1, : width * own].reshape(-1, width, own)
    wanted = channels or own
    if own > 1:
        pixels = pixels[..., [2, 1, 0, 3][: min(own, wanted)]]
    else:
        pixels = pixels.repeat(min(wanted, 3), -1)
    pad = wanted - pixels.shape[2]
    return np.pad(pixels, [(0, 0), (0, 0), (0, pad)], constant_values=255)


def _decoded(
    name: str, contents: Array, channels: int, ratio: int = 1, recover: bool = False
) -> Array:
    """Return the pixels of a file given to the op of one format; a GIF must have one frame."""
    data = _text(contents)
    form = _format_of(data)
    if name == "DecodeBmp" and form != "BMP":
        raise errors.invalid_argument(
            f"Trying to decode {form} format using DecodeBmp op. Use `decode_{form.lower()}` or "
            "`decode_image` instead."
        )
    if form == "JPEG":
        return _jpeg(data, channels, ratio, recover)
    if form == "PNG":
        return _png(data, channels, np.uint8)
    if form == "BMP":
        if name not in ("DecodeBmp", "DecodeImage"):
            raise errors.invalid_argument(
                "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` "
                f"instead. Op used: {name}"
            )
        if channels not in (0, 3, 4):
            raise errors.invalid_argument(
                f"`channels` must be 0, 3 or 4 for BMP, but got {channels}"
            )
        return _bmp(data, channels)
    frames = _gif(data)
    if len(frames) > 1:
        raise errors.invalid_argument(
            f"Got {len(frames)} frames, but animated gifs can only be decoded by "
            f"tf.io.decode_gif or tf.io.decode_image (the op is {name})"
        )
    if channels not in (0, 3):
        raise errors.invalid_argument(f"channels must be 0 or 3 for GIF, got {channels}")
    return frames[0]


@register_op(
    "DecodePng",
    "contents: string -> image: dtype",
    "channels: int = 0",
    "dtype: {uint8, uint16} = DT_UINT8",
    shape=_image_shape,
    **_CPU,
)
def decode_png_op(xp: Xp, contents: Array, *, channels: int, dtype: DType) -> Array:
    """Return the pixels of a PNG file."""
    if channels not in (0, 1, 3, 4):
        raise errors.invalid_argument(f"channels must be 0, 1, 3, or 4, got {channels}")
    data = _text(contents)
    if dtype is dtypes.uint16:
        if _format_of(data) == "PNG":
            return _png(data, channels, np.uint16)
        return _decoded("DecodePng", contents, channels).astype(np.uint16) * np.uint16(256)
    return _decoded("DecodePng", contents, channels)


@register_op(
    "DecodeJpeg", "contents: string -> image: uint8", *_JPEG_ATTRS, shape=_image_shape, **_CPU
)
def decode_jpeg_op(
    xp: Xp, contents: Array, *, channels: int, ratio: int, try_recover_truncated: bool
) -> Array:
    """Return the pixels of a JPEG file, on request reduced by a factor of 2, 4 or 8."""
    if channels not in (0, 1, 3, 4):  # the file may have another format
        raise errors.invalid_argument(f"channels must be 0, 1, 3, or 4, got {channels}")
    _check_ratio(ratio)
    return _decoded("DecodeJpeg", contents, channels, ratio, try_recover_truncated)


@register_op(
    "DecodeAndCropJpeg",
    "contents: string, crop_window: int32 -> image: uint8",
    *_JPEG_ATTRS,
    shape=_cropped_shape,
    **_CPU,
)
def decode_and_crop_jpeg_op(
    xp: Xp, contents: Array, crop_window: Array, *, channels: int, ratio: int
) -> Array:
    """Return a part of the pixels of a JPEG file: y, x, height, width."""
    _check_ratio(ratio)
    if crop_window.shape != (4,):
        raise errors.invalid_argument("crop_window must be a vector of four")
    data = _text(contents)
    if _format_of(data) != "JPEG":
        raise errors.invalid_argument(
            f"DecodeAndCropJpeg operation can run on JPEG only, but detected {_format_of(data)}."
        )
    pixels = _jpeg(data, channels, ratio)
    y, x, height, width = crop_window.tolist()
    is_inside = min(y, x) >= 0 and min(height, width) > 0
    if not is_inside or y + height > pixels.shape[0] or x + width > pixels.shape[1]:
        raise _broken(
            "JPEG",
            len(data),
            f"window {[y, x, height, width]} of an image of {shape_text(pixels.shape[:2])}",
        )
    return np.ascontiguousarray(pixels[y : y + height, x : x + width])


@register_op(
    "DecodeBmp", "contents: string -> image: uint8", "channels: int = 0", shape=_image_shape, **_CPU
)
def decode_bmp_op(xp: Xp, contents: Array, *, channels: int) -> Array:
    """Return the pixels of a BMP file."""
    if channels not in (0, 1, 3, 4):
        raise errors.invalid_argument(f"channels must be 0, 1, 3, or 4, got {channels}")
    return _decoded("DecodeBmp", contents, channels)


@register_op("DecodeGif", "contents: string -> image: uint8", shape=_gif_shape, **_CPU)
def decode_gif_op(xp: Xp, contents: Array) -> Array:
    """Return the frames of a GIF file (or of another file, which has one)."""
    data = _text(contents)
    if _format_of(data) == "GIF":
        return _gif(data)
    return _decoded("DecodeGif", contents, 3)[None]


@register_op(
    "DecodeImage",
    "contents: string -> image: dtype",
    "channels: int = 0",
    "dtype: {uint8, uint16, float} = DT_UINT8",
    "expand_animations: bool = true",
    shape=_any_shape,
    **_CPU,
)
def decode_image_op(
    xp: Xp, contents: Array, *, channels: int, dtype: DType, expand_animations: bool
) -> Array:
    """Return the pixels of a file of any of the formats; for a GIF, of all frames on request."""
    if channels not in (0, 1, 3, 4):
        raise errors.invalid_argument(f"channels must be 0, 1, 3, or 4, got {channels}")
    data = _text(contents)
    form = _format_of(data)
    if form == "PNG" and dtype is not dtypes.uint8:
        wide = _png(data, channels, np.uint16)
        if dtype is dtypes.uint16:
            return wide
        return (wide / np.float32(65535)).astype(np.float32)
    if form == "GIF":
        frames = _gif(data, only_first=not expand_animations)
        if channels not in (0, 3):
            raise errors.invalid_argument(f"channels must be 0 or 3 for GIF, got {channels}")
        pixels = frames if expand_animations else frames[0]
    else:
        pixels = _decoded("DecodeImage", contents, channels)
    if dtype is dtypes.uint16:
        return pixels.astype(np.uint16) * np.uint16(256)
    return pixels if dtype is dtypes.uint8 else pixels.astype(np.float32) / np.float32(255)


def _jpeg_shape_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 0)
    return TensorShape([3])


@register_op(
    "ExtractJpegShape",
    "contents: string -> image_shape: output_type",
    "output_type: {int32, int64} = DT_INT32",
    shape=_jpeg_shape_shape,
    **_CPU,
)
def extract_jpeg_shape_op(xp: Xp, contents: Array, *, output_type: DType) -> Array:
    """Return height, width and channels of a JPEG file without decoding its pixels."""
    data = _text(contents)
    try:
        image = _opened(data, "JPEG")
    except errors.InvalidArgumentError:
        raise errors.invalid_argument(f"Invalid JPEG data, size {len(data)}") from None
    channels = {"L": 1, "CMYK": 4}.get(image.mode, 3)
    return np.array([image.size[1], image.size[0], channels], output_type.as_numpy_dtype)


# ----------------------------------------------------------------------------------------- encoding


def _encoded_shape(c: InferenceContext) -> TensorShape:
    shape = c.with_rank_at_least(0, 3)
    dims = shape.dim_values
    return UNKNOWN_SHAPE if dims is None else TensorShape(dims[:-3])


def _scalar_from_image(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 3)
    return TensorShape([])


@register_op(
    "EncodePng",
    "image: T -> contents: string",
    "compression: int = -1",
    "T: {uint8, uint16} = DT_UINT8",
    shape=_encoded_shape,
    **_CPU,
)
def encode_png_op(xp: Xp, image: Array, *, compression: int) -> Array:
    """Return a PNG file of pixels, or one for each image of a batch."""
    if image.ndim < 3:
        raise errors.invalid_argument(f"images must be at least rank 3{shape_text(image.shape)}")
    if image.shape[-1] not in (1, 2, 3, 4):
        raise errors.invalid_argument(
            f"image must have 1, 2, 3, or 4 channels, got {image.shape[-1]}"
        )
    if image.size == 0 and 0 in image.shape[-3:]:
        raise errors.internal(
            "PNG encoding failed at the following flattened batch indices: 0: Expected image to be "
            f"non-empty, got {shape_text(image.shape)}"
        )
    if not -1 <= compression <= 9:
        raise errors.invalid_argument(f"compression should be in [-1,9], got {compression}")
    result = np.empty(image.shape[:-3], object)
    for place in np.ndindex(result.shape):
        result[place] = png_files.write(image[place], compression)
    return result


def _jpeg_file(image: Array, quality: int, mode: str, options: dict[str, Attr]) -> Array:
    target = io.BytesIO()
    pixels = image[..., 0] if mode == "L" else image
    try:
        _pillow().fromarray(np.ascontiguousarray(pixels), mode=None).save(
            target, "JPEG", quality=quality, **options
        )
    except (OSError, ValueError) as error:
        raise errors.internal(f"JPEG encoding failed: {error}") from None
    result = np.empty((), object)
    result[()] = target.getvalue()
    return result


def _jpeg_mode(image: Array, form: str) -> str:
    if image.ndim != 3:
        raise errors.invalid_argument(f"image must be 3-dimensional{shape_text(image.shape)}")
    channels = image.shape[2]
    wanted = {"": (1, 3), "grayscale": (1,), "rgb": (3,)}[form]
    if channels not in wanted:
        raise errors.invalid_argument(
            f"format '{form}' expects {' or '.join(map(str, wanted))} channels, got {channels}"
        )
    if 0 in image.shape:
        raise errors.internal(
            f"JPEG encoding failed: the image is empty, {shape_text(image.shape)}"
        )
    return "L" if channels == 1 else "RGB"


@register_op(
    "EncodeJpeg",
    "image: uint8 -> contents: string",
    "format: {'', 'grayscale', 'rgb'} = ''",
    "quality: int = 95",
    "progressive: bool = false",
    "optimize_size: bool = false",
    "chroma_downsampling: bool = true",
    "density_unit: {'in', 'cm'} = 'in'",
    "x_density: int = 300",
    "y_density: int = 300",
    "xmp_metadata: string = ''",
    shape=_scalar_from_image,
    **_CPU,
)
def encode_jpeg_op(
    xp: Xp,
    image: Array,
    *,
    format: str,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    density_unit: str,
    x_density: int,
    y_density: int,
    xmp_metadata: str,
) -> Array:
    """Return a JPEG file of pixels."""
    if not 0 <= quality <= 100:
        raise errors.invalid_argument(f"quality must be in [0,100], got {quality}")
    mode = _jpeg_mode(image, format)
    factor = 2.54 if density_unit == "cm" else 1.0
    options: dict[str, Attr] = {
        "progressive": progressive,
        "optimize": optimize_size,
        "subsampling": 2 if chroma_downsampling else 0,
        "dpi": (round(x_density * factor), round(y_density * factor)),
    }
    if xmp_metadata:
        data = xmp_metadata.encode() if isinstance(xmp_metadata, str) else xmp_metadata
        options["xmp"] = data
    return _jpeg_file(image, quality, mode, options)


@register_op(
    "EncodeJpegVariableQuality",
    "images: uint8, quality: int32 -> contents: string",
    shape=_scalar_from_image,
    **_CPU,
)
def encode_jpeg_variable_quality(xp: Xp, images: Array, quality: Array) -> Array:
    """Return a JPEG file of pixels; the quality is an input."""
    if quality.ndim:
        raise errors.invalid_argument(f"quality must be scalar: {shape_text(quality.shape)}")
    if not 0 <= int(quality) <= 100:
        raise errors.invalid_argument(f"quality must be in [0,100], got {int(quality)}")
    mode = _jpeg_mode(images, "")
    return _jpeg_file(images, int(quality), mode, {"subsampling": 2})


def decode_image(
    contents: TensorLike,
    channels: int | None = None,
    dtype: DTypeLike = dtypes.uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> TensorResult:
    """Return the pixels of a JPEG, PNG, GIF or BMP file.

    Args:
      contents: the file, a string scalar.
      channels: 1, 3 or 4; 0 for as many as the file has.
      dtype: uint8, uint16 or float32 (then in [0, 1]).
      name: the name of the op.
      expand_animations: whether to return all frames of a GIF, which makes the rank unknown.
    """
    with name_scope(name, "decode_image"):
        return decode_image_op(
            contents,
            channels=0 if channels is None else channels,
            dtype=dtypes.as_dtype(dtype),
            expand_animations=expand_animations,
        )


def is_jpeg(contents: TensorLike, name: str | None = None) -> TensorResult:
    """Return whether bytes begin as a JPEG file does."""
    from tfnb.ops.math.math_ops import equal
    from tfnb.ops.strings.string_ops import substr

    with name_scope(name, "is_jpeg"):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name=name)
