"""The static form of a recorded step, for front ends without widgets: its timeline, and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.array_module import as_places
from tfnb.notebook.pictures.summary_svg import duration_text
from tfnb.notebook.scenes.attr_text import cut_middle, device_label, one_line
from tfnb.notebook.scenes.op_kinds import op_kind
from tfnb.notebook.scenes.scene_svg import BORDER, COLOURS, LINE, MUTED, PAPER, TEXT
from tfnb.notebook.scenes.svg_writer import SvgWriter
from tfnb.notebook.steps.step_tape import DEAD, DONE, ITERATION_STARTED

if TYPE_CHECKING:
    from tfnb.notebook.steps.run_record import RunRecord

WIDTH = 720.0
_MARGIN = 16.0
_LANE = 16.0
_LABELS = 130.0
_MOST_LANES = 16
_MOST_BARS = 1500
_MOST_SLOWEST = 5
_MERGES = frozenset(("Merge", "RefMerge"))


def record_text(record: RunRecord) -> str:
    """Return the step in a few lines."""
    runs = int(np.count_nonzero(record.kind == DONE))
    dead = int(np.count_nonzero(record.kind == DEAD))
    heading = f"step {record.step_id}: {duration_text(record.duration_ns)}, {runs:,} nodes ran"
    lines = [heading + (f", {dead:,} dead" if dead else "")]
    loops = _loops(record)
    for (_, name), (iterations, entered) in list(loops.items())[:_MOST_LANES]:
        often = f", entered {entered:,}×" if entered > 1 else ""
        noun = "iteration" if iterations == 1 else "iterations"
        lines.append(f"  loop {one_line(name)}: {iterations:,} {noun}{often}")
    if len(loops) > _MOST_LANES:
        lines.append(f"  and {len(loops) - _MOST_LANES} more loops")
    slowest = _slowest(record)
    if slowest:
        shown = ", ".join(f"{one_line(name)} {duration_text(ns)}" for name, ns in slowest)
        lines.append(f"  most time: {shown}")
    if record.error:
        lines.append(f"  error: {one_line(cut_middle(record.error, 300))}")
    if record.dropped:
        lines.append(f"  {record.dropped:,} later events were not kept")
    return "\n".join(lines)


def _loops(record: RunRecord) -> dict[tuple[int, str], tuple[int, int]]:
    """Map (partition, name) to how often the loop's body ran, and how often the loop was entered.

    The iteration in which a frame ends only evaluates the condition; a frame that was entered dead,
    as in the last iteration of a loop around it, does not count.
    """
    begun = np.bincount(
        as_places(record.frame[record.kind == ITERATION_STARTED]), minlength=len(record.frames)
    )
    is_merge = np.array([node.op in _MERGES for node in record.scene.nodes] or [False])
    alive = np.bincount(
        as_places(record.frame[(record.kind == DONE) & is_merge[record.node]]),
        minlength=len(record.frames),
    )
    found: dict[tuple[int, str], tuple[int, int]] = {}
    for frame, iterations, lived in zip(record.frames, begun.tolist(), alive.tolist()):
        if frame.name and lived:
            before, entered = found.get((frame.partition, frame.name), (0, 0))
            found[frame.partition, frame.name] = before + max(0, iterations - 1), entered + 1
    return found


def record_svg(record: RunRecord) -> str:
    """Return the timeline: one lane per device and loop."""
    lanes = _lanes(record)
    shown = list(dict.fromkeys(lanes))[:_MOST_LANES]
    height = 2 * _MARGIN + 34 + _LANE * len(shown)
    out = SvgWriter()
    out.rect(0.5, 0.5, WIDTH - 1, height - 1, rx=8, fill=PAPER, stroke=BORDER)
    heading = record_text(record).split("\n", 1)[0]
    out.text(_MARGIN, _MARGIN + 8, heading, font_size=12, font_weight=600, fill=TEXT)
    top = _MARGIN + 20
    for row, (_, label) in enumerate(shown):
        y = top + row * _LANE
        out.text(_MARGIN, y + 11, cut_middle(label, 20), fill=TEXT, tooltip=label, font_size=10)
        out.rect(_LABELS, y + _LANE - 0.5, WIDTH - _LABELS - _MARGIN, 0.5, fill=BORDER)
    _draw_bars(out, record, lanes, {lane: row for row, lane in enumerate(shown)}, top)
    y = top + _LANE * len(shown) + 14
    out.text(_LABELS, y, "0", fill=MUTED, font_size=10)
    end = duration_text(record.duration_ns)
    out.text(WIDTH - _MARGIN, y, end, fill=MUTED, font_size=10, text_anchor="end")
    return out.document(WIDTH, height, f"Timeline: {heading}")


def _lanes(record: RunRecord) -> list[tuple[int, str]]:
    """Return the lane of each frame: frames of one name in one partition share it."""
    devices = record.scene.partitions or ("",)
    short = [device_label(device).removeprefix("/job:") for device in devices]
    return [(frame.partition, frame.name or short[frame.partition]) for frame in record.frames]


def _draw_bars(
    out: SvgWriter,
    record: RunRecord,
    lanes: list[tuple[int, str]],
    rows: dict[tuple[int, str], int],
    top: float,
) -> None:
    """Draw a bar per execution; if there are too many, only those long enough to be seen."""
    scale = (WIDTH - _LABELS - _MARGIN) / max(record.duration_ns, 1)
    bars = [
        (end - begin, begin, node, rows.get(lanes[frame], -1))
        for kind, node, frame, _, begin, end in record.executions()
        if kind == DONE
    ]
    bars.sort(reverse=True)
    for length, begin, node, row in bars[:_MOST_BARS]:
        if row < 0:
            continue
        shown = record.scene.nodes[node]
        colour = COLOURS.get(op_kind(shown.op), ("", LINE))[1]
        x, width = _LABELS + begin * scale, max(0.6, length * scale)
        out.rect(x, top + row * _LANE + 3, width, _LANE - 6, fill=colour)


def _slowest(record: RunRecord) -> list[tuple[str, float]]:
    times = record.node_times_ns()
    order = np.argsort(-times, kind="stable")[:_MOST_SLOWEST]
    return [(record.scene.nodes[i].name, float(times[i])) for i in order if times[i] > 0]
