# The names of tf.spectral; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.signal.cosine import dct as dct
from tfnb.library.signal.cosine import idct as idct
from tfnb.ops.signal.fft_ops import fft as fft
from tfnb.ops.signal.fft_ops import fft2d as fft2d
from tfnb.ops.signal.fft_ops import fft3d as fft3d
from tfnb.ops.signal.fft_ops import ifft as ifft
from tfnb.ops.signal.fft_ops import ifft2d as ifft2d
from tfnb.ops.signal.fft_ops import ifft3d as ifft3d
from tfnb.ops.signal.fft_ops import irfft as irfft
from tfnb.ops.signal.fft_ops import irfft2d as irfft2d
from tfnb.ops.signal.fft_ops import irfft3d as irfft3d
from tfnb.ops.signal.fft_ops import rfft as rfft
from tfnb.ops.signal.fft_ops import rfft2d as rfft2d
from tfnb.ops.signal.fft_ops import rfft3d as rfft3d
