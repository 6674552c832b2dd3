"""A layered layout in plain Python: small, for static pictures, without ``dot``.

The classic four steps: cut cycles, put every box one rank below its inputs, order the boxes of
each rank by the middle of their neighbours, then move them towards these as far as their order
allows.  Long edges pass through dummy boxes, so that they bend around what lies between.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 16.0
RANK_GAP = 30.0
DUMMY_WIDTH = 6.0
_SWEEPS = 6


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the boxes and points of the edges, in the order of the arguments."""

    width: float
    height: float
    centres: list[tuple[float, float]]
    edges: list[list[tuple[float, float]]]


def layered_layout(
    sizes: Sequence[tuple[float, float]], edges: Sequence[tuple[int, int]]
) -> Layout:
    """Place boxes of the given (width, height), with data flowing downwards."""
    if not sizes:
        return Layout(0.0, 0.0, [], [])
    forward = _without_cycles(len(sizes), edges)
    ranks = _ranks(len(sizes), forward)
    widths = [width for width, _ in sizes]
    chains: list[list[int]] = []
    for source, destination in forward:
        chain = [source]
        for rank in range(ranks[source] + 1, ranks[destination]):
            chain.append(len(ranks))
            ranks.append(rank)
            widths.append(DUMMY_WIDTH)
        chain.append(destination)
        chains.append(chain)
    rows: list[list[int]] = [[] for _ in range(max(ranks) + 1)]
    for box, rank in enumerate(ranks):
        rows[rank].append(box)
    above: list[list[int]] = [[] for _ in ranks]
    below: list[list[int]] = [[] for _ in ranks]
    for chain in chains:
        for a, b in itertools.pairwise(chain):
            below[a].append(b)
            above[b].append(a)
    _order(rows, above, below)
    x = _columns(rows, widths, above, below)
    tops, row_heights = _rows(rows, sizes)
    y = [tops[rank] + row_heights[rank] / 2 for rank in ranks]
    left = min(x[i] - widths[i] / 2 for i in range(len(x)))
    x = [value - left for value in x]
    return Layout(
        width=max(x[i] + widths[i] / 2 for i in range(len(x))),
        height=tops[-1] + row_heights[-1],
        centres=[(x[i], y[i]) for i in range(len(sizes))],
        edges=[
            _points(chain, flipped, x, y, sizes)
            for chain, flipped in zip(chains, _flipped(forward, edges), strict=True)
        ],
    )


def _without_cycles(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the edges, with those reversed that lead back to a box being visited.

    Self loops are dropped.
    """
    consumers: list[list[int]] = [[] for _ in range(count)]
    for source, destination in edges:
        consumers[source].append(destination)
    state = [0] * count  # 0 unseen, 1 on the stack, 2 done
    back: set[tuple[int, int]] = set()
    for root in range(count):
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(consumers[root]))]
        while stack:
            box, remaining = stack[-1]
            for consumer in remaining:
                if state[consumer] == 1:
                    back.add((box, consumer))
                elif state[consumer] == 0:
                    state[consumer] = 1
                    stack.append((consumer, iter(consumers[consumer])))
                    break
            else:
                state[box] = 2
                stack.pop()
    return [(b, a) if (a, b) in back else (a, b) for a, b in edges]


def _flipped(forward: Sequence[tuple[int, int]], edges: Sequence[tuple[int, int]]) -> list[bool]:
    return [f != e for f, e in zip(forward, edges, strict=True)]


def _ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    consumers: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, destination in edges:
        if source != destination:
            consumers[source].append(destination)
            waiting[destination] += 1
    ranks = [0] * count
    ready = [box for box in range(count) if waiting[box] == 0]
    while ready:
        box = ready.pop()
        for consumer in consumers[box]:
            ranks[consumer] = max(ranks[consumer], ranks[box] + 1)
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                ready.append(consumer)
    # A source moves down to just above its first consumer.
    has_input = {destination for _, destination in edges}
    for box in range(count):
        if box not in has_input and consumers[box]:
            ranks[box] = min(ranks[consumer] for consumer in consumers[box]) - 1
    return ranks


def _order(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> None:
    place = {box: float(i) for row in rows for i, box in enumerate(row)}

    def sort(row: list[int], neighbours: list[list[int]]) -> None:
        def middle(box: int) -> float:
            near = neighbours[box]
            return sum(place[n] for n in near) / len(near) if near else place[box]

        row.sort(key=middle)
        for i, box in enumerate(row):
            place[box] = float(i)

    for _ in range(_SWEEPS):
        for row in rows:
            sort(row, above)
        for row in reversed(rows):
            sort(row, below)


def _columns(
    rows: list[list[int]],
    widths: Sequence[float],
    above: list[list[int]],
    below: list[list[int]],
) -> list[float]:
    x = [0.0] * len(widths)
    for row in rows:
        position = 0.0
        for box in row:
            x[box] = position + widths[box] / 2
            position += widths[box] + GAP
        middle = (position - GAP) / 2
        for box in row:
            x[box] -= middle
    for _ in range(2 * _SWEEPS):
        for row in rows:
            wanted = []
            for box in row:
                near = above[box] + below[box]
                wanted.append(sum(x[n] for n in near) / len(near) if near else x[box])
            _spread(row, wanted, widths, x)
    return x


def _spread(
    row: Sequence[int], wanted: Sequence[float], widths: Sequence[float], x: list[float]
) -> None:
    left, right = list(wanted), list(wanted)
    for k in range(1, len(row)):
        room = (widths[row[k - 1]] + widths[row[k]]) / 2 + GAP
        left[k] = max(left[k], left[k - 1] + room)
    for k in range(len(row) - 2, -1, -1):
        room = (widths[row[k]] + widths[row[k + 1]]) / 2 + GAP
        right[k] = min(right[k], right[k + 1] - room)
    for k, box in enumerate(row):
        x[box] = (left[k] + right[k]) / 2


def _rows(
    rows: list[list[int]], sizes: Sequence[tuple[float, float]]
) -> tuple[list[float], list[float]]:
    tops, heights, y = [], [], 0.0
    for row in rows:
        height = max((sizes[box][1] for box in row if box < len(sizes)), default=0.0)
        tops.append(y)
        heights.append(height)
        y += height + RANK_GAP
    return tops, heights


def _points(
    chain: Sequence[int],
    is_flipped: bool,
    x: Sequence[float],
    y: Sequence[float],
    sizes: Sequence[tuple[float, float]],
) -> list[tuple[float, float]]:
    first, last = chain[0], chain[-1]
    points = [(x[first], y[first] + sizes[first][1] / 2)]
    points += [(x[box], y[box]) for box in chain[1:-1]]
    points.append((x[last], y[last] - sizes[last][1] / 2))
    return points[::-1] if is_flipped else points
