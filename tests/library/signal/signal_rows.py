"""Calls of tf.signal whose values are compared: run with TensorFlow and with us."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.exact_numbers import RandomNumbers

ROWS = [
    "tf.signal.hann_window(8)",
    "tf.signal.hann_window(n)",
    "tf.signal.hann_window(one)",
    "tf.signal.hann_window(7, periodic=False, dtype=tf.float64)",
    "tf.signal.hamming_window(n, dtype=tf.float64)",
    "tf.signal.kaiser_window(10)",
    "tf.signal.kaiser_window(n, beta=3.0, dtype=tf.float64)",
    "tf.signal.kaiser_bessel_derived_window(12)",
    "tf.signal.kaiser_bessel_derived_window(n, 4.0)",
    "tf.signal.vorbis_window(12)",
    "tf.signal.frame(x, 7, 3)",
    "tf.signal.frame(x, 7, 3, pad_end=True, pad_value=9.0)",
    "tf.signal.frame(x, 6, 4, axis=0, pad_end=True)",
    "tf.signal.frame(x, n, 4)",
    "tf.signal.frame(dynamic, n, one + 3, pad_end=True)",
    "tf.signal.frame(x[:, :5], 7, 3)",
    "tf.signal.overlap_and_add(x, 5)",
    "tf.signal.overlap_and_add(x, 45)",
    "tf.signal.overlap_and_add(dynamic, n)",
    "tf.signal.overlap_and_add(tf.reshape(x, [1, 3, 5, 9]), 4)",
    "tf.signal.stft(x, 12, 5)",
    "tf.signal.stft(x, 12, 5, fft_length=8, window_fn=tf.signal.hamming_window)",
    "tf.signal.stft(dynamic, n, 5, pad_end=True, window_fn=None)",
    "tf.signal.stft(tf.cast(x, tf.float64), 16, 4)",
    "tf.signal.inverse_stft(tf.signal.stft(x, 16, 4), 16, 4, "
    "window_fn=tf.signal.inverse_stft_window_fn(4))",
    "tf.signal.inverse_stft(tf.signal.stft(x, 12, 5), 12, 5)",
    "tf.signal.inverse_stft(tf.signal.stft(x, n, 5), n, 5, window_fn=None)",
    "tf.signal.inverse_stft(tf.signal.stft(x, 12, 5), 20, 5)",
    "tf.signal.inverse_stft_window_fn(n, tf.signal.hamming_window)(n + 7, dtype=tf.float32)",
    *(f"tf.signal.{name}(x, {kind})" for name in ("dct", "idct") for kind in (1, 2, 3, 4)),
    *(
        f"tf.signal.{name}(x, {kind}, norm='ortho')"
        for name in ("dct", "idct")
        for kind in (2, 3, 4)
    ),
    "tf.signal.dct(x, n=20)",
    "tf.signal.dct(tf.cast(x, tf.float64), n=60, type=4)",
    "tf.signal.dct(dynamic, type=3)",
    "tf.signal.mdct(x, 8)",
    "tf.signal.mdct(x, n * 4, window_fn=None, norm='ortho')",
    "tf.signal.mdct(x, 8, window_fn=tf.signal.kaiser_bessel_derived_window, pad_end=True)",
    "tf.signal.inverse_mdct(tf.signal.mdct(x, 8))",
    "tf.signal.inverse_mdct(tf.signal.mdct(x, 8, window_fn=None, norm='ortho'), None, 'ortho')",
    "tf.signal.linear_to_mel_weight_matrix()",
    "tf.signal.linear_to_mel_weight_matrix(5, 33, 16000, 20.0, 4000.0, tf.float64)",
    "tf.signal.linear_to_mel_weight_matrix(6, n * 3, tf.cast(n, tf.float32) * 2000.0)",
    "tf.signal.mfccs_from_log_mel_spectrograms(x)",
    "tf.signal.mfccs_from_log_mel_spectrograms(dynamic)",
    "tf.signal.fftshift(x)",
    "tf.signal.ifftshift(x, axes=(1, 0))",
    "tf.gradients(tf.abs(tf.signal.stft(x, 12, 5)), x)[0]",
    "tf.gradients(tf.signal.mdct(x, 8), x)[0]",
    "tf.gradients(tf.signal.overlap_and_add(x, 5) ** 2, x)[0]",
    "tf.gradients(tf.signal.dct(x, 3) ** 2, x)[0]",
]  # fmt: skip


def values(tf: Any) -> dict[str, Any]:
    """The value of each row."""
    state = RandomNumbers(7)
    x = state.normal(size=(3, 45)).astype(np.float32)
    found = {}
    for row in ROWS:
        with tf.Graph().as_default(), tf.Session() as session:
            feeds = {
                "dynamic": (tf.placeholder(tf.float32, [None, None]), x),
                "n": (tf.placeholder(tf.int32, []), 8),
                "one": (tf.placeholder(tf.int32, []), 1),
            }
            names = {name: tensor for name, (tensor, _) in feeds.items()}
            result = eval(row, {"tf": tf, "x": tf.constant(x), **names})
            found[row] = session.run(result, dict(feeds.values()))
    return found
