"""Writes SVG as text; every text that is not a number goes through :func:`escape`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape as _escape_markup
from xml.sax.saxutils import quoteattr

if TYPE_CHECKING:
    from collections.abc import Iterable

# XML 1.0 does not allow these characters, escaped or not.
_IMPOSSIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# The colours of pictures in dark themes: paper, then texts, then the others.
_DARK = {
    "#ffffff": "#212121", "#dfe1e6": "#424242", "#e9ebef": "#383838",
    "#1f2430": "#e2e2e2", "#667085": "#a8adb7", "#9aa1ac": "#8b919c",
    "#2f6fc4": "#6ea8fe", "#00838f": "#4dd0e1", "#388e3c": "#81c784", "#b26a00": "#ffb74d",
    "#d32f2f": "#ef9a9a", "#6a3fb5": "#c79bf2", "#8d6e63": "#bca79d", "#b8860b": "#e6b93c",
    "#2e8b57": "#6fcf97", "#8e4ec6": "#c79bf2", "#c2387a": "#f28ab8", "#7a8594": "#9aa4b2",
    "#ddf0f1": "#20393c", "#eeebe9": "#352f2d", "#f6efdb": "#3b3421", "#e0eaf7": "#242f40",
    "#e0f0e7": "#223529", "#f0e6f8": "#33283d", "#f8e2ec": "#3d2732", "#eceef0": "#2e3033",
}  # fmt: skip


def escape(text: str) -> str:
    """Escape a text for the content of an element.

    >>> escape("<img onerror=x>")
    '&lt;img onerror=x&gt;'
    """
    return _escape_markup(_IMPOSSIBLE.sub("\ufffd", text))


class SvgWriter:
    """Collects elements and returns the document; coordinates are in CSS pixels."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def rect(self, x: float, y: float, width: float, height: float, **attributes: object) -> None:
        """Add a rectangle."""
        self._add("rect", {"x": x, "y": y, "width": width, "height": height, **attributes})

    def path(self, d: str, **attributes: object) -> None:
        """Add a path; the caller makes ``d`` of numbers and letters only."""
        self._add("path", {"d": d, **attributes})

    def circle(self, x: float, y: float, r: float, **attributes: object) -> None:
        """Add a circle."""
        self._add("circle", {"cx": x, "cy": y, "r": r, **attributes})

    def text(
        self, x: float, y: float, text: str, *, tooltip: str = "", **attributes: object
    ) -> None:
        """Add a text, escaped, with an optional tooltip."""
        inside = escape(text) + (f"<title>{escape(tooltip)}</title>" if tooltip else "")
        self._add("text", {"x": x, "y": y, **attributes}, inside)

    def raw_definition(self, markup: str) -> None:
        """Add a constant piece of markup, such as an arrow head."""
        self._parts.append(markup)

    def document(self, width: float, height: float, title: str) -> str:
        """Return the whole picture, in its requested width but never wider than its cell.

        It is light, or dark if the viewer prefers that; in JupyterLab the theme decides (lab.css).
        """
        body = "\n".join(self._parts)
        dark = "".join(
            f'.tfnb-picture [{what}="{light}"]{{{what}:{dark}}}'
            for light, dark in _DARK.items()
            for what in ("fill", "stroke")
            if f'{what}="{light}"' in body
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="tfnb-picture" '
            f'width="{_number(width)}" height="{_number(height)}" '
            f'viewBox="0 0 {_number(width)} {_number(height)}" '
            f'style="max-width: 100%; height: auto" font-family={quoteattr(FONT)} '
            f'font-size="11" role="img">'
        )
        style = f"<style>@media(prefers-color-scheme:dark){{{dark}}}</style>\n" if dark else ""
        return f"{head}\n<title>{escape(title)}</title>\n{style}{body}\n</svg>"

    def _add(self, tag: str, attributes: dict[str, object], inside: str = "") -> None:
        written = " ".join(
            f"{name.replace('_', '-')}={quoteattr(_value(value))}"
            for name, value in attributes.items()
        )
        self._parts.append(
            f"<{tag} {written}>{inside}</{tag}>" if inside else f"<{tag} {written}/>"
        )


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """Return a smooth path through points, vertical at its beginning and its end."""
    found = list(points)
    (x, y), *rest = found
    d = f"M{_number(x)} {_number(y)}"
    for next_x, next_y in rest:
        middle = (y + next_y) / 2
        d += (
            f"C{_number(x)} {_number(middle)} {_number(next_x)} {_number(middle)} "
            f"{_number(next_x)} {_number(next_y)}"
        )
        x, y = next_x, next_y
    return d


def _value(value: object) -> str:
    return (
        _number(value) if isinstance(value, int | float) else _IMPOSSIBLE.sub("\ufffd", str(value))
    )


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")
