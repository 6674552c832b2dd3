"""The order of the nodes of a file: sources first, otherwise as they are given."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def in_order(waiting: list[int], consumers: Sequence[Sequence[int]]) -> list[int]:
    """Return positions, each after those it waits for; the first given of the ready ones is next.

    Args:
      waiting: for how many others each position waits; counted down, so that positions that cannot
        be ordered keep a count above 0.
      consumers: the positions that wait for each position.
    """
    ready = [position for position, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for consumer in consumers[position]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                heapq.heappush(ready, consumer)
    return order
