"""Special functions on arrays: the error function, gamma functions, zeta.

Incomplete beta and gamma functions.

Everything is computed in float64, so that float32 results are exact to the last digit, except for
``erf_of_singles``, which models of language call for each activation. On a GPU CuPy's own library
is used where it has the function. Sources of the formulas: Cephes for erf and erfc; asymptotic
series with recurrence for digamma; Euler-Maclaurin for zeta; series and continued fractions for the
incomplete functions; the trapezoidal rule on integrals for the Bessel functions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp

    _Advance = Callable[[list[Any], int], tuple[list[Any], Any]]

_EPS = 2.0**-53

# ---------------------------------------------------------------------------------------- erf, erfc

_ERF_T = (
    9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
    7.00332514112805075473e3, 5.55923013010394962768e4,
)  # fmt: skip
_ERF_U = (
    1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
    2.26290000613890934246e4, 4.92673942608635921086e4,
)  # fmt: skip
_ERFC_P = (
    2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
    4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
    9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2,
)  # fmt: skip
_ERFC_Q = (
    1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
    9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
    1.65666309194161350182e3, 5.57535340817727675546e2,
)  # fmt: skip
_ERFC_R = (
    5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
    6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0,
)  # fmt: skip
_ERFC_S = (
    1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
    1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0,
)  # fmt: skip


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    """Return the value of a polynomial, highest power first."""
    value = coefficients[0] * np.ones_like(x)
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def _erf_near(x: Array) -> Array:
    z = x * x
    return x * _polynomial(_ERF_T, z) / _polynomial(_ERF_U, z)


def _scaled_erfc(x: Array) -> Array:
    """Return exp(x**2) * erfc(x) for x >= 1."""
    middle = _polynomial(_ERFC_P, x) / _polynomial(_ERFC_Q, x)
    far = _polynomial(_ERFC_R, x) / _polynomial(_ERFC_S, x)
    return np.where(x < 8.0, middle, far)


def _library(xp: Xp, name: str) -> Array:
    """Return CuPy's function of this name, or None on a CPU."""
    if xp is np:
        return None
    import importlib

    return getattr(importlib.import_module("cupyx.scipy.special"), name)


def erf(xp: Xp, x: Array) -> Array:
    """Return the error function."""
    library = _library(xp, "erf")
    if library is not None:
        return library(x)
    modulus = np.abs(x)
    far = np.minimum(np.maximum(modulus, 1.0), 30.0)
    outer = np.copysign(1.0 - np.exp(-far * far) * _scaled_erfc(far), x)
    return np.where(
        modulus <= 1.0, _erf_near(np.clip(x, -1.0, 1.0)), np.where(np.isnan(x), x, outer)
    )


# Interpolations at Chebyshev's nodes: of erf(x) / x - 1 in x**2 from 0 to 1, and of log(1 - erf(x))
# from 1 to 4, where erf becomes 1 in float32.
_SINGLE_NEAR = (
    7.882497108e-05, -8.018854992e-04, 5.189311943e-03, -2.685432880e-02, 1.128359746e-01,
    -3.761262690e-01, 1.283791659e-01,
)  # fmt: skip
_SINGLE_FAR = (
    1.614061637e-06, -4.559062315e-05, 5.927695441e-04, -4.740222372e-03, 2.636471746e-02,
    -1.099782453e-01, -6.319370935e-01, -1.130166676e+00, 3.032130015e-04,
)  # fmt: skip


def _polynomial_of_singles(coefficients: tuple[float, ...], x: Array) -> Array:
    """Return the value of a polynomial, highest power first, in the dtype of `x`."""
    value = x * coefficients[0]
    for coefficient in coefficients[1:-1]:
        value += coefficient
        value *= x
    return value + coefficients[-1]


def erf_of_singles(xp: Xp, x: Array, out: Array | None = None) -> Array:
    """Return the error function of float32 numbers, within 2 units in the last place.

    It consists of elementwise functions alone, so that compiled clusters can contain it.
    """
    modulus = xp.absolute(x)
    near = x * _polynomial_of_singles(_SINGLE_NEAR, x * x) + x
    tail = xp.exp(_polynomial_of_singles(_SINGLE_FAR, modulus.clip(1.0, 4.0)))
    outer = 1.0 - tail
    outer = xp.where(x < 0, -outer, outer)
    found = xp.where(modulus < 1, near, outer)
    if out is None:
        return found
    out[...] = found
    return out


def erfc(xp: Xp, x: Array) -> Array:
    """Return 1 - erf(x), exact in the tail."""
    library = _library(xp, "erfc")
    if library is not None:
        return library(x)
    modulus = np.abs(x)
    far = np.minimum(np.maximum(modulus, 1.0), 30.0)
    tail = np.exp(-far * far) * _scaled_erfc(far)
    outer = np.where(x > 0, tail, 2.0 - tail)
    near = 1.0 - _erf_near(np.clip(x, -1.0, 1.0))
    return np.where(modulus < 1.0, near, np.where(np.isnan(x), x, outer))


# The starting value of the inverse error function: M. Giles' polynomials for single precision.
_GILES_NEAR = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
    -0.00125372503, -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
_GILES_FAR = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
    -0.0076224613, 0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
_ROOT_PI = math.sqrt(math.pi)


def _inverse_erf_near(x: Array) -> Array:
    """Return the inverse error function for |x| <= 0.9: a polynomial and two Newton steps."""
    w = -np.log1p(-x * x)
    root = np.sqrt(np.maximum(w, 5.0))
    z = x * np.where(
        w < 5.0, _polynomial(_GILES_NEAR, w - 2.5), _polynomial(_GILES_FAR, root - 3.0)
    )
    for _ in range(2):
        error = erf(np, z) - x
        step = error / (2.0 / _ROOT_PI * np.exp(-z * z))
        z = z - step / (1.0 + z * step)
    return z


def _inverse_erfc_tail(y: Array) -> Array:
    """Return the inverse of erfc for 0 < y <= 0.1, by Newton's method on its logarithm."""
    target = np.log(y)
    z = np.sqrt(-target)
    for _ in range(3):
        z = np.sqrt(np.maximum(-target - np.log(z * _ROOT_PI), 1.0))
    for _ in range(6):
        z = np.maximum(z, 1.0)
        scaled = _scaled_erfc(z)
        value = np.log(scaled) - z * z - target
        z = z + value * scaled * (_ROOT_PI / 2.0)
    return z


def erfinv(xp: Xp, x: Array) -> Array:
    """Return the inverse of the error function; infinite at -1 and 1, NaN beyond."""
    library = _library(xp, "erfinv")
    if library is not None:
        return library(x)
    modulus = np.abs(x)
    near = _inverse_erf_near(np.clip(x, -0.9, 0.9))
    tail = _inverse_erfc_tail(np.clip(1.0 - modulus, 1e-300, 0.1))
    found: Array = np.where(modulus <= 0.9, near, np.copysign(tail, x))
    found = np.where(modulus == 1.0, np.copysign(np.inf, x), found)
    return np.where(modulus <= 1.0, found, np.nan)


def ndtri(xp: Xp, p: Array) -> Array:
    """Return the quantile function of the normal distribution."""
    library = _library(xp, "ndtri")
    if library is not None:
        return library(p)
    lower = np.minimum(p, 1.0 - p)
    near = _inverse_erf_near(np.clip(2.0 * p - 1.0, -0.9, 0.9))
    tail = _inverse_erfc_tail(np.clip(2.0 * lower, 1e-300, 0.1))
    found = np.where(lower >= 0.05, near, np.where(p < 0.5, -tail, tail)) * math.sqrt(2.0)
    found = np.where(p == 0.0, -np.inf, np.where(p == 1.0, np.inf, found))
    return np.where((p >= 0.0) & (p <= 1.0), found, np.nan)


# ---------------------------------------------------------------------------------- gamma functions


def _lgamma_of_number(x: float) -> float:
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def lgamma(xp: Xp, x: Array) -> Array:
    """Return the logarithm of the modulus of the gamma function."""
    library = _library(xp, "gammaln")
    if library is not None:
        return library(x)
    x = np.asarray(x, np.float64)
    # The C library's function is exact near the zeros at 1 and 2.
    flat = np.fromiter(map(_lgamma_of_number, x.reshape(-1).tolist()), np.float64, x.size)
    return flat.reshape(x.shape)


def digamma(xp: Xp, x: Array) -> Array:
    """Return the logarithmic derivative of the gamma function; NaN at the poles."""
    library = _library(xp, "digamma")
    if library is not None:
        return library(x)
    x = np.asarray(x, np.float64)
    reflected = x <= 0
    pole = reflected & (x == np.floor(x))
    value = np.where(reflected, 1.0 - x, x)
    total = np.zeros_like(value)
    # Increase x up to 10, from where the asymptotic series is exact.
    for _ in range(10):
        small = value < 10.0
        if not small.any():
            break
        total = np.where(small, total - 1.0 / np.where(small, value, 1.0), total)
        value = np.where(small, value + 1.0, value)
    z = 1.0 / (value * value)
    series = z * (
        8.33333333333333333333e-2
        - z
        * (
            8.33333333333333333333e-3
            - z
            * (
                3.96825396825396825397e-3
                - z
                * (
                    4.16666666666666666667e-3
                    - z
                    * (
                        7.57575757575757575758e-3
                        - z * (2.10927960927960927961e-2 - z * 8.33333333333333333333e-2)
                    )
                )
            )
        )
    )
    total = total + np.log(value) - 0.5 / value - series
    fraction = x - np.floor(x)
    total = np.where(reflected, total - math.pi / np.tan(math.pi * fraction), total)
    return np.where(pole, np.nan, np.where(x == np.inf, np.inf, total))


# B(2k) / (2k)!, as divisors, for Euler-Maclaurin.
_ZETA_A = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10,
    -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15,
    1.8152105401943546773e17, -7.1661652561756670113e18,
)  # fmt: skip


def zeta(xp: Xp, x: Array, q: Array) -> Array:
    """Return the Hurwitz zeta function: the sum of (q + k)**-x over k >= 0."""
    library = _library(xp, "zeta")
    if library is not None:
        return library(x, q)
    x, q = np.broadcast_arrays(np.asarray(x, np.float64), np.asarray(q, np.float64))
    total = q**-x
    a = q.copy()
    for _ in range(9):
        a = a + 1.0
        total = total + a**-x
    for _ in range(60):
        # Terms up to 9 are added one by one; above, the remainder's formula holds.
        low = a <= 9.0
        if not low.any():
            break
        a = np.where(low, a + 1.0, a)
        total = np.where(low, total + a**-x, total)
    b = a**-x
    total = total + b * a / (x - 1.0) - 0.5 * b
    factor = np.ones_like(total)
    k = 0.0
    for divisor in _ZETA_A:
        factor = factor * (x + k)
        b = b / a
        total = total + factor * b / divisor
        k += 1.0
        factor = factor * (x + k)
        b = b / a
        k += 1.0
    whole = (q <= 0.0) & (q == np.floor(q))
    total = np.where(x == np.inf, np.where(q > 1.0, 0.0, np.where(q == 1.0, 1.0, np.inf)), total)
    total = np.where(whole, np.inf, total)
    # A sum that begins at infinity is 0.
    total = np.where((q == np.inf) & (x > 1.0), 0.0, total)
    odd = (q <= 0.0) & np.where(whole, x % 2 > 0, x != np.floor(x))
    total = np.where(odd | (x < 1.0), np.nan, total)
    return np.where(x == 1.0, np.inf, total)


def polygamma(xp: Xp, n: Array, x: Array) -> Array:
    """Return the n-th derivative of digamma; NaN unless n is a whole number >= 0."""
    n, x = xp.broadcast_arrays(n, x)
    order = xp.where(n > 0, n, 1.0)
    sign = xp.where(order % 2 == 0, -1.0, 1.0)
    found = sign * xp.exp(lgamma(xp, order + 1.0)) * zeta(xp, order + 1.0, x)
    found = xp.where(n == 0, digamma(xp, x), found)
    return xp.where((n >= 0) & (n == xp.floor(n)), found, xp.nan)


# ----------------------------------------------------------------------- incomplete gamma functions


def _prefix(a: Array, x: Array) -> Array:
    """Return x**a * exp(-x) / gamma(a)."""
    return np.exp(a * np.log(x) - x - lgamma(np, a))


_MOST_ROUNDS = 3000


def _iterate(advance: _Advance, state: list[Array], found: list[Array]) -> None:
    """Iterate a recurrence for each element until it converges there.

    An element keeps the value at which it converged, so that its result does not depend on its
    neighbours; rows of converged elements leave the arrays, so that few slow elements cost little.

    Args:
      advance: returns the next state and where it has converged, from a state and the round.
      state: vectors; the first ones are the results.
      found: vectors that receive the results.
    """
    where = np.arange(len(found[0]))
    for round_number in range(1, _MOST_ROUNDS + 1):
        state, converged = advance(state, round_number)
        if converged.any():
            for result, values in zip(found, state, strict=False):
                result[where[converged]] = values[converged]
            going = ~converged
            where = where[going]
            if not len(where):
                return
            state = [values[going] for values in state]
    for result, values in zip(found, state, strict=False):
        result[where] = values


def _series_round(state: list[Array], _: int) -> tuple[list[Array], Array]:
    total, term, r, x = state
    r = r + 1.0
    term = term * x / r
    total = total + term
    return [total, term, r, x], np.abs(term) <= _EPS * total


def _series_slope_round(state: list[Array], _: int) -> tuple[list[Array], Array]:
    total, slope, term, term_slope, r, x = state
    r = r + 1.0
    term_slope = (term_slope - term / r) * x / r
    term = term * x / r
    total = total + term
    slope = slope + term_slope
    converged = (np.abs(term) <= _EPS * total) & (
        np.abs(term_slope) <= _EPS * np.maximum(np.abs(slope), 1e-300)
    )
    return [total, slope, term, term_slope, r, x], converged


def _igamma_series(a: Array, x: Array) -> Array:
    """Return the sum of x**n / ((a+1)...(a+n)), for vectors."""
    one = np.ones_like(a)
    total = np.empty_like(a)
    _iterate(_series_round, [one, one, a, x], [total])
    return total


def _igamma_series_slope(a: Array, x: Array) -> tuple[Array, Array]:
    """Return (the sum of `_igamma_series`, its derivative by a), for vectors."""
    one, zero = np.ones_like(a), np.zeros_like(a)
    total, slope = np.empty_like(a), np.empty_like(a)
    _iterate(_series_slope_round, [one, zero, one, zero, a, x], [total, slope])
    return total, slope


def _fraction_round(state: list[Array], c: int) -> tuple[list[Array], Array]:
    answer, y, z, pkm2, qkm2, pkm1, qkm1 = state
    y, z = y + 1.0, z + 2.0
    yc = y * c
    pk = pkm1 * z - pkm2 * yc
    qk = qkm1 * z - qkm2 * yc
    new = np.where(qk != 0, pk / np.where(qk != 0, qk, 1.0), answer)
    converged = np.abs(new - answer) <= _EPS * np.abs(new)
    scale = np.where(np.abs(pk) > 1e15, 1e-15, 1.0)
    return [new, y, z, *(part * scale for part in (pkm1, qkm1, pk, qk))], converged


def _fraction_slope_round(state: list[Array], c: int) -> tuple[list[Array], Array]:
    answer, slope, y, z, pkm2, qkm2, pkm1, qkm1, dpkm2, dqkm2, dpkm1, dqkm1 = state
    y, z = y + 1.0, z + 2.0
    yc = y * c
    pk = pkm1 * z - pkm2 * yc
    qk = qkm1 * z - qkm2 * yc
    dpk = dpkm1 * z - pkm1 - dpkm2 * yc + pkm2 * c
    dqk = dqkm1 * z - qkm1 - dqkm2 * yc + qkm2 * c
    safe = np.where(qk != 0, qk, 1.0)
    new = np.where(qk != 0, pk / safe, answer)
    new_slope = np.where(qk != 0, (dpk - new * dqk) / safe, slope)
    converged = (np.abs(new - answer) <= _EPS * np.abs(new)) & (
        np.abs(new_slope - slope) <= 4 * _EPS * np.abs(new_slope)
    )
    scale = np.where(np.abs(pk) > 1e15, 1e-15, 1.0)
    parts = (pkm1, qkm1, pk, qk, dpkm1, dqkm1, dpk, dqk)
    return [new, new_slope, y, z, *(part * scale for part in parts)], converged


def _igammac_fraction(a: Array, x: Array) -> Array:
    """Return the continued fraction of the upper function, for vectors."""
    y = 1.0 - a
    z = x + y + 1.0
    one, pkm1, qkm1 = np.ones_like(x), x + 1.0, z * x
    answer = np.empty_like(x)
    _iterate(_fraction_round, [pkm1 / qkm1, y, z, one, x, pkm1, qkm1], [answer])
    return answer


def _igammac_fraction_slope(a: Array, x: Array) -> tuple[Array, Array]:
    """Return (the fraction of `_igammac_fraction`, its derivative by a), for vectors."""
    y = 1.0 - a
    z = x + y + 1.0
    one, zero, pkm1, qkm1 = np.ones_like(x), np.zeros_like(x), x + 1.0, z * x
    first = pkm1 / qkm1
    state = [first, first * x / qkm1, y, z, one, x, pkm1, qkm1, zero, zero, zero, -x]
    answer, slope = np.empty_like(x), np.empty_like(x)
    _iterate(_fraction_slope_round, state, [answer, slope])
    return answer, slope


def _split_igamma(a: Array, x: Array) -> tuple[Array, Array, Array, Array]:
    """Broadcast inputs, replaced by harmless numbers where the function is a special case.

    Returns:
      ``a`` and ``x``, where they are no special case, and where the series converges fast.
    """
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    ordinary = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    return np.where(ordinary, a, 1.0), np.where(ordinary, x, 1.0), ordinary, (x <= 1.0) | (x <= a)


def _igamma_pair(a: Array, x: Array) -> tuple[Array, Array]:
    """Return (lower, upper) regularized incomplete gamma functions."""
    safe_a, safe_x, ordinary, by_series = _split_igamma(a, x)
    # For each element the part that converges fast: the lower function by the series, or the upper
    # function by the fraction.
    part = np.asarray(_prefix(safe_a, safe_x))
    part[by_series] *= _igamma_series(safe_a[by_series], safe_x[by_series]) / safe_a[by_series]
    part[~by_series] *= _igammac_fraction(safe_a[~by_series], safe_x[~by_series])
    lower = np.where(by_series, part, 1.0 - part)
    upper = np.where(by_series, 1.0 - part, part)
    a, x = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(x, np.float64))
    nan = np.isnan(a) | np.isnan(x) | (a <= 0) | (x < 0)
    special = np.where(nan, np.nan, np.where(x == 0, 0.0, np.where(np.isinf(x), 1.0, 0.0)))
    both_infinite = np.isinf(a) & np.isinf(x)
    special = np.where(both_infinite, np.nan, special)
    return np.where(ordinary, lower, special), np.where(ordinary, upper, 1.0 - special)


def igamma(xp: Xp, a: Array, x: Array) -> Array:
    """Return the lower regularized incomplete gamma function."""
    library = _library(xp, "gammainc")
    return library(a, x) if library is not None else _igamma_pair(a, x)[0]


def igammac(xp: Xp, a: Array, x: Array) -> Array:
    """Return the upper regularized incomplete gamma function."""
    library = _library(xp, "gammaincc")
    return library(a, x) if library is not None else _igamma_pair(a, x)[1]


def _lower_slope(a: Array, x: Array, log_slope: Array) -> Array:
    total, slope = _igamma_series_slope(a, x)
    return ((log_slope - 1.0 / a) * total + slope) / a


def _upper_slope(a: Array, x: Array, log_slope: Array) -> Array:
    fraction, slope = _igammac_fraction_slope(a, x)
    return -(log_slope * fraction + slope)


def igamma_grad_a(a: Array, x: Array) -> Array:
    """Return the derivative of the lower regularized incomplete gamma function by a."""
    safe_a, safe_x, ordinary, by_series = _split_igamma(a, x)
    found = np.asarray(_prefix(safe_a, safe_x))
    log_slope = np.asarray(np.log(safe_x) - digamma(np, safe_a))
    for here, slope_of in ((by_series, _lower_slope), (~by_series, _upper_slope)):
        found[here] *= slope_of(safe_a[here], safe_x[here], log_slope[here])
    x = np.broadcast_to(np.asarray(x, np.float64), found.shape)
    a = np.broadcast_to(np.asarray(a, np.float64), found.shape)
    nan = np.isnan(a) | np.isnan(x) | (a <= 0) | (x < 0)
    return np.where(ordinary, found, np.where(nan, np.nan, np.where(np.isinf(x), -0.0, 0.0)))


def random_gamma_grad(alpha: Array, sample: Array) -> Array:
    """Return the derivative by alpha of a sample of the gamma distribution, at a fixed quantile."""
    safe_a, safe_x, ordinary, _ = _split_igamma(alpha, sample)
    density = _prefix(safe_a, safe_x) / safe_x
    found = -igamma_grad_a(safe_a, safe_x) / density
    alpha = np.broadcast_to(np.asarray(alpha, np.float64), found.shape)
    sample = np.broadcast_to(np.asarray(sample, np.float64), found.shape)
    nan = np.isnan(alpha) | np.isnan(sample) | (alpha <= 0) | (sample < 0)
    return np.where(ordinary, found, np.where(nan, np.nan, np.where(np.isinf(sample), -0.0, 0.0)))


# ------------------------------------------------------------------------- incomplete beta function


def _beta_fraction(a: Array, b: Array, x: Array) -> Array:
    """Return the continued fraction of the incomplete beta function (Lentz)."""
    tiny = 1e-300
    c = np.ones_like(x)
    d = 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / np.where(np.abs(d) < tiny, tiny, d)
    value = d.copy()
    # Converged elements stop: a thousand further factors of nearly 1 would cost digits.
    active: Array = np.True_
    for m in range(1, 2000):
        moves: Array = np.False_
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + numerator * d
            d = 1.0 / np.where(np.abs(d) < tiny, tiny, d)
            c = 1.0 + numerator / c
            c = np.where(np.abs(c) < tiny, tiny, c)
            step = c * d
            value = np.where(active, value * step, value)
            moves = moves | (np.abs(step - 1.0) > 2 * _EPS)
        active = active & moves
        if not active.any():
            break
    return value


def betainc(xp: Xp, a: Array, b: Array, x: Array) -> Array:
    """Return the regularized incomplete beta function."""
    library = _library(xp, "betainc")
    if library is not None:
        return library(a, b, x)
    a, b, x = (np.asarray(v, np.float64) for v in np.broadcast_arrays(a, b, x))
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    p, q, z = np.where(inside, a, 1.0), np.where(inside, b, 1.0), np.where(inside, x, 0.5)
    # The fraction converges fast below the mean; above it, the mirrored function is used.
    mirrored = z > (p + 1.0) / (p + q + 2.0)
    p, q, z = np.where(mirrored, q, p), np.where(mirrored, p, q), np.where(mirrored, 1.0 - z, z)
    log_front = p * np.log(z) + q * np.log1p(-z)
    log_front += lgamma(np, p + q) - lgamma(np, p) - lgamma(np, q)
    found = np.exp(log_front) * _beta_fraction(p, q, z) / p
    found = np.where(mirrored, 1.0 - found, found)
    found = np.where(inside, found, np.where(x == 0, 0.0, np.where(x == 1, 1.0, np.nan)))
    return np.where((a <= 0) | (b <= 0), np.nan, found)
