"""The user's front end: a notebook that shows widgets, or a terminal that shows text."""

from __future__ import annotations

from typing import Any


def current_shell() -> Any | None:
    """Return the running IPython shell, or None in plain Python."""
    from IPython.core.getipython import get_ipython

    return get_ipython()


def is_notebook(shell: Any | None) -> bool:
    """Return whether a shell belongs to a kernel, whose front end can show more than text."""
    return shell is not None and getattr(shell, "kernel", None) is not None


def show(value: Any, *, raw: bool = False) -> None:
    """Display a value, or with ``raw`` a bundle of its forms."""
    from IPython.display import display

    display(value, raw=raw)  # type: ignore[no-untyped-call]


class TextPicture:
    """A picture made of text, for front ends that show nothing better."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
