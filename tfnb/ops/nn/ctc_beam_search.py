"""Prefix beam search: the most likely label sequences for frames of logits.

A *beam* is a label sequence with the logarithms of two probabilities: that the frames so far spell
it and end with a blank, and that they end with its last label. In each frame every beam stays
unchanged or grows by one label; the ``width`` most likely of all these continue. A beam that was
removed can return as the child of another one. The algorithm is that of A. Graves' dissertation,
chapter 7.5, as in TensorFlow's ``ctc_beam_search.h``. Sums are kept in double precision.
"""

from __future__ import annotations

import heapq
import itertools
import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.kernel_types import Array

_NEVER: Final = -math.inf


def _log_add(a: float, b: float) -> float:
    """Return log(exp(a) + exp(b))."""
    if a == _NEVER:
        return b
    if b == _NEVER:
        return a
    return max(a, b) + math.log1p(math.exp(-abs(a - b)))


class _Beam:
    """A label sequence: that of its parent and one more label.

    Attributes:
      total, blank, label: logarithms of its probability: in all, ending with a blank, ending with
        its last label. Minus infinity in ``total`` means that the beam does not continue.
      old_total, old_blank: the values before the current frame.
    """

    __slots__ = ("blank", "children", "label", "last", "old_blank", "old_total", "parent", "total")

    def __init__(self, parent: _Beam | None, last: int) -> None:
        self.parent, self.last = parent, last
        self.children: dict[int, _Beam] = {}
        self.total = self.blank = self.label = _NEVER
        self.old_total = self.old_blank = _NEVER

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
    """The most likely beams, at most ``width``; of equally likely ones, those that came first."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._heap: list[tuple[float, int, _Beam]] = []
        self._count = itertools.count()

    def bottom(self) -> float:
        """Return the probability that a further beam must exceed."""
        return self._heap[0][0] if len(self._heap) == self.width else _NEVER

    def push(self, beam: _Beam) -> None:
        """Add a beam; if it replaces another one, that one does not continue."""
        entry = (beam.total, -next(self._count), beam)
        if len(self._heap) < self.width:
            heapq.heappush(self._heap, entry)
            return
        gone = heapq.heappushpop(self._heap, entry)[2]
        gone.total = gone.blank = gone.label = _NEVER

    def descending(self) -> list[_Beam]:
        """Return the beams, the most likely first."""
        return [beam for _, _, beam in sorted(self._heap, key=lambda e: (-e[0], -e[1]))]


def _step(branches: list[_Beam], frame: NDArray[np.float64], width: int) -> _Leaves:
    """Advance the beams by one frame of log-probabilities, of which the blank's is the last."""
    blank = float(frame[-1])
    letters = frame[:-1]
    leaves = _Leaves(width)
    for beam in branches:
        beam.old_total, beam.old_blank = beam.total, beam.blank
    old_labels = [beam.label for beam in branches]
    for beam, old_label in zip(branches, old_labels, strict=True):
        parent = beam.parent
        if parent is not None:
            beam.label = old_label
            if parent.total != _NEVER:
                same = beam.last == parent.last
                before = parent.old_blank if same else parent.old_total
                beam.label = _log_add(old_label, before)
            beam.label += float(letters[beam.last])
        beam.blank = beam.old_total + blank
        beam.total = _log_add(beam.blank, beam.label)
        leaves.push(beam)
    for beam in branches:
        if not beam.old_total > leaves.bottom():
            continue
        scores = letters + beam.old_total
        if beam.last >= 0:
            scores[beam.last] = letters[beam.last] + beam.old_blank
        promising = np.flatnonzero(scores > leaves.bottom()).tolist()
        for label in sorted({*promising, *beam.children}):
            score = float(scores[label])
            child = beam.child(label)
            if child.total != _NEVER:
                continue
            if score > leaves.bottom():
                child.blank = _NEVER
                child.label = child.total = score
                leaves.push(child)
            else:
                # A beam that was removed in this frame does not grow any more.
                child.old_total = child.old_blank = _NEVER
    return leaves


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
    root = _Beam(None, -1)
    root.total = root.blank = 0.0
    branches = [root]
    for frame in frames:
        branches = _step(branches, frame, width).descending()
    if len(branches) < top_paths:
        return None
    best = branches[:top_paths]
    return [beam.labels(merge_repeated) for beam in best], [beam.total for beam in best]
