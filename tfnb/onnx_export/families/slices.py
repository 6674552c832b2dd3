"""Slices, with all the masks of StridedSlice."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.problems import Refused

_END = np.iinfo(np.int64).max


@converts("Slice")
def slice_of(node: NodeToConvert) -> str:
    """Convert Slice; a size of -1 reaches to the end."""
    begins, sizes = node.constant(1), node.constant(2)
    if begins is not None and sizes is not None:
        ends = [_END if size < 0 else int(b + size) for b, size in zip(begins, sizes)]
        return node.add("Slice", node.inputs[0], node.ints(*map(int, begins)), node.ints(*ends))
    begin, count = node.int64(1), node.int64(2)
    below = node.add("Less", count, node.value(0, np.int64))
    end = node.add("Where", below, node.value(_END, np.int64), node.add("Add", begin, count))
    return node.add("Slice", node.inputs[0], begin, end)


@converts("StridedSlice")
def strided_slice(node: NodeToConvert) -> str:
    """Convert StridedSlice: a Slice, then axes that are removed and added."""
    value = cut(node, node.inputs[0], None)
    return value if value != node.inputs[0] else node.add("Identity", value)


def cut(node: NodeToConvert, value: str, rank: int | None) -> str:
    """Return a slice of a value by inputs 1 to 3 and the masks of a node.

    Args:
      node: the node.
      value: what is cut.
      rank: its rank; None: that of input 0.
    """
    plan = _SlicePlan(node, rank)
    if plan.axes:
        value = node.add("Slice", value, plan.begin, plan.end, node.ints(*plan.axes), plan.stride)
    if plan.shrunk:
        value = node.add("Squeeze", value, node.ints(*plan.shrunk))
    if plan.added:
        value = node.add("Unsqueeze", value, node.ints(*plan.added))
    return value


class _SlicePlan:
    """The parts of a StridedSlice.

    Attributes:
      begin: where the slices begin, a value.
      end: where they end.
      stride: their strides.
      axes: the axes that are cut.
      shrunk: the axes that are removed.
      added: the axes of the result that are new.
    """

    def __init__(self, node: NodeToConvert, rank: int | None) -> None:
        self._node = node
        masks = {
            name: int(node.attr(f"{name}_mask", 0))
            for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
        }
        known = [node.constant(number) for number in (1, 2, 3)]
        number = len(known[0]) if known[0] is not None else node.size(1, 0)
        self.axes: list[int] = []
        self.shrunk: list[int] = []
        self.added: list[int] = []
        used: list[int] = []  # the entries that cut an axis
        axis = place = 0
        for entry in range(number):
            bit = 1 << entry
            if masks["ellipsis"] & bit:
                later = range(entry + 1, number)
                behind = sum(not masks["new_axis"] & (1 << one) for one in later)
                skipped = (node.rank(0) if rank is None else rank) - axis - behind
                axis += skipped
                place += skipped
                continue
            if masks["new_axis"] & bit:
                self.added.append(place)
                place += 1
                continue
            self.axes.append(axis)
            used.append(entry)
            if masks["shrink_axis"] & bit:
                self.shrunk.append(axis)
            else:
                place += 1
            axis += 1
        strides = known[2]
        if strides is None:
            raise Refused("its strides are not constant")
        steps = [int(strides[entry]) for entry in used]
        self.stride = node.ints(*steps)
        begins: list[Any] = []
        ends: list[Any] = []
        for entry, step in zip(used, steps):
            bit = 1 << entry
            shrinks = bool(masks["shrink_axis"] & bit)
            begin = None if known[0] is None else int(known[0][entry])
            end = None if known[1] is None else int(known[1][entry])
            if masks["begin"] & bit and not shrinks:
                begin = 0 if step > 0 else _END
            if shrinks:
                end = None if begin is None else (begin + 1 or _END)
            elif masks["end"] & bit:
                end = _END if step > 0 else -_END
            begins.append(begin)
            ends.append(end)
        one = self._entries(1, used, begins)
        self.begin = self._joined(one)
        two = self._entries(2, used, ends)
        for place, entry in enumerate(used):
            if masks["shrink_axis"] & (1 << entry) and ends[place] is None:
                following = node.add("Add", one[place], node.ints(1))
                last = node.add("Equal", one[place], node.ints(-1))
                two[place] = node.add("Where", last, node.ints(_END), following)
        self.end = self._joined(two)

    def _entries(self, index: int, used: list[int], found: list[Any]) -> list[str]:
        node = self._node
        return [
            node.add("Gather", node.int64(index), node.ints(entry))
            if number is None
            else node.ints(number)
            for entry, number in zip(used, found)
        ]

    def _joined(self, parts: list[str]) -> str:
        node = self._node
        arrays = [node.writer.graph.initializers.get(part) for part in parts]
        if all(array is not None for array in arrays):
            return node.ints(*(int(array[0]) for array in arrays if array is not None))
        return parts[0] if len(parts) == 1 else node.add("Concat", *parts, axis=0)
