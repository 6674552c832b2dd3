"""Write docs/overhead.md: the cost of watching, and the speed of pictures of large graphs.

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
# Cost of watching

Written by `python -m benchmarks.overhead` on {date}, {cores} cores, load average {load:.1f} when it
began. Each figure is the time of a step divided by that in a session that was never watched,
the median of {sets} sets of new sessions.

Limit without an observer: {aim}, plus noise, which the first row shows.
On a busy machine, distrust a difference below a tenth in a single row.
"""


def overhead_text(
    found: dict[str, dict[str, float]], seen: list[pictures.Figures], load: float
) -> str:
    """Return the document.

    Args:
      found: by workload, the result of :func:`benchmarks.watching.measure`.
      seen: by graph, the result of :func:`benchmarks.pictures.measure`.
      load: the machine's load average at the beginning.
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
        f"{name} ({(build.__doc__ or '').removeprefix('Build ').rstrip('.')})"
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
        "With progress (`%%tfnb watch`) a step still runs as an emitted function: a variant that "
        "counts the branches of conds and the\niterations of loops. A sampler reads its position "
        "a few times a second, and the step reports its start and end.",
        "Recordings, traces and tensor values come from another variant, which writes a journal: "
        "timestamps between kernels and between\niterations, the branches of conds, a note of "
        "each array, or the values. A debugged step runs as an emitted function until it comes\n"
        "near a breakpoint. The cost is a few microseconds per step, 0.1 per iteration and 1 per "
        "kernel that makes an array. A condition on\nvalues takes 0.1 microseconds for a number "
        "and 1 to 2 for an array; the row has one on each node outside of loops.\n"
        "An observer that needs each node's event as it happens (the last row) makes the reference "
        "executor run the steps, node by node.",
        "",
        "## Pictures of large graphs",
        "",
        f"{pictures.NODES:,} nodes in the widget, in a headless Chromium on the same machine: "
        f"first picture within {pictures.FIRST_PICTURE_MS / 1000:.0f} s,\nframes within "
        f"{pictures.FRAME_MS} ms. Frame times are the 95th percentile while the picture is zoomed "
        "or dragged.",
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
    """Measure and write the document."""
    load = os.getloadavg()[0]
    seen = pictures.measure()
    found = watching.measure_all(int(sys.argv[1]) if len(sys.argv) > 1 else 16)
    DOC.write_text(overhead_text(found, seen, load), encoding="utf-8")
    sys.stdout.write(f"wrote {DOC}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
