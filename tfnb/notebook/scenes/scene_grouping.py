"""Splits a crowded scope into a few groups, so that a flat graph is still a picture.

Four ways, tried in this order:

1. **By name**, when the names follow the data flow: children are grouped by the first words of
   their labels (``block1_conv``, ``block1_relu`` -> ``block1``), provided that the groups, drawn as
   boxes, form no cycles. A flat graph whose names are op types (``Conv_1``, ``Relu_1``, ``Conv_2``
   …) fails that test: every group would feed every other, and the picture would be useless. 2. **By
   repeated structure** along the data flow: each repetition of a block is a group. 3. **By
   dominators**: regions with one way out (``scene_structure.py``). 4. **By stretch of the data
   flow**: children are put in an order in which inputs are close to their consumers, and that order
   is cut where the fewest edges cross.

Before that, series (children of one op with the same neighbours) are collapsed, also in scopes that
are less crowded.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tfnb.notebook.scenes.scene_structure import dominated_regions, repeated_blocks, series

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_CHILDREN = 120
FEW_CHILDREN = 24
MAX_GROUPS = 40
MIN_GROUPS = 3
_LARGEST_SHARE = 0.7
_WORD = re.compile(r"[A-Za-z]+|\d+")


class Item(NamedTuple):
    """A child of a crowded scope: a node or an inner scope, with its index."""

    label: str
    weight: int
    is_scope: bool
    ref: int
    op: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """Children that will share a box."""

    label: str
    kind: str
    items: tuple[Item, ...]


def split_crowded(
    items: Sequence[Item], edges: Callable[[], Sequence[tuple[int, int]]]
) -> list[Group] | None:
    """Group the children of a scope; return None if they fit without groups.

    ``edges`` returns pairs of indices in ``items``; it is called only when needed.
    """
    if len(items) <= MAX_CHILDREN:
        return None
    pairs = edges()
    return _by_name(items, pairs) or _by_structure(items, pairs) or _by_stretch(items, pairs)


def collapse_series(
    items: Sequence[Item], edges: Callable[[], Sequence[tuple[int, int]]]
) -> list[Group] | None:
    """Return the children of a scope, each series as one group; None if there is none."""
    if len(items) <= FEW_CHILDREN:
        return None
    found = series([item.op or item.label for item in items], edges())
    if not found or len(found[0]) == len(items):
        return None
    in_series = {place for places in found for place in places}
    groups = [
        Group(item.label, "scope", (item,))
        for place, item in enumerate(items)
        if place not in in_series
    ]
    for places in found:
        members = tuple(items[place] for place in places)
        label = f"{members[0].label} … {members[-1].label}"
        groups.append(Group(label, "series", members))
    return groups


def _by_structure(items: Sequence[Item], pairs: Sequence[tuple[int, int]]) -> list[Group] | None:
    order = data_flow_order(len(items), pairs)
    crossing = _crossing(order, pairs)
    cuts = repeated_blocks([item.op or "" for item in items], order, crossing, MAX_GROUPS)
    if cuts is not None and len(cuts) >= MIN_GROUPS - 1:
        bounds = [0, *cuts, len(items)]
        pieces = [order[start:end] for start, end in itertools.pairwise(bounds)]
        return [_flow_group(items, piece, "repeat") for piece in pieces]
    regions = dominated_regions(len(items), order, pairs, MAX_GROUPS)
    if regions is None:
        return None
    return [_flow_group(items, region, "region") for region in regions]


def _flow_group(items: Sequence[Item], places: Sequence[int], kind: str) -> Group:
    """Return a group of children along the data flow, named by its first and last child."""
    members = tuple(items[place] for place in places)
    return Group(f"{members[0].label} … {members[-1].label}", kind, members)


def _by_name(items: Sequence[Item], pairs: Sequence[tuple[int, int]]) -> list[Group] | None:
    words = [_WORD.findall(item.label) for item in items]
    for count in (1, 2, 3, 4):
        keys = [tuple(parts[:count]) or ("",) for parts in words]
        sizes = Counter(keys)
        if len(sizes) < MIN_GROUPS:
            continue
        if len(sizes) > MAX_GROUPS:
            return None
        if max(sizes.values()) > _LARGEST_SHARE * len(items):
            continue
        number = {key: place for place, key in enumerate(sizes)}
        group_of = [number[key] for key in keys]
        if not _is_acyclic(len(number), {(group_of[a], group_of[b]) for a, b in pairs}):
            continue
        members: list[list[Item]] = [[] for _ in number]
        for item, group in zip(items, group_of, strict=True):
            members[group].append(item)
        return [Group(_common_start(group), "names", tuple(group)) for group in members]
    return None


def _common_start(items: Sequence[Item]) -> str:
    first, last = min(i.label for i in items), max(i.label for i in items)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length].rstrip("_-.: ") or first


def _is_acyclic(count: int, edges: set[tuple[int, int]]) -> bool:
    consumers: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for source, destination in edges:
        if source != destination:
            consumers[source].append(destination)
            waiting[destination] += 1
    ready = [group for group in range(count) if waiting[group] == 0]
    done = 0
    while ready:
        done += 1
        for consumer in consumers[ready.pop()]:
            waiting[consumer] -= 1
            if waiting[consumer] == 0:
                ready.append(consumer)
    return done == count


def _by_stretch(items: Sequence[Item], pairs: Sequence[tuple[int, int]]) -> list[Group]:
    order = data_flow_order(len(items), pairs)
    cuts = [0, *_cuts(len(items), _crossing(order, pairs)), len(items)]
    return [
        _flow_group(items, order[start:end], "chunk") for start, end in itertools.pairwise(cuts)
    ]


def _crossing(order: Sequence[int], pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return the number of edges that a cut before each position of the order would cross."""
    place = [0] * len(order)
    for position, item in enumerate(order):
        place[item] = position
    change = [0] * (len(order) + 1)
    for a, b in pairs:
        low, high = place[a], place[b]
        if low > high:
            low, high = high, low
        change[low + 1] += 1
        change[high + 1] -= 1
    return list(itertools.accumulate(change))


def _cuts(count: int, crossing: Sequence[int]) -> list[int]:
    groups = min(MAX_GROUPS, max(6, math.ceil(count / 60)))
    size = count / groups
    reach = max(1, int(size * 0.25))
    cuts: list[int] = []
    for number in range(1, groups):
        middle = round(number * size)
        window = range(max(1, middle - reach), min(count - 1, middle + reach) + 1)
        cut = min(window, key=lambda i: (crossing[i], abs(i - middle)))
        if not cuts or cut > cuts[-1]:
            cuts.append(cut)
    return cuts


def data_flow_order(count: int, pairs: Sequence[tuple[int, int]]) -> list[int]:
    """Return an order in which inputs are close to their consumers; cycles are cut anywhere."""
    inputs: list[list[int]] = [[] for _ in range(count)]
    has_consumer = [False] * count
    for source, destination in pairs:
        inputs[destination].append(source)
        has_consumer[source] = True
    roots = [i for i in range(count) if not has_consumer[i]]
    seen = [False] * count
    order: list[int] = []
    for root in [*roots, *range(count)]:  # the second part reaches cycles without a sink
        if seen[root]:
            continue
        seen[root] = True
        stack = [(root, iter(inputs[root]))]
        while stack:
            node, remaining = stack[-1]
            for source in remaining:
                if not seen[source]:
                    seen[source] = True
                    stack.append((source, iter(inputs[source])))
                    break
            else:
                order.append(node)
                stack.pop()
    return order
