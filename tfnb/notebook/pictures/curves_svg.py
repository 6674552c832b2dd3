"""Curves of scalars as a static picture, and as text for terminals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfnb.notebook.scenes.attr_text import cut_middle, one_line
from tfnb.notebook.steps.scalar_curves import MAX_CURVES, ticks, value_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.notebook.scenes.svg_writer import SvgWriter
    from tfnb.notebook.steps.scalar_curves import Curve

PER_ROW = 3
ROW_HEIGHT = 112.0
_GAP = 20.0
_LEFT, _TOP, _HEIGHT = 42.0, 22.0, 64.0
_TEXT, _MUTED, _LINE, _GRID = "#1f2430", "#667085", "#2f6fc4", "#e9ebef"
_MAX_TAG = 24


def curves_text(curves: Sequence[Curve]) -> list[str]:
    """Return one line per curve: first and last value."""
    lines = []
    for curve in curves[:MAX_CURVES]:
        assert curve.last is not None
        first, (x, last) = curve.drawn()[0][1], curve.last
        where = f"step {x:,.0f}" if curve.has_steps else f"{curve.count:,} values"
        name = one_line(cut_middle(_name(curve, curves), 60))
        lines.append(f"  {name}: {value_text(first)} → {value_text(last)} ({where})")
    if len(curves) > MAX_CURVES:
        lines.append(f"  … {len(curves) - MAX_CURVES:,} more scalars")
    return lines


def curves_height(curves: Sequence[Curve]) -> float:
    """Return the height that :func:`draw_curves` needs."""
    return ROW_HEIGHT * -(-min(len(curves), MAX_CURVES) // PER_ROW)


def draw_curves(
    out: SvgWriter, curves: Sequence[Curve], left: float, top: float, width: float
) -> None:
    """Draw curves side by side, each with its last value and the numbers of its axes."""
    wide = (width - _GAP * (PER_ROW - 1)) / PER_ROW
    for place, curve in enumerate(curves[:MAX_CURVES]):
        row, column = divmod(place, PER_ROW)
        x = left + column * (wide + _GAP)
        _draw(out, curve, _name(curve, curves), x, top + row * ROW_HEIGHT, wide)


def _name(curve: Curve, curves: Sequence[Curve]) -> str:
    is_alone = len({one.run for one in curves}) == 1
    return curve.tag if is_alone or not curve.run else f"{curve.run}: {curve.tag}"


def _draw(out: SvgWriter, curve: Curve, name: str, left: float, top: float, width: float) -> None:
    points = curve.drawn()
    finite = [y for _, y in points if math.isfinite(y)]
    assert curve.last is not None
    out.text(left, top + 10, cut_middle(name, _MAX_TAG), tooltip=name, fill=_TEXT, font_weight=600)
    last = value_text(curve.last[1])
    out.text(left + width, top + 10, last, fill=_TEXT, text_anchor="end")
    if not finite:
        return
    low, high = min(finite), max(finite)
    if low == high:
        low, high = low - abs(low or 1.0) / 2, high + abs(high or 1.0) / 2
    first_x, last_x = points[0][0], points[-1][0]
    inner, bottom = width - _LEFT, top + _TOP + _HEIGHT

    def place(x: float, y: float) -> str:
        across = (x - first_x) / (last_x - first_x) if last_x > first_x else 0.5
        return (
            f"{left + _LEFT + inner * across:.1f} {bottom - _HEIGHT * (y - low) / (high - low):.1f}"
        )

    for value in ticks(low, high, 3):
        y = bottom - _HEIGHT * (value - low) / (high - low)
        out.path(f"M{left + _LEFT:.1f} {y:.1f}h{inner:.1f}", fill="none", stroke=_GRID)
        out.text(
            left + _LEFT - 5, y + 3, f"{value:.3g}", fill=_MUTED, font_size=9, text_anchor="end"
        )
    path, pen = "", "M"
    for x, y in points:
        if math.isfinite(y):
            path, pen = f"{path}{pen}{place(x, y)}", "L"
        else:
            pen = "M"
    out.path(path, fill="none", stroke=_LINE, stroke_width="1.5", stroke_linejoin="round")
    x, y = map(float, place(*next(p for p in reversed(points) if math.isfinite(p[1]))).split())
    out.circle(x, y, 2.5, fill=_LINE)
    unit = "step " if curve.has_steps else ""
    out.text(left + _LEFT, bottom + 12, f"{unit}{first_x:,.0f}", fill=_MUTED, font_size=9)
    if last_x > first_x:
        out.text(left + width, bottom + 12, f"{last_x:,.0f}", fill=_MUTED, font_size=9,
                 text_anchor="end")  # fmt: skip
