"""Prefix beam search by a compiled routine; see ``ctc_beam_search.py`` for the algorithm.

Sequences are nodes of a tree: rows of numbers and of links.  The routine advances the beams frame
by frame, and returns when there may be too few free nodes for the next frame, or at the end.  Its
exponentials and logarithms differ from those of the plain way by a few units in the last place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.routines import Routine

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray

    from tfnb.core.compiled.loops import Loops, Variable

_NEVER: Final = literal(-math.inf, "double")
# Numbers of a node: logarithms of its probability now and before the frame.
_TOTAL, _BLANK, _LABEL, _OLD_TOTAL, _OLD_BLANK = _NUMBERS = range(5)
# Links of a node: its parent, its last label, its latest child, and the child of its parent that
# is older; -1 where there is none.
_PARENT, _LAST, _CHILD, _OLDER = _LINKS = range(4)
# The arrays of the routine.
_OF_NUMBERS, _OF_LINKS, _LEAVES, _ARRIVALS, _BRANCHES, _SLOTS, _STATE, _FRAMES = range(8)
# The counters of the state: frames that are done, leaves, nodes.
_DONE, _NUM_LEAVES, _NUM_NODES = _COUNTED = range(3)


class _Search:
    """The routine under construction.

    Its arrays are numbers and links of nodes; the nodes of the leaves, the most likely first, and
    the order in which they came in the frame; room for the nodes with which a frame begins; a
    node for each label, all -1; the state; and logarithms of probabilities, frame by frame, the
    blank's last.  Its sizes are the width, the classes, the frames, and the room for nodes.
    """

    def __init__(self, loops: Loops) -> None:
        self._loops = loops
        self._width, self._classes, frames, room = (loops.size(i) for i in range(4))
        self._letters = loops.do("sub i64", self._classes, "1")
        self._leaves, self._nodes = (
            loops.variable("i64", loops.load("i64", _STATE, str(i)))
            for i in (_NUM_LEAVES, _NUM_NODES)
        )
        self._arrivals = loops.variable("i64", "0")
        self._bottom = loops.variable("double", _NEVER)
        self._lowest = loops.variable("i64", "0")
        # A frame adds at most a node for each leaf and letter.
        most = loops.do("mul i64", self._width, self._letters)
        last = loops.do("sub i64", room, most)
        done = loops.variable("i64", loops.load("i64", _STATE, str(_DONE)))
        is_full = loops.variable("i1", loops.do("icmp sgt i64", self._nodes.get(), last))
        with loops.loop(done.get(), frames, is_full) as number:
            self._first = loops.do("mul i64", number, self._classes)
            self._write_frame()
            done.set(loops.do("add i64", number, "1"))
            is_full.set(loops.do("icmp sgt i64", self._nodes.get(), last))
        for place, value in zip(_COUNTED, (done, self._leaves, self._nodes), strict=True):
            loops.store("i64", value.get(), _STATE, str(place))

    # Parts of expressions.

    def _if(self, test: str) -> AbstractContextManager[str]:
        return self._loops.loop("0", self._loops.convert("zext i1", test, "i64"))

    def _number(self, node: str, field: int) -> str:
        return self._loops.load("double", _OF_NUMBERS, self._place(node, field, _NUMBERS))

    def _set_numbers(self, node: str, **values: str) -> None:
        for name, value in values.items():
            field = _NUMBERS[("total", "blank", "label", "old_total", "old_blank").index(name)]
            place = self._place(node, field, _NUMBERS)
            self._loops.store("double", value, _OF_NUMBERS, place)

    def _link(self, node: str, field: int) -> str:
        return self._loops.load("i64", _OF_LINKS, self._place(node, field, _LINKS))

    def _set_link(self, node: str, field: int, value: str) -> None:
        self._loops.store("i64", value, _OF_LINKS, self._place(node, field, _LINKS))

    def _place(self, node: str, field: int, fields: range) -> str:
        row = self._loops.do("mul i64", node, str(len(fields)))
        return self._loops.do("add i64", row, str(field))

    def _letter(self, label: str) -> str:
        place = self._loops.do("add i64", self._first, label)
        return self._loops.load("double", _FRAMES, place)

    def _is_never(self, value: str) -> str:
        return self._loops.do("fcmp oeq double", value, _NEVER)

    def _log_add(self, one: str, other: str) -> str:
        loops = self._loops
        test = loops.do("fcmp ogt double", one, other)
        larger = loops.choose("double", test, one, other)
        smaller = loops.choose("double", test, other, one)
        share = loops.call("exp", "double", loops.do("fsub double", smaller, larger))
        found = loops.do("fadd double", larger, loops.call("log1p", "double", share))
        found = loops.choose("double", self._is_never(other), one, found)
        return loops.choose("double", self._is_never(one), other, found)

    # A frame.

    def _write_frame(self) -> None:
        loops = self._loops
        count = loops.do("add i64", self._leaves.get(), "0")
        with loops.loop("0", count) as i:
            node = loops.load("i64", _LEAVES, i)
            loops.store("i64", node, _BRANCHES, i)
            loops.store("i64", i, _ARRIVALS, i)
            old = {"old_total": self._number(node, _TOTAL), "old_blank": self._number(node, _BLANK)}
            self._set_numbers(node, **old)
        self._arrivals.set(count)
        with loops.loop("0", count) as i:
            self._write_stay(loops.load("i64", _BRANCHES, i))
        self._bottom.set(_NEVER)
        self._write_bottom()
        with loops.loop("0", count) as i:
            node = loops.load("i64", _BRANCHES, i)
            total = self._number(node, _OLD_TOTAL)
            with self._if(loops.do("fcmp ogt double", total, self._bottom.get())):
                self._write_growth(node, total)
        self._write_sort()

    def _write_stay(self, node: str) -> None:
        """Write the update of a beam that does not grow."""
        loops = self._loops
        parent, last = self._link(node, _PARENT), self._link(node, _LAST)
        label = loops.variable("double", self._number(node, _LABEL))
        with self._if(loops.do("icmp sge i64", parent, "0")):
            is_same = loops.do("icmp eq i64", last, self._link(parent, _LAST))
            old = [self._number(parent, field) for field in (_OLD_BLANK, _OLD_TOTAL)]
            before = loops.choose("double", is_same, *old)
            is_gone = self._is_never(self._number(parent, _TOTAL))
            before = loops.choose("double", is_gone, _NEVER, before)
            spoken = self._log_add(label.get(), before)
            label.set(loops.do("fadd double", spoken, self._letter(last)))
        blank = loops.do("fadd double", self._number(node, _OLD_TOTAL), self._letter(self._letters))
        total = self._log_add(blank, label.get())
        self._set_numbers(node, total=total, blank=blank, label=label.get())

    def _write_bottom(self) -> None:
        """Write the search of the least likely leaf, if there is no room for another one."""
        loops = self._loops
        count = loops.do("add i64", self._leaves.get(), "0")
        with self._if(loops.do("icmp eq i64", count, self._width)):
            self._bottom.set(self._number(loops.load("i64", _LEAVES, "0"), _TOTAL))
            self._lowest.set("0")
            with loops.loop("1", count) as i:
                total = self._number(loops.load("i64", _LEAVES, i), _TOTAL)
                is_less = loops.do("fcmp olt double", total, self._bottom.get())
                is_equal = loops.do("fcmp oeq double", total, self._bottom.get())
                arrivals = [loops.load("i64", _ARRIVALS, one) for one in (i, self._lowest.get())]
                is_later = loops.do("icmp sgt i64", *arrivals)
                is_lower = loops.do("or i1", is_less, loops.do("and i1", is_equal, is_later))
                self._bottom.set(loops.choose("double", is_lower, total, self._bottom.get()))
                self._lowest.set(loops.choose("i64", is_lower, i, self._lowest.get()))

    def _children(self, node: str) -> Iterator[str]:
        """Write a loop over the children of a node; yield one."""
        loops = self._loops
        child = loops.variable("i64", self._link(node, _CHILD))
        is_end = loops.variable("i1", loops.do("icmp slt i64", child.get(), "0"))
        with loops.loop("0", self._classes, is_end):
            now = loops.do("add i64", child.get(), "0")
            yield now
            child.set(self._link(now, _OLDER))
            is_end.set(loops.do("icmp slt i64", child.get(), "0"))

    def _write_growth(self, node: str, total: str) -> None:
        """Write the children of a beam that are more likely than the least likely leaf."""
        loops = self._loops
        for child in self._children(node):
            loops.store("i64", child, _SLOTS, self._link(child, _LAST))
        own, blank = self._link(node, _LAST), self._number(node, _OLD_BLANK)
        with loops.loop("0", self._letters) as label:
            before = loops.choose("double", loops.do("icmp eq i64", label, own), blank, total)
            score = loops.do("fadd double", self._letter(label), before)
            is_likely = loops.do("fcmp ogt double", score, self._bottom.get())
            slot = loops.load("i64", _SLOTS, label)
            is_known = loops.do("icmp sge i64", slot, "0")
            with self._if(is_likely):
                grown = loops.variable("i64", slot)
                with self._if(loops.do("xor i1", is_known, "true")):
                    self._write_node(node, label, grown)
                found = loops.do("add i64", grown.get(), "0")
                with self._if(self._is_never(self._number(found, _TOTAL))):
                    self._set_numbers(found, total=score, blank=_NEVER, label=score)
                    self._write_push(found)
            is_unlikely = loops.do("xor i1", is_likely, "true")
            with self._if(loops.do("and i1", is_unlikely, is_known)):
                # A beam that was removed in this frame does not grow any more.
                with self._if(self._is_never(self._number(slot, _TOTAL))):
                    self._set_numbers(slot, old_total=_NEVER, old_blank=_NEVER)
        for child in self._children(node):
            loops.store("i64", "-1", _SLOTS, self._link(child, _LAST))

    def _write_node(self, parent: str, label: str, made: Variable) -> None:
        """Write a new node."""
        node = self._loops.do("add i64", self._nodes.get(), "0")
        self._nodes.set(self._loops.do("add i64", node, "1"))
        names = ("total", "blank", "label", "old_total", "old_blank")
        self._set_numbers(node, **dict.fromkeys(names, _NEVER))
        links = {_PARENT: parent, _LAST: label, _CHILD: "-1", _OLDER: self._link(parent, _CHILD)}
        for field, value in links.items():
            self._set_link(node, field, value)
        self._set_link(parent, _CHILD, node)
        made.set(node)

    def _write_push(self, node: str) -> None:
        """Write a new leaf, in place of the least likely one if there is no room."""
        loops = self._loops
        count = loops.do("add i64", self._leaves.get(), "0")
        is_full = loops.do("icmp eq i64", count, self._width)
        place = loops.choose("i64", is_full, self._lowest.get(), count)
        with self._if(is_full):
            gone = loops.load("i64", _LEAVES, place)
            self._set_numbers(gone, total=_NEVER, blank=_NEVER, label=_NEVER)
        loops.store("i64", node, _LEAVES, place)
        loops.store("i64", self._arrivals.get(), _ARRIVALS, place)
        self._arrivals.set(loops.do("add i64", self._arrivals.get(), "1"))
        more = loops.do("add i64", count, "1")
        self._leaves.set(loops.choose("i64", is_full, count, more))
        self._write_bottom()

    def _write_sort(self) -> None:
        """Write the order of the leaves: the most likely first, of equal ones the first to come."""
        loops = self._loops
        with loops.loop("1", self._leaves.get()) as i:
            node, arrival = (loops.load("i64", array, i) for array in (_LEAVES, _ARRIVALS))
            total = self._number(node, _TOTAL)
            place = loops.variable("i64", i)
            is_placed = loops.variable("i1", "false")
            with loops.loop("0", i, is_placed):
                before = loops.do("sub i64", place.get(), "1")
                other, came = (loops.load("i64", array, before) for array in (_LEAVES, _ARRIVALS))
                theirs = self._number(other, _TOTAL)
                is_less = loops.do("fcmp olt double", theirs, total)
                is_equal = loops.do("fcmp oeq double", theirs, total)
                is_later = loops.do("icmp sgt i64", came, arrival)
                moves = loops.do("or i1", is_less, loops.do("and i1", is_equal, is_later))
                with self._if(moves):
                    loops.store("i64", other, _LEAVES, place.get())
                    loops.store("i64", came, _ARRIVALS, place.get())
                    place.set(before)
                is_placed.set(loops.do("xor i1", moves, "true"))
            loops.store("i64", node, _LEAVES, place.get())
            loops.store("i64", arrival, _ARRIVALS, place.get())


def _write(loops: Loops) -> None:
    _Search(loops)


_ROUTINE = Routine(8, _write)
# Estimates of the plain way: a frame, and a beam in it.
_SECONDS_OF_FRAME, _SECONDS_OF_BEAM = 5e-5, 3e-6
# Nodes for which there is room at first beyond those of a frame.
_FIRST_NODES = 1 << 10
# The most leaves, with all of which each one that comes is compared, and new nodes of a frame.
_MOST_LEAVES, _MOST_NODES = 1 << 12, 1 << 18


def search(
    frames: NDArray[np.float64], width: int, top_paths: int
) -> tuple[list[list[int]], list[float]] | None:
    """Return the most likely sequences and the logarithms of their probabilities.

    Args:
      frames: logarithms of probabilities, [frames, classes].
      width: the most beams that continue from frame to frame.
      top_paths: the most sequences to return.

    Returns:
      The sequences, the most likely first, or None where the routine does not fit or is not ready.
    """
    length, classes = frames.shape
    function = None
    step = width * (classes - 1)
    if width <= _MOST_LEAVES and step <= _MOST_NODES and np.isfinite(frames).all():
        seconds = length * (_SECONDS_OF_FRAME + width * _SECONDS_OF_BEAM)
        function = _ROUTINE.find(seconds)
    if function is None:
        return None
    room = step + _FIRST_NODES
    numbers, links = np.empty((room, len(_NUMBERS))), np.empty((room, len(_LINKS)), np.int64)
    numbers[0] = 0.0, 0.0, -math.inf, -math.inf, -math.inf
    links[0] = -1
    leaves, arrivals, branches = np.zeros((3, width), np.int64)
    slots, state = np.full(classes, -1, np.int64), np.array([0, 1, 1], np.int64)
    while True:
        sizes = np.array([1, width, classes, length, room], np.int64)
        function(numbers, links, leaves, arrivals, branches, slots, state, frames, sizes)
        if state[_DONE] == length:
            break
        more = room + step
        numbers = np.concatenate([numbers, np.empty((more, len(_NUMBERS)))])
        links = np.concatenate([links, np.empty((more, len(_LINKS)), np.int64)])
        room += more
    best = leaves[: min(top_paths, int(state[_NUM_LEAVES]))].tolist()
    return [_labels(links, node) for node in best], [float(numbers[node, _TOTAL]) for node in best]


def _labels(links: NDArray[np.int64], node: int) -> list[int]:
    """Return the sequence of a node."""
    found = []
    while node:
        found.append(int(links[node, _LAST]))
        node = int(links[node, _PARENT])
    found.reverse()
    return found
