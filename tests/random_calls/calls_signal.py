"""Random calls of Fourier transforms and of functions of mathematical physics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.ops.samples import NUMPY_TYPES, Many, Sample, op
from tests.random_calls.draws import Draw, calls


def _loose(row: Sample, is_double: bool) -> Sample:
    return replace(row, rtol=1e-9 if is_double else 1e-4, atol=1e-9 if is_double else 2e-4)


@calls("FFT FFT2D FFT3D IFFT IFFT2D IFFT3D")
def _complex(d: Draw, name: str) -> Sample:
    rank = int(name[-2]) if name[-1] == "D" else 1
    word = d.one("complex64 complex64 complex128")
    return _loose(op(name, d.values(word, d.shape(rank, rank + 2, 6), 0)), word == "complex128")


@calls("RFFT RFFT2D RFFT3D IRFFT IRFFT2D IRFFT3D")
def _real(d: Draw, name: str) -> Sample:
    rank = int(name[-2]) if name[-1] == "D" else 1
    is_double, is_inverse = d.chance(0.3), name[0] == "I"
    given = ("complex128" if is_double else "complex64") if is_inverse else (
        "float64" if is_double else "float32"
    )  # fmt: skip
    # TensorFlow crashes for a length of 0, and returns arbitrary values for an axis without
    # elements.
    shape = d.shape(rank, rank + 2, 6)
    shape = (*shape[:-rank], *(max(size, 1) for size in shape[-rank:]))
    x = d.values(given, shape, 0)
    whole = [*shape[-rank:-1], 2 * shape[-1] - 1 if is_inverse else shape[-1]]
    sizes = [d.number(1, 6) if d.chance(0.3) else size for size in whole]
    row = op(
        name, x, np.array(sizes, np.int32), Tcomplex="complex128" if is_double else "complex64"
    )
    if is_inverse:
        row = replace(row, attrs={**row.attrs, "Treal": "float64" if is_double else "float32"})
    else:
        row = replace(row, attrs={**row.attrs, "Treal": given})
    # TensorFlow's gradient is right only for the signal's own length.
    return _loose(replace(row, gradient=sizes == whole), is_double)


_ABOVE_ZERO = "BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 Spence"


@calls(f"""BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 Dawsn Expint FresnelCos
FresnelSin {_ABOVE_ZERO}""")
def _special(d: Draw, name: str) -> Sample:
    word = d.types(name)
    x = d.values(word, d.shape(0, 2, 5), 0.3, 4.0)
    x = np.where(x == 1e4, np.array(100, x.dtype), x).astype(x.dtype)
    if d.chance(0.7) and name in _ABOVE_ZERO.split():
        x = np.abs(x) + np.array(0.1, x.dtype)
    if word == "float16":
        x = x + np.float16(0)  # of a negative zero TensorFlow knows Y1 in other types only
    row = op(name, x)
    if word in ("float16", "bfloat16"):
        return replace(row, rtol=5e-2, atol=5e-2)
    return replace(row, rtol=1e-7 if word == "float64" else 5e-5, atol=1e-6)


@calls("AudioSpectrogram")
def _spectrogram(d: Draw, name: str) -> Sample:
    x = d.values("float32", (d.number(4, 40), d.number(1, 2)), 0)
    attrs = {"window_size": d.number(2, 16), "stride": d.number(1, 8)}
    row = op(name, x, magnitude_squared=d.chance(0.5), **attrs)
    return replace(row, rtol=1e-3, atol=1e-3)


@calls("Mfcc")
def _mfcc(d: Draw, name: str) -> Sample:
    shape = (d.number(1, 2), d.number(1, 3), d.one([65, 129]))
    spectrogram = d.random.uniform(0, 4, shape).astype(np.float32)
    row = op(
        name, spectrogram, np.array(d.one([8000, 16000]), np.int32),
        filterbank_channel_count=d.number(5, 30), dct_coefficient_count=d.number(1, 5),
    )  # fmt: skip
    return replace(row, rtol=1e-3, atol=1e-3)


@calls("Einsum")
def _einsum(d: Draw, name: str) -> Sample:
    sizes = {letter: d.number(0 if d.chance(0.05) else 1, 4) for letter in "abcdij"}
    pick = [c for c in "abcdij" if d.chance(0.4)][:3]
    other = [c for c in "abcdij" if d.chance(0.4)][:3]
    d.random.shuffle(pick)
    d.random.shuffle(other)
    terms = ["".join(pick)]
    if d.chance(0.8):
        terms.append("".join(other))
    if d.chance(0.1) and terms[0]:
        terms[0] += terms[0][0]
    letters = sorted(set("".join(terms)))
    kept = "".join(c for c in letters if d.chance(0.5))
    word = d.one("float32 float32 float64 int32 complex64")
    wide = d.shape(0, 2, 3) if d.chance(0.3) else None
    arrays = []
    for position, term in enumerate(terms):
        shape = tuple(sizes[c] for c in term)
        if wide is not None:
            shape = (wide if position == 0 else wide[d.number(0, len(wide)) :]) + shape
        arrays.append(d.values(word, shape, 0))
    dots = "..." if wide is not None else ""
    equation = ",".join(dots + term for term in terms) + "->" + dots + kept
    row = op(name, Many(arrays), equation=equation)
    return replace(row, rtol=1e-4 if NUMPY_TYPES[word] is not np.float64 else 1e-9, atol=1e-4)
