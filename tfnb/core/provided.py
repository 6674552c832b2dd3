"""Functions that a lower room calls and an upper room provides.

Imports go downward only, but some functions need a function from above: the gradient of ``If``
builds a gradient graph, and the gradient of ``MatrixSolveLs`` calls ``tf.cond``. The lower room
declares the function, ``cond = Provided("cond")``, and calls it. ``set_source`` names the function
that imports it from its room when it is called for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

type_of_source = Callable[[str], Callable[..., Any]]

_source: type_of_source | None = None


class Provided:
    """A function of an upper room, imported when it is called for the first time."""

    __slots__ = ("_function", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._function: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
          RuntimeError: no upper room provides it.
        """
        return (self._function or self.load())(*args, **kwargs)

    def load(self) -> Callable[..., Any]:
        """Import the function, also for what its module registers, and return it.

        Raises:
          RuntimeError: no upper room provides it.
        """
        function = self._function
        if function is None:
            function = self._function = _find(self.name)
        return function

    def __repr__(self) -> str:
        return f"<provided function {self.name!r}>"


def set_source(source: type_of_source) -> None:
    """Install ``source(name)``, which imports a provided function; KeyError for unknown names."""
    global _source
    _source = source


def _find(name: str) -> Callable[..., Any]:
    if _source is None:
        raise RuntimeError(f"No room provides {name!r}: import tfnb first.")
    try:
        return _source(name)
    except KeyError:
        raise RuntimeError(
            f"No room provides {name!r}; tfnb.library.provides lists them."
        ) from None
