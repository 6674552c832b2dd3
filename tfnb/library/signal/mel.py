"""The mel scale of pitch: mel = 1127 ln(1 + hertz / 700), and cepstral coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.signal.cosine import dct
from tfnb.library.signal.frames import frame
from tfnb.ops.array import array_ops, pad_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.math import cwise_unary_ops, math_ops
from tfnb.ops.math.sequence_ops import linspace

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"signal": ["linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms"]}

_BREAK_HERTZ = 700.0
_MELS_PER_E = 1127.0


def _mel(hertz: TensorLike) -> TensorResult:
    with name_scope(None, "hertz_to_mel", [hertz]):
        hertz = convert_to_tensor(hertz)
        return _MELS_PER_E * cwise_unary_ops.log(1.0 + (hertz / _BREAK_HERTZ))


def _check(bins: int, sample_rate: Any, lower: float, upper: float, dtype: DType) -> None:
    if bins <= 0:
        raise ValueError(f"num_mel_bins must be positive. Got: {bins}")
    if lower < 0.0:
        raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower}")
    if lower >= upper:
        raise ValueError(f"lower_edge_hertz {lower:.1f} >= upper_edge_hertz {upper:.1f}")
    if not isinstance(sample_rate, Tensor):
        if sample_rate <= 0.0:
            raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
        if upper > sample_rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
                f"Got {upper} for sample_rate: {sample_rate}"
            )
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Got: {dtype!r}")


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: TensorLike = 129,
    sample_rate: TensorLike = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return the matrix that converts a spectrum of evenly spaced frequencies to mel bands.

    Each band is a triangle of height 1 between the middles of its neighbours.

    Args:
      num_mel_bins: number of bands.
      num_spectrogram_bins: number of frequencies from 0 to half the sample rate.
      sample_rate: samples per second.
      lower_edge_hertz: where the lowest band begins.
      upper_edge_hertz: where the highest band ends.
      dtype: a floating-point type.
      name: a name for the operation.

    Returns:
      The weights, of shape (num_spectrogram_bins, num_mel_bins).

    Raises:
      ValueError: an argument is out of its range.
    """
    dtype = dtypes.as_dtype(dtype)
    with name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, Tensor):
            known = constant_value(sample_rate)
            sample_rate = sample_rate if known is None else known
        _check(num_mel_bins, sample_rate, lower_edge_hertz, upper_edge_hertz, dtype)
        sample_rate = cast(sample_rate, dtype, name="sample_rate")
        lower = convert_to_tensor(lower_edge_hertz, dtype, name="lower_edge_hertz")
        upper = convert_to_tensor(upper_edge_hertz, dtype, name="upper_edge_hertz")
        zero = convert_to_tensor(0.0, dtype)
        # The frequency 0 is in no band; its weights are zero.
        hertz = linspace(zero, sample_rate / 2.0, num_spectrogram_bins)[1:]
        mels = array_ops.expand_dims(_mel(hertz), 1)
        edges = frame(
            linspace(_mel(lower), _mel(upper), num_mel_bins + 2), frame_length=3, frame_step=1
        )
        left, middle, right = (
            array_ops.reshape(edge, [1, num_mel_bins]) for edge in array_ops.split(edges, 3, axis=1)
        )
        rising = (mels - left) / (middle - left)
        falling = (right - mels) / (right - middle)
        weights = math_ops.maximum(zero, math_ops.minimum(rising, falling))
        return pad_ops.pad(weights, [[1, 0], [0, 0]], name=scope)


def mfccs_from_log_mel_spectrograms(
    log_mel_spectrograms: TensorLike, name: str | None = None
) -> Tensor:
    """Return mel-frequency cepstral coefficients: the cosine transform of log-mel spectra.

    Args:
      log_mel_spectrograms: float32 or float64, of shape (..., num_mel_bins).
      name: a name for the operation.

    Returns:
      The coefficients, of the same shape.

    Raises:
      ValueError: there are no mel bins.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectra = convert_to_tensor(log_mel_spectrograms)
        dims = spectra.shape.dim_values
        bins: TensorLike
        if dims and dims[-1] is not None:
            bins = dims[-1]
            if bins == 0:
                raise ValueError(f"num_mel_bins must be positive. Got: {spectra}")
        else:
            bins = array_ops.shape(spectra)[-1]
        values: TensorLike = dct(spectra, type=2)
        return values * math_ops.rsqrt(cast(bins, values.dtype) * 2.0)  # type: ignore[no-any-return]
