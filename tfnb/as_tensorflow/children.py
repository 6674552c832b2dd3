"""Processes that Python spawns: ``import tensorflow`` is tfnb there, too.

A child of ``multiprocessing`` that is not forked starts without the finder. What Python sends it
first has the child's name, and this name installs the finder as it is unpacked: before the child
imports the main module.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.older_libraries import are_served
from tfnb.as_tensorflow.sources import spawn_mends

if TYPE_CHECKING:
    from collections.abc import Callable

    # Takes the child's name, and whether names that NumPy and others dropped are there.
    Unpack = Callable[[str, bool], str]

_unpack: Unpack | None = None


class _Name(str):
    """The name of a child, which installs the finder where it is unpacked."""

    unpack: Unpack

    def __reduce__(self) -> tuple[Unpack, tuple[str, bool]]:
        return self.unpack, (str(self), are_served())


def with_finder(get_preparation_data: Callable[[str], dict[str, Any]]) -> Callable[..., Any]:
    """Return what makes the data of a child, with the finder if it is installed by then."""

    def of_child(name: str) -> dict[str, Any]:
        data = get_preparation_data(name)
        if _unpack is not None:
            data["name"] = _Name(name)
            data["name"].unpack = _unpack
        return data

    of_child.__wrapped__ = get_preparation_data  # type: ignore[attr-defined]
    return of_child


def prepare_children(unpack: Unpack | None) -> None:
    """Let children that are spawned from now on begin with a call; None ends it.

    ``multiprocessing.spawn`` is changed here if it is imported already, else as it is loaded.

    Args:
      unpack: a function of a module, which returns the name of the child that it is given.
    """
    global _unpack
    _unpack = unpack
    spawn: Any = sys.modules.get(spawn_mends.MODULE)
    if spawn is not None and not hasattr(spawn.get_preparation_data, "__wrapped__"):
        spawn.get_preparation_data = with_finder(spawn.get_preparation_data)
