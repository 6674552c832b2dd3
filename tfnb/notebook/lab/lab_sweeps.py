"""Groups of trainings in JupyterLab's side panel: what it shows of them, and their cancelling.

``labextension/src/lab/sweeps.ts`` reads it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tfnb.client.live_runs import find_run_group, run_groups
from tfnb.notebook.scenes.attr_text import cut_middle
from tfnb.notebook.views.targets import TargetError

if TYPE_CHECKING:
    from tfnb.client.live_runs import RunGroup, RunRow

MAX_SWEEPS = 10
MAX_RUNS = 200
_MAX_NAME = 120
_MAX_TEXT = 200
_MAX_FIGURES = 6


def sweeps() -> list[dict[str, Any]]:
    """Return the groups that exist, the newest first."""
    return [_sweep(one) for one in reversed(run_groups()[-MAX_SWEEPS:])]


def _sweep(group: RunGroup) -> dict[str, Any]:
    rows = group.rows()
    return {
        "key": group.key,
        "title": cut_middle(group.title, _MAX_NAME),
        "runs": [_run(one) for one in rows[:MAX_RUNS]],
        "moreRuns": max(0, len(rows) - MAX_RUNS),
        "isOver": all(one.status not in ("waiting", "running") for one in rows),
    }


def _run(row: RunRow) -> dict[str, Any]:
    given = ", ".join(f"{name}={value}" for name, value in row.parameters.items())
    figures = list(row.figures.items())[:_MAX_FIGURES]
    return {
        "index": row.index,
        "parameters": cut_middle(given, _MAX_TEXT),
        "status": row.status,
        "step": row.step,
        "loss": "" if row.loss is None else _number(row.loss),
        "figures": [[cut_middle(name, _MAX_NAME), _number(value)] for name, value in figures],
        "seconds": int(row.seconds),
        "restarts": row.restarts,
        "error": cut_middle(row.error, _MAX_TEXT),
    }


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else str(value)


def cancel_run(key: str, index: Any) -> None:
    """End a training of a group, or all of them.

    Raises:
      TargetError: the group does not exist any longer, or has no such training.
      TypeError: the index is no number.
    """
    if index is not None and (not isinstance(index, int) or isinstance(index, bool)):
        raise TypeError("The number of a training is a number.")
    group = find_run_group(key)
    if group is None:
        raise TargetError("These trainings do not exist any longer.")
    try:
        group.cancel(index)
    except IndexError as error:
        raise TargetError(str(error)) from None
