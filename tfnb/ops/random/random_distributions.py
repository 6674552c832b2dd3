"""Conversion of random bits to distributions, number for number as in TensorFlow.

Each ``*_from`` function takes blocks (uint32 of shape (n, 4), see philox.py) and returns the
numbers made of them, four or two per block. Single precision is computed in double and rounded,
which equals the result of a good C library; ``fill`` draws as many blocks as an output needs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.ops.random import compiled_philox
from tfnb.ops.random.philox import BLOCKS_PER_OUTPUT, Philox

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.ops.random.philox import BlockSource

_TRUNCATED_AT = 2.0
# The smallest argument of the logarithm.
_EPSILON = 1e-7


def per_block(dtype: DType) -> int:
    """Return how many numbers of a dtype one block gives."""
    return 2 if dtype.size == 8 else 4


def fill(
    xp: Xp,
    generator: BlockSource,
    count: int,
    dtype: DType,
    numbers_from: Callable[[Array, Array], Array],
) -> Array:
    """Return ``count`` numbers of a distribution that uses each block once."""
    blocks = generator.blocks(xp, -(-count // per_block(dtype)))
    return numbers_from(xp, blocks).reshape(-1)[:count]


# ------------------------------------------------------------------------------------------ uniform


def _float_in_unit(xp: Xp, bits: Array) -> Array:
    """Return numbers in [0, 1) from the low 23 bits."""
    ones = bits & np.uint32(0x7FFFFF)
    ones |= np.uint32(0x3F800000)
    numbers = ones.view(np.float32)
    numbers -= np.float32(1)
    return numbers


def _pair_from(block: Sequence[int]) -> tuple[float, float]:
    a, b, c, d = block
    return ((a & 0xFFFFF) << 32 | b) / 2**52, ((c & 0xFFFFF) << 32 | d) / 2**52


def doubles_from(xp: Xp, blocks: Array) -> Array:
    """Return numbers in [0, 1) in double precision, two per block."""
    if xp is np and len(blocks) == 1:
        # Python's integers are faster than NumPy's arrays for two numbers, and as exact.
        return np.array([_pair_from(blocks[0].tolist())])
    high = (blocks[:, 0::2] & np.uint32(0xFFFFF)).astype(np.uint64) << np.uint64(32)
    bits = high | blocks[:, 1::2] | np.uint64(0x3FF0000000000000)
    return bits.view(np.float64) - 1.0


def _halves_from(xp: Xp, blocks: Array) -> Array:
    bits = (blocks & np.uint32(0x3FF)).astype(np.uint16) | np.uint16(0x3C00)
    return bits.view(np.float16) - np.float16(1)


def _bfloat16s_from(xp: Xp, blocks: Array) -> Array:
    bits = ((blocks & np.uint32(0x7F)) | np.uint32(0x3F80)) << np.uint32(16)
    return (bits.view(np.float32) - np.float32(1)).astype(dtypes.bfloat16.as_numpy_dtype)


_UNIFORM: dict[DType, Callable[[Any, Any], Any]] = {
    dtypes.float32: _float_in_unit,
    dtypes.float64: doubles_from,
    dtypes.float16: _halves_from,
    dtypes.bfloat16: _bfloat16s_from,
}


def uniforms_from(dtype: DType) -> Callable[[Array, Array], Array]:
    """Return the function that makes numbers in [0, 1) of a dtype."""
    return _UNIFORM[dtype]


def uniform(xp: Xp, generator: BlockSource, count: int, dtype: DType) -> Array:
    """Return numbers in [0, 1)."""
    if xp is not np or not isinstance(generator, Philox):
        return fill(xp, generator, count, dtype, _UNIFORM[dtype])
    if dtype == dtypes.float64 and 0 < count <= 2:
        return np.array(_pair_from(generator.block())[:count])
    if dtype == dtypes.float32:
        found = compiled_philox.uniform(generator.key, generator.counter, -(-count // 4))
        if found is not None:
            return found.reshape(-1)[:count]
    return fill(xp, generator, count, dtype, _UNIFORM[dtype])


def full_integers(xp: Xp, generator: BlockSource, count: int, dtype: DType) -> Array:
    """Return integers of the whole range of a type of 32 or 64 bits."""
    return fill(xp, generator, count, dtype, _words_from(dtype)).view(dtype.as_numpy_dtype)


def _words_from(dtype: DType) -> Callable[[Array, Array], Array]:
    def words(xp: Xp, blocks: Array) -> Array:
        return blocks if dtype.size == 4 else blocks.view(np.uint64)

    return words


def uniform_integers(
    xp: Xp, generator: BlockSource, count: int, dtype: DType, low: int, high: int
) -> Array:
    """Return integers in [low, high), with the slight bias of a remainder."""
    unsigned = np.uint32 if dtype.size == 4 else np.uint64
    bits = 8 * dtype.size
    words = fill(xp, generator, count, dtype, _words_from(dtype))
    numbers = words % unsigned((high - low) % 2**bits) + unsigned(low % 2**bits)
    return numbers.view(dtype.as_numpy_dtype)


# ------------------------------------------------------------------------------------------- normal


def _floats_by_box_muller(xp: Xp, blocks: Array) -> Array:
    """Return normal numbers from pairs of words, four per block."""
    first = xp.maximum(_float_in_unit(xp, blocks[:, 0::2]), np.float32(_EPSILON))
    angle = (2 * math.pi * _float_in_unit(xp, blocks[:, 1::2]).astype(np.float64)).astype(
        np.float32
    )
    logarithm = xp.log(first.astype(np.float64)).astype(np.float32)
    radius = xp.sqrt(np.float32(-2) * logarithm)
    wide = angle.astype(np.float64)
    out = xp.empty(blocks.shape, np.float32)
    out[:, 0::2] = xp.sin(wide).astype(np.float32) * radius
    out[:, 1::2] = xp.cos(wide).astype(np.float32) * radius
    return out


def normal_doubles_from(xp: Xp, blocks: Array) -> Array:
    """Return normal numbers in double precision, two per block."""
    numbers = doubles_from(xp, blocks)
    angle = 2 * math.pi * numbers[:, 1]
    radius = xp.sqrt(-2.0 * xp.log(xp.maximum(numbers[:, 0], _EPSILON)))
    return xp.stack([xp.sin(angle) * radius, xp.cos(angle) * radius], axis=1)


def normals_from(dtype: DType) -> Callable[[Array, Array], Array]:
    """Return the function that makes normal numbers of a dtype; short ones are rounded float32."""
    return normal_doubles_from if dtype is dtypes.float64 else _floats_by_box_muller


def normal(xp: Xp, generator: BlockSource, count: int, dtype: DType) -> Array:
    """Return numbers with mean 0 and standard deviation 1."""
    numbers = fill(xp, generator, count, dtype, normals_from(dtype))
    return numbers.astype(dtype.as_numpy_dtype, copy=False)


def truncated_normal(xp: Xp, generator: Philox, count: int, dtype: DType) -> Array:
    """Return normal numbers between -2 and 2; those outside are drawn again.

    Each group of numbers (as many as a block gives) has a separate sequence of blocks, which it
    reads in order until it is full.
    """
    numbers_from = normals_from(dtype)
    size = per_block(dtype)
    step = size * BLOCKS_PER_OUTPUT // 4
    groups = -(-count // size)
    wide = np.float64 if dtype is dtypes.float64 else np.float32
    found = xp.empty((groups, size), wide)
    filled = xp.zeros(groups, np.int64)
    offsets = xp.arange(groups, dtype=np.uint64) * np.uint64(step)
    waiting = xp.arange(groups)
    while len(waiting):
        numbers = numbers_from(xp, generator.blocks_at(xp, offsets[waiting]))
        inside = abs(numbers) < _TRUNCATED_AT
        place = filled[waiting, None] + xp.cumsum(inside, axis=1) - 1
        rows, columns = xp.nonzero(inside & (place < size))
        found[waiting[rows], place[rows, columns]] = numbers[rows, columns]
        filled[waiting] += inside.sum(axis=1)
        offsets[waiting] += np.uint64(1)
        waiting = waiting[filled[waiting] < size]
    return found.reshape(-1)[:count].astype(dtype.as_numpy_dtype, copy=False)
