"""Philox's blocks, and numbers in [0, 1), by a compiled routine (``core/compiled/routines.py``)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.routines import Routine, run_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.compiled.loops import Loops

_MASK32 = 2**32 - 1
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_WEYL = 0x9E3779B9, 0xBB67AE85
_ROUNDS = 10
# Estimates for one call of NumPy's way, and for one of its blocks.
_SECONDS_OF_CALL, _SECONDS_OF_BLOCK = 60e-6, 16e-9
_NS_OF_BLOCK = 5.0


def _write(loops: Loops, *, as_floats: bool) -> None:
    """Write the routine; its sizes are first block, last block, two keys, counter low and high."""
    begin, end, low_start, high_start = (loops.size(i) for i in (0, 1, 4, 5))
    keys = [loops.convert("trunc i64", loops.size(i), "i32") for i in (2, 3)]
    round_keys = [
        [loops.do("add i32", key, str(step * weyl & _MASK32)) for step in range(_ROUNDS)]
        for key, weyl in zip(keys, _WEYL, strict=True)
    ]
    with loops.loop(begin, end) as i:
        low = loops.do("add i64", low_start, i)
        carry = loops.convert("zext i1", loops.do("icmp ult i64", low, low_start), "i64")
        high = loops.do("add i64", high_start, carry)
        words = []
        for half in (low, high):
            words.append(loops.convert("trunc i64", half, "i32"))
            words.append(loops.convert("trunc i64", loops.do("lshr i64", half, "32"), "i32"))
        for step in range(_ROUNDS):
            parts = []
            for word, multiplier in zip(words[::2], _MULTIPLIERS, strict=True):
                wide = loops.convert("zext i32", word, "i64")
                product = loops.do("mul nuw i64", wide, str(multiplier))
                upper = loops.do("lshr i64", product, "32")
                parts.append([loops.convert("trunc i64", one, "i32") for one in (product, upper)])
            (low_a, high_a), (low_b, high_b) = parts
            first = loops.do("xor i32", high_b, words[1])
            third = loops.do("xor i32", high_a, words[3])
            words = [
                loops.do("xor i32", first, round_keys[0][step]),
                low_b,
                loops.do("xor i32", third, round_keys[1][step]),
                low_a,
            ]
        place = loops.do("mul nuw nsw i64", i, "4")
        for number, word in enumerate(words):
            at = loops.do("add nuw nsw i64", place, str(number))
            if not as_floats:
                loops.store("i32", word, 0, at)
                continue
            mantissa = loops.do("and i32", word, str(0x7FFFFF))
            bits = loops.do("or i32", mantissa, str(0x3F800000))
            number_from_one = loops.convert("bitcast i32", bits, "float")
            loops.store("float", loops.do("fadd float", number_from_one, "-1.0"), 0, at)


_BLOCKS = Routine(1, partial(_write, as_floats=False))
_UNIFORM = Routine(1, partial(_write, as_floats=True))


def _filled(
    routine: Routine, key: int, counter: int, count: int, dtype: type[np.generic]
) -> NDArray[np.generic] | None:
    function = routine.find(_SECONDS_OF_CALL + count * _SECONDS_OF_BLOCK)
    if function is None:
        return None
    out = np.empty((count, 4), dtype)
    words = [key & _MASK32, key >> 32, *(_signed(counter >> shift) for shift in (0, 64))]
    run_rows(function, [out], count, _NS_OF_BLOCK, *words)
    return out


def _signed(word: int) -> int:
    """Return the low 64 bits as an integer with a sign."""
    low = word & (2**64 - 1)
    return low - 2**64 if low >> 63 else low


def blocks(key: int, counter: int, count: int) -> NDArray[np.generic] | None:
    """Return blocks as uint32 of shape (count, 4); None where the routine is not ready."""
    return _filled(_BLOCKS, key, counter, count, np.uint32)


def uniform(key: int, counter: int, count: int) -> NDArray[np.generic] | None:
    """Return the numbers in [0, 1) of blocks, float32 of shape (count, 4); None as `blocks`."""
    return _filled(_UNIFORM, key, counter, count, np.float32)


def is_ready() -> bool:
    """Return whether numbers in [0, 1) are computed by the routine."""
    return _UNIFORM.find(0.0) is not None
