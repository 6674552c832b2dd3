"""Single random numbers in sequence, for kernels that need few.

Corresponds to TensorFlow's ``simple_philox.h`` and ``exact_uniform_int.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfnb.ops.random.philox import Philox

_WORDS = 2**32


class SimplePhilox:
    """A reader of the sequence from a given position, word by word."""

    __slots__ = ("_generator", "_words")

    def __init__(self, generator: Philox) -> None:
        self._generator = generator
        self._words: list[int] = []

    def word(self) -> int:
        """Return 32 random bits."""
        if not self._words:
            self._words = list(self._generator.block()[::-1])
            self._generator = self._generator.skip(1)
        return self._words.pop()

    def unit_float(self) -> np.float32:
        """Return a single-precision number in [0, 1)."""
        bits = np.array((self.word() & 0x7FFFFF) | 0x3F800000, np.uint32)
        return np.float32(bits.view(np.float32) - np.float32(1))

    def unit_double(self) -> float:
        """Return a double-precision number in [0, 1)."""
        high, low = self.word() & 0xFFFFF, self.word()
        bits = np.array(high << 32 | low | 0x3FF0000000000000, np.uint64)
        return float(bits.view(np.float64)) - 1.0

    def below(self, count: int) -> int:
        """Return an integer in [0, count); all are equally likely."""
        if count & (count - 1) == 0:
            return self.word() & (count - 1)
        # The lowest words would make small numbers more likely.
        refused = (_WORDS - 1) % count + 1
        while True:
            word = self.word()
            if word >= refused:
                return word % count
