"""Audio: WAV files to samples and back, spectrograms, mel-frequency cepstral coefficients.

Corresponds to TensorFlow's ``decode_wav_op.cc``, ``encode_wav_op.cc``, ``spectrogram_op.cc`` and
``mfcc_op.cc``; computed in float64 as there. A WAV file consists of chunks of name, length and
data.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext

EXPORTS = {"audio": ["decode_wav", "encode_wav"]}

_CPU: dict[str, Any] = {"devices": ("CPU",)}


# ---------------------------------------------------------------------------------------- WAV files


def _wav_shape(c: InferenceContext) -> list[TensorShape]:
    c.with_rank(0, 0)
    sizes = [c.attr("desired_samples"), c.attr("desired_channels")]
    for name, size in zip(("samples", "channels"), sizes, strict=True):
        if size < -1:
            raise ValueError(f"{name} must be non-negative, got {size}")
    return [TensorShape([None if size == -1 else size for size in sizes]), SCALAR_SHAPE]


def _chunks(data: bytes) -> dict[bytes, bytes]:
    """Return the file's chunks by name, as far as the file contains them."""
    found: dict[bytes, bytes] = {}
    place = 12
    while place + 8 <= len(data):
        name = data[place : place + 4]
        (length,) = struct.unpack("<I", data[place + 4 : place + 8])
        body = data[place + 8 : place + 8 + length]
        if len(body) < length:
            raise errors.invalid_argument(
                f"Data too short when trying to read string: the chunk {name!r} has {length} "
                f"bytes, the file {len(body)}"
            )
        found.setdefault(name, body)
        place += 8 + length + length % 2
    return found


def _read_wav(data: bytes) -> tuple[NDArray[np.int16], int]:
    """Return samples as (samples, channels) of int16, and samples per second."""
    if data[:4] != b"RIFF":
        raise errors.invalid_argument("Header mismatch: Expected RIFF but found " + repr(data[:4]))
    if data[8:12] != b"WAVE":
        raise errors.invalid_argument(
            "Header mismatch: Expected WAVE but found " + repr(data[8:12])
        )
    chunks = _chunks(data)
    header = chunks.get(b"fmt ")
    if header is None or len(header) < 16:
        raise errors.invalid_argument("Header mismatch: Expected a fmt chunk of 16 bytes or more")
    kind, channels, rate, _, _, bits = struct.unpack("<HHIIHH", header[:16])
    if kind not in (1, 0xFFFE):
        raise errors.invalid_argument(f"Bad audio format for WAV: Expected 1 (PCM), but got{kind}")
    if channels < 1 or channels > 1024:
        raise errors.invalid_argument(f"Bad number of channels for WAV: {channels}")
    if bits != 16:
        raise errors.invalid_argument(f"Can only read 16-bit WAV files, but received {bits}")
    body = chunks.get(b"data")
    if body is None:
        raise errors.invalid_argument("No data chunk found in WAV")
    count = len(body) // (2 * channels)
    samples = np.frombuffer(body, "<i2", count * channels)
    return samples.reshape(count, channels), rate


@register_op(
    "DecodeWav",
    "contents: string -> audio: float, sample_rate: int32",
    "desired_channels: int = -1",
    "desired_samples: int = -1",
    shape=_wav_shape,
    **_CPU,
)
def decode_wav(
    xp: Xp, contents: Array, *, desired_channels: int, desired_samples: int
) -> tuple[Array, Array]:
    """Return samples in [-1, 1) of a 16-bit WAV file, and samples per second.

    Missing channels repeat the last one; missing samples are zero.
    """
    if contents.ndim:
        raise errors.invalid_argument(
            f"contents must be scalar, got shape {shape_text(contents.shape)}"
        )
    found, rate = _read_wav(contents[()])
    samples = desired_samples if desired_samples != -1 else found.shape[0]
    channels = desired_channels if desired_channels != -1 else found.shape[1]
    check_fits(np, (samples, channels), np.dtype(np.float32))
    audio = np.zeros((samples, channels), np.float32)
    sources = np.minimum(np.arange(channels), found.shape[1] - 1)
    kept = found[:samples, sources]
    audio[: len(kept)] = kept / np.float32(32768)
    return audio, np.int32(rate)


def _encoded_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 2)
    c.with_rank(1, 0)
    return SCALAR_SHAPE


@register_op(
    "EncodeWav",
    "audio: float, sample_rate: int32 -> contents: string",
    shape=_encoded_shape,
    **_CPU,
)
def encode_wav(xp: Xp, audio: Array, sample_rate: Array) -> Array:
    """Return a 16-bit WAV file of samples in [-1, 1)."""
    if audio.ndim != 2:
        raise errors.invalid_argument(f"audio must be 2-dimensional{shape_text(audio.shape)}")
    if sample_rate.ndim:
        raise errors.invalid_argument(
            f"Input sample_rate should be a scalar tensor, got {shape_text(sample_rate.shape)}"
        )
    channels = audio.shape[1]
    rate = int(sample_rate)
    if not 0 < channels <= 1024:
        raise errors.invalid_argument(f"num_channels must be in [1, 1024], got {channels}")
    if rate <= 0:
        raise errors.invalid_argument(f"sample_rate must be positive, got {rate}")
    scaled = audio * np.float32(32768)
    # Halves are rounded away from zero.
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    body = np.clip(rounded, -32768, 32767).astype("<i2").tobytes()
    per_second = rate * channels * 2 & 0xFFFFFFFF
    fmt = struct.pack("<HHIIHH", 1, channels, rate, per_second, channels * 2, 16)
    head = b"RIFF" + struct.pack("<I", 36 + len(body)) + b"WAVEfmt " + struct.pack("<I", 16)
    result = np.empty((), object)
    result[()] = head + fmt + b"data" + struct.pack("<I", len(body)) + body
    return result


# -------------------------------------------------------------------------------------- spectrogram


def spectrum_length(window_size: int) -> int:
    """Return how many samples are transformed for a window: the next power of two."""
    return 1 << max(window_size - 1, 0).bit_length()


def _frames(length: int, window_size: int, stride: int) -> int:
    return 0 if length < window_size else 1 + (length - window_size) // stride


def _spectrogram_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank(0, 2).dim_values
    window_size, stride = c.attr("window_size"), c.attr("stride")
    channels, length = (None, None) if dims is None else (dims[1], dims[0])
    width = 1 + spectrum_length(window_size) // 2
    frames = None if length is None else _frames(length, window_size, stride)
    return TensorShape([channels, frames, width])


@register_op(
    "AudioSpectrogram",
    "input: float -> spectrogram: float",
    "window_size: int",
    "stride: int",
    "magnitude_squared: bool = false",
    shape=_spectrogram_shape,
    **_CPU,
)
def audio_spectrogram(
    xp: Xp, samples: Array, *, window_size: int, stride: int, magnitude_squared: bool
) -> Array:
    """Return the spectrum's magnitudes for each window: (channels, windows, frequencies)."""
    if samples.ndim != 2:
        raise errors.invalid_argument(f"input must be 2-dimensional{shape_text(samples.shape)}")
    if window_size <= 1 or stride < 1:
        raise errors.invalid_argument(
            f"Spectrogram initialization failed for window size {window_size} and stride {stride}"
        )
    length, channels = samples.shape
    count, width = _frames(length, window_size, stride), spectrum_length(window_size)
    check_fits(np, (channels, count, width), np.dtype(np.complex128))
    if count == 0:
        return np.zeros((channels, 0, 1 + width // 2), np.float32)
    places = np.arange(window_size)
    window = 0.5 - 0.5 * np.cos(2 * math.pi * places / window_size)
    index = stride * np.arange(count)[:, None] + places
    framed = samples.T.astype(np.float64)[:, index] * window
    spectrum = np.fft.rfft(framed, width, axis=-1)
    power = spectrum.real**2 + spectrum.imag**2
    return (power if magnitude_squared else np.sqrt(power)).astype(np.float32)


# --------------------------------------------------------------------------------------------- MFCC

_FLOOR = 1e-12


def _mel(frequency: Any) -> Any:
    return 1127.0 * np.log1p(frequency / 700.0)


@lru_cache(maxsize=16)
def _mel_bands(
    length: int, rate: float, bands: int, lower: float, upper: float
) -> NDArray[np.float64]:
    """Return the weight of each frequency in each band: triangles of equal width in mels."""
    low, high = float(_mel(lower)), float(_mel(upper))
    spacing = (high - low) / (bands + 1)
    edges = low + spacing * np.arange(bands + 2)
    hertz = 0.5 * rate / (length - 1)
    first, last = int(1.5 + lower / hertz), int(upper / hertz)
    places = np.arange(first, min(last, length - 1) + 1)
    mels = _mel(places * hertz)
    matrix = np.zeros((length, bands))
    # The band whose middle is the first one not below the frequency, and the band before it.
    upper_band = np.searchsorted(edges[1:], mels)
    for place, mel, band in zip(places, mels, upper_band, strict=True):
        falling = (edges[band + 1] - mel) / spacing if band <= bands else 0.0
        if band >= 1:
            matrix[place, band - 1] += falling
        if band < bands:
            matrix[place, band] += 1 - falling
    matrix.setflags(write=False)
    return matrix


def has_enough_frequencies(length: int, rate: int, upper: float) -> bool:
    """Return whether a spectrum reaches the upper limit of the bands."""
    return 2 * upper * (length - 1) / rate < length


def mel_weights(
    length: int, rate: int, bands: int, count: int, lower: float, upper: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of frequencies in bands, and those of bands in coefficients.

    Args:
      length: the number of frequencies.
      rate: samples per second.
      bands: the number of bands.
      count: the number of coefficients.
      lower: the lowest frequency of a band.
      upper: the highest one.
    """
    check_fits(np, (max(length, count), bands), np.dtype(np.float64))
    step = math.pi / bands
    cosines = np.cos(np.outer(np.arange(count) * step, np.arange(bands) + 0.5))
    matrix = _mel_bands(length, float(rate), bands, lower, upper)
    return matrix, (math.sqrt(2.0 / bands) * cosines).T


def _mfcc_shape(c: InferenceContext) -> TensorShape:
    dims = c.with_rank(0, 3).dim_values
    c.with_rank(1, 0)
    outer = [None, None] if dims is None else dims[:2]
    return TensorShape([*outer, c.attr("dct_coefficient_count")])


@register_op(
    "Mfcc",
    "spectrogram: float, sample_rate: int32 -> output: float",
    "upper_frequency_limit: float = 4000",
    "lower_frequency_limit: float = 20",
    "filterbank_channel_count: int = 40",
    "dct_coefficient_count: int = 13",
    shape=_mfcc_shape,
    **_CPU,
)
def mfcc(
    xp: Xp,
    spectrogram: Array,
    sample_rate: Array,
    *,
    upper_frequency_limit: float,
    lower_frequency_limit: float,
    filterbank_channel_count: int,
    dct_coefficient_count: int,
) -> Array:
    """Return cosine transforms of the logarithms of a spectrogram's mel bands."""
    if spectrogram.ndim != 3:
        raise errors.invalid_argument(
            f"spectrogram must be 3-dimensional{shape_text(spectrogram.shape)}"
        )
    if sample_rate.ndim:
        raise errors.invalid_argument(
            f"Input sample_rate should be a scalar tensor, got {shape_text(sample_rate.shape)}"
        )
    length, bands, count = spectrogram.shape[2], filterbank_channel_count, dct_coefficient_count
    lower, upper = lower_frequency_limit, upper_frequency_limit
    is_sound = length >= 2 and bands >= 1 and 1 <= count <= bands
    if not is_sound or int(sample_rate) <= 0 or not 0 <= lower < upper:
        raise errors.invalid_argument(
            f"Mfcc initialization failed for channel count {length}, sample rate "
            f"{int(sample_rate)}, filterbank channel count {bands} and dct coefficient count "
            f"{count}"
        )
    if not has_enough_frequencies(length, int(sample_rate), upper):
        return np.zeros((*spectrogram.shape[:2], count), np.float32)
    matrix, cosines = mel_weights(length, int(sample_rate), bands, count, lower, upper)
    energies = np.sqrt(spectrogram.astype(np.float64)) @ matrix
    logarithms = np.log(np.maximum(energies, _FLOOR))
    return (logarithms @ cosines).astype(np.float32)
