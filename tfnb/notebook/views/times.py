"""The time of a recorded step by type of op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.notebook.kernel.shell import current_shell, is_notebook
from tfnb.notebook.steps.run_costs import latest_record
from tfnb.notebook.views.op_times import op_times, op_times_svg, op_times_table, op_times_text
from tfnb.notebook.views.table import keep, latest, show_table, table_widget
from tfnb.notebook.views.targets import TargetError, find_target

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING = "No step of this graph was recorded yet: begin a cell with %%tfnb record."


def times(target: Any = None, *, namespace: Mapping[str, Any] | None = None) -> None:
    """Show which types of ops took the time of the step that was recorded last.

    The table sorts by each of its columns, and a row selects its longest node in the other views.

    Args:
      target: a graph, or an object that has one; by default the default graph.
      namespace: variables by name, which a text may also refer to.

    Raises:
      TargetError: no step of that graph was recorded.
    """
    graph = find_target(target, namespace).graph
    record = latest_record(graph)
    if record is None:
        raise TargetError(NOTHING)
    rows = op_times(record)
    state, text = op_times_table(record, rows, graph), op_times_text(record, rows)
    keep("times", state, text)
    if is_notebook(current_shell()):
        show_table(table_widget("times", state, text), op_times_svg(record, rows))
    else:
        print(text)


def latest_times() -> tuple[dict[str, Any], str]:
    """Return the table that was shown last, and its text."""
    return latest("times", NOTHING)
