"""Distributions drawn by rejection: gamma, Poisson, binomial, normal between given bounds.

Every output has a separate sequence of random numbers, far enough from the next one's, and uses as
many as it needs. A round of trials is computed for all outputs without a value at once:
:class:`Streams` keeps the position of each. The methods are those of Marsaglia and Tsang
("A simple method for generating gamma variables", 2000), Hörmann ("The transformed rejection
method for generating Poisson random variables", 1993; "The generation of binomial random
variates", 1993) and Robert ("Simulation of truncated normal variables", 1995), with the order in
which TensorFlow uses the numbers.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.ops.random import random_distributions as distributions
from tfnb.ops.random.philox import BLOCKS_PER_OUTPUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr
    from tfnb.ops.random.philox import Philox


class Streams:
    """As many sequences of random blocks as there are outputs, each read from its own start."""

    __slots__ = ("_generator", "_positions")

    def __init__(
        self, generator: Philox, count: int, blocks_apart: int = BLOCKS_PER_OUTPUT
    ) -> None:
        self._generator = generator
        self._positions = np.arange(count, dtype=np.uint64) * np.uint64(blocks_apart)

    def take(self, which: NDArray[np.int64]) -> Array:
        """Return the next block of the streams ``which``."""
        blocks = self._generator.blocks_at(np, self._positions[which])
        self._positions[which] += np.uint64(1)
        return blocks

    def numbers(self, dtype: DType, kind: Callable[[Attr, Attr], Attr]) -> Numbers:
        """Return single numbers made of the blocks."""
        return Numbers(self, len(self._positions), distributions.per_block(dtype), kind)


class Numbers:
    """Single numbers of one distribution from each stream; a block's last number comes first."""

    __slots__ = ("_from_blocks", "_left", "_size", "_streams", "_values")

    def __init__(
        self, streams: Streams, count: int, size: int, from_blocks: Callable[[Array, Array], Array]
    ) -> None:
        self._streams = streams
        self._size = size
        self._from_blocks = from_blocks
        self._values = np.zeros((count, size))
        self._left = np.zeros(count, np.int64)

    def draw(self, which: NDArray[np.int64]) -> Array:
        """Return one number from each of the streams ``which``."""
        empty = which[self._left[which] == 0]
        if len(empty):
            self._values[empty] = self._from_blocks(np, self._streams.take(empty))
            self._left[empty] = self._size
        self._left[which] -= 1
        return self._values[which, self._left[which]]


# -------------------------------------------------------------------------------------------- gamma


def gamma(generator: Philox, alpha: Array, samples: int) -> Array:
    """Return gamma-distributed float64 numbers of scale 1: shape (samples, number of alphas)."""
    alphas = np.repeat(alpha.reshape(-1).astype(np.float64), samples)
    streams = Streams(generator, len(alphas))
    normals = streams.numbers(dtypes.float64, distributions.normal_doubles_from)
    uniforms = streams.numbers(dtypes.float64, distributions.doubles_from)
    found = np.full(len(alphas), np.nan)
    exponential = np.flatnonzero(alphas == 1.0)
    if len(exponential):
        found[exponential] = -np.log1p(-uniforms.draw(exponential))
    # Below 1, a sample for alpha + 1 is multiplied by a power of a uniform number.
    d = alphas + np.where(alphas < 1, 2.0 / 3, -1.0 / 3)
    c = 1.0 / 3 / np.sqrt(d)
    # A negative alpha or NaN has no sample.
    waiting = np.flatnonzero((alphas != 1.0) & (d > 0))
    while len(waiting):
        x = normals.draw(waiting)
        v = 1 + c[waiting] * x
        possible = v > 0
        tried, x, v = waiting[possible], x[possible], v[possible]
        v = v * v * v
        u = uniforms.draw(tried)
        squeeze = u < 1 - 0.0331 * (x * x) * (x * x)
        accepted = squeeze | (np.log(u) < 0.5 * x * x + d[tried] * (1 - v + np.log(v)))
        done = tried[accepted]
        found[done] = d[done] * v[accepted]
        small = done[alphas[done] < 1]
        found[small] *= uniforms.draw(small) ** (1 / alphas[small])
        waiting = np.setdiff1d(waiting, done, assume_unique=True)
    return found.reshape(alpha.size, samples).T


# ------------------------------------------------------------------------------------------ Poisson


def poisson(generator: Philox, rate: Array, samples: int) -> Array:
    """Return Poisson-distributed float64 numbers: shape (samples, number of rates)."""
    rates = np.repeat(rate.reshape(-1).astype(np.float64), samples)
    streams = Streams(generator, len(rates))
    uniforms = streams.numbers(dtypes.float64, distributions.doubles_from)
    found = np.where(rates == np.inf, np.inf, np.nan)
    _poisson_by_products(uniforms, rates, np.flatnonzero(rates < 10), found)
    # NaN rates are excluded; infinite rates have infinite samples.
    _poisson_by_rejection(
        uniforms, rates, np.flatnonzero((rates >= 10) & np.isfinite(rates)), found
    )
    return found.reshape(rate.size, samples).T


def _poisson_by_products(uniforms: Numbers, rates: Array, waiting: Array, found: Array) -> None:
    """Count how many uniform numbers can be multiplied until exp(-rate) is reached (Knuth)."""
    limits, products = np.exp(-rates), np.ones(len(rates))
    found[waiting] = 0
    while len(waiting):
        products[waiting] *= uniforms.draw(waiting)
        waiting = waiting[products[waiting] > limits[waiting]]
        found[waiting] += 1


def _poisson_by_rejection(uniforms: Numbers, rates: Array, waiting: Array, found: Array) -> None:
    b = 0.931 + 2.53 * np.sqrt(rates)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    while len(waiting):
        u = uniforms.draw(waiting) - 0.5
        v = uniforms.draw(waiting)
        rate, a_, b_ = rates[waiting], a[waiting], b[waiting]
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a_ / shifted + b_) * u + rate + 0.43)
        squeeze = (shifted >= 0.07) & (v <= 0.9277 - 3.6224 / (b_ - 2))
        hopeless = (k < 0) | ((shifted < 0.013) & (v > shifted))
        ratio = np.log(v * inverse_alpha[waiting] / (a_ / (shifted * shifted) + b_))
        accepted = squeeze | (~hopeless & (ratio <= -rate + k * np.log(rate) - _log_gamma(k + 1)))
        found[waiting[accepted]] = k[accepted]
        waiting = waiting[~accepted]


_log_gamma = np.vectorize(lambda x: math.lgamma(x) if x > 0 else math.inf, otypes=[np.float64])

# ----------------------------------------------------------------------------------------- binomial


def binomial(generator: Philox, counts: Array, probs: Array, samples: int) -> Array:
    """Return binomial samples in double precision: shape (samples, number of pairs).

    ``counts`` and ``probs`` have one shape and one floating-point type, in which the method is
    chosen.
    """
    count, prob = (np.repeat(v.reshape(-1), samples) for v in (counts, probs))
    flipped = prob > 0.5
    tail = np.where(flipped, prob.dtype.type(1) - prob, prob)
    large = count * tail >= 10
    trials, chance = count.astype(np.float64), tail.astype(np.float64)
    found = np.full(len(trials), np.nan)
    drawn = (trials > 0) & (prob > 0) & (prob < 1)
    inverted = np.flatnonzero(drawn & ~large)
    streams = Streams(generator, len(trials), blocks_apart=42)
    _binomial_by_inversion(streams, trials, chance, inverted, found)
    streams = Streams(generator, len(trials))
    _binomial_by_rejection(streams, trials, chance, np.flatnonzero(drawn & large), found)
    found = np.where(flipped, trials - found, found)
    found[prob >= 1] = trials[prob >= 1]
    found[(trials <= 0) | (prob <= 0)] = 0
    return found.reshape(counts.size, samples).T


def _binomial_by_inversion(
    streams: Streams, trials: Array, chance: Array, waiting: Array, found: Array
) -> None:
    """Count geometric waiting times until they exceed the number of trials."""
    uniforms = streams.numbers(dtypes.float64, distributions.doubles_from)
    waited = np.zeros(len(trials))
    found[waiting] = 0
    while len(waiting):
        u = uniforms.draw(waiting)
        waited[waiting] += np.ceil(np.log(u) / np.log1p(-chance[waiting]))
        waiting = waiting[waited[waiting] <= trials[waiting]]
        found[waiting] += 1


def _binomial_by_rejection(
    streams: Streams, trials: Array, chance: Array, waiting: Array, found: Array
) -> None:
    uniforms = streams.numbers(dtypes.float64, distributions.doubles_from)
    while len(waiting):
        n, p = trials[waiting], chance[waiting]
        deviation = np.sqrt(n * p * (1 - p))
        b = 1.15 + 2.53 * deviation
        a = -0.0873 + 0.0248 * b + 0.01 * p
        odds = p / (1 - p)
        alpha = (2.83 + 5.1 / b) * deviation
        m = np.floor((n + 1) * p)
        u = uniforms.draw(waiting)
        v = uniforms.draw(waiting)
        u = u - 0.5
        shifted = 0.5 - np.abs(u)
        k = np.floor((2 * a / shifted + b) * u + n * p + 0.5)
        squeeze = (shifted >= 0.07) & (v <= 0.92 - 4.2 / b)
        possible = (k >= 0) & (k <= n)
        ratio = np.log(v * alpha / (a / (shifted * shifted) + b))
        bound = (
            (m + 0.5) * np.log((m + 1) / (odds * (n - m + 1)))
            + (n + 1) * np.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * np.log(odds * (n - k + 1) / (k + 1))
            + _stirling_tail(m)
            + _stirling_tail(n - m)
            - _stirling_tail(k)
            - _stirling_tail(n - k)
        )
        accepted = squeeze | (possible & (ratio <= bound))
        found[waiting[accepted]] = k[accepted]
        waiting = waiting[~accepted]


# log(k!) minus Stirling's formula for it, for k from 0 to 9.
_STIRLING_TAILS = np.array(
    [
        0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509,
        0.0166446911898211, 0.0138761288230707, 0.0118967099458917, 0.0104112652619720,
        0.00925546218271273, 0.00833056343336287,
    ]
)  # fmt: skip


def _stirling_tail(k: Array) -> Array:
    square = (k + 1) * (k + 1)
    series = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
    inside = (k >= 0) & (k <= 9)
    return np.where(inside, _STIRLING_TAILS[np.where(inside, k, 0).astype(np.int64)], series)


# ------------------------------------------------------------------------ normal between two bounds

# A batch fails after this number of rejected trials in a row.
MAX_ITERATIONS = 1000
# Normal numbers are drawn and rejected if a bound is at least this many deviations away.
_WIDE_BOUND = 1.3
_GROUPS_AT_ONCE = 64


class BoundedNormals:
    """A source of batches of numbers, drawn one after the other from one sequence.

    Attributes:
      generator: the position where the next batch begins to read.
    """

    __slots__ = ("_dtype", "generator")

    def __init__(self, generator: Philox, dtype: DType) -> None:
        self.generator = generator
        self._dtype = dtype

    def batch(self, count: int, mean: Array, deviation: Array, low: Array, high: Array) -> Array:
        """Return ``count`` numbers; the parameters are scalars of the dtype.

        Raises:
          InvalidArgumentError: the deviation is not positive, or the range between the bounds is
            empty.
          InternalError: far too many numbers had to be rejected.
        """
        bounded = np.isfinite(low) or np.isfinite(high)
        if not (deviation > 0 and low < high and bounded):
            raise errors.invalid_argument("Invalid parameters")
        # One-sided bounds become lower bounds, two-sided ones positive.
        if (np.isinf(low) and low < 0) or high < mean:
            low, high, deviation = high, low, -deviation
        low, high = (low - mean) / deviation, (high - mean) / deviation
        number = self._dtype.as_numpy_dtype
        root = np.sqrt(low * low + number(4))
        cutoff = number(2) * np.exp(number(0.5) + low * (low - root) / number(4)) / (low + root)
        if (low < -_WIDE_BOUND and high >= 0) or (high > _WIDE_BOUND and low <= 0):
            trial, words = self._normal_trial(low, high), "randn"
        elif high - low < cutoff:
            trial, words = self._uniform_trial(low, high), "uniform"
        else:
            trial, words = self._exponential_trial(low, high, root), "exponential distribution"
        found: list[Array] = []
        rejected = 0
        while len(found) < count:
            numbers, accepted, blocks = trial()
            for group in range(len(numbers)):
                self.generator = self.generator.skip(blocks)
                for value, good in zip(numbers[group], accepted[group], strict=True):
                    if good:
                        found.append(value)
                        rejected = 0
                        if len(found) == count:
                            break
                    else:
                        rejected += 1
                        if rejected > MAX_ITERATIONS:
                            raise errors.internal(
                                f"TruncatedNormal {words} rejection sampler failed to accept a "
                                "sample."
                            )
                if len(found) == count:
                    break
        return np.array(found, number) * deviation + mean

    def _blocks(self) -> Array:
        return self.generator.blocks(np, _GROUPS_AT_ONCE)

    def _uniform(self, blocks: Array) -> Array:
        numbers = distributions.uniforms_from(self._dtype)(np, blocks)
        return numbers.astype(self._dtype.as_numpy_dtype, copy=False)

    def _normal_trial(self, low: Array, high: Array) -> Array:
        def trial() -> tuple[Array, Array, int]:
            numbers = distributions.normals_from(self._dtype)(np, self._blocks())
            numbers = numbers.astype(self._dtype.as_numpy_dtype, copy=False)
            return numbers, (numbers >= low) & (numbers <= high), 1

        return trial

    def _uniform_trial(self, low: Array, high: Array) -> Array:
        number = self._dtype.as_numpy_dtype
        top = number(0) if low < 0 else low * low

        def trial() -> tuple[Array, Array, int]:
            blocks = self._blocks()
            z = self._uniform(blocks[0::2]) * (high - low) + low
            u = self._uniform(blocks[1::2])
            return z, u <= np.exp((top - z * z) / number(2)), 2

        return trial

    def _exponential_trial(self, low: Array, high: Array, root: Array) -> Array:
        number = self._dtype.as_numpy_dtype
        alpha = (low + root) / number(2)

        def trial() -> tuple[Array, Array, int]:
            numbers = self._uniform(self._blocks())
            z = -np.log(numbers[:, 0::2]) / alpha + low
            x = alpha - z if low < alpha else np.full_like(z, low - alpha)
            accepted = (numbers[:, 1::2] <= np.exp(-x * x / number(2))) & (z < high)
            return z, accepted, 1

        return trial


def bounded_normals(
    generator: Philox, parameters: list[Array], samples: int, dtype: DType
) -> NDArray[Any]:
    """Return (samples, rows) numbers for rows of means, deviations, lower and upper bounds."""
    sampler = BoundedNormals(generator, dtype)
    found = np.empty((samples, len(parameters[0])), dtype.as_numpy_dtype)
    for column, row in enumerate(zip(*parameters, strict=True)):
        if samples:
            found[:, column] = sampler.batch(samples, *row)
    return found
