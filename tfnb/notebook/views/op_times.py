"""The time of a recorded step, by type of op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.notebook.pictures.summary_svg import bytes_text, duration_text
from tfnb.notebook.pictures.table_svg import table_svg
from tfnb.notebook.scenes.attr_text import one_line
from tfnb.notebook.scenes.scene import ENDPOINTS
from tfnb.notebook.steps.run_costs import node_costs
from tfnb.notebook.views.table import cell, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.notebook.steps.run_record import RunRecord

COLUMNS = ("Op", "Time", "Share", "Runs", "Nodes", "Each run", "Made")
_MOST_TEXT_ROWS = 25


@dataclass(slots=True)
class OpTime:
    """All nodes of one type of op in a step.

    Attributes:
      op: the type.
      nodes: number of nodes of the type that ran.
      runs: total number of their executions.
      ns: total time of their executions.
      made_bytes: total size of their outputs.
      longest: the node that took longest.
      longest_ns: how long that node took.
    """

    op: str
    nodes: int = 0
    runs: int = 0
    ns: float = 0.0
    made_bytes: float = 0.0
    longest: str = ""
    longest_ns: float = -1.0


def op_times(record: RunRecord) -> list[OpTime]:
    """Return a row for each type of op that ran, in the order of their times, the longest first."""
    found: dict[str, OpTime] = {}
    for node, cost in zip(record.scene.nodes, node_costs(record), strict=True):
        if not cost.runs or node.op in ENDPOINTS:
            continue
        row = found.setdefault(node.op, OpTime(node.op))
        row.nodes += 1
        row.runs += cost.runs
        row.ns += cost.ns
        row.made_bytes += cost.num_bytes
        if cost.ns > row.longest_ns:
            row.longest, row.longest_ns = node.name, cost.ns
    return sorted(found.values(), key=lambda row: (-row.ns, row.op))


def op_times_table(record: RunRecord, rows: Sequence[OpTime], graph: Any = None) -> dict[str, Any]:
    """Return the rows as a sortable table; a row selects its longest node."""
    total = sum(row.ns for row in rows) or 1.0
    longest = max((row.ns for row in rows), default=0.0) or 1.0
    return table(
        _title(record, rows),
        COLUMNS,
        [
            [
                cell(row.op, node=row.longest, tip=f"{row.op}: most in {row.longest[:300]}"),
                cell(duration_text(row.ns), order=row.ns, bar=round(row.ns / longest, 3)),
                cell(f"{row.ns / total:.1%}", order=row.ns),
                cell(f"{row.runs:,}", order=row.runs),
                cell(f"{row.nodes:,}", order=row.nodes),
                cell(duration_text(row.ns / row.runs), order=row.ns / row.runs),
                cell(bytes_text(row.made_bytes), order=row.made_bytes),
            ]
            for row in rows
        ],
        note="A column's head sorts by it.",
        tone="muted",
        graph=graph,
        is_sortable=True,
    )


def op_times_text(record: RunRecord, rows: Sequence[OpTime]) -> str:
    """Return the rows as text, for terminals."""
    shown = [_texts(row, rows) for row in rows[:_MOST_TEXT_ROWS]]
    widths = [max(map(len, column)) for column in zip(COLUMNS, *shown, strict=True)]
    lines = [_title(record, rows)]
    for texts in (COLUMNS, *shown):
        name, *numbers = texts
        told = [text.rjust(width) for text, width in zip(numbers, widths[1:], strict=True)]
        lines.append("  ".join(["", name.ljust(widths[0]), *told]))
    if len(rows) > len(shown):
        lines.append(f"  … {len(rows) - len(shown):,} more")
    return "\n".join(lines)


def op_times_svg(record: RunRecord, rows: Sequence[OpTime]) -> str:
    """Return the rows as a picture."""
    columns = [(name, 40 if name == "Op" else 12) for name in COLUMNS]
    return table_svg(_title(record, rows), columns, [_texts(row, rows) for row in rows])


def _title(record: RunRecord, rows: Sequence[OpTime]) -> str:
    total = duration_text(sum(row.ns for row in rows))
    types = "type" if len(rows) == 1 else "types"
    return f"Step {record.step_id}: {total} in {len(rows):,} {types} of ops"


def _texts(row: OpTime, rows: Sequence[OpTime]) -> list[str]:
    total = sum(one.ns for one in rows) or 1.0
    return [
        one_line(row.op),
        duration_text(row.ns),
        f"{row.ns / total:.1%}",
        f"{row.runs:,}",
        f"{row.nodes:,}",
        duration_text(row.ns / row.runs),
        bytes_text(row.made_bytes),
    ]
