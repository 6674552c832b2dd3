"""Rows for image files: small pictures written by Pillow."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import base64

import numpy as np

from tests.ops.samples import Sample, checked, integers, op

SAMPLES: list[Sample | list[Sample]] = []

_PNG_RGB = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAIAAADkharWAAAAHElEQVR4nGNkYGBg4OcmHrGIMLAzkIJGNYwU"
    "DQCXIgdguC/nIAAAAABJRU5ErkJggg=="
)
_PNG_GRAY = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAAAAABOjGJdAAAAE0lEQVR4nGNgQAOMImgCLENGAABm7wEGQOKL"
    "yAAAAABJRU5ErkJggg=="
)
_PNG_RGBA = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMCAYAAABr5z2BAAAAJElEQVR4nGNkYGBgYODnJhuziDCwizAwsDOQ"
    "i0cNGDVgcBgAAAndCDz4ALDIAAAAAElFTkSuQmCC"
)
_PNG_PALETTE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAMBAMAAACZySCyAAAAGFBMVEW+w9J4w7kow52ggJYogGygRGqgD0Mo"
    "LS/YIwzoAAAAQUlEQVR4nGXLsRGAIBTA0AfHAI7glo4pE3hO4HcBxAIqTZUiSRutOmRUD9nkJ1EiXUvsZF2/"
    "1yGgjDJm3D77qfICBJIRUsKDNboAAAAASUVORK5CYII="
)
_JPEG_RGB = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQ"
    "DQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/2wBDAQMEBAUEBQkFBQkUDQsNFBQUFBQUFBQUFBQUFBQUFBQU"
    "FBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBT/wAARCAAMABADASIAAhEBAxEB/8QAHwAAAQUBAQEB"
    "AQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKB"
    "kaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1"
    "dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl"
    "5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcF"
    "BAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5"
    "OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0"
    "tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwD5H+EfgH/U"
    "/uvTtX2t8I/AP+p/d+navI/hJo1r+5/d+lfa3wk0e1/c/u/Su2kj2vEHw8wfv7H/2Q=="
)
_JPEG_GRAY = base64.b64decode(
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMCAgMCAgMDAwMEAwMEBQgFBQQEBQoHBwYIDAoMDAsKCwsNDhIQ"
    "DQ4RDgsLEBYQERMUFRUVDA8XGBYUGBIUFRT/wAALCAAMABABAREA/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAEC"
    "AwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAk"
    "M2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJ"
    "ipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3"
    "+Pn6/9oACAEBAAA/APmT/hkn/py/8do/4ZJ/6cv/AB2v1o/4VtoP/Pp+o/wo/wCFbaD/AM+n6j/Cv//Z"
)
_GIF = base64.b64decode(
    "R0lGODdhEAAMAIIAAL7D0njDuSjDnaCAliiAbKBEaqAPQygtLywAAAAAEAAMAAAIVwAPCBx4gIBBgwISCiAo"
    "8CBChQsZOiQAMSLBiRUZFnSoMEAAAyAPFBhpcIDHkx9BGhhZYIBLkyhVsmz5EmXKlSxfugTAE4DMnC978vw5"
    "UqdQnyCB7jwaEAAh+QQBAAAIACwAAAAAEAAMAIK+w9J4w7kow52ggJYogGygRGqgD0MoLS8IXAANCCxAcIDB"
    "AQASKhRogGDBgwoTMnRY4CDCiBMdWrwocaDGgwFCIhg50gBJgwgGkFyJ4ABJAgQQBGB5oKZNmDgF6Bxp8yZO"
    "AjqD9qz5E2hQAUMPFD2KNOnSoAEBADs="
)
_GIF_ONE = base64.b64decode(
    "R0lGODdhEAAMAIIAAL7D0njDuSjDnaCAliiAbKBEaqAPQygtLywAAAAAEAAMAAAIVwAPCBx4gIBBgwISCiAo"
    "8CBChQsZOiQAMSLBiRUZFnSoMEAAAyAPFBhpcIDHkx9BGhhZYIBLkyhVsmz5EmXKlSxfugTAE4DMnC978vw5"
    "UqdQnyCB7jwaEAA7"
)
_BMP = base64.b64decode(
    "Qk2uAAAAAAAAADYAAAAoAAAACAAAAAUAAAABABgAAAAAAHgAAADEDgAAxA4AAAAAAAAAAAAAHwNTKhJTNSFT"
    "QDBTSz9TVk5TYV1TbGxTGAM/IxI/LiE/OTA/RD8/T04/Wl0/ZWw/EQMrHBIrJyErMjArPT8rSE4rU10rXmwr"
    "CgMXFRIXICEXKzAXNj8XQU4XTF0XV2wXAwMDDhIDGSEDJDADLz8DOk4DRV0DUGwD"
)


def _files() -> None:
    for data in (_PNG_RGB, _PNG_GRAY, _PNG_RGBA, _PNG_PALETTE, _JPEG_RGB, _JPEG_GRAY):
        # JPEG decoders differ by three levels of 256 at most.
        levels = 3 if data.startswith(b"\xff") else 0
        options = {"atol": levels, "gradient": False}
        for channels in (0, 1, 3):
            for name in ("DecodePng", "DecodeJpeg", "DecodeImage"):
                SAMPLES.append(checked(op(name, data, channels=channels), **options))
            row = op("DecodeImage", data, channels=channels, dtype="float32")
            SAMPLES.append(checked(row, gradient=False, atol=levels / 254))
    for data in (_PNG_RGB, _PNG_GRAY, _PNG_RGBA):
        SAMPLES.append(op("DecodePng", data, channels=4))
        SAMPLES.append(op("DecodePng", data, dtype="uint16"))
        SAMPLES.append(op("DecodeImage", data, dtype="uint16", expand_animations=False))
    for ratio in (2, 4, 8):
        SAMPLES.append(checked(op("DecodeJpeg", _JPEG_RGB, ratio=ratio), atol=3))
    SAMPLES.append(op("DecodeJpeg", _JPEG_RGB, ratio=3, error="ratio must be"))
    SAMPLES.append(op("DecodeJpeg", _JPEG_RGB, channels=4, error="channels must be"))
    SAMPLES.append(checked(op("DecodeImage", _JPEG_RGB, dtype="uint16"), atol=3 * 256))
    SAMPLES.append(op("DecodeGif", _GIF))
    SAMPLES.append(op("DecodeGif", _PNG_RGB))
    SAMPLES.append(op("DecodeImage", _GIF))
    SAMPLES.append(op("DecodeImage", _GIF, expand_animations=False))
    SAMPLES.append(op("DecodePng", _GIF_ONE))
    SAMPLES.append(op("DecodePng", _GIF, error="frames"))
    SAMPLES.append(op("DecodeBmp", _BMP))
    SAMPLES.append(op("DecodeBmp", _BMP, channels=3))
    SAMPLES.append(op("DecodeImage", _BMP))
    SAMPLES.append(op("DecodeBmp", _BMP, channels=4))
    SAMPLES.append(checked(op("DecodeAndCropJpeg", _JPEG_RGB, [2, 3, 6, 8]), atol=3))
    SAMPLES.append(op("DecodeAndCropJpeg", _JPEG_RGB, [2, 3, 16, 8], error="[Ii]nvalid"))
    for data in (_JPEG_RGB, _JPEG_GRAY):
        SAMPLES.append(op("ExtractJpegShape", data))
        SAMPLES.append(op("ExtractJpegShape", data, output_type="int64"))
    for name in ("DecodePng", "DecodeJpeg", "DecodeImage", "DecodeGif"):
        SAMPLES.append(op(name, b"", error="Input is empty"))
        SAMPLES.append(op(name, b"no picture", error="Unknown image file format"))
        SAMPLES.append(op(name, [_PNG_RGB], error="rank|scalar"))
    SAMPLES.append(op("DecodePng", _PNG_RGB[:40], error="[Ii]nvalid PNG"))
    SAMPLES.append(op("DecodePng", _PNG_RGB, channels=5, error="channels must be"))
    SAMPLES.append(
        op("DecodePng", _PNG_RGB, channels=2, error="channels. must be|channels must be")
    )
    SAMPLES.append(op("DecodeJpeg", _PNG_RGB, channels=4))
    pixels = integers(5, 6, 3, low=0, high=256).astype(np.uint8)
    SAMPLES.append(checked(op("EncodePng", pixels), values=False))
    SAMPLES.append(checked(op("EncodePng", pixels.astype(np.uint16) * 200), values=False))
    SAMPLES.append(op("EncodePng", integers(5, 6, 5).astype(np.uint8), error="channels"))
    SAMPLES.append(op("EncodePng", pixels[0], error="rank"))
    SAMPLES.append(checked(op("EncodeJpeg", pixels), values=False))
    SAMPLES.append(op("EncodeJpeg", pixels[..., :2], error="channels"))
    SAMPLES.append(op("EncodeJpeg", pixels, quality=120, error="quality"))
    SAMPLES.append(op("EncodeJpeg", pixels, format="grayscale", error="expects"))
    SAMPLES.append(checked(op("EncodeJpegVariableQuality", pixels, 50), values=False))


_files()
