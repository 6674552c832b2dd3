"""Prefix beam search: the most likely label sequences for frames of logits.

A *beam* is a label sequence with the logarithms of two probabilities: that the frames so far spell
it and end with a blank, and that they end with its last label. In each frame every beam stays
unchanged or grows by one label; the ``width`` most likely of all these continue. A beam that was
removed can return as the child of another one. The algorithm is that of A. Graves' dissertation,
chapter 7.5, as in TensorFlow's ``ctc_beam_search.h``. Sums are kept in double precision.

Beams that stay, and the scores of all labels that may follow, are computed as arrays. Growth goes
from beam to beam, because each new beam may remove another one, and only over scores above that of
the least likely beam.
"""

from __future__ import annotations

import heapq
import itertools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tfnb.ops.nn import compiled_beam_search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array

    type_of_numbers = NDArray[np.float64]

_NEVER: Final = -math.inf


def _log_add(a: type_of_numbers, b: type_of_numbers) -> type_of_numbers:
    """Return log(exp(a) + exp(b)); both may be minus infinity."""
    larger = np.maximum(a, b)
    distance = np.abs(a - b)
    distance[larger == _NEVER] = 0.0
    found: type_of_numbers = larger + np.log1p(np.exp(-distance))
    return found


class _Beam:
    """A label sequence: that of its parent and one more label.

    Attributes:
      total, blank, label: logarithms of its probability: in all, ending with a blank, ending with
        its last label. Minus infinity in ``total`` means that the beam does not continue.
      place: its place among the beams of the last frame of which it was one.
    """

    __slots__ = ("blank", "children", "label", "last", "parent", "place", "total")

    def __init__(self, parent: _Beam | None, last: int) -> None:
        self.parent, self.last = parent, last
        self.children: dict[int, _Beam] = {}
        self.total = self.blank = self.label = _NEVER
        self.place = -1

    def child(self, label: int) -> _Beam:
        found = self.children.get(label)
        if found is None:
            found = self.children[label] = _Beam(self, label)
        return found

    def labels(self, merge_repeated: bool) -> list[int]:
        """Return the sequence; if ``merge_repeated``, only one of equal neighbours."""
        found: list[int] = []
        beam, before = self, -1
        while beam.parent is not None:
            if not merge_repeated or beam.last != before:
                found.append(beam.last)
            before = beam.last
            beam = beam.parent
        found.reverse()
        return found


class _Leaves:
    """The most likely beams, at most ``width``; of equally likely ones, those that came first.

    Attributes:
      bottom: the probability that a further beam must exceed.
    """

    def __init__(self, width: int, beams: list[_Beam]) -> None:
        """Begin with at most as many beams as may continue."""
        self._width, self._count = width, len(beams)
        self._heap = [(beam.total, -number, beam) for number, beam in enumerate(beams)]
        heapq.heapify(self._heap)
        self.bottom = self._heap[0][0] if self._count == width else _NEVER

    def push(self, beam: _Beam) -> None:
        """Add a beam; if it replaces another one, that one does not continue."""
        entry = (beam.total, -self._count, beam)
        self._count += 1
        if len(self._heap) < self._width:
            heapq.heappush(self._heap, entry)
        else:
            gone = heapq.heappushpop(self._heap, entry)[2]
            gone.total = gone.blank = gone.label = _NEVER
        if len(self._heap) == self._width:
            self.bottom = self._heap[0][0]

    def descending(self) -> list[_Beam]:
        """Return the beams, the most likely first."""
        return [beam for _, _, beam in sorted(self._heap, key=lambda e: (-e[0], -e[1]))]


def _stay(
    beams: list[_Beam], frame: type_of_numbers
) -> tuple[type_of_numbers, type_of_numbers, list[list[_Beam]]]:
    """Advance beams that do not grow.

    Returns:
      ``total`` and ``blank`` of each before the frame, and its children among the beams.
    """
    totals = np.array([beam.total for beam in beams])
    blanks = np.array([beam.blank for beam in beams])
    labels = np.array([beam.label for beam in beams])
    last = np.array([beam.last for beam in beams])
    for place, beam in enumerate(beams):
        beam.place = place
    children: list[list[_Beam]] = [[] for _ in beams]
    sources = []  # the place of the parent of each, -1 if it does not continue
    for beam in beams:
        parent = beam.parent
        if parent is None or parent.total == _NEVER:
            sources.append(-1)
            continue
        children[parent.place].append(beam)
        sources.append(parent.place)
    at = np.array(sources)
    # The parent has grown by the last label, after a blank if its own last label is the same.
    before = np.where(last[at] == last, blanks[at], totals[at])
    silent = totals + frame[-1]
    while True:
        before[at < 0] = _NEVER
        spoken = _log_add(labels, before) + frame[last]
        spoken[last < 0] = _NEVER  # the empty sequence
        now = _log_add(silent, spoken)
        # Impossible sequences do not continue: those before their children add nothing to them.
        ended = (at >= 0) & (now[at] == _NEVER) & (at < np.arange(len(beams)))
        if not ended.any():
            break
        at[ended] = -1
    of_beams = zip(beams, now.tolist(), silent.tolist(), spoken.tolist(), strict=True)
    for beam, total, blank, label in of_beams:
        beam.total, beam.blank, beam.label = total, blank, label
    return totals, blanks, children


def _step(beams: list[_Beam], frame: type_of_numbers, width: int) -> _Leaves:
    """Advance the beams by one frame of log-probabilities, of which the blank's is the last."""
    totals, blanks, children = _stay(beams, frame)
    leaves = _Leaves(width, beams)
    letters = frame[:-1]
    scores = letters + totals[:, None]
    last = np.array([beam.last for beam in beams])
    spoken = np.flatnonzero(last >= 0)
    scores[spoken, last[spoken]] = letters[last[spoken]] + blanks[spoken]
    rows, columns = np.nonzero(scores > leaves.bottom)
    ends = np.searchsorted(rows, np.arange(len(beams) + 1)).tolist()
    promising, likely = columns.tolist(), scores[rows, columns].tolist()
    least, peaks = totals.tolist(), scores.max(axis=1, initial=_NEVER).tolist()
    for place, beam in enumerate(beams):
        if not least[place] > leaves.bottom:
            continue
        part = slice(ends[place], ends[place + 1])
        if not children[place]:
            if peaks[place] > leaves.bottom:
                for label, score in zip(promising[part], likely[part], strict=True):
                    if score > leaves.bottom:
                        _grow(beam, label, score, leaves)
            continue
        known = {child.last: child for child in children[place]}
        own = dict(zip(promising[part], likely[part], strict=True))
        for label in sorted({*own, *known}):
            score = own.get(label, _NEVER)
            if score > leaves.bottom:
                _grow(beam, label, score, leaves)
            elif label in known and known[label].total == _NEVER:
                # A beam that was removed in this frame does not grow any more.
                least[known[label].place] = _NEVER
    return leaves


def _grow(beam: _Beam, label: int, score: float, leaves: _Leaves) -> None:
    """Add the child of a beam, if it does not continue already."""
    child = beam.child(label)
    if child.total == _NEVER:
        child.blank = _NEVER
        child.label = child.total = score
        leaves.push(child)


def beam_search(
    logits: Array, width: int, top_paths: int, merge_repeated: bool
) -> tuple[list[list[int]], list[float]] | None:
    """Return the most likely sequences and the logarithms of their probabilities.

    Args:
      logits: [frames, classes]; the last class is the blank.
      width: the number of beams that continue from frame to frame.
      top_paths: the number of requested sequences.
      merge_repeated: whether to return only one of equal neighbours in a sequence.

    Returns:
      The sequences and logarithms, or None if fewer beams than requested remain.
    """
    wide = np.asarray(logits, np.float64)
    peaks = wide.max(axis=1, keepdims=True) if wide.size else wide
    frames = wide - (peaks + np.log(np.exp(wide - peaks).sum(axis=1, keepdims=True)))
    compiled = compiled_beam_search.search(frames, width, top_paths)
    if compiled is not None:
        sequences, totals = compiled
        if len(totals) < top_paths:
            return None
        if merge_repeated:
            sequences = [[label for label, _ in itertools.groupby(one)] for one in sequences]
        return sequences, totals
    root = _Beam(None, -1)
    root.total = root.blank = 0.0
    branches = [root]
    with np.errstate(invalid="ignore"):  # differences of infinities
        for frame in frames:
            branches = _step(branches, frame, width).descending()
    if len(branches) < top_paths:
        return None
    best = branches[:top_paths]
    return [beam.labels(merge_repeated) for beam in best], [beam.total for beam in best]
