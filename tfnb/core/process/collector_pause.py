"""Sparing the garbage collector passes over many permanent objects.

A collection of the oldest generation visits every object of the process; while a graph of a
hundred thousand nodes is made, that is a third of the time, and nothing is found. While modules are
imported, more than a hundred collections of the younger ones are a tenth of the time.
"""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

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


def imported(name: str) -> ModuleType:
    """Return a module; if it is imported now, nothing is collected meanwhile.

    The calls are in this order so that an interrupt at any of them leaves the collector on.
    """
    module = sys.modules.get(name)
    # A module that another thread imports now is incomplete; import_module waits for it.
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        return module
    if not gc.isenabled():
        return import_module(name)
    try:
        gc.disable()
        module = import_module(name)
        _move_to_the_oldest_generation()
        return module
    finally:
        gc.enable()


def keep_existing_objects() -> None:
    """Spare all later collections the objects that exist now, in a process that only serves.

    Requests with long lists make collections frequent, and each of the oldest generation would
    visit the modules and the model again.  What is garbage now is collected before.  Not for the
    process of a user, whose objects are to be collected once they are not used anymore.
    """
    gc.collect()
    gc.freeze()


def _move_to_the_oldest_generation() -> None:
    """Spare the first collections a pass over all objects made while the collector was off.

    Once the user has frozen objects, nothing is moved, so that they stay frozen.
    """
    global _is_frozen
    _is_frozen = _is_frozen or gc.get_freeze_count() > 0
    if not _is_frozen:
        gc.freeze()
        gc.unfreeze()
