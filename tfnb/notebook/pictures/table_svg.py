"""Tables as pictures, for front ends without widgets: placements, and changes by passes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tfnb.notebook.scenes.attr_text import cut_middle, device_label, one_line
from tfnb.notebook.scenes.cut_names import cut_apart
from tfnb.notebook.scenes.scene import ENDPOINTS
from tfnb.notebook.scenes.svg_writer import MONO, SvgWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.notebook.scenes.scene import Scene

_ROW, _TOP, _LEFT = 18.0, 46.0, 16.0
_CHARACTER = 6.6  # the width of an 11 px character of a fixed-width font
_MAX_ROWS = 40
_MAX_TIP = 400
_TEXT, _MUTED, _PAPER, _BORDER = "#1f2430", "#667085", "#ffffff", "#dfe1e6"


def table_svg(title: str, columns: Sequence[tuple[str, int]], rows: Sequence[Sequence[str]]) -> str:
    """Draw rows of text; a longer text is cut in the middle, its tooltip has the whole.

    Args:
      title: the text above the table.
      columns: the heading of each column, and the number of characters it has room for.
      rows: the texts; the first text of a row is its name.
    """
    shown = rows[:_MAX_ROWS]
    lengths = [
        min(room, max([len(head), *(len(row[i]) for row in shown)]))
        for i, (head, room) in enumerate(columns)
    ]
    lefts = [_LEFT + sum(lengths[:i]) * _CHARACTER + 18.0 * i for i in range(len(lengths))]
    more = len(rows) - len(shown)
    title = cut_middle(one_line(title), 90)
    width = max(lefts[-1] + lengths[-1] * _CHARACTER, len(title) * 7.0) + _LEFT
    height = _TOP + len(shown) * _ROW + 14 + (_ROW if more > 0 else 0)
    out = SvgWriter()
    out.rect(0.5, 0.5, width - 1, height - 1, rx=8, fill=_PAPER, stroke=_BORDER)
    out.text(_LEFT, 20, title, fill=_TEXT, font_weight=600)
    for left, (head, _) in zip(lefts, columns, strict=True):
        out.text(left, _TOP - 6, head, fill=_MUTED, font_size=10)
    for i, (left, length) in enumerate(zip(lefts, lengths, strict=True)):
        texts = [one_line(row[i]) for row in shown]
        for number, (told, cut) in enumerate(zip(texts, cut_apart(texts, length), strict=True)):
            tooltip = "" if len(told) <= length else cut_middle(told, _MAX_TIP)
            out.text(left, _TOP + number * _ROW + 10, cut, tooltip=tooltip, fill=_TEXT,
                     font_family=MONO)  # fmt: skip
    if more > 0:
        out.text(_LEFT, height - 12, f"… {more:,} more", fill=_MUTED)
    return out.document(width, height, title)


def placement_svg(scene: Scene) -> str:
    """Return the picture of the device of each node, with the reason."""
    rows = [
        (
            node.name,
            device_label(node.assigned_device) or "none",
            node.op,
            device_label(node.requested_device) or "any",
            node.reason,
        )
        for node in scene.nodes
        if node.op not in ENDPOINTS
    ]
    counts = Counter(row[1] for row in rows)
    told = ", ".join(f"{device}: {count:,}" for device, count in sorted(counts.items()))
    columns = (("node", 40), ("device", 12), ("op", 22), ("requested", 12), ("why", 36))
    return table_svg(f"Placement: {told or 'no nodes'}", columns, rows)


def passes_svg(passes: Sequence[dict[str, Any]]) -> str:
    """Return the picture of the changes by each pass, in the order in which they ran."""
    rows = [
        (f"{number}. {one['name']}", one["summary"], one["where"])
        for number, one in enumerate(passes, 1)
    ]
    return table_svg("Passes", (("pass", 40), ("what it did", 56), ("when", 36)), rows)
