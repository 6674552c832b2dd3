"""A partial run as a picture: feeds on the left, fetches on the right, dependencies between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.common_runtime.session.partial_run import state_text
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.scenes.svg_writer import MONO, SvgWriter

if TYPE_CHECKING:
    from tfnb.common_runtime.session.partial_run import PartialRunState

WIDTH = 620.0
_ROW = 24.0
_TOP = 44.0
_LEFT, _RIGHT = 250.0, 370.0
_MAX_ROWS = 40
_MAX_NAME = 34
_TEXT, _MUTED, _PAPER, _BORDER = "#1f2430", "#667085", "#ffffff", "#dfe1e6"
_DONE, _READY, _WAITS = "#388e3c", "#2f6fc4", "#b26a00"


def partial_run_svg(state: PartialRunState) -> str:
    """Draw the feeds, and each fetch: taken, ready, or with a line to the feeds it lacks."""
    feeds, fetches = list(state.feeds)[:_MAX_ROWS], list(state.fetches)[:_MAX_ROWS]
    rows = max(len(feeds), len(fetches), 1)
    hidden = len(state.feeds) + len(state.fetches) - len(feeds) - len(fetches)
    height = _TOP + rows * _ROW + 14 + (18 if hidden else 0)
    out = SvgWriter()
    out.rect(0.5, 0.5, WIDTH - 1, height - 1, rx=8, fill=_PAPER, stroke=_BORDER)
    head, *_ = str(state).splitlines()
    out.text(16, 22, f"Partial run: {head}", font_size=13, font_weight=600, fill=_TEXT)
    place = {name: _TOP + i * _ROW + 8 for i, name in enumerate(feeds)}
    for index, name in enumerate(fetches):
        y = _TOP + index * _ROW + 8
        for feed in state.fetches[name] or ():
            if feed in place:
                d = f"M{_LEFT + 8} {place[feed]}C{_LEFT + 60} {place[feed]} {_RIGHT - 60} {y} "
                out.path(f"{d}{_RIGHT - 8} {y}", fill="none", stroke=_WAITS, stroke_dasharray="4 3")
    for name, y in place.items():
        is_fed = state.feeds[name]
        # Filled or hollow, so that the state does not depend on colour alone.
        mark = {"fill": _DONE} if is_fed else {"fill": _PAPER, "stroke_width": 2}
        out.circle(_LEFT, y, 5, stroke=_DONE if is_fed else _WAITS, **mark)
        words = "fed" if is_fed else "not fed yet"
        out.text(_LEFT - 12, y + 4, _short(name), tooltip=f"{_short(name, 400)}: {words}",
                 text_anchor="end", font_family=MONO, fill=_TEXT if is_fed else _WAITS)  # fmt: skip
    for index, name in enumerate(fetches):
        _draw_fetch(out, _TOP + index * _ROW + 8, name, state.fetches[name])
    if hidden:
        out.text(16, height - 10, f"… {hidden:,} more", fill=_MUTED)
    return out.document(WIDTH, height, f"Partial run: {head}")


def _draw_fetch(out: SvgWriter, y: float, name: str, missing: tuple[str, ...] | None) -> None:
    colour = _DONE if missing is None else _WAITS if missing else _READY
    sign = "✓" if missing is None else "…" if missing else "●"
    out.text(_RIGHT, y + 4, sign, fill=colour, text_anchor="middle", font_weight=600)
    words = _short(state_text(missing), 400)
    out.text(_RIGHT + 14, y + 4, _short(name, 22), tooltip=f"{_short(name, 400)}: {words}",
             font_family=MONO, fill=_TEXT)  # fmt: skip
    text = "taken" if missing is None else f"lacks {len(missing)}" if missing else "ready"
    out.text(WIDTH - 16, y + 4, text, fill=colour, text_anchor="end")


def _short(name: str, limit: int = _MAX_NAME) -> str:
    return one_line(cut_middle(name, limit))
