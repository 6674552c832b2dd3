"""RandomIndexShuffle: the place of one number in a random permutation, which is never built.

A block cipher permutes all numbers of its block; a result larger than the largest index is
encrypted again, until it is not larger ("cycle walking"). The cipher is Simon (Beaulieu
and others, 2013) with few rounds, words of half the block, and three numbers for a key. Blocks have
an even number of bits, 16 at least. Corresponds to TensorFlow's ``random_index_shuffle.cc``, number
for number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.array.pad_ops import pad
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {"random.experimental": ["index_shuffle"], "tf": ["random_index_shuffle"]}

_LEAST_BITS = 16
_KEY_SIZE = 3
_CONSTANT, _SEQUENCE = 0xFFFFFFFC, 0x7369F885192C0EF5
# The first number of a key whose seed has only two numbers.
_FIRST_OF_KEY = 498247692
# Below this size a number is encrypted so often that a table of all of them is faster.
_LEAST_WALKED = 2048


# ------------------------------------------------------------------------------------------- cipher


def _round_keys(key: tuple[int, ...], rounds: int, bits: int) -> list[int]:
    """Return one word of ``bits`` bits for every round."""
    mask = (1 << bits) - 1
    keys = [number & mask for number in key]
    for index in range(_KEY_SIZE, rounds):
        last = keys[-1]
        turned = _right(last, 3, bits) ^ _right(last, 4, bits)
        bit = ((_SEQUENCE & mask) >> (index - _KEY_SIZE)) & 1
        keys.append((_CONSTANT & mask) ^ bit ^ keys[index - _KEY_SIZE] ^ turned)
    return keys


def _right(word: int, count: int, bits: int) -> int:
    return ((word >> count) | (word << (bits - count))) & ((1 << bits) - 1)


def _mixed(words: Array, bits: int) -> Array:
    """Return the value that a round combines with the other half of a block."""
    mask = np.uint64((1 << bits) - 1)

    def left(count: int) -> Array:
        return (words << np.uint64(count)) | (words >> np.uint64(bits - count))

    return ((left(1) & left(8)) ^ left(2)) & mask


def _encrypted(values: Array, keys: list[int], bits: int) -> Array:
    """Return the blocks, an array of uint64, after all rounds; half a block has ``bits`` bits."""
    mask = np.uint64((1 << bits) - 1)
    first, second = (values >> np.uint64(bits)) & mask, values & mask
    for one, other in zip(keys[::2], keys[1::2], strict=True):
        first = first ^ _mixed(second, bits) ^ np.uint64(one)
        second = second ^ _mixed(first, bits) ^ np.uint64(other)
    return (first << np.uint64(bits)) | second


def _half_block(largest: int) -> int:
    """Return the number of bits of half a block for indices up to ``largest``."""
    bits = math.ceil(math.log2(largest))
    return min(max(bits + bits % 2, _LEAST_BITS), 64) // 2


@lru_cache(maxsize=8)
def _table(key: tuple[int, ...], rounds: int) -> list[int]:
    """Return the encrypted value of every number of the smallest block."""
    bits = _LEAST_BITS // 2
    values = np.arange(1 << _LEAST_BITS, dtype=np.uint64)
    found: list[int] = _encrypted(values, _round_keys(key, rounds, bits), bits).tolist()
    return found


def shuffled_indices(indices: Array, key: tuple[int, ...], largest: int, rounds: int) -> Array:
    """Return the places of indices in the permutation of 0 to ``largest`` with this key.

    >>> shuffled_indices(np.arange(4, dtype=np.uint64), (498247692, 5, 9), 3, 4).tolist()
    [2, 0, 1, 3]
    """
    if largest == 0:
        return np.zeros(len(indices), np.uint64)
    if largest < _LEAST_WALKED:
        return _walked_in_table(indices, _table(key, rounds), largest)
    bits = _half_block(largest)
    keys = _round_keys(key, rounds, bits)
    out = _encrypted(indices, keys, bits)
    while True:
        beyond = np.flatnonzero(out > np.uint64(largest))
        if not len(beyond):
            return out
        out[beyond] = _encrypted(out[beyond], keys, bits)


def _walked_in_table(indices: Array, table: list[int], largest: int) -> Array:
    # Distinct numbers use different parts of the table, so there are at most as many steps as
    # entries.
    distinct, places = np.unique(indices, return_inverse=True)
    found = []
    for place in distinct.tolist():
        place = table[place]
        while place > largest:
            place = table[place]
        found.append(place)
    return np.array(found, np.uint64)[places]


# ------------------------------------------------------------------------------ op


def _shuffle_shape(c: InferenceContext) -> TensorShape:
    index, largest = c.with_rank_at_most(0, 1), c.with_rank_at_most(2, 1)
    c.with_rank_at_least(1, 1)
    seed = c.with_rank_at_most(1, 2)
    if seed.dim_values is not None and seed.dim_values[-1] != _KEY_SIZE:
        sizes = ", ".join("-1" if size is None else str(size) for size in seed.dim_values)
        raise ValueError(
            f"Seed must have shape [{_KEY_SIZE}] or [n, {_KEY_SIZE}] but got [{sizes}]."
        )
    parts = [("index", index), ("seed", seed), ("largest", largest)]
    given = [
        (name, shape.dim_values[0])
        for name, shape in parts
        if shape.dim_values is not None and len(shape.dim_values) == 1 + (name == "seed")
    ]
    size: int | None = None
    by_index = dict(given).get("index")
    for name, found in given:
        # The kernel handles a size of 1.
        if None not in (size, found) and found != size and 1 not in (size, found):
            raise ValueError(_shapes_differ(name, found, size, by_index))
        size = found if size is None else size
    if given:
        return TensorShape([size])
    known = all(shape.dim_values is not None for _, shape in parts)
    return TensorShape([]) if known else UNKNOWN_SHAPE


def _shapes_differ(name: str, found: int | None, size: int | None, by_index: int | None) -> str:
    if name == "seed":
        return (
            f"Seed has shape [{found}, {_KEY_SIZE}] but must have shape [{size}, {_KEY_SIZE}]. "
            f"since index had shape [{by_index}]."
        )
    return f"Max index has shape [{found}] but must have shape [{size}]."


@register_op(
    "RandomIndexShuffle",
    "index: dtype, seed: Tseed, max_index: dtype -> output: dtype",
    "rounds: int = 4",
    "dtype: {int32, uint32, int64, uint64}",
    "Tseed: {int32, uint32, int64, uint64}",
    shape=_shuffle_shape,
    devices=("CPU",),
)
def random_index_shuffle(
    xp: Xp, index: Array, seed: Array, max_index: Array, *, rounds: int
) -> Array:
    """Return the place of each index in the permutation of 0 to max_index with its seed."""
    if rounds < 4 or rounds % 2:
        raise errors.invalid_argument(f"rounds must be even, and 4 at least, but was {rounds}")
    sizes = [
        part.shape[0] for part, rank in ((index, 1), (seed, 2), (max_index, 1)) if part.ndim == rank
    ]
    count = max(sizes, default=1) or 1
    if index.ndim > 1 or (index.ndim == 1 and len(index) != count):
        raise errors.invalid_argument("Index bust be a scalar or vector.")  # codespell:ignore
    if seed.shape not in ((_KEY_SIZE,), (count, _KEY_SIZE)):
        raise errors.invalid_argument(
            f"Seed must be a vector of size [{_KEY_SIZE}] or a matrix of size "
            f"[{count}, {_KEY_SIZE}] but got {shape_text(seed.shape)}."
        )
    if max_index.ndim > 1 or (max_index.ndim == 1 and len(max_index) != count):
        raise errors.invalid_argument(
            "Maxval must be a scalar or a vector of the same size as index but got "
            f"{shape_text(max_index.shape)}"
        )
    _check_indices(index, max_index)
    indices = np.broadcast_to(index, (count,)).astype(np.uint64)
    limits = np.broadcast_to(max_index, (count,)).tolist()
    with np.errstate(over="ignore"):
        keys = [tuple(key) for key in seed.reshape(-1, _KEY_SIZE).astype(np.uint32).tolist()]
    out = np.empty(count, np.uint64)
    groups: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for place, largest in enumerate(limits):
        groups.setdefault((keys[place if len(keys) > 1 else 0], largest), []).append(place)
    for (key, largest), places in groups.items():
        out[places] = shuffled_indices(indices[places], key, largest, rounds)
    out = out.astype(index.dtype)
    return out if sizes else out[0]


random_index_shuffle.not_differentiable()


def _check_indices(index: Array, max_index: Array) -> None:
    low = index < 0
    if low.any():
        raise errors.invalid_argument(f"index must be >= 0 but was {_first(index, low)}")
    low = max_index < 0
    if low.any():
        raise errors.invalid_argument(f"max_index must be >= 0 but was {_first(max_index, low)}")
    beyond = index > max_index
    if beyond.any():
        raise errors.invalid_argument(
            f"max_index must be >= index, but {_first(max_index, beyond)} < {_first(index, beyond)}"
        )


def _first(values: Array, where: Array) -> Array:
    return np.broadcast_to(values, where.shape)[where].reshape(-1)[0]


# ---------------------------------------------------------------------------------- public function


def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> TensorResult:
    """Return the place of an index in a random permutation of 0 to ``max_index``.

    The permutation itself is never built, so that ``max_index`` may be large.

    Args:
      index: a scalar or vector of int32, uint32, int64 or uint64, from 0 to ``max_index``.
      seed: two integers. TensorFlow's function fails for a matrix of them, and so does this one;
        `tf.raw_ops.RandomIndexShuffle` takes three integers for each index.
      max_index: the largest index, of the index's type; a scalar, or one for each index.

    Returns:
      A tensor of the index's type: a scalar if all inputs are, else a vector.

    Raises:
      ValueError: a shape does not fit.
      InvalidArgumentError: when it runs, an index is negative or larger than ``max_index``.
    """
    seed = convert_to_tensor(seed)
    rank = 1 if seed.shape.ndims is None else seed.shape.ndims
    paddings = [[1, 0]] + (rank - 1) * [[0, 0]]
    seed = pad(seed, paddings, constant_values=_FIRST_OF_KEY)
    return random_index_shuffle(index, seed=seed, max_index=max_index, rounds=4)
