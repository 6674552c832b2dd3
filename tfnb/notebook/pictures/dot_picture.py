"""A graph in the language of Graphviz, which a cell shows by the program ``dot``.

This file is imported on first use, as the package graphviz is.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import graphviz

if TYPE_CHECKING:
    from collections.abc import Callable

NO_PROGRAM = (
    "The program `dot` is not on the PATH; it is in the package graphviz of Linux distributions "
    "and of Homebrew."
)


def has_program() -> bool:
    """Return whether ``dot`` is installed."""
    return shutil.which("dot") is not None


class DotPicture(graphviz.Digraph):  # type: ignore[misc]
    """A ``graphviz.Digraph``; without the program ``dot``, a cell shows tfnb's own picture.

    Attributes:
        is_text: Whether it shows itself as its source, for front ends without pictures.
    """

    def __init__(
        self,
        name: str | None = None,
        own_picture: Callable[[], str] | None = None,
        **options: Any,
    ) -> None:
        """Begin a graph.

        Args:
            name: Its name.
            own_picture: Returns tfnb's picture as SVG.
            **options: As for ``graphviz.Digraph``, which makes copies and subgraphs with them.
        """
        super().__init__(name=name, **options)
        self._own_picture = own_picture
        self.is_text = False

    def copy(self) -> DotPicture:
        """Return a copy, which shows itself likewise."""
        found: DotPicture = super().copy()
        found._own_picture, found.is_text = self._own_picture, self.is_text
        return found

    def __repr__(self) -> str:
        return str(self.source).rstrip() if self.is_text else super().__repr__()

    def _repr_mimebundle_(
        self, include: Any = None, exclude: Any = None, **options: Any
    ) -> dict[str, Any]:
        if self.is_text:
            return {"text/plain": repr(self)}
        if has_program() or self._own_picture is None:
            found: dict[str, Any] = super()._repr_mimebundle_(include, exclude, **options)
            return found
        return {
            "image/svg+xml": self._own_picture(),
            "text/plain": f"{NO_PROGRAM} Here is the view's own picture; the attribute `source` "
            "is the text for dot.",
        }


def text(value: str) -> str:
    """Return a text for a label, in which nothing is an escape or markup of Graphviz."""
    # Graphviz reads the entities of HTML in plain texts, too.
    found: str = graphviz.escape(value.replace("&", "&amp;"))
    return found


def lines(*values: str) -> str:
    """Return texts for a label, one below the other."""
    found: str = graphviz.nohtml("\\n".join(map(text, values)))
    return found
