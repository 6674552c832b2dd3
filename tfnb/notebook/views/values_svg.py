"""The values of watched tensors: a line over the iterations of each, and the latest value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.notebook.scenes.attr_text import MAX_ITEMS, array_text, cut_middle, one_line, shape_text
from tfnb.notebook.scenes.svg_writer import MONO, SvgWriter
from tfnb.notebook.views.table import cell, node_of, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.debugger.watched_tensor import WatchedTensor, WatchedValue

WIDTH = 760.0
_ROW, _TOP = 64.0, 14.0
_LINE_LEFT, _LINE_WIDTH, _LINE_HEIGHT = 236.0, 280.0, 36.0
_MAX_ROWS = 16
_MAX_POINTS = 400
_TEXT, _MUTED, _PAPER, _BORDER, _LINE = "#1f2430", "#667085", "#ffffff", "#dfe1e6", "#2f6fc4"


def values_text(seen: Sequence[WatchedTensor]) -> str:
    """Return a few lines for each tensor: number of values, line of their means, latest value."""
    if not seen:
        return "No step ran."
    lines = []
    for one in seen:
        lines.append(f"{_short(one.name, 80)}: {_counts(one)}")
        if one.values:
            lines.append(f"  {one.sparkline()}  {_range(one)}".rstrip())
            last = _last(one)
            lines.append(f"  last{_place(last)}: {_value(last.value)}")
    return "\n".join(lines)


def values_svg(seen: Sequence[WatchedTensor]) -> str:
    """Draw a row for each tensor: its name, the means over its iterations, the latest value."""
    rows = list(seen)[:_MAX_ROWS]
    height = 2 * _TOP + len(rows) * _ROW
    out = SvgWriter()
    out.rect(0.5, 0.5, WIDTH - 1, height - 1, rx=8, fill=_PAPER, stroke=_BORDER)
    for index, one in enumerate(rows):
        y = _TOP + index * _ROW
        out.text(16, y + 18, _short(one.name, 32), tooltip=_short(one.name, 400),
                 font_family=MONO, font_weight=600, fill=_TEXT)  # fmt: skip
        out.text(16, y + 36, _counts(one), font_size=10, fill=_MUTED)
        if not one.values:
            continue
        last = _last(one)
        for d in mean_lines(one, _LINE_LEFT, y + 8):
            width = 4 if d.endswith("h0") else 1.5
            out.path(d, fill="none", stroke=_LINE, stroke_width=width, stroke_linecap="round")
        out.text(_LINE_LEFT, y + 58, _range(one), font_size=9, fill=_MUTED)
        value = _value(last.value)
        out.text(_LINE_LEFT + _LINE_WIDTH + 16, y + 18, _short(value, 30),
                 tooltip=_short(value, 400), font_family=MONO, fill=_TEXT)  # fmt: skip
        out.text(_LINE_LEFT + _LINE_WIDTH + 16, y + 36, _short(f"last{_place(last)}", 36),
                 font_size=10, fill=_MUTED)  # fmt: skip
    return out.document(WIDTH, height, "Values of watched tensors")


def mean_lines(one: WatchedTensor, left: float = 0.0, top: float = 0.0) -> list[str]:
    """Return the paths of the means: one per loop, broken where a value is dead or not finite."""
    rows = list(one.values)
    step = max(1, -(-len(rows) // _MAX_POINTS))
    rows = rows[::step]
    means = [mean_of(row.value) for row in rows]
    finite = [mean for mean in means if math.isfinite(mean)]
    if not finite:
        return []
    low, high = min(finite), max(finite)
    scale = _LINE_HEIGHT / (high - low) if high > low else 0.0
    across = _LINE_WIDTH / max(1, len(rows) - 1)
    pieces: list[list[str]] = [[]]
    before: tuple[int, int] | None = None
    for index, (row, mean) in enumerate(zip(rows, means)):
        here = row.step_id, row.frame_id
        if here != before or not math.isfinite(mean):
            pieces.append([])
        before = here
        if math.isfinite(mean):
            level = (mean - low) * scale if scale else _LINE_HEIGHT / 2
            x, y = left + index * across, top + _LINE_HEIGHT - level
            pieces[-1].append(f"{x:.1f} {y:.1f}")
    # A single value is a dot: a line of length 0 with round ends.
    return [f"M{'L'.join(piece)}{'h0' if len(piece) == 1 else ''}" for piece in pieces if piece]


def values_table(seen: Sequence[WatchedTensor], graph: Any = None) -> dict[str, Any]:
    """Return the values as a table for the front end."""
    return table(
        "Values of watched tensors",
        ("Tensor", "Mean, by iteration", "Last value"),
        [_cells(one) for one in seen],
        graph=graph,
    )


def _cells(one: WatchedTensor) -> list[dict[str, Any]]:
    name = cell(one.name, node=node_of(one.name), note=_counts(one))
    if not one.values:
        return [name, cell(""), cell("")]
    last = _last(one)
    line = cell("", note=_range(one), lines=mean_lines(one), tip=one.sparkline())
    return [name, line, cell(_value(last.value), note=f"last{_place(last)}")]


def mean_of(value: Any) -> float:
    """Return the mean of a value's numbers; NaN if it is dead, empty or not numeric."""
    if value is None or getattr(value, "dtype", np.dtype(float)).kind in "OSU":
        return math.nan
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError):
        return math.nan
    return float(array.mean()) if array.size else math.nan


def _last(one: WatchedTensor) -> WatchedValue:
    """Return the latest value; a dead one only if there is no other."""
    return next((row for row in reversed(one.values) if row.value is not None), one.values[-1])


def _counts(one: WatchedTensor) -> str:
    if not one.values:
        return "no value: no step computed it by this name"
    steps = len({row.step_id for row in one.values})
    dead = sum(row.value is None for row in one.values)
    count = len(one.values)
    text = f"{count:,} value{'s' * (count != 1)} in {steps:,} step{'s' * (steps != 1)}"
    return text + (f", {dead:,} dead" if dead else "")


def _range(one: WatchedTensor) -> str:
    means = [m for row in one.values if math.isfinite(m := mean_of(row.value))]
    low, high = (f"{of(means):.4g}" if means else "" for of in (min, max))
    return "" if not means else f"mean {low}" if low == high else f"mean {low} … {high}"


def _place(row: WatchedValue) -> str:
    return f", iteration {row.iteration} of '{_short(row.frame, 40)}'" if row.frame else ""


def _value(value: Any) -> str:
    if value is None:
        return "dead"
    array = np.asarray(value)
    if array.dtype.kind == "f":
        flat = array.reshape(-1)
        shown = ", ".join(f"{number:.5g}" for number in flat[:MAX_ITEMS].tolist())
        text = f"[{shown}{', …' if array.size > MAX_ITEMS else ''}]" if array.ndim else shown
    else:
        text = array_text(array)
    shape = f" {array.dtype.name} {shape_text(array.shape)}" if array.ndim else ""
    return one_line(f"{text}{shape}")


def _short(text: str, limit: int) -> str:
    return one_line(cut_middle(text, limit))
