"""Texts from files, for a terminal."""

from __future__ import annotations

import re

# Control characters except tabs and line feeds; marks that change the order of what is displayed;
# halves of surrogate pairs, which cannot be encoded.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def terminal_text(text: str) -> str:
    r"""Return a text in which characters that control a terminal are written as escapes.

    The names in a model's file are anybody's: a terminal would obey their control characters.

    >>> print(terminal_text("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    return _UNSHOWN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
