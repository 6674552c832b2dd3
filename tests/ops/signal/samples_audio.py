"""Rows for sound."""

# ruff: noqa: PERF401 - every row is one append, loops or not

from __future__ import annotations

import struct

from tests.ops.samples import Sample, checked, integers, normal, op, uniform

SAMPLES: list[Sample | list[Sample]] = []


def _wav(channels: int, *, bits: int = 16, kind: int = 1) -> bytes:
    """Return a file with a chunk that readers skip, and an odd last byte that is not zero."""
    samples = integers(20, channels, low=-30000, high=30000).astype("<i2")
    samples[-1, -1] = 12345
    body = samples.tobytes()
    fmt = struct.pack("<HHIIHH", kind, channels, 8000, 16000 * channels, 2 * channels, bits)
    rest = b"fmt " + struct.pack("<I", 16) + fmt + b"LIST" + struct.pack("<I", 4) + b"abcd"
    rest += b"data" + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", 4 + len(rest)) + b"WAVE" + rest


def _files() -> None:
    for channels in (1, 2):
        data = _wav(channels)
        SAMPLES.append(op("DecodeWav", data))
        for wanted in ({"desired_samples": 12}, {"desired_samples": 30}, {"desired_channels": 3}):
            SAMPLES.append(op("DecodeWav", data, **wanted))
    SAMPLES.append(op("DecodeWav", _wav(1, bits=8), error="16-bit|[Bb]ad"))
    SAMPLES.append(op("DecodeWav", _wav(1, kind=3), error="Bad audio format"))
    SAMPLES.append(op("DecodeWav", b"no sound", error="Header mismatch"))
    SAMPLES.append(op("DecodeWav", [_wav(1)], error="rank|scalar"))
    SAMPLES.append(op("EncodeWav", normal(15, 2) * 0.7, 8000))
    SAMPLES.append(op("EncodeWav", normal(15), 8000, error="rank|2-dim"))


def _spectra() -> None:
    sound = normal(90, 2)
    for window, stride in ((16, 8), (25, 10), (64, 64), (100, 5)):
        for squared in (True, False):
            row = op(
                "AudioSpectrogram",
                sound,
                window_size=window,
                stride=stride,
                magnitude_squared=squared,
            )
            SAMPLES.append(checked(row, rtol=1e-5, atol=1e-5))
    spectrogram = uniform(2, 5, 129) * 3
    for attrs in (
        {},
        {"dct_coefficient_count": 20},
        {"filterbank_channel_count": 15, "upper_frequency_limit": 3000.0},
        {"lower_frequency_limit": 300.0},
    ):
        row = op("Mfcc", spectrogram, 8000, **attrs)
        SAMPLES.append(checked(row, rtol=1e-4, atol=1e-4))
    SAMPLES.append(op("Mfcc", spectrogram[0], 8000, error="rank|3-dim"))


_files()
_spectra()
