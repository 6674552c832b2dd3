"""Complex numbers, Fourier transforms and sound: onnxruntime gives the session's values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.onnx_export.agreement import agree
from tfnb.onnx_export.writing.problems import ConversionError

pytest.importorskip("onnxruntime")

RAW: Any = tf.raw_ops


def _numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


X, Y = _numbers(3, 8), _numbers(3, 8, seed=1)


def _parts(*values: Any) -> list[Any]:
    return [part(one) for one in values for part in (tf.math.real, tf.math.imag)]


@pytest.mark.parametrize("opset", [17, 20])
def test_transforms_agree(opset):
    """Transforms of one axis and two, with lengths that cut and fill."""

    def build(x, y):
        c = tf.complex(x, y)
        spectrum = tf.signal.rfft(x)
        return [
            *_parts(tf.signal.fft(c), tf.signal.ifft(c), tf.signal.fft2d(c), tf.signal.ifft2d(c)),
            *_parts(spectrum, tf.signal.rfft(x, [5]), tf.signal.rfft(x, [12]), tf.signal.rfft2d(x)),
            *(tf.signal.irfft(spectrum), tf.signal.irfft(spectrum, [5])),
            *(tf.signal.irfft(spectrum, [13]), tf.signal.irfft2d(tf.signal.rfft2d(x))),
        ]

    agree(build, X, Y, opset=opset, tolerance=2e-5)


def test_arithmetic_of_complex_numbers_agrees():
    """Products, quotients, sizes, angles, and what moves elements."""

    def build(x, y):
        a, b = tf.complex(x, y), tf.complex(y, x)
        return [
            *_parts(a * b, a / b, a + b, a - b, -a, tf.exp(a), tf.math.conj(a), tf.square(a)),
            *_parts(a * tf.constant(1 + 2j, tf.complex64), tf.matmul(a, b, adjoint_b=True)),
            *_parts(tf.reshape(a, [4, -1]), tf.transpose(a), tf.linalg.adjoint(a), a[:, 1:3]),
            *_parts(tf.concat([a, b], -1), tf.stack([a, b], 1), tf.reduce_sum(a, 1)),
            *(tf.abs(a), tf.math.angle(a), tf.shape(a), tf.cast(a, tf.float32)),
        ]

    agree(build, X, Y)


def test_a_short_time_transform_and_its_inverse_agree():
    """Frames of sound, of any number of sounds."""

    def build(sound):
        spectra = tf.signal.stft(sound, 16, 4)
        return [tf.abs(spectra), tf.signal.inverse_stft(spectra, 16, 4)]

    agree(build, _numbers(2, 64), shapes={0: [None, 64]})


def test_coefficients_of_sound_agree():
    """AudioSpectrogram and Mfcc, as keyword spotting has them."""

    def build(sound):
        spectra = RAW.AudioSpectrogram(
            input=sound, window_size=200, stride=100, magnitude_squared=True
        )
        return [spectra, RAW.Mfcc(spectrogram=spectra, sample_rate=16000)]

    agree(build, _numbers(800, 1) * 0.1)


def test_a_loop_over_complex_numbers_agrees():
    """A loop variable of complex numbers."""

    def build(x):
        start = [0, tf.complex(x, x) * 0.3]
        return tf.abs(tf.while_loop(lambda i, _: i < 3, lambda i, c: (i + 1, c * c), start)[1])

    agree(build, X)


def test_an_output_of_complex_numbers_is_refused():
    """The error says what to do."""
    with pytest.raises(ConversionError, match="output of complex numbers; take their parts"):
        agree(lambda x: tf.complex(x, x), X)
