"""Two runs side by side: nodes, devices, counts, times, and the first value that differs.

Nodes that differ come first, then those whose time differs most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.notebook.pictures.summary_svg import duration_text
from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.scenes.svg_writer import MONO, SvgWriter

if TYPE_CHECKING:
    from tfnb.client.debugger.run_difference import NodeInRuns, RunDifference

WIDTH = 760.0
_ROW, _TOP = 20.0, 92.0
_NAME, _FIRST, _SECOND, _WHAT = 34.0, 286.0, 436.0, 590.0
_BAR = 62.0
_MAX_ROWS = 30
_TEXT, _MUTED, _PAPER, _BORDER = "#1f2430", "#667085", "#ffffff", "#dfe1e6"
_OTHER = "#d32f2f"
_COLOURS = {
    "+": "#b26a00", "-": "#b26a00", "≠": _OTHER, "⇄": "#6a3fb5", "#": "#6a3fb5", "·": _MUTED,
}  # fmt: skip
_BARS = ("#2f6fc4", "#00838f")


def rows_to_show(found: RunDifference) -> list[NodeInRuns]:
    """Return the nodes of a comparison, those that differ first, then by difference of time."""
    return sorted(found.nodes, key=lambda one: (not one.differs, -abs(one.ns[0] - one.ns[1])))


def run_difference_text(found: RunDifference) -> str:
    """Return the difference, the total time, and the times of the nodes that differ most."""
    totals = [sum(one.ns[i] for one in found.nodes) for i in (0, 1)]
    lines = [str(found)]
    if found.nodes:
        lines.append(f"time in nodes: {duration_text(totals[0])}, then {duration_text(totals[1])}")
    by_time = sorted(found.nodes, key=lambda one: -abs(one.ns[0] - one.ns[1]))
    for one in by_time[:3]:
        times = " → ".join(duration_text(ns) for ns in one.ns)
        lines.append(f"  {_short(one.node, 60)} ({_short(one.op, 30)}): {times}")
    return "\n".join(lines)


def run_difference_svg(found: RunDifference) -> str:
    """Draw a comparison as a table with a bar of time for each node and run."""
    rows = rows_to_show(found)
    shown = rows[:_MAX_ROWS]
    height = _TOP + len(shown) * _ROW + 14 + (18 if len(rows) > len(shown) else 0)
    out = SvgWriter()
    out.rect(0.5, 0.5, WIDTH - 1, height - 1, rx=8, fill=_PAPER, stroke=_BORDER)
    different = sum(one.differs for one in rows)
    head = f"{different:,} of {len(rows):,} nodes differ" if found else "The runs are the same"
    out.text(16, 22, head, font_size=13, font_weight=600, fill=_TEXT)
    value = f"first other value: {found.value}" if found.value else "no other value"
    out.text(16, 42, _short(value, 110), tooltip=_short(value, 600), font_size=11,
             fill=_OTHER if found.value else _MUTED)  # fmt: skip
    counts = [sum(one.devices[i] is not None for one in rows) for i in (0, 1)]
    for x, i, name in ((_FIRST, 0, "first"), (_SECOND, 1, "second")):
        total = duration_text(sum(one.ns[i] for one in rows))
        out.text(x, 66, f"{name} run", font_weight=600, fill=_TEXT)
        out.text(x, 80, f"{counts[i]:,} nodes · {total}", font_size=10, fill=_MUTED)
    longest = max((ns for one in rows for ns in one.ns), default=0) or 1
    for index, one in enumerate(shown):
        _draw_row(out, _TOP + index * _ROW + 10, one, longest)
    if len(rows) > len(shown):
        out.text(16, height - 10, f"… {len(rows) - len(shown):,} more nodes", fill=_MUTED)
    return out.document(WIDTH, height, f"Two runs: {head}")


def _draw_row(out: SvgWriter, y: float, one: NodeInRuns, longest: int) -> None:
    sign, what = what_differs(one)
    colour = _COLOURS[sign]
    out.text(20, y + 4, sign, fill=colour, font_weight=600, text_anchor="middle")
    name = f"{_short(one.node, 400)} ({_short(one.op, 60)})"
    out.text(_NAME, y + 4, _short(one.node, 38), tooltip=name, font_family=MONO, font_size="10.5",
             fill=_TEXT)  # fmt: skip
    for i, x in enumerate((_FIRST, _SECOND)):
        if one.devices[i] is None:
            out.text(x, y + 4, "–", fill=_MUTED)
            continue
        width = max(1.0, _BAR * one.ns[i] / longest)
        out.rect(x, y - 4, width, 8, rx=2, fill=_BARS[i], fill_opacity=0.75)
        times = f" ×{one.counts[i]:,}" if one.counts[i] != 1 else ""
        out.text(x + _BAR + 6, y + 4, duration_text(one.ns[i]) + times, font_size=10, fill=_MUTED)
    # The tooltip has the number of values that differ.
    words = _short(what.removeprefix("output 0 ").partition(" (")[0], 30)
    out.text(_WHAT, y + 4, words, tooltip=_short(what, 600), font_size=10, fill=colour)


def what_differs(one: NodeInRuns) -> tuple[str, str]:
    """Return a sign and a description of the difference of a node."""
    first, second = one.devices
    if first is None:
        return "+", "only in the second run"
    if second is None:
        return "-", "only in the first run"
    if one.value:
        return "≠", one.value
    if first != second:
        return "⇄", f"{_device(first)} → {_device(second)}"
    if one.counts[0] != one.counts[1]:
        return "#", f"ran {one.counts[0]:,} → {one.counts[1]:,} times"
    return "·", "the same"


def _device(name: str) -> str:
    return name.rpartition("device:")[2]


def _short(text: str, limit: int) -> str:
    return one_line(cut_middle(text, limit))
