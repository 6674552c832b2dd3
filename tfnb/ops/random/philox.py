"""Philox 4x32-10: a counter-based random generator (Salmon et al., 2011).

Block number i is a function of the key and of counter + i, so any range of the sequence can be
computed at once and in any order. Therefore the numbers of TensorFlow do not depend on its threads,
and NumPy can reproduce them. A block is four 32-bit numbers.

A :class:`Philox` is a position in the sequence: two key words and a counter of 128 bits. It is
immutable; :meth:`Philox.skip` returns another position. A stateful kernel owns a
:class:`GuardedPhilox`, which reserves ranges that never overlap.
"""

from __future__ import annotations

import os
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tfnb.core.process.records import record
from tfnb.ops.random import compiled_philox

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_kernel import OpKernelContext

_MASK32 = 2**32 - 1
_MASK64 = 2**64 - 1
_MASK128 = 2**128 - 1
_MULTIPLIER_A, _MULTIPLIER_B = 0xD2511F53, 0xCD9E8D57
_MULTIPLIERS = np.uint64(_MULTIPLIER_A), np.uint64(_MULTIPLIER_B)
_WORD, _SHIFT = np.uint64(_MASK32), np.uint64(32)
_WEYL_A, _WEYL_B = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
# Number of counters processed at once, so that they stay in a core's cache.
_CHUNK = 8192
# Up to this number of blocks, computing them one by one is faster.
_FEW = 3
# 128-bit blocks reserved per output, independent of the number that a distribution uses.
BLOCKS_PER_OUTPUT = 256


@record(frozen=True, slots=True)
class Philox:
    """A position in the sequence of one key.

    >>> Philox.from_seeds(0, 0).blocks(np, 1)
    array([[1713891541, 3781805453, 3159862348, 2600524760]], dtype=uint32)

    Attributes:
      key: two words of 32 bits as one number, the first one low.
      counter: four words of 32 bits as one number, the first one lowest.
    """

    key: int
    counter: int

    @classmethod
    def from_seeds(cls, seed: int, seed2: int) -> Philox:
        """Return the start of the sequence of a pair of seeds."""
        return cls(seed & _MASK64, (seed2 & _MASK64) << 64)

    def skip(self, blocks: int) -> Philox:
        """Return the position ``blocks`` blocks later."""
        return Philox(self.key, (self.counter + blocks) & _MASK128)

    def blocks(self, xp: Xp, count: int) -> Array:
        """Return the next blocks: uint32 of shape (count, 4)."""
        if count <= _FEW:
            few = [self.skip(index).block() for index in range(count)]
            return xp.asarray(np.array(few, np.uint32).reshape(count, 4))
        if (
            xp is np
            and (found := compiled_philox.blocks(self.key, self.counter, count)) is not None
        ):
            return found
        return self.blocks_at(xp, xp.arange(count, dtype=np.uint64))

    def block(self) -> tuple[int, int, int, int]:
        """Return the next block as Python integers, which is faster for a single block."""
        words, key_a, key_b = self.counter, self.key & _MASK32, self.key >> 32
        c0, c1 = words & _MASK32, words >> 32 & _MASK32
        c2, c3 = words >> 64 & _MASK32, words >> 96
        for _ in range(_ROUNDS):
            a, b = c0 * _MULTIPLIER_A, c2 * _MULTIPLIER_B
            c0, c1 = b >> 32 ^ c1 ^ key_a, b & _MASK32
            c2, c3 = a >> 32 ^ c3 ^ key_b, a & _MASK32
            key_a, key_b = key_a + _WEYL_A & _MASK32, key_b + _WEYL_B & _MASK32
        return c0, c1, c2, c3

    def blocks_at(self, xp: Xp, offsets: Array) -> Array:
        """Return the blocks at uint64 offsets from here: uint32 of shape (n, 4)."""
        out = xp.empty((len(offsets), 4), np.uint32)
        for start in range(0, len(offsets), _CHUNK):
            self._fill(xp, offsets[start : start + _CHUNK], out[start : start + _CHUNK])
        return out

    def _fill(self, xp: Xp, offsets: Array, out: Array) -> None:
        low_start, high = np.uint64(self.counter & _MASK64), self.counter >> 64
        low = offsets + low_start
        # Words are kept in 64 bits, so that a product needs no conversion: `even` holds the first
        # and the third word of every counter, `odd` the second and the fourth.
        even, odd, products = xp.empty((3, 2, len(offsets)), np.uint64)
        first, third = even
        xp.bitwise_and(low, _WORD, out=first)
        xp.right_shift(low, _SHIFT, out=odd[0])
        third[...], odd[1] = high & _MASK32, high >> 32
        carried = low < low_start
        if bool(carried.any()):
            following = (high + 1) & _MASK64
            third[carried], odd[1][carried] = following & _MASK32, following >> 32
        # A number that multiplies contiguous words takes half the time of one that is broadcast.
        for key_a, key_b in _round_keys(self.key):
            xp.multiply(third, _MULTIPLIERS[1], out=products[0])
            xp.multiply(first, _MULTIPLIERS[0], out=products[1])
            xp.right_shift(products, _SHIFT, out=even)
            xp.bitwise_xor(even, odd, out=even)
            xp.bitwise_xor(first, key_a, out=first)
            xp.bitwise_xor(third, key_b, out=third)
            xp.bitwise_and(products, _WORD, out=products)
            odd, products = products, odd
        out[:, 0], out[:, 1], out[:, 2], out[:, 3] = first, odd[0], third, odd[1]


@lru_cache(maxsize=256)
def _round_keys(key: int) -> list[tuple[np.uint64, np.uint64]]:
    first, second = key & _MASK32, key >> 32
    return [
        (
            np.uint64((first + step * _WEYL_A) & _MASK32),
            np.uint64((second + step * _WEYL_B) & _MASK32),
        )
        for step in range(_ROUNDS)
    ]


class BlockSource(Protocol):
    """A source of blocks that are used once and in order."""

    def blocks(self, xp: Xp, count: int) -> Array:
        """Return the next blocks: uint32 of shape (count, 4)."""
        ...


@record(frozen=True, slots=True)
class _BlocksOfCalls:
    """The blocks that the next calls of one kernel use, call after call.

    Attributes:
      first: the position of the first call.
      used: number of blocks that a call uses.
      stride: number of blocks between the starts of two calls.
    """

    first: Philox
    used: int
    stride: int

    def blocks(self, xp: Xp, count: int) -> Array:
        """Return the blocks of ``count / used`` calls."""
        calls = xp.arange(count // self.used, dtype=np.uint64) * np.uint64(self.stride)
        return self.first.blocks_at(
            xp, (calls[:, None] + xp.arange(self.used, dtype=np.uint64)).reshape(-1)
        )


# Equal calls before numbers are computed ahead, and calls that are computed at once.
_CALLS_BEFORE, _CALLS_AHEAD = 3, 16
# Blocks of a call above which NumPy's cost of a call does not matter.
_AHEAD_UP_TO = 1024


class GuardedPhilox:
    """A generator shared by concurrent steps; each step gets different numbers."""

    __slots__ = ("_ahead", "_drawn", "_equal_calls", "_generator", "_lock")

    def __init__(self, seed: int, seed2: int) -> None:
        if seed == 0 and seed2 == 0:
            seed, seed2 = (int.from_bytes(os.urandom(8)) for _ in range(2))
        self._lock = threading.Lock()
        # Guarded by self._lock: the position of the next call, numbers of coming calls (the next
        # call's last), what these calls draw, and the number of calls that drew the same.
        self._generator = Philox.from_seeds(seed, seed2)
        self._ahead: list[Array] = []
        self._drawn: object = None
        self._equal_calls = 0

    def reserve_blocks(self, count: int) -> Philox:
        """Reserve the next ``count`` blocks and return the position of the first."""
        with self._lock:
            generator = self._generator
            self._generator = generator.skip(count)
            self._drawn = None
        return generator

    def reserve_outputs(self, count: int) -> Philox:
        """Reserve blocks for ``count`` outputs of any distribution."""
        return self.reserve_blocks(count * BLOCKS_PER_OUTPUT)

    def draw(
        self, count: int, per_block: int, drawn: object, draw: Callable[[BlockSource, int], Array]
    ) -> Array:
        """Return ``count`` numbers, for which as many outputs are reserved.

        A kernel of a loop or of a training step draws the same again and again; NumPy computes
        few numbers hardly faster than many, so that those of the next calls are computed with them.

        Args:
          count: the number of outputs.
          per_block: numbers that a block gives.
          drawn: the distribution and its parameters, which other calls are compared with.
          draw: the function that makes as many numbers as it is told, each block used once.
        """
        used, stride = -(-count // per_block), count * BLOCKS_PER_OUTPUT
        what = (count, drawn)
        with self._lock:
            generator = self._generator
            self._generator = generator.skip(stride)
            if what != self._drawn:
                self._drawn, self._equal_calls = what, 0
                self._ahead.clear()
            self._equal_calls += 1
            repeats = self._equal_calls > _CALLS_BEFORE and 0 < used <= _AHEAD_UP_TO
            if repeats and not self._ahead and not compiled_philox.is_ready():
                source = _BlocksOfCalls(generator, used, stride)
                numbers = draw(source, _CALLS_AHEAD * used * per_block)
                self._ahead.extend(numbers.reshape(_CALLS_AHEAD, -1)[::-1, :count])
            if self._ahead:
                # A copy: what is kept of a call must not keep the numbers of others.
                return self._ahead.pop().copy()
        return draw(generator, count)


def generator_of(ctx: OpKernelContext, seed: int, seed2: int) -> GuardedPhilox:
    """Return the generator of a stateful kernel; it lives as long as the kernel."""
    state = ctx.kernel_state
    generator: GuardedPhilox | None = state.get("generator")
    if generator is None:
        generator = state.setdefault("generator", GuardedPhilox(seed, seed2))
    return generator


def generator_of_seed(seed: Array) -> Philox:
    """Return the generator that a stateless op derives from its two seeds.

    The seeds are scrambled, so that a difference in any bit gives different numbers.
    """
    first, second = (int(one) & _MASK64 for one in seed.tolist())
    mixed = Philox(0x02461E293EC8F720, second << 64 | first).block()
    return Philox(mixed[1] << 32 | mixed[0], (mixed[3] << 32 | mixed[2]) << 64)
