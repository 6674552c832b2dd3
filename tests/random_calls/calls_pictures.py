"""Random calls of codecs of images and sound, and of ops that draw or move windows in images."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Sample, op
from tests.random_calls.draws import Draw, calls


def _file(d: Draw, form: str) -> bytes:
    """Return a small image file of that format, sometimes damaged."""
    from PIL import Image

    mode = d.one({"PNG": "RGB L RGBA P LA 1", "JPEG": "RGB L", "BMP": "RGB L", "GIF": "P L"}[form])
    width, height = d.number(1, 12), d.number(1, 12)
    # Smooth images, so that JPEG decoders agree.
    ramp = np.add.outer(np.arange(height) * 6, np.arange(width) * 5) + d.number(0, 99)
    picture = Image.fromarray(ramp.astype(np.uint8)).convert("RGB")
    buffer = io.BytesIO()
    options: dict[str, Any] = {"quality": 95, "subsampling": 0} if form == "JPEG" else {}
    if form == "GIF" and d.chance(0.3):
        others = [picture.rotate(180).convert("P") for _ in range(d.number(1, 2))]
        options = {"save_all": True, "append_images": others}
    picture.convert(mode).save(buffer, form, **options)
    data = buffer.getvalue()
    if d.chance(0.08):
        return data[: d.number(0, len(data) // 2)]
    return b"nothing" if d.chance(0.03) else data


def _scalar(data: bytes) -> Any:
    return np.array(data, object)


@calls("DecodePng DecodeJpeg DecodeImage DecodeBmp DecodeGif")
def _decode(d: Draw, name: str) -> Sample:
    own = {"DecodePng": "PNG", "DecodeJpeg": "JPEG", "DecodeBmp": "BMP", "DecodeGif": "GIF"}
    form = own.get(name, "") if d.chance(0.6) else ""
    form = form or d.one("PNG PNG BMP GIF JPEG")
    attrs: dict[str, Any] = {}
    if name != "DecodeGif":
        attrs["channels"] = d.one([0, 0, 1, 3, 4])
    if name == "DecodePng" and d.chance(0.3):
        attrs["dtype"] = "uint16"
    if name == "DecodeImage":
        attrs["dtype"] = d.one("uint8 uint16 float32")
        attrs["expand_animations"] = d.chance(0.6)
    level = 3.0 if form == "JPEG" else 0.0
    scale = {"uint16": 257, "float32": 1 / 255}.get(attrs.get("dtype", ""), 1)
    row = op(name, _scalar(_file(d, form)), **attrs)
    return replace(row, gradient=False, atol=level * scale or None)


@calls("DecodeAndCropJpeg")
def _crop(d: Draw, name: str) -> Sample:
    window = [d.number(0, 4), d.number(0, 4), d.number(1, 5), d.number(1, 5)]
    row = op(name, _scalar(_file(d, "JPEG")), np.array(window, np.int32), channels=d.one([0, 1, 3]))
    return replace(row, atol=3)


@calls("ExtractJpegShape")
def _jpeg_shape(d: Draw, name: str) -> Sample:
    data = _file(d, "JPEG")
    return op(name, _scalar(data), output_type=d.one("int32 int64"))


@calls("EncodePng EncodeJpeg EncodeJpegVariableQuality")
def _encode(d: Draw, name: str) -> Sample:
    word = "uint8" if name != "EncodePng" or d.chance(0.7) else "uint16"
    lead = d.shape(0, 1, 2) if name == "EncodePng" and d.chance(0.3) else ()
    channels = d.number(1, 4) if name == "EncodePng" else d.one([1, 3, 3, 2])
    shape = (*lead, d.number(0 if d.chance(0.1) else 1, 5), d.number(1, 5), channels)
    if d.chance(0.05):
        shape = shape[1:]
    x = d.random.randint(0, np.iinfo(NUMPY_TYPES[word]).max, shape).astype(NUMPY_TYPES[word])
    more = []
    if name.endswith("Quality"):
        more = [np.array(d.number(-1 if d.chance(0.1) else 1, 100), np.int32)]
    attrs = {"compression": d.number(-1, 9)} if name == "EncodePng" else {}
    if name == "EncodeJpeg":
        attrs["quality"] = d.one([95, 10, 100, 101] if d.chance(0.2) else [95, 50])
        attrs["format"] = d.one(["", "", "rgb", "grayscale"])
    # Every encoder makes other bytes of the same image.
    return replace(op(name, x, *more, **attrs), undefined=(0,), gradient=False)


@calls("DecodeWav")
def _wav(d: Draw, name: str) -> Sample:
    channels, count = d.number(1, 2), d.number(0, 9)
    data = d.random.randint(-32768, 32768, (count, channels)).astype("<i2").tobytes()
    head = np.array([16, 1 | channels << 16, 8000, 16000 * channels], "<u4").tobytes()
    head += np.array([2 * channels, 16], "<u2").tobytes()
    body = b"WAVEfmt " + head
    if d.chance(0.3):
        body += b"LIST" + np.array([4], "<u4").tobytes() + b"abcd"
    body += b"data" + np.array([len(data)], "<u4").tobytes() + data
    whole = b"RIFF" + np.array([len(body)], "<u4").tobytes() + body
    if d.chance(0.15):
        whole = whole[: d.number(0, len(whole) - 1)]
    return op(name, _scalar(whole), desired_channels=d.one([-1, -1, 1, 2, 3]),
              desired_samples=d.one([-1, -1, 3, 12]))  # fmt: skip


@calls("EncodeWav")
def _to_wav(d: Draw, name: str) -> Sample:
    audio = d.values("float32", (d.number(0, 6), d.number(1, 3)), 0, 0.7)
    if d.chance(0.06):
        audio = audio[0] if len(audio) else audio[None]
    return op(name, audio, np.array(d.one([8000, 44100]), np.int32))


@calls("AudioSummaryV2 ImageSummary")
def _summary(d: Draw, name: str) -> Sample:
    tag = _scalar(d.one([b"a", b"b/c", b""]))
    if name == "ImageSummary":
        word = d.types(name)
        shape = (d.number(0, 3), d.number(1, 4), d.number(1, 4), d.one([1, 3, 4, 2]))
        x = d.values(word, shape, 0.2) if word != "uint8" else d.values(word, shape)
        # The bytes of the images depend on the encoder.
        return replace(op(name, tag, x, max_images=d.number(1, 3)), undefined=(0,), gradient=False)
    shape = (d.number(0, 3), d.number(1, 5), d.number(1, 2))[: d.one([3, 3, 3, 2])]
    x = d.values("float32", shape, 0, 0.4)
    return op(name, tag, x, np.array(8000, np.float32), max_outputs=d.number(1, 3))


@calls("ExtractGlimpse ExtractGlimpseV2")
def _glimpse(d: Draw, name: str) -> Sample:
    images = d.values(
        "float32", (d.number(1, 2), d.number(1, 6), d.number(1, 6), d.number(1, 2)), 0
    )
    size = np.array([d.number(1, 7), d.number(1, 7)], np.int32)
    normalized = d.chance(0.5)
    offsets = d.random.uniform(-1.2, 1.2, (images.shape[0] + d.chance(0.05), 2))
    offsets = offsets if normalized else np.round(offsets * 5)
    return replace(
        op(name, images, size, offsets.astype(np.float32), centered=d.chance(0.5),
           normalized=normalized, uniform_noise=False, noise="zero"),
        gradient=False,
    )  # fmt: skip


@calls("FractionalMaxPool FractionalAvgPool")
def _fractional(d: Draw, name: str) -> Sample:
    word = d.types(name)
    x = d.values(word, (d.number(1, 2), d.number(2, 9), d.number(2, 9), d.number(1, 2)), 0)
    ratios = [float(np.float32(d.random.uniform(1.0, 2.4))) for _ in range(2)]
    row = op(
        name, x, pooling_ratio=[1.0, *ratios, 1.0], pseudo_random=d.chance(0.5),
        overlapping=d.chance(0.5), deterministic=True, seed=d.number(1, 99), seed2=d.number(0, 99),
    )  # fmt: skip
    return replace(row, shapes=False)


@calls("FractionalMaxPoolGrad FractionalAvgPoolGrad")
def _fractional_gradient(d: Draw, name: str) -> Sample:
    word, overlapping = d.types(name), d.chance(0.5)
    ends = [np.cumsum([0, *(d.number(1, 2) for _ in range(d.number(1, 3)))]) for _ in range(2)]
    count, depth = d.number(1, 2), d.number(1, 2)
    shape = (count, int(ends[0][-1]), int(ends[1][-1]), depth)
    cells = (count, len(ends[0]) - 1, len(ends[1]) - 1, depth)
    sequences = [one.astype(np.int64) for one in ends]
    grads = d.values(word, cells, 0)
    if name == "FractionalAvgPoolGrad":
        return replace(
            op(name, np.array(shape, np.int64), grads, *sequences, overlapping=overlapping),
            gradient=False,
        )
    x = d.values(word, shape, 0)
    highest = np.zeros(cells, x.dtype)
    for r in range(cells[1]):
        for c in range(cells[2]):
            rows = slice(ends[0][r], min(ends[0][r + 1] + overlapping, shape[1]))
            columns = slice(ends[1][c], min(ends[1][c + 1] + overlapping, shape[2]))
            highest[:, r, c] = x[:, rows, columns].max((1, 2))
    row = op(name, x, highest, grads, *sequences, overlapping=overlapping)
    return replace(row, gradient=False)


@calls("ImageProjectiveTransformV2 ImageProjectiveTransformV3")
def _transform(d: Draw, name: str) -> Sample:
    word = d.types(name, "dtype")
    shape = (d.number(1, 2), d.number(1, 5), d.number(1, 5), d.number(1, 2))
    count = d.one([1, shape[0], 3]) if d.chance(0.1) else d.one([1, shape[0]])
    ways = d.random.normal(size=(count, 8)) * 0.4
    ways[:, [0, 4]] += 1
    ways[:, 6:] *= 0.05 if d.chance(0.5) else 0
    size = np.array([d.number(0 if d.chance(0.05) else 1, 5), d.number(1, 5)], np.int32)
    more = [np.array(d.one([0.0, 7.5]), np.float32)] if name.endswith("V3") else []
    kind = d.one("NEAREST BILINEAR")
    x = d.values(word, shape, 0, 30 if np.dtype(NUMPY_TYPES[word]).kind in "iu" else 2)
    row = op(name, x, ways.astype(np.float32), size, *more, interpolation=kind,
             fill_mode=d.one("CONSTANT NEAREST REFLECT WRAP"))  # fmt: skip
    coarse = word in ("float16", "bfloat16")
    # Integers are truncated, not rounded, so that a tiny difference decides.
    whole = 1 if x.dtype.kind in "iu" else 0
    return replace(row, rtol=2e-2 if coarse else 2e-4, atol=whole or (5e-2 if coarse else 1e-3))


@calls("""SampleDistortedBoundingBox SampleDistortedBoundingBoxV2
StatelessSampleDistortedBoundingBox""")
def _boxes(d: Draw, name: str) -> Sample:
    word = d.types(name)
    size = np.array([d.number(1, 100), d.number(1, 100), 3], NUMPY_TYPES[word])
    corners = np.sort(d.random.uniform(0, 1, (1, d.number(0, 2), 2, 2)), 2).reshape(1, -1, 4)
    attrs: dict[str, Any] = {"use_image_if_no_bounding_boxes": d.chance(0.7)}
    if d.chance(0.4):
        attrs["aspect_ratio_range"] = [0.5, d.one([1.5, 3.0])]
    if d.chance(0.4):
        attrs["area_range"] = [d.one([0.05, 0.3]), d.one([0.6, 1.0])]
    if d.chance(0.3):
        attrs["max_attempts"] = d.number(1, 9)
    inputs = [size, corners.astype(np.float32)]
    covered = float(np.float32(d.one([0.1, 0.5, 0.9, 0.0])))
    if name == "SampleDistortedBoundingBox":
        attrs["min_object_covered"] = covered
    else:
        inputs.append(np.array(covered, np.float32))
    if name.startswith("Stateless"):
        seed = np.array([d.number(-9, 99), d.number(0, 99)], d.one([np.int32, np.int64]))
        return op(name, *inputs, seed, **attrs)
    return op(name, *inputs, seed=d.number(1, 99), seed2=d.number(0, 99), **attrs)


@calls("ScaleAndTranslate ScaleAndTranslateGrad")
def _scale(d: Draw, name: str) -> Sample:
    word = d.types(name)
    shape = (d.number(1, 2), d.number(1, 6), d.number(1, 6), d.number(1, 2))
    size = np.array([d.number(0 if d.chance(0.05) else 1, 7), d.number(1, 7)], np.int32)
    scale = d.random.uniform(0.3, 2.0, 2).astype(np.float32)
    move = (d.random.normal(size=2) * (d.chance(0.6) * 2)).astype(np.float32)
    kernel = d.one("lanczos1 lanczos3 lanczos5 gaussian box triangle keyscubic mitchellcubic")
    attrs = {"kernel_type": kernel, "antialias": d.chance(0.5)}
    loose = {"rtol": 1e-4, "atol": 1e-4}
    x = d.values(word, shape, 0)
    if name.endswith("Grad"):
        grads = d.values(word, (shape[0], max(size[0], 1), size[1], shape[3]), 0)
        return replace(op(name, grads, x, scale, move, **attrs), gradient=False, **loose)
    return replace(op(name, x, size, scale, move, **attrs), **loose)
