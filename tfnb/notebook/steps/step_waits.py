"""What steps in flight wait for, and which of them are held, read from outside while they run.

Observers get an event when a node begins, but none when it waits; the runtime can tell
(``waiting.py``), and is queried a few times a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tfnb.distributed_runtime.remote_steps import RemoteStep
from tfnb.notebook.scenes.attr_text import cut_middle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.client.session.session import BaseSession
    from tfnb.core.process.standstill import Finding, Standstill

BLOCKED, HELD, STOPPED = "blocked", "held", "stopped"
_MAX_LINES = 4
_MAX_LINE = 200
_MAX_NODES = 200


@dataclass(frozen=True, slots=True)
class StepWait:
    """The state of a step that waits or is held.

    Attributes:
      kind: ``BLOCKED`` if none of its nodes can run until another step acts, ``HELD`` if it is held
        between two nodes, ``STOPPED`` by a debugger, "" if it runs beside nodes that wait.
      nodes: the nodes that wait.
      lines: what they wait for, one line each.
    """

    kind: str
    nodes: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


def wait_of(run_state: Any) -> StepWait | None:
    """Return the state of a step; None if none of its nodes waits."""
    if isinstance(run_state, RemoteStep):
        return _wait_on_server(run_state)
    from tfnb.common_runtime.executor.waiting import explain_standstill, waiting_nodes

    try:
        stop = getattr(run_state.hooks.debugger, "stop", None)
        if stop is not None and stop.step_id == run_state.step_id:
            return StepWait(STOPPED, lines=(f"stands {stop.phase} '{stop.node}' ({stop.op})",))
        if run_state.is_held:
            return StepWait(HELD)
        nodes = tuple(waiting_nodes(run_state)[:_MAX_NODES])
        found = explain_standstill(run_state) if nodes else None
    except (RuntimeError, KeyError, IndexError, AttributeError):
        return None  # the step continued or ended meanwhile
    if not nodes:
        return None
    if found is None or found.runs:
        return StepWait("", nodes)
    return StepWait(BLOCKED, nodes, tuple(lines_of(found)))


def _wait_on_server(step: RemoteStep) -> StepWait | None:
    """Return what a step on a server waits for, as the server said last."""
    progress = step.progress
    if progress is None:
        return None
    nodes = tuple(progress.waiting_nodes()[:_MAX_NODES])
    if not nodes and not progress.silent:
        return None
    lines = tuple(_lines(progress.findings()))
    return StepWait(BLOCKED if progress.waits or progress.silent else "", nodes, lines)


def unseen_steps(session: BaseSession) -> list[str]:
    """Return a line for each step on a server that says nothing of it."""
    active: list[Any] = getattr(session.runtime, "active_steps", list)()
    return [
        f"Step {step.step_id}: {line}"
        for step in active
        if isinstance(step, RemoteStep) and step.progress is None
        for line in step.lines()
    ]


def waits_of(session: BaseSession) -> dict[int, StepWait]:
    """Return the states of a session's steps that wait or are held, by step id."""
    active: list[Any] = getattr(session.runtime, "active_steps", list)()
    found = {run_state.step_id: wait_of(run_state) for run_state in active}
    return {step_id: wait for step_id, wait in found.items() if wait is not None}


def lines_of(found: Standstill) -> list[str]:
    """Return an explanation of a step in a few lines."""
    return _lines(found.findings)


def _lines(findings: Sequence[Finding]) -> list[str]:
    lines = [_line(finding) for finding in findings[:_MAX_LINES]]
    more = len(findings) - _MAX_LINES
    return [*lines, f"and {more} more"] if more > 0 else lines


def _line(finding: Finding) -> str:
    text = finding.text
    if finding.reasons:
        text += f": {finding.reasons[0].text}"
    return cut_middle(text, _MAX_LINE)
