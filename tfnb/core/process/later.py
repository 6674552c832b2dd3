"""Modules that are imported, and patterns that are compiled, at their first use.

A gradient builds ops of other families, and a session has functions that few steps call. Importing
the modules of these at the top of a file would be a third of the time to a process's first answer::

    if TYPE_CHECKING:
        from tfnb.ops.math import cwise_unary_ops
    else:
        cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")

``cwise_unary_ops.conj`` then imports the module, and is an attribute like any other from there on.
"""

from __future__ import annotations

import re
from importlib import import_module
from types import ModuleType
from typing import Any

from tfnb.core.process.collector_pause import imported
from tfnb.core.process.shelter import ensure_imported


class _Later(ModuleType):
    """Stands for a module; it takes over each name of it at the name's first use."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(imported(self.__name__), name)
        setattr(self, name, found)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)


class _LaterInStep(_Later):
    def __getattr__(self, name: str) -> Any:
        ensure_imported(self.__name__)
        return super().__getattr__(name)


def later(name: str, *, in_step: bool = False) -> Any:
    """Return a stand-in for the module ``name``, which imports it when it is used.

    Args:
      name: the full name of the module.
      in_step: whether a step may use it first: then interrupts cannot reach the import, and the
        stand-in must not be used while another module is imported.

    >>> fractions = later("fractions")
    >>> fractions.Fraction(2, 4)
    Fraction(1, 2)
    """
    return (_LaterInStep if in_step else _Later)(name)


class _PatternLater:
    """Stands for a compiled pattern; it takes over each method at the method's first use."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self.flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self.flags), name)
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return repr(re.compile(self.pattern, self.flags))

    def __reduce__(self) -> tuple[Any, ...]:
        return re.compile, (self.pattern, self.flags)


def pattern_later(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a stand-in for ``re.compile(pattern, flags)``, which compiles it when it is used.

    >>> pattern_later("a+").match("aab").group()
    'aa'
    """
    found: Any = _PatternLater(pattern, flags)
    return found  # type: ignore[no-any-return]
