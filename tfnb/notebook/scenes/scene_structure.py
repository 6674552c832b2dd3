"""Structure in a flat stretch of a graph, found without names: series, repeated blocks, dominators.

A *series* is a set of parallel children: of one op, with the same neighbours.  A *repeated block*
is a pattern that recurs along the data flow, for example the layers of a network.  A child
*dominates* others if all their outputs go through it: the region has one way out, so a picture of
regions is a chain.

Edges are pairs of indices; the caller leaves out edges that close a loop.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    type_of_pairs = Sequence[tuple[int, int]]

MIN_SERIES = 5
MIN_REPEATS = 3
_LONGEST_PERIOD = 400
_LEAST_COVERED = 0.6
_LARGEST_REGION = 0.7


def series(kinds: Sequence[str], pairs: type_of_pairs) -> list[list[int]]:
    """Return children of one kind with equal inputs and outputs, from five on, in their order."""
    inputs: list[list[int]] = [[] for _ in kinds]
    outputs: list[list[int]] = [[] for _ in kinds]
    for source, destination in sorted(dict.fromkeys(pairs)):  # most often in order already
        inputs[destination].append(source)
        outputs[source].append(destination)
    if max(map(len, inputs + outputs), default=0) < MIN_SERIES:
        return []  # all children of a series feed one child, or are fed by one
    alike: defaultdict[tuple[str, tuple[int, ...], tuple[int, ...]], list[int]] = defaultdict(list)
    for place, kind in enumerate(kinds):
        if inputs[place] or outputs[place]:  # unconnected children are drawn aside anyway
            alike[kind, tuple(inputs[place]), tuple(outputs[place])].append(place)
    return [places for places in alike.values() if len(places) >= MIN_SERIES]


def repeated_blocks(
    kinds: Sequence[str], order: Sequence[int], crossing: Sequence[int], most: int
) -> list[int] | None:
    """Return where to cut the order into repetitions of one block; None if none repeats.

    Args:
      kinds: the op of each child.
      order: the children along the data flow.
      crossing: the number of edges that a cut before each position of the order would cross.
      most: maximum number of pieces; blocks are joined until they are few enough.
    """
    numbers: dict[str, int] = {}
    tokens = np.array([numbers.setdefault(kinds[i], len(numbers)) for i in order])
    count = len(tokens)
    if len(numbers) < 2:
        return None  # a block has at least two ops
    best = (0, 0, 0)  # number covered, negative period, start
    for period in range(2, min(_LONGEST_PERIOD, count // MIN_REPEATS) + 1):
        start, length = _longest_run(tokens[:-period] == tokens[period:])
        if length >= (MIN_REPEATS - 1) * period and len(set(tokens[start : start + period])) > 1:
            best = max(best, (length + period, -period, start))
    covered, period, start = best[0], -best[1], best[2]
    if covered < _LEAST_COVERED * count:
        return None
    # Any rotation of a block is repeated as well: cut where the fewest edges cross.
    repeats = covered // period

    def cost(shift: int) -> int:
        whole = (covered - shift) // period
        return sum(crossing[start + shift + k * period] for k in range(whole + 1))

    shift = min(range(min(period, covered - (repeats - 1) * period)), key=cost)
    whole = (covered - shift) // period
    step = period * -(-whole // most)
    first, end = start + shift, start + shift + whole * period
    cuts = [*range(first, end, step), end]
    return [cut for cut in cuts if 0 < cut < count]


def _longest_run(same: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[int, int]:
    """Return the start and the length of the longest run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], same.view(np.int8), [0]))))
    if not len(edges):
        return 0, 0
    starts, ends = edges[::2], edges[1::2]
    longest = int(np.argmax(ends - starts))
    return int(starts[longest]), int(ends[longest] - starts[longest])


def dominated_regions(
    count: int, order: Sequence[int], pairs: type_of_pairs, most: int
) -> list[list[int]] | None:
    """Return regions of about equal size, each with one way out; None if one holds nearly all.

    The path from the sources to the end goes through children that all others feed: those are cut
    into stretches, and each other child belongs to the one that it feeds.

    Args:
      count: the number of children.
      order: the children along the data flow.
      pairs: edges between them.
      most: maximum number of regions.
    """
    place = [0] * count
    for position, child in enumerate(order):
        place[child] = position
    consumers: list[list[int]] = [[] for _ in range(count)]
    for source, destination in pairs:
        if place[source] < place[destination]:  # an edge against the order closes a cycle
            consumers[source].append(destination)
    dominator = _post_dominators(order, consumers)
    sizes = [1] * (count + 1)  # number of children that a child dominates, with itself
    children: list[list[int]] = [[] for _ in range(count + 1)]
    for child in order:  # dominated children come before their dominator
        sizes[dominator[child]] += sizes[child]
        children[dominator[child]].append(child)
    wanted = max(2, -(-count // most))
    spine = []
    node = count
    while children[node] and sizes[node] > wanted:
        inner = children[node]
        if len(inner) > 1:
            second, first = sorted((sizes[child], child) for child in inner)[-2:]
            if 2 * second[0] >= first[0]:
                break  # two paths of similar size: their children stay together
            node = first[1]
        else:
            node = inner[0]
        spine.append(node)
    region_of = [-1] * (count + 1)
    region, held = 0, 0
    for here, below in zip(spine, [*spine[1:], -1]):
        region_of[here] = region
        held += sizes[here] - (sizes[below] if below >= 0 else 0)
        if held >= wanted:
            region, held = region + 1, 0
    rest = region + 1  # the region of children that lead elsewhere
    for child in reversed(order):
        if region_of[child] < 0:
            above = dominator[child]
            region_of[child] = rest if above == count else region_of[above]
    regions: list[list[int]] = [[] for _ in range(rest + 1)]
    for child in order:
        regions[region_of[child]].append(child)
    found = [members for members in reversed(regions) if members]
    if len(found) < MIN_REPEATS or len(found) > most + 1:
        return None
    return None if max(map(len, found)) > _LARGEST_REGION * count else found


def _post_dominators(order: Sequence[int], consumers: Sequence[Sequence[int]]) -> list[int]:
    """Return each child's post-dominator, which all its outputs reach; ``len(order)``: outside."""
    outside = len(order)
    parent = [outside] * (outside + 1)
    # An ancestor far above: among k ancestors, k steps take about log(k) jumps.
    jump = [outside] * (outside + 1)
    depth = [0] * (outside + 1)

    def meet(a: int, b: int) -> int:
        if depth[a] < depth[b]:
            a, b = b, a
        wanted = depth[b]
        while depth[a] > wanted:
            a = jump[a] if depth[jump[a]] >= wanted else parent[a]
        while a != b:
            a, b = (jump[a], jump[b]) if jump[a] != jump[b] else (parent[a], parent[b])
        return a

    for child in reversed(order):
        found = -1
        for consumer in consumers[child]:
            found = consumer if found < 0 else meet(found, consumer)
        found = outside if found < 0 else found
        parent[child] = found
        depth[child] = depth[found] + 1
        far = jump[found]
        is_even = depth[found] - depth[far] == depth[far] - depth[jump[far]]
        jump[child] = jump[far] if is_even else found
    return parent[:outside]
