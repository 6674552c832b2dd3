"""Two runs side by side: nodes, devices, counts, times and the first value that differs."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from tfnb.client.debugger.run_difference import compare_runs, recent_runs
from tfnb.notebook.kernel.shell import current_shell, is_notebook
from tfnb.notebook.pictures.run_difference_svg import (
    rows_to_show,
    run_difference_svg,
    run_difference_text,
    what_differs,
)
from tfnb.notebook.pictures.summary_svg import duration_text
from tfnb.notebook.views.table import cell, keep, latest, show_table, table, table_widget
from tfnb.notebook.views.targets import TargetError

if TYPE_CHECKING:
    from tfnb.client.debugger.run_difference import NodeInRuns, RunDifference, RunValues

_TONES = {"+": "warn", "-": "warn", "≠": "bad", "·": "muted"}
_NOTHING = (
    "Nothing was compared yet: record two runs with tfnb.debugger.record_values(session, fetches)."
)
_seen: list[weakref.ref[RunValues]] = []  # the recent runs when something was compared last


def compare(
    first: RunValues | None = None,
    second: RunValues | None = None,
    *,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Show two runs side by side: a table that selects nodes with the other views.

    Args:
      first: the result of ``tfnb.debugger.record_values``; without it the last two of these.
      second: the result for the second run.
      rtol: relative tolerance of values.
      atol: absolute tolerance of values.

    Raises:
      TargetError: there are no two runs.
    """
    runs = recent_runs() if first is None or second is None else [first, second]
    if len(runs) < 2:
        raise TargetError(_NOTHING)
    found = compare_runs(*runs, rtol=rtol, atol=atol)
    state, text = _kept(found, runs[0].graph)
    if is_notebook(current_shell()):
        show_table(table_widget("compare", state, text), run_difference_svg(found))
    else:
        print(text)


def latest_comparison() -> tuple[dict[str, Any], str]:
    """Return the table of the runs that were compared last, and its text.

    If runs were recorded since, they are compared first.
    """
    runs = recent_runs()
    if len(runs) == 2 and [*map(weakref.ref, runs)] != _seen:
        _kept(compare_runs(*runs), runs[0].graph)
    return latest("compare", _NOTHING)


def _kept(found: RunDifference, graph: Any) -> tuple[dict[str, Any], str]:
    _seen[:] = map(weakref.ref, recent_runs())
    state, text = comparison_table(found, graph), run_difference_text(found)
    keep("compare", state, text)
    return state, text


def comparison_table(found: RunDifference, graph: Any = None) -> dict[str, Any]:
    """Return the difference of two runs as a table for the front end."""
    rows = rows_to_show(found)
    different = sum(one.differs for one in rows)
    longest = max((ns for one in rows for ns in one.ns), default=0) or 1
    return table(
        f"{different:,} of {len(rows):,} nodes differ" if found else "The runs are the same",
        ("Node", *(_head(rows, i) for i in (0, 1)), "What differs"),
        [_row(one, longest) for one in rows],
        note=f"First other value: {found.value}" if found.value else "No value is another.",
        tone="bad" if found.value else "muted",
        graph=graph,
    )


def _head(rows: list[NodeInRuns], i: int) -> str:
    count = sum(one.devices[i] is not None for one in rows)
    total = duration_text(sum(one.ns[i] for one in rows))
    return f"{('First', 'Second')[i]} run: {count:,} nodes, {total}"


def _row(one: NodeInRuns, longest: int) -> list[dict[str, Any]]:
    sign, what = what_differs(one)
    cells = [cell(one.node, node=one.node, tip=f"{one.node[:300]} ({one.op[:60]})")]
    for i in (0, 1):
        if one.devices[i] is None:
            cells.append(cell("–", tone="muted"))
            continue
        times = f" ×{one.counts[i]:,}" if one.counts[i] != 1 else ""
        cells.append(cell(duration_text(one.ns[i]) + times, bar=round(one.ns[i] / longest, 3)))
    return [*cells, cell(f"{sign} {what}", tone=_TONES.get(sign, ""))]
