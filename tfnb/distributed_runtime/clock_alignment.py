"""Clocks of tasks, moved so that no tensor arrives before it is sent.

Each task writes its own clock into a trace.  A tensor that went from one task to another, and the
request and the response of the step, are pairs of moments whose order is known.  Each pair limits
the difference of two clocks.  Clocks that keep all limits stay as they are; one that violates a
limit moves to the middle of what its limits allow, or to the limit if there is only one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

#: The clock of the client, which does not move.
CLIENT = ""


class Order(NamedTuple):
    """A moment of one task that precedes a moment of another one; nanoseconds of their clocks."""

    earlier_task: str
    earlier_ns: int
    later_task: str
    later_ns: int


def offsets_of(orders: Iterable[Order]) -> dict[str, int]:
    """Return for each task the nanoseconds to add to its clock.

    Args:
      orders: pairs of moments; ``CLIENT`` is the task of the client.

    >>> offsets_of([Order("", 10, "/job:a", 5), Order("/job:a", 9, "", 20)])
    {'/job:a': 8}
    >>> offsets_of([Order("", 10, "/job:a", 11), Order("/job:a", 15, "", 20)])
    {'/job:a': 0}
    """
    # least[a, b]: clock b has to be ahead of clock a by that much at least.
    least: dict[tuple[str, str], int] = {}
    tasks: dict[str, None] = {}
    for earlier, earlier_ns, later, later_ns in orders:
        if earlier != later:
            tasks.update(dict.fromkeys((earlier, later)))
            bound = earlier_ns - later_ns
            least[earlier, later] = max(bound, least.get((earlier, later), bound))
    tasks.pop(CLIENT, None)
    found: dict[str, int] = {CLIENT: 0}
    for task in tasks:
        low, high = _limits(task, found, least)
        if (low is not None and low > 0) or (high is not None and high < 0):
            ends = [end for end in (low, high) if end is not None]
            found[task] = sum(ends) // len(ends)
        else:
            found[task] = 0
    del found[CLIENT]
    return found


def _limits(
    task: str, known: dict[str, int], least: dict[tuple[str, str], int]
) -> tuple[int | None, int | None]:
    """Return the least and the greatest offset of a task, through tasks not yet known, too."""
    low = _farthest(task, known, {(b, a): bound for (a, b), bound in least.items()}, 1)
    high = _farthest(task, known, least, -1)
    return low, None if high is None else -high


def _farthest(
    task: str, known: dict[str, int], bounds: dict[tuple[str, str], int], sign: int
) -> int | None:
    """Return the greatest sum of bounds on a way from a task to one whose offset is known."""
    reached = {task: 0}
    for _ in range(len({end for pair in bounds for end in pair})):
        has_changed = False
        for (begin, end), bound in bounds.items():
            if begin in reached and begin not in known:
                total = reached[begin] + bound
                if total > reached.get(end, total - 1):
                    reached[end] = total
                    has_changed = True
        if not has_changed:
            break
    ends = [total + sign * known[end] for end, total in reached.items() if end in known]
    return max(ends, default=None)
