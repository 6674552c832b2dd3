"""Pausing the garbage collector while many permanent objects are made.

A collection of the oldest generation visits every object of the process; while a graph of a
hundred thousand nodes is made, that is a third of the time, and nothing is found.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

_MANY = 1000
# Whether tfnb turned the collector off; if an interrupt leaves it off, the next use turns it on.
_is_off = False
# Whether the user has frozen objects. Counting them takes as long as visiting them.
_is_frozen = False


class without_collector:  # used like a function
    """A context in which nothing is collected, if there are more than a thousand nodes."""

    __slots__ = ("_wanted",)

    def __init__(self, num_nodes: int) -> None:
        self._wanted = num_nodes > _MANY

    def __enter__(self) -> None:
        global _is_off
        self._wanted = self._wanted and (_is_off or gc.isenabled())
        if self._wanted:
            _is_off = True
            gc.disable()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        global _is_off
        if self._wanted:
            _move_to_the_oldest_generation()
            gc.enable()
            _is_off = False


def _move_to_the_oldest_generation() -> None:
    """Spare the first collections a pass over all objects made while the collector was off.

    Once the user has frozen objects, nothing is moved, so that they stay frozen.
    """
    global _is_frozen
    _is_frozen = _is_frozen or gc.get_freeze_count() > 0
    if not _is_frozen:
        gc.freeze()
        gc.unfreeze()
