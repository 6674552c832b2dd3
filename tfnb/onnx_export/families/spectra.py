"""Complex numbers, Fourier transforms, spectrograms.

A complex tensor is a tensor of floats whose last axis has the real and the imaginary part, which is
also the form of ONNX's DFT.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.families.elementwise import angle_of
from tfnb.onnx_export.writing.converters import (
    CONVERTERS,
    NodeToConvert,
    converts,
    converts_complex,
)
from tfnb.onnx_export.writing.problems import Refused
from tfnb.ops.signal.audio_ops import has_enough_frequencies, mel_weights, spectrum_length

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType


def _real_dtype(dtype: DType) -> DType:
    return dtype.real_dtype if dtype.is_complex else dtype


class _Part(NodeToConvert):
    """A node as it works on the real or the imaginary parts of its inputs."""

    @classmethod
    def of(cls, node: NodeToConvert, place: int) -> NodeToConvert:
        """Return the node for the real parts (0) or the imaginary ones (1)."""
        inputs = [
            _part(node, value, place) if node.dtype(number).is_complex else value
            for number, value in enumerate(node.inputs)
        ]
        constants = [
            (np.imag(known) if place else np.real(known))
            if known is not None and np.iscomplexobj(known)
            else known
            for known in node.constants
        ]
        return cls(node.item, inputs, node.shapes, constants, node.output_shapes, node.writer)

    def dtype(self, index: int) -> DType:
        """Return the type of an input; of complex numbers, that of their parts."""
        return _real_dtype(super().dtype(index))

    def output_dtype(self, index: int = 0) -> DType:
        """Return the type of an output, likewise."""
        return _real_dtype(super().output_dtype(index))


def _part(node: NodeToConvert, value: str, place: int) -> str:
    return node.add("Gather", value, node.value(place, np.int64), axis=-1)


def _parts(node: NodeToConvert, index: int) -> list[str]:
    return [_part(node, node.inputs[index], place) for place in (0, 1)]


def _joined(node: NodeToConvert, real: str, imaginary: str) -> str:
    parts = [node.add("Unsqueeze", one, node.ints(-1)) for one in (real, imaginary)]
    return node.add("Concat", *parts, axis=-1)


@converts_complex(
    *("Reshape", "Transpose", "ExpandDims", "Squeeze", "ConcatV2", "Concat", "Pack", "Unpack"),
    *("Split", "SplitV", "Slice", "StridedSlice", "Gather", "GatherV2", "GatherNd", "Tile"),
    *("Pad", "PadV2", "ReverseV2", "Reverse", "Roll", "BroadcastTo", "Fill", "ZerosLike"),
    *("Sum", "Mean", "Cumsum", "SegmentSum", "UnsortedSegmentSum", "Select", "SelectV2"),
    *("MatrixBandPart", "MatrixDiagPart", "MirrorPad", "DynamicStitch", "AddN"),
)
def linear(node: NodeToConvert) -> list[str]:
    """Convert an op that does the same to the real and to the imaginary parts."""
    plain = CONVERTERS[node.op]
    made = [plain(_Part.of(node, place)) for place in (0, 1)]
    real, imaginary = ([one] if isinstance(one, str) else list(one) for one in made)
    return [_joined(node, *pair) for pair in zip(real, imaginary)]


@converts_complex("Identity", "StopGradient", "PreventGradient", "Snapshot", "EnsureShape")
def identity(node: NodeToConvert) -> str:
    """Convert an op that returns its input."""
    return node.inputs[0]


@converts_complex("Shape", "Size", "Rank", "ShapeN")
def shape(node: NodeToConvert) -> str | list[str]:
    """Convert the reading of a shape, which has no axis for the parts."""
    made = CONVERTERS[node.op](_Part.of(node, 0))
    return made if isinstance(made, str) else list(made)


@converts_complex("Add", "AddV2", "Sub", "Neg")
def sum_of(node: NodeToConvert) -> str:
    """Convert a sum or a difference, which are those of the parts."""
    dtype = _real_dtype(node.dtype(0))
    return node.numeric({"AddV2": "Add"}.get(node.op, node.op), node.inputs, dtype)


def _product(
    node: NodeToConvert, one: list[str], other: list[str], multiply: Callable[[str, str], str]
) -> str:
    dtype = _real_dtype(node.dtype(0))
    direct = [multiply(a, b) for a, b in zip(one, other)]
    cross = [multiply(a, b) for a, b in zip(one, reversed(other))]
    return _joined(node, node.numeric("Sub", direct, dtype), node.numeric("Add", cross, dtype))


@converts_complex("Mul", "Square", "MatMul", "BatchMatMul", "BatchMatMulV2")
def product(node: NodeToConvert) -> str:
    """Convert a product."""
    dtype = _real_dtype(node.dtype(0))
    one = _parts(node, 0)
    other = one if node.op == "Square" else _parts(node, 1)
    if node.op in ("Mul", "Square"):
        return _product(node, one, other, lambda a, b: node.numeric("Mul", [a, b], dtype))
    parts = [one, other]
    for side, names in enumerate((("transpose_a", "adj_x"), ("transpose_b", "adj_y"))):
        turned, adjoint = (bool(node.attr(name, False)) for name in names)
        if turned or adjoint:
            rank = node.rank(side)
            order = [*range(rank - 2), rank - 1, rank - 2]
            parts[side] = [node.transposed(part, order) for part in parts[side]]
        if adjoint:
            parts[side][1] = node.numeric("Neg", [parts[side][1]], dtype)
    one, other = parts
    return _product(node, one, other, lambda a, b: node.numeric("MatMul", [a, b], dtype))


@converts_complex("RealDiv", "Div", "Reciprocal")
def quotient(node: NodeToConvert) -> str:
    """Convert a division: the product with the conjugate, by the square of the size."""
    dtype = _real_dtype(node.dtype(0))
    below = _parts(node, len(node.inputs) - 1)
    size = _squares(node, below, dtype)
    conjugate = [below[0], node.numeric("Neg", [below[1]], dtype)]
    if node.op == "Reciprocal":
        return _joined(node, *(node.numeric("Div", [one, size], dtype) for one in conjugate))
    found = _product(
        node, _parts(node, 0), conjugate, lambda a, b: node.numeric("Mul", [a, b], dtype)
    )
    return node.numeric("Div", [found, node.add("Unsqueeze", size, node.ints(-1))], dtype)


def _squares(node: NodeToConvert, parts: list[str], dtype: DType) -> str:
    squares = [node.numeric("Mul", [one, one], dtype) for one in parts]
    return node.numeric("Add", squares, dtype)


@converts_complex("Exp")
def exponential(node: NodeToConvert) -> str:
    """Convert an exponential: a size and an angle."""
    dtype = _real_dtype(node.dtype(0))
    real, angle = _parts(node, 0)
    size = node.numeric("Exp", [real], dtype)
    parts = [node.numeric(op, [angle], dtype) for op in ("Cos", "Sin")]
    return _joined(node, *(node.numeric("Mul", [size, part], dtype) for part in parts))


@converts_complex("Complex")
def complex_of(node: NodeToConvert) -> str:
    """Convert the joining of real and imaginary parts, which may have shapes that fit."""
    parts = list(node.inputs)
    one, other = (shape.dim_values for shape in node.shapes)
    if one is None or None in one or one != other:
        dtype = node.dtype(0)
        whole = node.add("Shape", node.numeric("Add", parts, dtype))
        parts = [node.add("Expand", part, whole) for part in parts]
    return _joined(node, *parts)


@converts_complex("Real", "Imag")
def part_of(node: NodeToConvert) -> str:
    """Convert the reading of a part."""
    return _part(node, node.inputs[0], int(node.op == "Imag"))


@converts_complex("ComplexAbs", "Abs")
def size_of(node: NodeToConvert) -> str:
    """Convert the size of numbers."""
    dtype = _real_dtype(node.dtype(0))
    return node.numeric("Sqrt", [_squares(node, _parts(node, 0), dtype)], dtype)


@converts_complex("Angle")
def angle(node: NodeToConvert) -> str:
    """Convert the angle of numbers."""
    real, imaginary = _parts(node, 0)
    return angle_of(_Part.of(node, 0), imaginary, real)


@converts_complex("Conj", "ConjugateTranspose")
def conjugate(node: NodeToConvert) -> str:
    """Convert the conjugate."""
    signs = node.value([1, -1], _real_dtype(node.dtype(0)).numpy_dtype)
    value = node.inputs[0]
    if node.op == "ConjugateTranspose":
        order = [int(axis) for axis in node.needed(1, "its order of axes")]
        value = node.transposed(value, [*order, len(order)])
    return node.numeric("Mul", [value, signs], _real_dtype(node.dtype(0)))


@converts_complex("Cast")
def cast(node: NodeToConvert) -> str:
    """Convert a cast: a complex number loses its imaginary part, a real one gets 0."""
    source, target = node.dtype(0), node.output_dtype()
    value = node.inputs[0]
    if source.is_complex and not target.is_complex:
        found = _part(node, value, 0)
        return found if source.real_dtype == target else node.cast(found, target)
    wanted = target.real_dtype
    if source.is_complex:
        return value if source == target else node.cast(value, wanted)
    real = value if source == wanted else node.cast(value, wanted)
    zeros = node.numeric("Mul", [real, node.value(0, wanted.numpy_dtype)], wanted)
    return _joined(node, real, zeros)


# -- Fourier transforms


def _transformed(
    node: NodeToConvert, value: str, axis: int, length: int | None = None, **attrs: int
) -> str:
    """Return the transform along an axis of a value with an axis of parts.

    Args:
      node: the node.
      value: the value.
      axis: the axis, from the end, where the axis of parts is -1.
      length: how many values are transformed; the others are cut off, missing ones are 0.
      **attrs: attributes of DFT: inverse, onesided.
    """
    rank = node.rank(0) + 1
    more = "" if length is None else node.value(length, np.int64)
    # Runtimes need an axis before that of the signal.
    batched = node.add("Unsqueeze", value, node.ints(0))
    place = rank + 1 + axis
    if node.opset >= 20:
        found = node.add("DFT", batched, more, node.value(place, np.int64), **attrs)
    else:
        given = [batched] if length is None else [batched, more]
        found = node.add("DFT", *given, axis=place, **attrs)
    return node.add("Squeeze", found, node.ints(0))


@converts_complex("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D")
def transform(node: NodeToConvert) -> str:
    """Convert a transform along the last one, two or three axes."""
    number = int(node.op[-2]) if node.op.endswith("D") else 1
    attrs = {"inverse": 1} if node.op.startswith("I") else {}
    found = node.inputs[0]
    for axis in range(number):
        found = _transformed(node, found, -2 - axis, **attrs)
    return found


def _lengths(node: NodeToConvert, number: int) -> list[int]:
    found = [int(size) for size in np.reshape(node.needed(1, "its length"), -1)]
    if len(found) != number:
        raise Refused("its length has another number of axes")
    return found


@converts_complex("RFFT", "RFFT2D", "RFFT3D")
def real_transform(node: NodeToConvert) -> str:
    """Convert a transform of real numbers, whose second half is left out."""
    number = int(node.op[-2]) if node.op.endswith("D") else 1
    lengths = _lengths(node, number)
    value = node.add("Unsqueeze", node.inputs[0], node.ints(-1))
    found = _transformed(node, value, -2, lengths[-1], onesided=1)
    for axis in range(1, number):
        found = _transformed(node, found, -2 - axis, lengths[-1 - axis])
    return found


@converts_complex("IRFFT", "IRFFT2D", "IRFFT3D")
def inverse_real_transform(node: NodeToConvert) -> str:
    """Convert the inverse: the second half is the conjugate of the first, turned round."""
    number = int(node.op[-2]) if node.op.endswith("D") else 1
    lengths = _lengths(node, number)
    dtype = node.output_dtype()
    found = node.inputs[0]
    for axis in range(number - 1, 0, -1):
        found = _transformed(node, found, -2 - axis, lengths[-1 - axis], inverse=1)
    length = lengths[-1]
    kept = length // 2 + 1
    last = node.rank(0) - 1
    there = node.size(0, last)
    if there < kept:
        pads = [0] * (2 * node.rank(0) + 2)
        pads[node.rank(0) + 1 + last] = kept - there
        found = node.add("Pad", found, node.ints(*pads), node.value(0, dtype.numpy_dtype))
    places = [place if place < kept else length - place for place in range(length)]
    whole = node.add("Gather", found, node.value(places, np.int64), axis=last)
    signs = [[1, 1 if place < kept else -1] for place in range(length)]
    whole = node.numeric("Mul", [whole, node.value(signs, dtype.numpy_dtype)], dtype)
    return _part(node, _transformed(node, whole, -2, inverse=1), 0)


# -- sound


@converts("AudioSpectrogram")
def spectrogram(node: NodeToConvert) -> str:
    """Convert the spectrum of each window of sound."""
    size, stride = int(node.attr("window_size")), int(node.attr("stride"))
    length = node.size(0, 0)
    width, count = spectrum_length(size), max(1 + (length - size) // stride, 0)
    if not count:
        raise Refused("the sound is shorter than a window")
    places = np.arange(size)
    window = 0.5 - 0.5 * np.cos(2 * math.pi * places / size)
    index = stride * np.arange(count)[:, None] + places
    channels = node.transposed(node.inputs[0], [1, 0])
    framed = node.add("Gather", channels, node.value(index, np.int64), axis=1)
    framed = node.add("Mul", node.cast(framed, dtypes.float64), node.value(window))
    framed = node.add("Unsqueeze", framed, node.ints(-1))
    axis = [node.value(2, np.int64)] if node.opset >= 20 else []
    attrs = {} if node.opset >= 20 else {"axis": 2}
    found = node.add("DFT", framed, node.value(width, np.int64), *axis, onesided=1, **attrs)
    power = node.reduce("ReduceSum", node.add("Mul", found, found), [-1], dtypes.float64, False)
    if not node.attr("magnitude_squared", False):
        power = node.add("Sqrt", power)
    return node.cast(power, dtypes.float32)


@converts("Mfcc")
def mfcc(node: NodeToConvert) -> str:
    """Convert the cosine transforms of the logarithms of mel bands."""
    rate, length = int(node.needed(1, "its sample rate")), node.size(0, 2)
    upper = float(node.attr("upper_frequency_limit", 4000))
    if not has_enough_frequencies(length, rate, upper):
        raise Refused("there are too few frequencies for its bands")
    weights, cosines = mel_weights(
        length,
        rate,
        int(node.attr("filterbank_channel_count", 40)),
        int(node.attr("dct_coefficient_count", 13)),
        float(node.attr("lower_frequency_limit", 20)),
        upper,
    )
    sizes = node.add("Sqrt", node.cast(node.inputs[0], dtypes.float64))
    energies = node.add("MatMul", sizes, node.value(weights))
    floor = node.add("Max", energies, node.value(1e-12))
    found = node.add("MatMul", node.add("Log", floor), node.value(cosines))
    return node.cast(found, dtypes.float32)
