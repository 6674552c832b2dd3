"""Views that are tables of nodes, as the front end reads them (``render/table_view.ts``).

The last table of each kind is kept, so that a tab in JupyterLab can show it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.notebook.kernel.shell import show
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.steps.view_group import view_group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.notebook.views.widget import SceneWidget

MAX_ROWS = 500
_MAX_TEXT, _MAX_TIP = 80, 400
_latest: dict[str, tuple[dict[str, Any], str]] = {}


def short(text: str, limit: int = _MAX_TEXT) -> str:
    """Return a text of limited length, in one line."""
    return one_line(cut_middle(text, limit))


def cell(text: str, **more: Any) -> dict[str, Any]:
    """Return a cell; a text that is too long is also its tooltip."""
    shown = {"text": short(text), **{name: value for name, value in more.items() if value}}
    if shown["text"] != text:
        shown.setdefault("tip", short(text, _MAX_TIP))
    return shown


def node_of(tensor: str) -> str:
    """Return the name of a tensor's node."""
    return tensor.partition(":")[0]


def table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[dict[str, Any]] | str],
    *,
    note: str = "",
    tone: str = "",
    graph: Any = None,
    is_sortable: bool = False,
) -> dict[str, Any]:
    """Return a table; a row selects its node in the other views of ``graph``.

    Args:
      title: its heading.
      columns: the headings of its columns.
      rows: lists of cells, or a text as a heading for the rows that follow.
      note: a sentence below the title; ``tone`` colours it.
      tone: "good", "warn", "bad" or "muted".
      graph: the graph of the nodes in the table.
      is_sortable: whether clicks on the headings sort it: by the cells' ``order``, if they have
        one, else by their text.
    """
    shown = [row if isinstance(row, str) else list(row) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        shown.append(f"… {len(rows) - MAX_ROWS:,} more")
    return {
        "title": title,
        "note": short(note, _MAX_TIP),
        "tone": tone,
        "group": view_group(graph),
        "columns": list(columns),
        "rows": shown,
        "isSortable": is_sortable,
    }


def table_widget(kind: str, state: dict[str, Any], text: str) -> SceneWidget:
    """Return the widget of a table; ``text`` is its text form."""
    from tfnb.notebook.views.widget import SceneWidget

    widget = SceneWidget(None, view=kind)
    widget.show_table(state, text)
    return widget


def keep(kind: str, state: dict[str, Any], text: str) -> None:
    """Make a table the latest of its kind."""
    _latest[kind] = state, text


def latest(kind: str, nothing: str) -> tuple[dict[str, Any], str]:
    """Return the latest table of a kind and its text; if there is none, one with ``nothing``."""
    return _latest.get(kind) or (table(nothing, (), ()), nothing)


def show_table(widget: SceneWidget, svg: str) -> None:
    """Display a table, and a picture for front ends without widgets."""
    show(widget)
    widget.show_picture(svg)
