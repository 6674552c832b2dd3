"""A table that cells display: escaped HTML in a notebook, text in a terminal."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tfnb.notebook.scenes.attr_text import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE = (
    "border-collapse:collapse;margin:2px 0;font-family:var(--jp-ui-font-family,sans-serif);"
    "font-size:12px;font-variant-numeric:tabular-nums"
)
COLUMN = "text-align:left;padding:1px 14px 1px 0;vertical-align:top;white-space:nowrap"
NOTE = "font-family:var(--jp-ui-font-family,sans-serif);font-size:12px;padding:1px 0"
HEAD = "text-align:left;font-weight:600;padding:3px 14px 3px 0;vertical-align:top"


class Table:
    """A table for a notebook, escaped, with its text for a terminal.

    Args:
      title: its heading.
      columns: the headings of its columns.
      rows: the cells.
      notes: lines below it.
      text: its text form.
    """

    def __init__(
        self,
        title: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        notes: Sequence[str],
        text: str,
    ) -> None:
        self._title, self._columns, self._rows = title, columns, rows
        self._notes, self.text = notes, text

    def __repr__(self) -> str:
        return self.text

    def html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f'<th style="{HEAD}">{escape(column)}</th>' for column in self._columns)
        rows = "".join(
            '<tr style="background:none">'
            + "".join(f'<td style="{COLUMN}">{escape(cut(value))}</td>' for value in row)
            + "</tr>"
            for row in self._rows
        )
        notes = "".join(f'<div style="{NOTE}">{escape(note)}</div>' for note in self._notes)
        title = f'<div style="{NOTE};font-weight:600">{escape(self._title)}</div>'
        body = f'<tr style="background:none">{head}</tr>{rows}' if self._rows else ""
        table = f'<div style="overflow-x:auto"><table style="{TABLE}">{body}</table></div>'
        return f"{title}{table}{notes}"

    def _repr_html_(self) -> str:
        return self.html()
