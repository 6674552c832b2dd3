"""How a gamma sample depends on alpha (Figurnov et al., "Implicit reparameterization gradients").

With P(a, x) the regularised lower incomplete gamma function, the derivative of a sample x whose
quantile is kept is -(dP/da) / (dP/dx). Below alpha it comes from the power series of P, above from
the continued fraction of 1 - P; both are summed together with their derivatives by a.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_MAX_TERMS = 2000
_BIG = 1.0 / np.finfo(np.float64).eps


def sample_derivative(alpha: Any, sample: Any) -> Any:
    """The derivative of samples of Gamma(alpha, 1) by alpha, in the samples' type."""
    a, x = np.broadcast_arrays(
        np.asarray(alpha, np.float64), np.asarray(sample, np.float64), subok=False
    )
    found = np.full(a.shape, np.nan)
    valid = (a > 0) & (x >= 0)
    low = valid & ((x <= 1) | (x <= a))
    high = valid & ~low & np.isfinite(x)
    found[low] = _by_series(a[low], x[low])
    found[high] = _by_fraction(a[high], x[high])
    found[valid & (x == 0)] = 0
    return found.astype(sample.dtype)


def _by_series(a: Any, x: Any) -> Any:
    # P = x^a e^-x / gamma(a + 1) * (1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ...)
    term, total = np.ones_like(a), np.ones_like(a)
    term_slope, slope = np.zeros_like(a), np.zeros_like(a)
    r = a.copy()
    for _ in range(_MAX_TERMS):
        r += 1
        term_slope = (term_slope - term / r) * (x / r)
        term = term * (x / r)
        total += term
        slope += term_slope
        if np.all(np.abs(term_slope) <= np.finfo(np.float64).eps * np.abs(slope)):
            break
    return -(slope + total * (np.log(x) - digamma(a + 1))) * x / a


def _by_fraction(a: Any, x: Any) -> Any:
    # 1 - P = x^a e^-x / gamma(a) * p / q, with p / q the convergents of a continued fraction.
    y = 1 - a
    z = x + y + 1
    p2, q2 = np.ones_like(a), x.copy()
    p1, q1 = x + 1, z * x
    dp2, dq2, dp1, dq1 = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a), -x
    value = p1 / q1
    slope = (dp1 - value * dq1) / q1
    for count in range(1, _MAX_TERMS):
        y = y + 1
        z = z + 2
        factor = y * count
        p, q = p1 * z - p2 * factor, q1 * z - q2 * factor
        # z and y both fall by 1 as a grows by 1.
        dp = dp1 * z - p1 - dp2 * factor + p2 * count
        dq = dq1 * z - q1 - dq2 * factor + q2 * count
        value = p / q
        previous, slope = slope, (dp - value * dq) / q
        p2, p1, q2, q1, dp2, dp1, dq2, dq1 = p1, p, q1, q, dp1, dp, dq1, dq
        large = np.abs(p) > _BIG
        if large.any():
            for row in (p2, p1, q2, q1, dp2, dp1, dq2, dq1):
                row[large] /= _BIG
        if np.all(np.abs(slope - previous) <= np.finfo(np.float64).eps * np.abs(slope)):
            break
    return (slope + value * (np.log(x) - digamma(a))) * x


def digamma(x: Any) -> Any:
    """The logarithmic derivative of the gamma function, for positive numbers."""
    x = np.array(x, np.float64)
    shift = np.zeros_like(x)
    while True:
        small = x < 10
        if not small.any():
            break
        shift[small] += 1 / x[small]
        x[small] += 1
    square = 1 / (x * x)
    series = square * (
        1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square * (1 / 132))))
    )
    return np.log(x) - 0.5 / x - series - shift
