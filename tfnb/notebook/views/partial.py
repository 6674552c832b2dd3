"""Partial runs in flight: fed tensors, ready fetches, and the feeds that the others lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.session.session import live_sessions
from tfnb.notebook.kernel.shell import current_shell, is_notebook
from tfnb.notebook.pictures.partial_run_svg import partial_run_svg
from tfnb.notebook.views.table import cell, node_of, short, show_table, table, table_widget

if TYPE_CHECKING:
    from tfnb.client.session.session import BaseSession
    from tfnb.common_runtime.session.partial_run import PartialRunState

_MAX_LINKS = 20
_NOTHING = "No partial run is in flight."


def partial(session: BaseSession | None = None) -> None:
    """Show the partial runs in flight, as tables that select nodes with the other views.

    Args:
      session: the session of the partial runs; by default all sessions.
    """
    sessions = [session] if session is not None else live_sessions()
    found = [(one, state) for one in sessions for state in one.partial_runs()]
    for one, state in found:
        if is_notebook(current_shell()):
            widget = table_widget("partial", *partial_table(one, [state]))
            show_table(widget, partial_run_svg(state))
        else:
            print(state)
    if not found:
        print(_NOTHING)


def partial_table(
    session: BaseSession, states: list[PartialRunState]
) -> tuple[dict[str, Any], str]:
    """Return partial runs as a table, and as text."""
    rows: list[Any] = []
    for number, state in enumerate(states, 1):
        if len(states) > 1:
            rows.append(f"Run {number}: {str(state).partition(chr(10))[0]}")
        rows += [_feed(name, is_fed) for name, is_fed in state.feeds.items()]
        rows += [_fetch(name, missing) for name, missing in state.fetches.items()]
        rows += [
            [cell(name, node=name), cell("target"), cell("runs by itself", tone="muted"), cell("")]
            for name in state.targets
        ]
    title = _NOTHING
    if states:
        head = str(states[0]).partition("\n")[0]
        title = f"Partial run: {head}" if len(states) == 1 else f"{len(states):,} partial runs"
    columns = ("Tensor", "Is", "State", "Waits for") if states else ()
    text = "\n".join(map(str, states)) or _NOTHING
    return table(title, columns, rows, graph=session.graph), text


def _feed(name: str, is_fed: bool) -> list[dict[str, Any]]:
    state = cell("✓ fed", tone="good") if is_fed else cell("○ not fed yet", tone="warn")
    return [cell(name, node=node_of(name)), cell("feed"), state, cell("")]


def _fetch(name: str, missing: tuple[str, ...] | None) -> list[dict[str, Any]]:
    if missing is None:
        state = cell("✓ taken", tone="good")
    elif missing:
        state = cell(f"… lacks {len(missing)}", tone="warn")
    else:
        state = cell("● ready")
    lacks = missing or ()
    more = len(lacks) - _MAX_LINKS
    links = [[short(one), node_of(one)] for one in lacks[:_MAX_LINKS]]
    waits = cell(f"{more} more and" if more > 0 else "", links=links)
    return [cell(name, node=node_of(name)), cell("fetch"), state, waits]
