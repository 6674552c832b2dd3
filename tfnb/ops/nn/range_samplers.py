"""Samplers over the classes 0 ... range - 1, from a range of Philox's words.

The order in which words are used decides the classes, so it is TensorFlow's (``range_sampler.cc``,
``simple_philox.cc``, ``distribution_sampler.cc``).
"""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.files import file_system
from tfnb.core.host_memory import check_fits

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.core.kernel_types import Array
    from tfnb.ops.random.philox import Philox

_WORD = 2**32
_BLOCKS_AT_ONCE = 64
# The most classes whose probability a sampler keeps.
_MOST_KNOWN = 1 << 16
# The most classes of a sampler that counts them; TensorFlow's process ends beyond it.
_MOST_COUNTED = 2**31 - 2


class WordStream:
    """The words of a generator, one after another, and numbers derived from them."""

    def __init__(self, generator: Philox) -> None:
        self._words = self._all(generator)

    @staticmethod
    def _all(generator: Philox) -> Iterator[int]:
        while True:
            yield from generator.blocks(np, _BLOCKS_AT_ONCE).ravel().tolist()
            generator = generator.skip(_BLOCKS_AT_ONCE)

    def word(self) -> int:
        """Return the next 32 bits."""
        return next(self._words)

    def double_word(self) -> int:
        """Return the next 64 bits, the lower half first."""
        low = next(self._words)
        return next(self._words) << 32 | low

    def fraction(self) -> np.float32:
        """Return a float32 in [0, 1) with 23 bits."""
        return np.float32((next(self._words) & 0x7FFFFF) / 2**23)

    def precise_fraction(self) -> float:
        """Return a float64 in [0, 1) with 52 bits; the first word holds the upper ones."""
        words = self._words
        return ((next(words) & 0xFFFFF) << 32 | next(words)) / 4503599627370496

    def below(self, limit: int) -> int:
        """Return an integer of 32 bits in [0, limit), without bias."""
        if limit & (limit - 1) == 0:
            return self.word() & (limit - 1)
        least = (_WORD - 1) % limit + 1
        while True:
            found = self.word()
            if found >= least:
                return found % limit

    def below_wide(self, limit: int) -> int:
        """Return an integer of 64 bits in [0, limit), without bias."""
        if limit & (limit - 1) == 0:
            return self.double_word() & (limit - 1)
        least = (_WORD * _WORD - 1) % limit + 1
        while True:
            found = self.double_word()
            if found >= least:
                return found % limit


class RangeSampler:
    """The base class of samplers; subclasses define how a class is drawn and its probability."""

    def __init__(self, limit: int) -> None:
        self.range = limit

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        raise NotImplementedError

    def probability(self, value: int) -> float:
        """Return the probability of a class, as float32."""
        raise NotImplementedError

    def sample(
        self, words: WordStream, count: int, is_unique: bool, true_classes: Array
    ) -> tuple[Array, Array, Array]:
        """Return classes, the expected counts of the true classes, and those of the drawn ones."""
        drawn: dict[int, None] | list[int]
        if is_unique:
            drawn, tries = {}, 0
            while len(drawn) < count:
                drawn[self.draw(words)] = None
                tries += 1
        else:
            drawn, tries = [self.draw(words) for _ in range(count)], count
        classes = np.array(list(drawn), np.int64)
        return (
            classes,
            self._expected(true_classes, count, tries),
            self._expected(classes, count, tries),
        )

    def _expected(self, classes: Array, count: int, tries: int) -> Array:
        counts = [self._expected_count(value, count, tries) for value in classes.ravel().tolist()]
        return np.array(counts, np.float32).reshape(classes.shape)

    def _expected_count(self, value: int, count: int, tries: int) -> float:
        probability = self.probability(value)
        if tries == count:
            return probability * count
        if probability >= 1.0:
            return 1.0
        return -math.expm1(tries * math.log1p(-probability))


class AllSampler(RangeSampler):
    """The sampler that returns every class once."""

    def sample(
        self, words: WordStream, count: int, is_unique: bool, true_classes: Array
    ) -> tuple[Array, Array, Array]:
        """Return all classes; the expected count of each is 1."""
        ones = np.ones(count, np.float32)
        return np.arange(count, dtype=np.int64), np.ones(true_classes.shape, np.float32), ones


class UniformSampler(RangeSampler):
    """The sampler of uniformly distributed classes."""

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        return words.below_wide(self.range)

    def probability(self, value: int) -> float:
        """Return 1 / range."""
        return float(np.float32(1.0 / self.range))


class LogUniformSampler(RangeSampler):
    """The sampler by Zipf's law: the logarithm of the class is uniform."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._log_range = math.log1p(limit)
        self._known: dict[int, float] = {}

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        value = int(math.exp(words.precise_fraction() * self._log_range)) - 1
        # Rounding may produce the limit itself.
        return value % self.range

    def probability(self, value: int) -> float:
        """Return log((value + 2) / (value + 1)) / log(range + 1)."""
        found = self._known.get(value)
        if found is not None:
            return found
        if value < 0:
            return math.nan
        found = float(np.float32(math.log((value + 2.0) / (value + 1.0)) / self._log_range))
        if len(self._known) < _MOST_KNOWN:
            self._known[value] = found
        return found


class LearnedUnigramSampler(RangeSampler):
    """The sampler in proportion to how often a class was a true one; counts start at one."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        if limit > _MOST_COUNTED:
            raise errors.invalid_argument(
                f"The range of a sampler that counts classes must be below 2**31 - 1, not {limit}."
            )
        check_fits(np, (limit,), np.dtype(np.int64))
        self._lock = threading.Lock()
        self._weights = np.ones(limit, np.int64)  # guarded by self._lock
        self._sums = np.cumsum(self._weights)  # guarded by self._lock

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        place = words.below(int(self._sums[-1]))
        return int(np.searchsorted(self._sums, place, side="right"))

    def probability(self, value: int) -> float:
        """Return the class's share of all counts."""
        if not 0 <= value < self.range:
            return 0.0
        return float(np.float32(self._weights[value]) / np.float32(self._sums[-1]))

    def sample(
        self, words: WordStream, count: int, is_unique: bool, true_classes: Array
    ) -> tuple[Array, Array, Array]:
        """Draw classes, then count the true classes."""
        with self._lock:
            result = super().sample(words, count, is_unique, true_classes)
            values = true_classes.ravel()
            values = values[(values >= 0) & (values < self.range)]
            np.add.at(self._weights, values, 1)
            self._sums = np.cumsum(self._weights)
        return result


class FixedUnigramSampler(RangeSampler):
    """The sampler with given weights, drawn by Walker's method of aliases."""

    def __init__(
        self,
        limit: int,
        unigrams: Sequence[float],
        distortion: float,
        num_reserved_ids: int,
        num_shards: int,
        shard: int,
    ) -> None:
        super().__init__(limit)
        weights = [np.float32(0)] * num_reserved_ids + [
            np.float32(math.pow(np.float32(weight), np.float32(distortion))) for weight in unigrams
        ]
        if not 0 <= shard < num_shards:
            raise errors.invalid_argument(
                f"shard must be below num_shards, found {shard} and {num_shards}"
            )
        self._weights = [
            weight for index, weight in enumerate(weights) if index % num_shards == shard
        ]
        if len(self._weights) != limit:
            raise errors.invalid_argument(
                f"range is {limit}, but there are {len(self._weights)} classes with weights"
            )
        self._total = float(np.sum(np.array(self._weights, np.float32), dtype=np.float64))
        if self._total <= 0:
            raise errors.invalid_argument("The sum of the weights must be positive")
        self._prepare()

    def _prepare(self) -> None:
        """Fill the table: for each class, the probability to keep it, and the alternative class."""
        count = len(self._weights)
        total = 0.0
        for weight in self._weights:
            total += float(weight)
        shares = [float(weight * np.float32(count)) / total for weight in self._weights]
        others = list(range(count))
        high = [i for i, share in enumerate(shares) if share >= 1.0]
        low = [i for i, share in enumerate(shares) if share < 1.0]
        while high and low:
            small, large = low.pop(), high.pop()
            others[small] = large
            shares[large] -= 1.0 - shares[small]
            (low if shares[large] < 1.0 else high).append(large)
        # Classes that remain because of rounding are always kept.
        for index in [*low, *high]:
            shares[index], others[index] = 1.0, index
        self._shares = np.array(shares, np.float32)
        self._others = others

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        fraction = words.fraction()
        index = words.below(len(self._others))
        return index if fraction < self._shares[index] else self._others[index]

    def probability(self, value: int) -> float:
        """Return the class's share of all weights."""
        if not 0 <= value < len(self._weights):
            return 0.0
        return float(np.float32(float(self._weights[value]) / self._total))


def read_unigrams(path: str) -> list[float]:
    """Return the last column of a file of comma-separated values.

    Raises:
      NotFoundError: the file does not exist.
      InvalidArgumentError: a line does not end in a number.
    """
    text = file_system.read_file(path).decode("utf-8", "replace")
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(float(line.split(",")[-1]))
            except ValueError:
                raise errors.invalid_argument(
                    f"Wrong vocabulary format at line {number} of {path}: {line!r}"
                ) from None
    return found
