"""Names that stand side by side: a long one loses the parts that it shares with the others.

``labextension/src/render/names.ts`` does the same in the browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.notebook.scenes.attr_text import cut_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

# Characters kept of the common beginning and of the common end.
_HEAD, _TAIL = 8, 5
_WORD = 12  # a cut goes back to the beginning of a word, by this many characters at most
_MAX_ROUNDS = 8


def cut_apart(texts: Sequence[str], limit: int) -> list[str]:
    """Cut texts in their middle; texts that would look alike are cut before they differ.

    >>> cut_apart(["a_layer_with_a_kernel_in_it", "a_layer_with_a_bias_in_it"], 16)
    ['a_layer_…k…in_it', 'a_layer_…b…in_it']
    """
    found = [cut_middle(text, limit) for text in texts]
    groups = _alike(texts, found)
    for _ in range(_MAX_ROUNDS):  # each cuts later than the one before
        for group in groups:
            begin, end = _in_common([texts[place] for place in group])
            for place in group:
                found[place] = _cut_around(texts[place], begin, end, limit)
        groups = _alike(texts, found)
        if not groups:
            break
    return found


def _alike(texts: Sequence[str], shown: Sequence[str]) -> list[list[int]]:
    """Return the places of different texts that became equal."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(shown):
        if text != texts[place]:
            places.setdefault(text, []).append(place)
    return [group for group in places.values() if len({texts[i] for i in group}) > 1]


def _in_common(texts: Sequence[str]) -> tuple[int, int]:
    """Return how many characters texts share at their beginning, and how many at their end."""
    shortest = min(map(len, texts))
    begin = end = 0
    while begin < shortest and len({text[begin] for text in texts}) == 1:
        begin += 1
    while end < shortest - begin and len({text[-1 - end] for text in texts}) == 1:
        end += 1
    return begin, end


def _cut_around(text: str, begin: int, end: int, limit: int) -> str:
    start = begin
    for place in range(begin, max(0, begin - _WORD), -1):
        if text[place - 1] in "/_.:-":
            start = place
            break
    start = max(_HEAD, start)
    room = limit - _HEAD - 1
    if len(text) - start <= room:
        return f"{text[:_HEAD]}…{text[len(text) - room :]}"
    tail = text[len(text) - min(_TAIL, end or _TAIL) :]
    return f"{text[:_HEAD]}…{text[start : start + room - len(tail) - 1]}…{tail}"
