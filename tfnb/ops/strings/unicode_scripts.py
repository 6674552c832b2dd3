"""The script of a character, as Latin, Greek or Han, in ICU's numbers."""

from __future__ import annotations

import base64
import zlib
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from tfnb.ops.strings.unicode_scripts_table import PACKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array

_LAST = 0x10FFFF

# ICU's numbers of the scripts, by the names in regular expressions.
_NAMES = """
Common Inherited Arabic Armenian Bengali Bopomofo Cherokee Coptic Cyrillic Deseret Devanagari
Ethiopic Georgian Gothic Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana Kannada Katakana Khmer
Lao Latin Malayalam Mongolian Myanmar Ogham Old_Italic Oriya Runic Sinhala Syriac Tamil Telugu
Thaana Thai Tibetan Canadian_Aboriginal Yi Tagalog Hanunoo Buhid Tagbanwa Braille Cypriot Limbu
Linear_B Osmanya Shavian Tai_Le Ugaritic
"""
SCRIPT_NAMES = {name: number for number, name in enumerate(_NAMES.split())}


@cache
def _table() -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    words = np.frombuffer(zlib.decompress(base64.b85decode(PACKED)), "<i4").reshape(2, -1)
    return np.cumsum(words[0], dtype=np.int64), words[1].astype(np.int32)


def script_numbers(code_points: Array) -> Array:
    """Return ICU's number of every code point's script; -1 if it is not a code point.

    >>> script_numbers(np.array([65, 0x3B1, -1]))
    array([25, 14, -1], dtype=int32)
    """
    starts, scripts = _table()
    found = scripts[np.searchsorted(starts, np.clip(code_points, 0, _LAST), side="right") - 1]
    return np.where((code_points < 0) | (code_points > _LAST), np.int32(-1), found)


def script_ranges(name: str) -> list[tuple[int, int]]:
    """Return the code points of a script, as the first and the last of each range."""
    starts, scripts = _table()
    ends = np.append(starts[1:] - 1, _LAST)
    own = scripts == SCRIPT_NAMES[name]
    return list(zip(starts[own].tolist(), ends[own].tolist(), strict=True))
