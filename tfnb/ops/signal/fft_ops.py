"""Fourier transforms over the last one, two or three axes, and their functions in tf.signal.

Forward: X[k] = sum_n x[n] exp(-2 pi i k n / N); the inverse divides by N. The transforms of real
  signals keep only the first N // 2 + 1 values of the last axis; the others are their conjugates.
Corresponds to TensorFlow's ``fft_ops.cc`` and ``fft_ops.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.constant_value import constant_value
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops, pad_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.where_ops import where
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.math import math_ops, reduction_ops
from tfnb.ops.math.complex_ops import real
from tfnb.ops.math.cwise_binary_ops import floor_mod
from tfnb.ops.math.cwise_unary_ops import exp_op, reciprocal
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

_COMPLEX_NAMES = ["fft", "fft2d", "fft3d", "ifft", "ifft2d", "ifft3d"]
_REAL_NAMES = ["irfft", "irfft2d", "irfft3d", "rfft", "rfft2d", "rfft3d"]
EXPORTS = {
    "tf": _COMPLEX_NAMES,
    "spectral": [*_COMPLEX_NAMES, *_REAL_NAMES],
    "signal": [*_COMPLEX_NAMES, *_REAL_NAMES, "fftshift", "ifftshift"],
}

_COMPLEX = "Tcomplex: {complex64, complex128} = DT_COMPLEX64"
_REAL = "Treal: {float, double} = DT_FLOAT"


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def _check_rank(x: Array, rank: int) -> None:
    if x.ndim < rank:
        raise errors.invalid_argument(
            f"Input must have rank of at least {rank} but got: {shape_text(x.shape)}"
        )


# ---------------------------------------------------------------------------------- complex signals


def _complex_transform(name: str, rank: int, *, forward: bool) -> OpDefinition:
    """Define the op for complex signals over the last ``rank`` axes, with its gradient."""

    def transform(xp: Xp, x: Array) -> Array:
        _check_rank(x, rank)
        if x.size == 0:
            return x
        function = xp.fft.fftn if forward else xp.fft.ifftn
        return function(x, axes=_axes(rank)).astype(x.dtype, copy=False)

    direction = "Fourier transform" if forward else "Inverse Fourier transform"
    transform.__doc__ = f"{direction} of complex signals over the last {rank} axes."
    definition: OpDefinition = register_op(
        name,
        "input: Tcomplex -> output: Tcomplex",
        _COMPLEX,
        shape=lambda c: c.with_rank_at_least(0, rank),
    )(transform)
    return definition


def _signal_size(x: TensorLike, rank: int) -> Any:
    """Return the number of values of one transform, as a tensor."""
    return reduction_ops.reduce_prod(array_ops.shape(x)[-rank:])


def _link_gradients(forward: OpDefinition, inverse: OpDefinition, rank: int) -> None:
    """Register each op as the other's gradient, up to the factor of the inverse."""

    @forward.gradient
    def _(op: Operation, grad: Tensor) -> Gradients:
        size = cast(_signal_size(grad, rank), grad.dtype)
        return inverse(grad) * size

    @inverse.gradient
    def _(op: Operation, grad: Tensor) -> Gradients:
        size = cast(1.0 / cast(_signal_size(grad, rank), grad.dtype.real_dtype), grad.dtype)
        return forward(grad) * size


fft = _complex_transform("FFT", 1, forward=True)
ifft = _complex_transform("IFFT", 1, forward=False)
fft2d = _complex_transform("FFT2D", 2, forward=True)
ifft2d = _complex_transform("IFFT2D", 2, forward=False)
fft3d = _complex_transform("FFT3D", 3, forward=True)
ifft3d = _complex_transform("IFFT3D", 3, forward=False)
_link_gradients(fft, ifft, 1)
_link_gradients(fft2d, ifft2d, 2)
_link_gradients(fft3d, ifft3d, 3)


# ------------------------------------------------------------------------------------- real signals


def _real_shape(rank: int, *, forward: bool) -> Callable[[InferenceContext], TensorShape]:
    """Return a shape function; the last axis of a spectrum holds only half of it."""

    def shape(c: InferenceContext) -> TensorShape:
        dims = c.with_rank_at_least(0, rank).dim_values
        lengths = c.with_rank(1, 1).dim_values
        if lengths and lengths[0] is not None and lengths[0] != rank:
            raise ValueError(f"Dimension must be {rank} but is {lengths[0]}")
        if dims is None:
            return TensorShape(None)
        wanted = c.constant_value(1)
        tail: list[int | None] = [None] * rank
        if wanted is not None:
            sizes = wanted.tolist()
            if forward and sizes[-1]:
                sizes[-1] = int(sizes[-1] / 2) + 1
            if min(sizes) < -1:
                raise ValueError(f"Dimension {min(sizes)} must be >= 0")
            # -1 is unknown here; the kernel refuses it.
            tail = [None if size < 0 else size for size in sizes]
        return TensorShape([*dims[: len(dims) - rank], *tail])

    return shape


def _checked_lengths(x: Array, fft_length: Array, rank: int, *, forward: bool) -> list[int]:
    _check_rank(x, rank)
    if fft_length.ndim != 1 or fft_length.size != rank:
        raise errors.invalid_argument(f"fft_length must have shape [{rank}]")
    lengths: list[int] = fft_length.tolist()
    for position, length in enumerate(lengths):
        if length < 0:
            raise errors.invalid_argument(f"fft_length[{position}] must >= 0, but got: {length}")
        is_half = not forward and position == rank - 1
        needed = length // 2 + 1 if is_half and length else length
        found = x.shape[x.ndim - rank + position]
        # TensorFlow refuses no axis without elements.
        if found and found < needed:
            raise errors.invalid_argument(
                f"Input dimension {x.ndim - rank + position} must have length of at least "
                f"{needed} but got: {found}"
            )
    return lengths


def _first(x: Array, sizes: list[int]) -> Array:
    """Return the first ``sizes`` entries of the last axes."""
    return x[(..., *(slice(size) for size in sizes))]


def _real_transform(name: str, rank: int) -> OpDefinition:
    """Define the op for real signals over the last ``rank`` axes."""

    def transform(xp: Xp, x: Array, fft_length: Array, *, Tcomplex: DType) -> Array:
        lengths = _checked_lengths(x, fft_length, rank, forward=True)
        out = [*lengths[:-1], lengths[-1] // 2 + 1 if lengths[-1] else 0]
        shape = (*x.shape[: x.ndim - rank], *out)
        if x.size == 0 or 0 in shape:
            return xp.zeros(shape, Tcomplex.as_numpy_dtype)
        result = xp.fft.rfftn(_first(x, lengths), axes=_axes(rank))
        return result.astype(Tcomplex.as_numpy_dtype, copy=False)

    transform.__doc__ = f"Fourier transform of real signals over the last {rank} axes."
    definition: OpDefinition = register_op(
        name,
        "input: Treal, fft_length: int32 -> output: Tcomplex",
        _REAL,
        _COMPLEX,
        shape=_real_shape(rank, forward=True),
        host_memory=("fft_length",),
    )(transform)
    return definition


def _inverse_real_transform(name: str, rank: int) -> OpDefinition:
    """Define the inverse op for real signals over the last ``rank`` axes."""

    def transform(xp: Xp, x: Array, fft_length: Array, *, Treal: DType) -> Array:
        lengths = _checked_lengths(x, fft_length, rank, forward=False)
        shape = (*x.shape[: x.ndim - rank], *lengths)
        if x.size == 0 or 0 in shape:
            return xp.zeros(shape, Treal.as_numpy_dtype)
        half = [*lengths[:-1], lengths[-1] // 2 + 1]
        result = xp.fft.irfftn(_first(x, half), s=tuple(lengths), axes=_axes(rank))
        return result.astype(Treal.as_numpy_dtype, copy=False)

    transform.__doc__ = f"Real signals from half of their spectrum over the last {rank} axes."
    definition: OpDefinition = register_op(
        name,
        "input: Tcomplex, fft_length: int32 -> output: Treal",
        _REAL,
        _COMPLEX,
        shape=_real_shape(rank, forward=False),
        host_memory=("fft_length",),
    )(transform)
    return definition


def _tiled_as(matrix: TensorLike, like: TensorLike) -> TensorResult:
    """Return the matrix repeated over the batch of another tensor."""
    ones = array_ops.ones([array_ops.rank(like) - 2], dtypes.int32)
    expanded = array_ops.reshape(matrix, array_ops.concat([ones, array_ops.shape(matrix)], 0))
    return array_ops.tile(expanded, array_ops.concat([array_ops.shape(like)[:-2], [1, 1]], 0))


def _turns(length: TensorLike, dtype: DType) -> TensorResult:
    """Return exp(-2 pi i a b / length) for all a and b below the length."""
    first = array_ops.tile(array_ops.expand_dims(range_(length), 0), (length, 1))
    second = array_ops.transpose(first, [1, 0])
    angle = -2j * math.pi * cast(first * second, dtype)
    return exp_op(angle / cast(length, dtype))


def _alternating(length: TensorLike, dtype: DType) -> Any:
    """Return 1, -1, 1, -1, ..."""
    return cast(1 - 2 * (range_(length) % 2), dtype)


def _link_real_gradients(
    forward: OpDefinition,
    inverse: OpDefinition,
    functions: tuple[Any, Any],
    rank: int,
) -> None:
    """Register the gradients between half spectra and real signals over one or two axes."""

    @forward.gradient
    def _(op: Operation, grad: Tensor) -> Gradients:
        # The inverse counts every value twice, except the first and the last column; the
        # contribution of these two columns is added again, and the sum is halved.
        lengths = op.inputs[1]
        dtype = grad.dtype
        shape = array_ops.shape(op.inputs[0])
        is_even = cast(1 - (lengths[-1] % 2), dtype)
        first = grad[..., 0:1]
        if rank == 1:
            last = grad[..., -1:]
            extra = first + is_even * last * _alternating(shape[-1], dtype)
        else:
            turns = _tiled_as(_turns(shape[-2], dtype), first)
            extra = math_ops.matmul(turns, math_ops.conj(first))
            last = math_ops.matmul(turns, math_ops.conj(grad[..., -1:]))
            columns = shape[-1]
            ones = array_ops.ones([array_ops.rank(grad) - 1], dtypes.int32)
            repeats = array_ops.concat([ones, [columns]], 0)
            last = array_ops.tile(last, repeats) * _alternating(columns, dtype)
            extra += is_even * last
        size = cast(_signal_size(op.inputs[0], rank), dtype.real_dtype)
        signal = functions[1](grad, lengths)
        return 0.5 * (signal * size + real(extra)), None

    @inverse.gradient
    def _(op: Operation, grad: Tensor) -> Gradients:
        # Every value counts twice, except the first and, for an even length, the last.
        known = constant_value(op.inputs[1])
        lengths = op.inputs[1] if known is None else known
        dtype = grad.dtype
        is_odd = floor_mod(lengths[-1], 2, name="mod")
        columns = array_ops.shape(op.inputs[0])[-1]
        counts = array_ops.concat(
            [
                [1.0],
                2.0 * array_ops.ones([columns - 2 + is_odd], dtype),
                array_ops.ones([1 - is_odd], dtype),
            ],
            0,
        )
        inverse_size = reciprocal(cast(_signal_size(grad, rank), dtype))
        spectrum = functions[0](grad, lengths)
        return spectrum * cast(inverse_size * counts, op.inputs[0].dtype), None


rfft_op = _real_transform("RFFT", 1)
irfft_op = _inverse_real_transform("IRFFT", 1)
rfft2d_op = _real_transform("RFFT2D", 2)
irfft2d_op = _inverse_real_transform("IRFFT2D", 2)
rfft3d_op = _real_transform("RFFT3D", 3)
irfft3d_op = _inverse_real_transform("IRFFT3D", 3)


# ------------------------------------------------------------------------------ functions of users


def _inferred_length(x: TensorLike, rank: int, *, forward: bool) -> TensorResult:
    """Return the length of the signals whose values, or (half) spectrum, `x` holds."""
    dims = x.shape.dim_values
    tail = None if dims is None else list(dims[-rank:])
    if tail is not None and None not in tail:
        if not forward and tail[-1]:
            tail[-1] = max(0, 2 * (tail[-1] - 1))
        return convert_to_tensor(tail, dtypes.int32)
    lengths = array_ops.shape(x)[-rank:]
    if forward:
        return lengths
    sizes = array_ops.unstack(lengths)
    sizes[-1] = math_ops.maximum(0, 2 * (sizes[-1] - 1))
    return array_ops.stack(sizes)


def _padded(x: TensorLike, rank: int, fft_length: TensorLike, *, forward: bool) -> TensorResult:
    """Return `x` followed by zeros, where it is shorter than the transform."""
    wanted = constant_value(fft_length)
    dims = x.shape.dim_values
    if dims is not None and 0 in dims:
        return x
    if wanted is not None and dims is not None:
        needed = wanted.tolist()
        if not forward and needed[-1]:
            needed[-1] = needed[-1] // 2 + 1
        tail = dims[-rank:]
        if None not in tail:
            missing = [max(n - d, 0) for n, d in zip(needed, tail, strict=True)]
            if not any(missing):
                return x
            return pad_ops.pad(x, [(0, 0)] * (len(dims) - rank) + [(0, m) for m in missing])
    input_rank = array_ops.rank(x)
    input_lengths = array_ops.shape(x)[-rank:]
    outer = array_ops.zeros([math_ops.maximum(0, input_rank - rank)], dtypes.int32)
    lengths = fft_length
    if not forward:
        others = fft_length[:-1]
        lengths = array_ops.concat([others, fft_length[-1:] // 2 + 1], 0)
    missing_sizes = math_ops.maximum(0, lengths - input_lengths)
    after = array_ops.concat([outer, missing_sizes], 0)
    return pad_ops.pad(x, array_ops.stack([array_ops.zeros_like(after), after], axis=1))


def _real_function(op: OpDefinition, rank: int, default_name: str) -> Any:
    def transform(
        input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
    ) -> Any:
        with name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.float32)
            return _apply_real(op, x, rank, fft_length, scope, forward=True)

    transform.__name__ = transform.__qualname__ = default_name
    transform.__doc__ = f"""Half of the spectrum of real signals over the last {rank} axes.

    Args:
      input_tensor: float32 signals.
      fft_length: the number of values per axis, cut or padded with zeros; all by default.
      name: A name for the operation.
    """
    return transform


def _inverse_function(op: OpDefinition, rank: int, default_name: str) -> Any:
    def transform(
        input_tensor: TensorLike, fft_length: TensorLike | None = None, name: str | None = None
    ) -> Any:
        with name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, preferred_dtype=dtypes.complex64)
            return _apply_real(op, x, rank, fft_length, scope, forward=False)

    transform.__name__ = transform.__qualname__ = default_name
    transform.__doc__ = f"""Real signals from half of their spectrum over the last {rank} axes.

    Args:
      input_tensor: complex64 spectra of fft_length // 2 + 1 values along the last axis.
      fft_length: the signals' lengths; by default twice the spectrum's less one.
      name: A name for the operation.
    """
    return transform


def _apply_real(
    op: OpDefinition, x: TensorLike, rank: int, fft_length: TensorLike, name: str, *, forward: bool
) -> Any:
    x.shape.with_rank_at_least(rank)
    if fft_length is None:
        lengths = _inferred_length(x, rank, forward=forward)
    else:
        lengths = convert_to_tensor(fft_length, dtypes.int32)
    x = _padded(x, rank, lengths, forward=forward)
    known = constant_value(lengths)
    lengths = lengths if known is None else known
    if forward:
        wide = dtypes.complex128 if x.dtype is dtypes.float64 else dtypes.complex64
        return op(x, lengths, Tcomplex=wide, name=name)
    return op(x, lengths, Treal=x.dtype.real_dtype, name=name)


rfft = _real_function(rfft_op, 1, "rfft")
rfft2d = _real_function(rfft2d_op, 2, "rfft2d")
rfft3d = _real_function(rfft3d_op, 3, "rfft3d")
irfft = _inverse_function(irfft_op, 1, "irfft")
irfft2d = _inverse_function(irfft2d_op, 2, "irfft2d")
irfft3d = _inverse_function(irfft3d_op, 3, "irfft3d")
_link_real_gradients(rfft_op, irfft_op, (rfft, irfft), 1)
_link_real_gradients(rfft2d_op, irfft2d_op, (rfft2d, irfft2d), 2)


def _shifted(
    x: TensorLike, axes: TensorLike, name: str | None, default_name: str, *, back: bool
) -> TensorResult:
    with name_scope(name, default_name) as scope:
        x = convert_to_tensor(x)
        if axes is None:
            rank = x.shape.ndims
            if rank is None:
                raise ValueError(f"{default_name} of a tensor of unknown rank needs `axes`")
            axes = tuple(range(rank))
            lengths = array_ops.shape(x)
        elif isinstance(axes, int):
            lengths = array_ops.shape(x)[axes]
        else:
            rank = array_ops.rank(x)
            axes = where(math_ops.less(axes, 0), axes + rank, axes)
            lengths = array_ops.gather(array_ops.shape(x), axes)
        shift = -(lengths // 2) if back else lengths // 2
        return array_ops.roll(x, shift, axes, name=scope)


def fftshift(
    x: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> TensorResult:
    """Move the value of frequency zero to the middle of the axes (all by default)."""
    return _shifted(x, axes, name, "fftshift", back=False)


def ifftshift(
    x: TensorLike, axes: TensorLike | None = None, name: str | None = None
) -> TensorResult:
    """Return the inverse of :func:`fftshift`."""
    return _shifted(x, axes, name, "ifftshift", back=True)
