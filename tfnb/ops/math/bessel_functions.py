"""Bessel functions of order 0 and 1 on arrays of float64.

Small arguments: the trapezoidal rule on the integrals over an angle, which converges faster than
any power because they are periodic, or (second kind) the ascending series and Neumann's expansion
in Bessel functions of higher order, which Miller's backward recurrence computes. Large arguments:
Hankel's asymptotic series. At the borders both methods are exact to the last digit. Formulas:
Abramowitz and Stegun, 9.1, 9.2, 9.6, 9.7.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp

_EULER = 0.57721566490153286061
# Beyond this argument the asymptotic series is exact: its smallest term is exp(-2 * 25).
_FAR = 25.0
# Points of the trapezoidal rule on half a turn.
_ANGLES = 48
_TERMS = 30


def _hankel_terms(order: int) -> list[float]:
    """Return the numbers a_k of the asymptotic series: products of (4 n^2 - (2k - 1)^2) / (8 k)."""
    terms = [1.0]
    for k in range(1, _TERMS):
        terms.append(terms[-1] * (4 * order * order - (2 * k - 1) ** 2) / (8 * k))
    return terms


_HANKEL = [_hankel_terms(0), _hankel_terms(1)]


def _series(xp: Xp, coefficients: list[float], y: Array) -> Array:
    """Return the sum of coefficients[k] * y**k."""
    value = xp.zeros_like(y)
    for coefficient in reversed(coefficients):
        value = value * y + coefficient
    return value


# ------------------------------------------------------------------------------ modified, I and K


def _scaled_i(xp: Xp, order: int, x: Array) -> Array:
    """Return exp(-|x|) times the modified function of the first kind."""
    modulus = xp.abs(x)
    near = xp.minimum(modulus, _FAR)
    total = xp.zeros_like(near)
    for k in range(_ANGLES + 1):
        angle = math.pi * k / _ANGLES
        # For order 1, the form with sin^2 has no cancellation for small arguments.
        weight = 1.0 if order == 0 else math.sin(angle) ** 2
        weight *= 0.5 if k in (0, _ANGLES) else 1.0
        total = total + weight * xp.exp(near * (math.cos(angle) - 1.0))
    total = total / _ANGLES
    far = xp.maximum(modulus, _FAR)
    signs = [term * (-1) ** k for k, term in enumerate(_HANKEL[order])]
    outer = _series(xp, signs, 1.0 / far) / xp.sqrt(2 * math.pi * far)
    if order == 0:
        found = xp.where(modulus <= _FAR, total, outer)
    else:
        found = xp.where(modulus <= _FAR, total * x, xp.copysign(outer, x))
        found = xp.where(x == 0, 0.0, found)  # without its sign, as in TensorFlow
    return xp.where(xp.isnan(x), x, found)


def i0e(xp: Xp, x: Array) -> Array:
    """Return exp(-|x|) I0(x)."""
    return _scaled_i(xp, 0, x)


def i1e(xp: Xp, x: Array) -> Array:
    """Return exp(-|x|) I1(x)."""
    return _scaled_i(xp, 1, x)


def i0(xp: Xp, x: Array) -> Array:
    """Return the modified Bessel function of the first kind, order 0."""
    return xp.exp(xp.abs(x)) * _scaled_i(xp, 0, x)


def i1(xp: Xp, x: Array) -> Array:
    """Return the modified Bessel function of the first kind, order 1."""
    return xp.exp(xp.abs(x)) * _scaled_i(xp, 1, x)


def _k_near(xp: Xp, order: int, x: Array) -> Array:
    """Return the modified function of the second kind for 0 < x <= 2: the ascending series."""
    quarter = x * x / 4
    logarithm = xp.log(x / 2)
    harmonic = 0.0
    power = xp.ones_like(x)
    first, second = xp.zeros_like(x), xp.zeros_like(x)
    for k in range(_TERMS):
        if k:
            harmonic += 1.0 / k
            power = power * quarter / (k * (k + order))
        # psi(k + 1) for order 0, the mean of psi(k + 1) and psi(k + 2) for order 1.
        digamma = harmonic - _EULER + (0.5 / (k + 1) if order else 0.0)
        first = first + power
        second = second + digamma * power
    if order == 0:
        return second - logarithm * first
    return 1.0 / x + (x / 2) * (logarithm * first - second)


def _scaled_k(xp: Xp, order: int, x: Array, *, scaled: bool) -> Array:
    """Return the modified function of the second kind, times exp(x) if `scaled`."""
    small = xp.where(x > 0, xp.minimum(x, 2.0), 1.0)
    near = _k_near(xp, order, small)
    middle = xp.clip(x, 2.0, _FAR)
    total = xp.full_like(middle, 0.5)
    step = 0.1
    for k in range(1, 40):
        cosh = math.cosh(step * k)
        total = total + (cosh if order else 1.0) * xp.exp(-middle * (cosh - 1.0))
    far = xp.maximum(x, _FAR)
    outer = _series(xp, _HANKEL[order], 1.0 / far) * xp.sqrt(math.pi / (2 * far))
    beyond = xp.where(x <= _FAR, total * step, outer)
    if scaled:
        found = xp.where(x <= 2.0, near * xp.exp(small), beyond)
    else:
        found = xp.where(x <= 2.0, near, beyond * xp.exp(-xp.maximum(x, 2.0)))
    return xp.where(xp.isnan(x), x, xp.where(x <= 0, np.inf, found))


def k0(xp: Xp, x: Array) -> Array:
    """Return the modified Bessel function of the second kind, order 0; infinite where x <= 0."""
    return _scaled_k(xp, 0, x, scaled=False)


def k0e(xp: Xp, x: Array) -> Array:
    """Return exp(x) K0(x)."""
    return _scaled_k(xp, 0, x, scaled=True)


def k1(xp: Xp, x: Array) -> Array:
    """Return the modified Bessel function of the second kind, order 1; infinite where x <= 0."""
    return _scaled_k(xp, 1, x, scaled=False)


def k1e(xp: Xp, x: Array) -> Array:
    """Return exp(x) K1(x)."""
    return _scaled_k(xp, 1, x, scaled=True)


# -------------------------------------------------------------------------------- ordinary, J and Y


def _j_near(xp: Xp, order: int, x: Array) -> Array:
    total = xp.zeros_like(x)
    for k in range(_ANGLES + 1):
        sine = math.sin(math.pi * k / _ANGLES)
        if order:
            total = total + sine * xp.sin(x * sine)
        else:
            total = total + (0.5 if k in (0, _ANGLES) else 1.0) * xp.cos(x * sine)
    return total / _ANGLES


def _hankel(xp: Xp, order: int, x: Array) -> tuple[Array, Array]:
    """Return J and Y for large x: a modulus times cosine and sine of x - (2n + 1) pi / 4."""
    inverse = 1.0 / x
    square = inverse * inverse
    terms = _HANKEL[order]
    even = [term * (-1) ** k for k, term in enumerate(terms[0::2])]
    odd = [term * (-1) ** k for k, term in enumerate(terms[1::2])]
    p, q = _series(xp, even, square), _series(xp, odd, square) * inverse
    sine, cosine = xp.sin(x), xp.cos(x)
    if order:
        shifted_cosine, shifted_sine = sine - cosine, -(sine + cosine)
    else:
        shifted_cosine, shifted_sine = sine + cosine, sine - cosine
    # The moduli contain the factor sqrt(1/2) of the two sums.
    modulus = xp.sqrt(inverse / math.pi)
    return (
        modulus * (p * shifted_cosine - q * shifted_sine),
        modulus * (p * shifted_sine + q * shifted_cosine),
    )


def _first_kind(xp: Xp, order: int, x: Array) -> Array:
    modulus = xp.abs(x)
    near = _j_near(xp, order, xp.minimum(modulus, _FAR))
    far = _hankel(xp, order, xp.maximum(modulus, _FAR))[0]
    found = xp.where(modulus <= _FAR, near, far)
    if order:
        found = xp.where(xp.signbit(x), -found, found)
    return xp.where(xp.isnan(x), x, found)


def j0(xp: Xp, x: Array) -> Array:
    """Return the Bessel function of the first kind, order 0."""
    return _first_kind(xp, 0, x)


def j1(xp: Xp, x: Array) -> Array:
    """Return the Bessel function of the first kind, order 1."""
    return _first_kind(xp, 1, x)


def _y_near(xp: Xp, order: int, x: Array) -> Array:
    """Return the function of the second kind for 0 < x <= 25 by Neumann's expansion."""
    # For tiny x the recurrence would overflow, and its terms are negligible.
    safe = xp.maximum(x, 1e-3)
    following, current = xp.zeros_like(safe), xp.full_like(safe, 1e-300)
    norm, total, first = xp.zeros_like(safe), xp.zeros_like(safe), xp.zeros_like(safe)
    for n in range(70, 0, -1):
        if n == 1:
            first = current
        if n % 2 == 0:
            norm = norm + 2 * current
        if order == 0 and n % 2 == 0:
            total = total + (-1) ** (n // 2) * current / (n // 2)
        if order == 1 and n % 2 == 1 and n > 1:
            k = n // 2
            total = total + (-1) ** k * n * current / (k * (k + 1))
        following, current = current, 2 * n / safe * current - following
        large = xp.abs(current) > 1e200
        scale = xp.where(large, 1e-200, 1.0)
        following, current, norm = following * scale, current * scale, norm * scale
        total, first = total * scale, first * scale
    norm = norm + current
    at_zero = xp.where(x < 1e-3, 1 - x * x / 4, current / norm)
    at_one = xp.where(x < 1e-3, x / 2 * (1 - x * x / 8), first / norm)
    logarithm = xp.log(x / 2) + _EULER
    rest = xp.where(x < 1e-3, x * x / -8 if order == 0 else x * x * x / -32, total / norm)
    if order == 0:
        return 2 / math.pi * (logarithm * at_zero - 2 * rest)
    pole = -2 / (math.pi * x) * at_zero
    return pole + 2 / math.pi * ((logarithm - 1.0) * at_one - rest)


def _second_kind(xp: Xp, order: int, x: Array) -> Array:
    near = _y_near(xp, order, xp.where(x > 0, xp.minimum(x, _FAR), 1.0))
    far = _hankel(xp, order, xp.maximum(x, _FAR))[1]
    found = xp.where(x <= _FAR, near, far)
    return xp.where(xp.isnan(x), x, xp.where(x <= 0, -np.inf, found))


def y0(xp: Xp, x: Array) -> Array:
    """Return the Bessel function of the second kind, order 0; minus infinity where x <= 0."""
    return _second_kind(xp, 0, x)


def y1(xp: Xp, x: Array) -> Array:
    """Return the Bessel function of the second kind, order 1; minus infinity where x <= 0."""
    return _second_kind(xp, 1, x)
