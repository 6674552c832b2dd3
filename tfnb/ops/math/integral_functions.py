"""Functions defined by integrals, on arrays of float64: Dawson, Fresnel, Ei, dilogarithm.

Formulas: Rybicki's sum for Dawson's function; power and asymptotic series for the exponential
integral; the auxiliary functions f and g (Abramowitz and Stegun 7.3) for Fresnel's integrals;
Bernoulli's series in the logarithm for the dilogarithm.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

_EULER = 0.57721566490153286061
_DAWSON_STEP = 0.2


def dawsn(xp: Xp, x: Array) -> Array:
    """Return Dawson's integral: exp(-x^2) times the integral of exp(t^2) from 0 to x."""
    modulus = xp.abs(x)
    near = xp.minimum(modulus, 0.5)
    square = near * near
    small = xp.zeros_like(near)
    for k in range(16, -1, -1):
        small = 1.0 - 2.0 * square / (2 * k + 3) * small if k < 16 else xp.ones_like(near)
    small = near * small
    middle = xp.clip(modulus, 0.5, 20.0)
    centre = 2.0 * xp.rint(0.5 * middle / _DAWSON_STEP)
    offset = middle - centre * _DAWSON_STEP
    total = xp.zeros_like(middle)
    for n in range(-39, 40, 2):
        total = total + xp.exp(-((offset - n * _DAWSON_STEP) ** 2)) / (centre + n)
    inner = total / math.sqrt(math.pi)
    inverse = 1.0 / xp.maximum(modulus, 20.0)
    half = 0.5 * inverse * inverse
    outer = xp.ones_like(inverse)
    for k in range(8, 0, -1):
        outer = 1.0 + (2 * k - 1) * half * outer
    outer = 0.5 * inverse * outer
    found = xp.where(modulus <= 0.5, small, xp.where(modulus <= 20.0, inner, outer))
    found = xp.where((x < 0) & (found > 0), -found, found)
    return xp.where(xp.isnan(x), x, found)


def expint(xp: Xp, x: Array) -> Array:
    """Return the exponential integral Ei(x); NaN where x < 0."""
    near = xp.clip(x, 0.0, 40.0)
    total, term = xp.zeros_like(near), xp.ones_like(near)
    for k in range(1, 150):
        term = term * near / k
        total = total + term / k
    small = _EULER + xp.log(near) + total
    far = xp.maximum(x, 40.0)
    outer = xp.ones_like(far)
    for k in range(38, 0, -1):
        outer = 1.0 + k / far * outer
    outer = xp.exp(far) / far * outer
    found = xp.where(x <= 40.0, small, outer)
    return xp.where(x < 0, np.nan, xp.where(xp.isnan(x), x, found))


def _auxiliaries(xp: Xp, x: Array) -> tuple[Array, Array]:
    """Return Fresnel's f and g for x >= 1.5: integrals of a bell curve, by the trapezoidal rule."""
    step = 0.1 * xp.minimum(1.0, 3.0 / x)
    decay = math.pi / 2 * (x * step) ** 2
    f, g = xp.full_like(x, 0.5), xp.zeros_like(x)
    for k in range(1, 45):
        square = (k * step) ** 2
        value = xp.exp(-decay * (k * k)) / (square * square + 1.0)
        f, g = f + value, g + square * value
    factor = math.sqrt(2) / math.pi * step
    return factor * f, factor * g


def _fresnel(xp: Xp, x: Array) -> tuple[Array, Array]:
    """Return the cosine and the sine integral."""
    modulus = xp.abs(x)
    near = xp.minimum(modulus, 1.5)
    angle = math.pi / 2 * near * near
    square = -angle * angle
    cosine, sine = xp.zeros_like(near), xp.zeros_like(near)
    term_cosine, term_sine = near, near * angle
    for n in range(20):
        cosine = cosine + term_cosine / (4 * n + 1)
        sine = sine + term_sine / (4 * n + 3)
        term_cosine = term_cosine * square / ((2 * n + 1) * (2 * n + 2))
        term_sine = term_sine * square / ((2 * n + 2) * (2 * n + 3))
    far = xp.clip(modulus, 1.5, 36974.0)
    f, g = _auxiliaries(xp, far)
    # Multiples of 4 of x^2 turn x^2 / 2 by whole circles; the remainder keeps all its bits.
    phase = math.pi / 2 * xp.fmod(far * far, 4.0)
    outer_cosine = 0.5 + f * xp.sin(phase) - g * xp.cos(phase)
    outer_sine = 0.5 - f * xp.cos(phase) - g * xp.sin(phase)
    beyond = modulus > 36974.0
    cosine = xp.where(modulus <= 1.5, cosine, xp.where(beyond, 0.5, outer_cosine))
    sine = xp.where(modulus <= 1.5, sine, xp.where(beyond, 0.5, outer_sine))
    return tuple(
        xp.where(xp.isnan(x), x, xp.where(x < 0, -found, found)) for found in (cosine, sine)
    )


def fresnel_cos(xp: Xp, x: Array) -> Array:
    """Return the integral of cos(pi t^2 / 2) from 0 to x."""
    return _fresnel(xp, x)[0]


def fresnel_sin(xp: Xp, x: Array) -> Array:
    """Return the integral of sin(pi t^2 / 2) from 0 to x."""
    return _fresnel(xp, x)[1]


# B(2k) / (2k + 1)!
_BERNOULLI = [
    numerator / denominator / math.factorial(2 * k + 1)
    for k, (numerator, denominator) in enumerate(
        [
            (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510),
            (43867, 798), (-174611, 330),
        ],
        start=1,
    )
]  # fmt: skip


def spence(xp: Xp, x: Array) -> Array:
    """Return the dilogarithm of 1 - x; NaN where x < 0."""
    positive = xp.where(x > 0, x, 1.0)
    # Three regions: the series near 1, the mirror image of small arguments, and the inverse of
    # large arguments, which is small.
    large = positive > 2.0
    inner = xp.where(large, 1.0 / positive, positive)
    small = inner < 0.5
    u = 0.0 - xp.log(xp.where(small, 1.0 - inner, inner))
    square = u * u
    total = xp.zeros_like(u)
    for coefficient in reversed(_BERNOULLI):
        total = (total + coefficient) * square
    value = u * (1.0 + total) - square / 4
    logarithm = xp.log(inner)
    mirrored = math.pi**2 / 6 - logarithm * xp.log1p(-xp.minimum(inner, 0.5)) - value
    value = xp.where(small, mirrored, value)
    found = xp.where(large, -value - logarithm * logarithm / 2, value)
    found = xp.where(x == 0, math.pi**2 / 6, found)
    return xp.where((x < 0) | xp.isinf(x), np.nan, xp.where(xp.isnan(x), x, found))
