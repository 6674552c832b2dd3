# The names of tf.signal; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.signal.cosine import dct as dct
from tfnb.library.signal.cosine import idct as idct
from tfnb.library.signal.frames import frame as frame
from tfnb.library.signal.frames import overlap_and_add as overlap_and_add
from tfnb.library.signal.mel import (
    mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms,
)
from tfnb.library.signal.mel import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from tfnb.library.signal.spectra import inverse_mdct as inverse_mdct
from tfnb.library.signal.spectra import inverse_stft as inverse_stft
from tfnb.library.signal.spectra import inverse_stft_window_fn as inverse_stft_window_fn
from tfnb.library.signal.spectra import mdct as mdct
from tfnb.library.signal.spectra import stft as stft
from tfnb.library.signal.windows import hamming_window as hamming_window
from tfnb.library.signal.windows import hann_window as hann_window
from tfnb.library.signal.windows import kaiser_bessel_derived_window as kaiser_bessel_derived_window
from tfnb.library.signal.windows import kaiser_window as kaiser_window
from tfnb.library.signal.windows import vorbis_window as vorbis_window
from tfnb.ops.signal.fft_ops import fft as fft
from tfnb.ops.signal.fft_ops import fft2d as fft2d
from tfnb.ops.signal.fft_ops import fft3d as fft3d
from tfnb.ops.signal.fft_ops import fftshift as fftshift
from tfnb.ops.signal.fft_ops import ifft as ifft
from tfnb.ops.signal.fft_ops import ifft2d as ifft2d
from tfnb.ops.signal.fft_ops import ifft3d as ifft3d
from tfnb.ops.signal.fft_ops import ifftshift as ifftshift
from tfnb.ops.signal.fft_ops import irfft as irfft
from tfnb.ops.signal.fft_ops import irfft2d as irfft2d
from tfnb.ops.signal.fft_ops import irfft3d as irfft3d
from tfnb.ops.signal.fft_ops import rfft as rfft
from tfnb.ops.signal.fft_ops import rfft2d as rfft2d
from tfnb.ops.signal.fft_ops import rfft3d as rfft3d
