"""tf.signal: windows, frames, spectra over time, cosine transforms, the mel scale.

The Fourier transforms themselves are ops, in ``fft_ops.py``.
"""
