"""The k largest elements of a row in the order of TensorFlow's heap: ``TopKV2(sorted=False)``.

TensorFlow returns them in the order of its heap (``gtl::TopN``), which is neither sorted nor
random. A heap here has the worst of the chosen elements in front. It moves elements like the C++
library; Python's ``heapq`` does the same unless there is a NaN, which cannot be ordered.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array

type_of_comes_first = Callable[[int, int], bool]


def unsorted_top(x: Array, k: int) -> Array:
    """Return indices of the k largest elements along the last axis.

    The axis must have more than k elements.
    """
    rows = x.reshape(-1, x.shape[-1])
    if x.dtype.kind not in "iu":
        rows = rows.astype(np.float64, copy=False)  # float64 holds every value of these types
    found = np.empty((rows.shape[0], k), np.intp)
    for place, row in zip(found, rows):
        place[:] = _top_with_nan(row, k) if (row != row).any() else _top_of_row(row, k)
    return found.reshape(*x.shape[:-1], k)


def _top_of_row(row: Array, k: int) -> list[int]:
    # Of equal elements the later one is worse.
    heap = [(value, -index) for index, value in enumerate(row[: k + 1].tolist())]
    heapq.heapify(heap)
    heapq.heappop(heap)
    start, step = k + 1, 2 * (k + 1)
    while start < len(row):
        # Most elements are worse than all chosen ones: NumPy skips these, block by block.
        block = row[start : start + step]
        better = np.flatnonzero(block > heap[0][0])
        for value, index in zip(block[better].tolist(), (better + start).tolist()):
            if value > heap[0][0]:
                heapq.heappop(heap)
                heapq.heappush(heap, (value, -index))
        start, step = start + step, 2 * step
    return [-index for _, index in heap]


# ------------------------------------------------------------------------------------ with a NaN


def _top_with_nan(row: Array, k: int) -> list[int]:
    def is_better(one: int, other: int) -> bool:
        left, right = row[one], row[other]
        return bool(left > right or (not left < right and one < other))

    heap = list(range(k + 1))
    for parent in range((k - 1) // 2, -1, -1):
        _sink(heap, parent, k + 1, heap[parent], is_better)
    _take_worst(heap, is_better)
    heap.pop()
    for candidate in range(k + 1, len(row)):
        if is_better(candidate, heap[0]):
            _take_worst(heap, is_better)
            _rise(heap, k - 1, 0, candidate, is_better)
    return heap


def _take_worst(heap: list[int], is_better: type_of_comes_first) -> None:
    """Move the front element behind the others, and restore the heap of these."""
    last = heap[-1]
    heap[-1] = heap[0]
    _sink(heap, 0, len(heap) - 1, last, is_better)


def _sink(
    heap: list[int], hole: int, size: int, value: int, is_better: type_of_comes_first
) -> None:
    """Move a hole down to a leaf, and the value from there up to its place."""
    top, child = hole, hole
    while child < (size - 1) // 2:
        child = 2 * (child + 1)
        if is_better(heap[child], heap[child - 1]):
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if size % 2 == 0 and child == (size - 2) // 2:
        child = 2 * child + 1
        heap[hole] = heap[child]
        hole = child
    _rise(heap, hole, top, value, is_better)


def _rise(heap: list[int], hole: int, top: int, value: int, is_better: type_of_comes_first) -> None:
    parent = (hole - 1) // 2
    while hole > top and is_better(heap[parent], value):
        heap[hole] = heap[parent]
        hole = parent
        parent = (hole - 1) // 2
    heap[hole] = value
