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
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array
    from tfnb.ops.random.philox import Philox

_WORD = 2**32
_BLOCKS_AT_ONCE = 64
# The most classes of a sampler that counts them; TensorFlow's process ends beyond it.
_MOST_COUNTED = 2**31 - 2
# Fewer classes are drawn one by one.
_LEAST_DRAWS = 8
# The largest range whose classes are computed from rounded exponentials.
_MOST_ROUNDED = 1 << 40


class WordStream:
    """The words of a generator, one after another, and numbers derived from them."""

    def __init__(self, generator: Philox) -> None:
        self._generator = generator
        self._words = np.empty(0, np.uint32)  # used up to `_place`
        self._place = 0

    def word(self) -> int:
        """Return the next 32 bits."""
        return int(self.words(1)[0])

    def words(self, count: int) -> Array:
        """Return the next words, uint32."""
        found = self._coming(count)
        self._place += count
        return found

    def _coming(self, count: int) -> Array:
        """Return the next words, which remain the next ones."""
        end = self._place + count
        if end > len(self._words):
            blocks = max(_BLOCKS_AT_ONCE, -(-(end - len(self._words)) // 4))
            more = self._generator.blocks(np, blocks).reshape(-1)
            self._generator = self._generator.skip(blocks)
            self._words = np.concatenate([self._words[self._place :], more])
            self._place, end = 0, count
        return self._words[self._place : end]

    def double_word(self) -> int:
        """Return the next 64 bits, the lower half first."""
        low = self.word()
        return self.word() << 32 | low

    def fraction(self) -> np.float32:
        """Return a float32 in [0, 1) with 23 bits."""
        return np.float32((self.word() & 0x7FFFFF) / 2**23)

    def precise_fraction(self) -> float:
        """Return a float64 in [0, 1) with 52 bits; the first word holds the upper ones."""
        high = self.word() & 0xFFFFF
        return (high << 32 | self.word()) / 4503599627370496

    def precise_fractions(self, count: int) -> Array:
        """Return as many numbers as calls of :meth:`precise_fraction` would."""
        high, low = self.words(2 * count).reshape(count, 2).T
        return ((high & 0xFFFFF) * float(_WORD) + low) / 4503599627370496

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

    def all_below_wide(self, limit: int, count: int) -> list[int]:
        """Return as many integers as calls of :meth:`below_wide` would."""
        found = np.ascontiguousarray(self._coming(2 * count)).view("<u8")
        is_power = limit & (limit - 1) == 0
        if not is_power and int(found.min()) < (_WORD * _WORD - 1) % limit + 1:
            return [self.below_wide(limit) for _ in range(count)]
        self._place += 2 * count
        values: list[int] = (found % np.uint64(limit)).tolist()
        return values

    def fractions_and_numbers(self, limit: int, count: int) -> tuple[Array, Array]:
        """Return the results of calls of :meth:`fraction` and :meth:`below` in turns."""
        first, second = self._coming(2 * count).reshape(count, 2).T
        is_power = limit & (limit - 1) == 0
        if not is_power and int(second.min()) < (_WORD - 1) % limit + 1:
            pairs = [(self.fraction(), self.below(limit)) for _ in range(count)]
            return np.array([one for one, _ in pairs]), np.array([one for _, one in pairs])
        self._place += 2 * count
        return (first & 0x7FFFFF).astype(np.float32) / np.float32(2**23), second % np.uint32(limit)


class RangeSampler:
    """The base class of samplers; subclasses define how a class is drawn and its probability."""

    def __init__(self, limit: int) -> None:
        self.range = limit

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        raise NotImplementedError

    def draws(self, words: WordStream, count: int) -> list[int]:
        """Return several classes, those of as many calls of :meth:`draw`."""
        return [self.draw(words) for _ in range(count)]

    def probabilities(self, classes: Array) -> Array:
        """Return the probability of each class, float32."""
        raise NotImplementedError

    def sample(
        self, words: WordStream, count: int, is_unique: bool, true_classes: Array
    ) -> tuple[Array, Array, Array]:
        """Return classes, the expected counts of the true classes, and those of the drawn ones."""
        drawn: dict[int, None] | list[int]
        if is_unique:
            drawn, tries = {}, 0
            while len(drawn) < count:
                # All of these are tries: only the last one can be the last missing class.
                missing = count - len(drawn)
                drawn.update(dict.fromkeys(self.draws(words, missing)))
                tries += missing
        else:
            drawn, tries = self.draws(words, count), count
        classes = np.array(list(drawn), np.int64)
        return (
            classes,
            self._expected(true_classes, count, tries),
            self._expected(classes, count, tries),
        )

    def _expected(self, classes: Array, count: int, tries: int) -> Array:
        shares = self.probabilities(classes).astype(np.float64)
        if tries == count:
            return (shares * count).astype(np.float32)
        with np.errstate(divide="ignore"):  # a probability of 1
            return (-np.expm1(tries * np.log1p(-shares))).astype(np.float32)


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

    def draws(self, words: WordStream, count: int) -> list[int]:
        """Return several classes."""
        if count < _LEAST_DRAWS:
            return super().draws(words, count)
        return words.all_below_wide(self.range, count)

    def probabilities(self, classes: Array) -> Array:
        """Return 1 / range."""
        return np.full(classes.shape, 1.0 / self.range, np.float32)


class LogUniformSampler(RangeSampler):
    """The sampler by Zipf's law: the logarithm of the class is uniform."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._log_range = math.log1p(limit)

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        return self._class_of(words.precise_fraction() * self._log_range)

    def _class_of(self, logarithm: float) -> int:
        # Rounding may produce the limit itself.
        return (int(math.exp(logarithm)) - 1) % self.range

    def draws(self, words: WordStream, count: int) -> list[int]:
        """Return several classes."""
        if count < _LEAST_DRAWS or self.range > _MOST_ROUNDED:
            return super().draws(words, count)
        logarithms = words.precise_fractions(count) * self._log_range
        numbers = np.exp(logarithms)
        classes: list[int] = ((numbers.astype(np.int64) - 1) % self.range).tolist()
        # Beside integers the last bits decide, in which NumPy and the C library may differ.
        is_close = np.abs(numbers - np.rint(numbers)) <= numbers * 1e-14
        for place in np.flatnonzero(is_close).tolist():
            classes[place] = self._class_of(float(logarithms[place]))
        return classes

    def probabilities(self, classes: Array) -> Array:
        """Return log((class + 2) / (class + 1)) / log(range + 1)."""
        numbers = classes.astype(np.float64) + 1.0
        return (np.log((numbers + 1.0) / numbers) / self._log_range).astype(np.float32)


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

    def probabilities(self, classes: Array) -> Array:
        """Return each class's share of all counts."""
        shares: Array = self._weights[classes].astype(np.float32) / np.float32(self._sums[-1])
        return shares

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
        self._others = np.array(others, np.int64)
        self._probabilities = (np.array(self._weights, np.float64) / self._total).astype(np.float32)

    def draw(self, words: WordStream) -> int:
        """Return one class."""
        return self.draws(words, 1)[0]

    def draws(self, words: WordStream, count: int) -> list[int]:
        """Return several classes."""
        fractions, numbers = words.fractions_and_numbers(len(self._others), count)
        kept = fractions < self._shares[numbers]
        classes: list[int] = np.where(kept, numbers, self._others[numbers]).tolist()
        return classes

    def probabilities(self, classes: Array) -> Array:
        """Return each class's share of all weights."""
        shares: Array = self._probabilities[classes]
        return shares


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
