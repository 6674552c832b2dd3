"""Writes docs/overhead.md: what watching costs, and how quick pictures of large graphs are.

    python -m benchmarks.overhead [rounds]

It runs :mod:`benchmarks.watching` and :mod:`benchmarks.pictures`; the latter needs Chromium.
"""

from __future__ import annotations

import datetime
import os
import sys
from pathlib import Path

from benchmarks import pictures, watching

DOC = Path(__file__).parent.parent / "docs" / "overhead.md"

_HEAD = """\
# What watching costs

Written by `python -m benchmarks.overhead` on {date}, {cores} cores, load average {load:.1f} when it
began. Each figure is a step's time as a share of that of a session that was never watched,
the median of {sets} sets of new sessions.

Without a watcher: at most {aim} times, and the noise, which the first row shows. On a busy machine,
distrust a single row under a tenth.
"""


def overhead_text(
    found: dict[str, dict[str, float]], seen: list[pictures.Figures], load: float
) -> str:
    """Return the document.

    Args:
      found: by workload, what :func:`benchmarks.watching.measure` gave.
      seen: by graph, what :func:`benchmarks.pictures.measure` gave.
      load: the machine's load average when it began.
    """
    lines = [
        _HEAD.format(
            date=datetime.date.today().isoformat(),
            cores=os.cpu_count(),
            load=load,
            sets=watching.SETS,
            aim=watching.AIM,
        )
    ]
    heads = [
        f"{name} ({(build.__doc__ or '').rstrip('.').lower()})"
        for name, build in ((one, getattr(watching, one)) for one in found)
    ]
    rule = "|--:" * len(found)
    for watches, title in ((False, "not watched"), (True, "watched")):
        lines += [f"| {title} | {' | '.join(heads)} |", f"|---{rule}|"]
        if not watches:
            bare = [f"{times['bare'] * 1e6:,.1f} µs" for times in found.values()]
            lines.append(f"| never watched | {' | '.join(bare)} |")
        for name, (_, does) in watching.ROWS.items():
            if does is watches:
                shares = [f"{times[name]:.3f}" for times in found.values() if name in times]
                lines.append(f"| {name} | {' | '.join(shares)} |")
        lines.append("")
    lines += [
        "Progress (`%%tfnb watch`) leaves a step the emitted function that it is: a variant of it "
        "counts the sides of conds and the\niterations of loops, and a few times a second a "
        "thread looks where it is. Besides, a step tells of its beginning and end.",
        "A recording, a trace and the values of tensors are made of what another variant writes "
        "down: moments between kernels and between\niterations, the sides of conds, a note of each "
        "array, or the values. A debugged step is such a function, too, until a breakpoint\nis "
        "near. What that takes is some microseconds a step, a tenth of one an iteration and up to "
        "two a kernel that makes an array.\nAn observer that wants to hear of each node when it "
        "runs (the last row) has steps run by the reference executor, node by node.",
        "",
        "## Pictures of large graphs",
        "",
        f"{pictures.NODES:,} nodes in the widget, in a headless Chromium of the same machine: "
        f"first picture within {pictures.FIRST_PICTURE_MS / 1000:.0f} s,\nframes within "
        f"{pictures.FRAME_MS} ms. Frames are those of the slowest twentieth while the picture is "
        "zoomed or dragged.",
        "",
        "| graph | scene made in the kernel | first picture | static SVG | frame, zooming "
        "| frame, dragging | a scope opened |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {one.graph} | {one.make:.0f} ms | {one.first:.0f} ms | {one.svg:.0f} ms "
        f"| {one.zoom:.0f} ms | {one.drag:.0f} ms | {one.opening:.0f} ms |"
        for one in seen
    ]
    return "\n".join([*lines, ""])


def main() -> int:
    """Measures and writes."""
    load = os.getloadavg()[0]
    seen = pictures.measure()
    found = watching.measure_all(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
    DOC.write_text(overhead_text(found, seen, load), encoding="utf-8")
    sys.stdout.write(f"wrote {DOC}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
