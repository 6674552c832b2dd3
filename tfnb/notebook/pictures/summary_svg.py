"""The picture that remains in the notebook when a watched cell has ended, and its text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.notebook.pictures.curves_svg import curves_height, curves_text, draw_curves
from tfnb.notebook.scenes.attr_text import cut_middle, device_label, one_line
from tfnb.notebook.scenes.svg_writer import MONO, SvgWriter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.notebook.steps.scalar_curves import Curve
    from tfnb.notebook.steps.step_model import StepModel

WIDTH = 720.0
_MARGIN = 16.0
_ROW = 20.0
_TEXT, _MUTED, _PAPER, _BORDER = "#1f2430", "#667085", "#ffffff", "#dfe1e6"
_TRACK, _DONE, _FAILED, _DEAD, _TIMES = "#e9ebef", "#388e3c", "#d32f2f", "#9aa1ac", "#2f6fc4"
_COLOURS = {"failed": _FAILED, "cancelled": _DEAD}
_MAX_OPS = 5
_MAX_BARS = 240


def duration_text(ns: float) -> str:
    """Format nanoseconds for display.

    >>> duration_text(850_000), duration_text(3_200_000_000), duration_text(125e9)
    ('850 µs', '3.20 s', '2:05 min')
    """
    if ns < 1e3:
        return f"{ns:.0f} ns"
    if ns < 1e6:
        return f"{ns / 1e3:.0f} µs"
    if ns < 1e9:
        return f"{ns / 1e6:.1f} ms"
    if ns < 60e9:
        return f"{ns / 1e9:.2f} s"
    seconds = int(ns / 1e9)
    return f"{seconds // 60}:{seconds % 60:02d} min"


def bytes_text(count: float) -> str:
    """Format a number of bytes for display.

    >>> bytes_text(512), bytes_text(8192)
    ('512 B', '8.2 kB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError(count)


def headline(counters: dict[str, Any]) -> str:
    """Return a one-line summary: steps, time, rate."""
    steps = counters["steps"]
    ends = [f", {counters[how]:,} {how}" for how in ("cancelled", "failed") if counters.get(how)]
    parts = [
        f"{steps:,} step{'' if steps == 1 else 's'}{''.join(ends)}",
        duration_text(counters["elapsed_ns"]),
        *([] if "sampled" in counters else [f"{counters['runs_per_second']:,.0f} nodes/s"]),
    ]
    if counters.get("steps_per_second"):
        parts.append(f"{counters['steps_per_second']:,.1f} steps/s")
    if counters.get("sent_bytes"):
        parts.append(f"{bytes_text(counters['sent_bytes'])} moved")
    return " · ".join(parts)


def summary_text(model: StepModel, counters: dict[str, Any], curves: Sequence[Curve] = ()) -> str:
    """Return the summary as text, for terminals and as the text alternative of the picture."""
    if not counters["partitions"]:
        return "No step ran."
    lines = [f"{counters['phase']}: {headline(counters)}"]
    lines += [
        f"  {device_label(p['device'])}: {p['done']:,} of {p['total']:,} nodes, "
        f"{_runs(p, counters)}"
        for p in counters["partitions"]
    ]
    lines += [
        f"  {'  ' * frame['depth']}loop {one_line(frame['name'])}: {_iterations(frame)}"
        for frame in counters["frames"]
    ]
    slowest = _slowest(model)
    if slowest:
        shown = ", ".join(f"{op} {duration_text(ns)}" for op, ns in slowest)
        lines.append(f"  most time: {one_line(shown)}")
    lines += curves_text(curves)
    if counters["error"]:
        label = "" if counters["phase"] == "cancelled" else "error: "
        lines.append(f"  {label}{one_line(cut_middle(counters['error'], 300))}")
    return "\n".join(lines)


def summary_svg(model: StepModel, counters: dict[str, Any], curves: Sequence[Curve] = ()) -> str:
    """Draw phase, figures, bars of partitions, loops, step times, costly ops and scalars."""
    out = SvgWriter()
    frames = counters["frames"]
    slowest = _slowest(model)
    times = model.step_times_ns
    height = 2 * _MARGIN + 26 + _ROW * len(counters["partitions"])
    height += (_ROW * len(frames) + 12) if frames else 0
    height += 62 if len(times) > 1 or slowest else 0
    height += _ROW if counters["error"] else 0
    curves_top = height - 6
    height += curves_height(curves)
    out.rect(0.5, 0.5, WIDTH - 1, height - 1, rx=8, fill=_PAPER, stroke=_BORDER)
    colour = _COLOURS.get(counters["phase"], _DONE)
    y = _MARGIN + 10
    out.circle(_MARGIN + 5, y - 4, 5, fill=colour)
    out.text(
        _MARGIN + 18,
        y,
        counters["phase"].capitalize(),
        font_size=13,
        font_weight=600,
        fill=_TEXT,
    )
    out.text(_MARGIN + 84, y, headline(counters), fill=_MUTED, font_size=12)
    y += 22
    for partition in counters["partitions"]:
        _draw_partition(out, partition, y, colour, _runs(partition, counters))
        y += _ROW
    if frames:
        y += 8
        for frame in frames:
            _draw_frame(out, frame, y)
            y += _ROW
        y += 4
    if counters["error"]:
        fill = _MUTED if counters["phase"] == "cancelled" else _FAILED
        out.text(_MARGIN, y + 6, cut_middle(counters["error"], 110), fill=fill)
        y += _ROW
    if len(times) > 1:
        _draw_times(out, times, y + 4)
    _draw_slowest(out, slowest, _MARGIN + (370 if len(times) > 1 else 0), y + 12)
    draw_curves(out, curves, _MARGIN, curves_top, WIDTH - 2 * _MARGIN)
    return out.document(WIDTH, height, f"Watched run: {headline(counters)}")


def _draw_partition(
    out: SvgWriter, partition: dict[str, Any], y: float, colour: str, runs: str
) -> None:
    left, width = _MARGIN + 78, 300.0
    total = max(1, partition["total"])
    done = width * (partition["done"] - partition["dead"]) / total
    dead = width * partition["dead"] / total
    out.text(_MARGIN, y + 4, device_label(partition["device"]), font_weight=600, fill=_TEXT)
    out.rect(left, y - 4, width, 8, rx=4, fill=_TRACK)
    if done > 0:
        out.rect(left, y - 4, done, 8, rx=4, fill=colour)
    if dead > 0:
        out.rect(left + done, y - 4, dead, 8, fill=_DEAD)
    figures = f"{partition['done']:,} / {partition['total']:,} nodes"
    out.text(left + width + 14, y + 4, figures, fill=_TEXT)
    out.text(WIDTH - _MARGIN, y + 4, runs, fill=_MUTED, text_anchor="end")


def _draw_frame(out: SvgWriter, frame: dict[str, Any], y: float) -> None:
    left = _MARGIN + 16 * frame["depth"]
    name = cut_middle(frame["name"], 40)
    out.text(left, y + 4, name, fill=_TEXT, font_family=MONO, font_size="10.5")
    out.text(_MARGIN + 320, y + 4, _iterations(frame), font_weight=600, fill=_TEXT)


def _runs(partition: dict[str, Any], counters: dict[str, Any]) -> str:
    """Return the number of kernel runs; a lower bound if events were dropped."""
    text = f"{'≥ ' if counters['dropped'] else ''}{partition['runs']:,} runs"
    return f"{text}, {partition['dead']:,} dead" if partition["dead"] else text


def _iterations(frame: dict[str, Any]) -> str:
    text = f"{frame['iteration']:,} iterations"
    return text if frame["runs"] < 2 else f"{text}, entered {frame['runs']:,}×"


def _draw_times(out: SvgWriter, times: Sequence[int], y: float) -> None:
    """Draw step times as bars; if there are too many, the slowest of each stretch."""
    width, height = 330.0, 30.0
    stretch = -(-len(times) // _MAX_BARS)
    bars = [max(times[i : i + stretch]) for i in range(0, len(times), stretch)]
    top = max(bars)
    step = width / len(bars)
    for i, ns in enumerate(bars):
        length = max(1.0, height * ns / top)
        out.rect(_MARGIN + i * step, y + height - length, max(step * 0.8, 0.5), length, fill=_TIMES)
    label = f"step time, at most {duration_text(top)}"
    out.text(_MARGIN, y + height + 13, label, fill=_MUTED, font_size=10)


def _draw_slowest(
    out: SvgWriter, slowest: Sequence[tuple[str, int]], left: float, y: float
) -> None:
    if not slowest:
        return
    out.text(left, y, "most time in", fill=_MUTED, font_size=10)
    top = slowest[0][1]
    for i, (op, ns) in enumerate(slowest[:3]):
        row = y + 13 * (i + 1)
        out.rect(left, row - 7, max(2.0, 90 * ns / top), 7, rx=2, fill=_TIMES, opacity="0.65")
        out.text(left + 98, row, f"{cut_middle(op, 24)}  {duration_text(ns)}", fill=_TEXT)


def _slowest(model: StepModel) -> list[tuple[str, int]]:
    ordered = sorted(model.busy_by_op.items(), key=lambda pair: -pair[1])
    return ordered[:_MAX_OPS]
