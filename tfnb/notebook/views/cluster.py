"""The servers and tasks that this process knows, whether they answer, and what they say.

Tasks come from the servers of this process, from the targets and configurations of sessions, and
from variables with a ``ClusterSpec`` or a ``Server``.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from tfnb.client.session.session import BaseSession, live_sessions
from tfnb.client.training.server import Server
from tfnb.core.cluster_spec import ClusterSpec
from tfnb.core.process.server_waits import server_waits
from tfnb.distributed_runtime.grpc_channel import SCHEME, TLS_SCHEME
from tfnb.distributed_runtime.task_health import DEADLINE_S, ClusterHealth
from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook
from tfnb.notebook.scenes.attr_text import cut_middle, device_label, one_line
from tfnb.notebook.views.display_table import Table
from tfnb.notebook.views.targets import TargetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tfnb.distributed_runtime.task_health import TaskHealth

MAX_TASKS = 100
_MAX_CELL = 90
_COLUMNS = ("task", "address", "state", "devices", "says")
_MOST_WAIT_S = DEADLINE_S + 0.5
# The heartbeats of the panel, which the magic continues.
HEALTH = ClusterHealth()


def cluster(target: Any = None, *, namespace: Mapping[str, Any] | None = None) -> Any:
    """Show the tasks of clusters, whether they answer, their devices and their memory.

    Args:
      target: a ClusterSpec, a Server, a session, ``host:port`` or the name of a variable; by
        default all that this process knows.
      namespace: variables by name.

    Returns:
      A table in a notebook, text elsewhere.

    Raises:
      TargetError: the target names no server.
      UnimplementedError: gRPC is not installed.
    """
    names = namespace or {}
    if target is None or target == "":
        health = HEALTH.look(known_tasks(names.values()), _MOST_WAIT_S)
    else:
        with_target = ClusterHealth()
        try:
            health = with_target.look(_tasks_of_target(target, names), _MOST_WAIT_S)
        finally:
            with_target.close()
    rows = [task_row(one) for one in health]
    lines = wait_lines()
    if not is_notebook(current_shell()):
        return TextPicture(_text(rows, lines))
    return Table("Servers", _COLUMNS, rows, lines or _nothing(rows), _text(rows, lines))


def known_tasks(values: Iterable[Any] = ()) -> dict[str, str]:
    """Return the name of each task by its address, "" where it is not known.

    Args:
      values: of variables, which may be clusters and servers.
    """
    found: dict[str, str] = {}
    for server in _servers_of_process():
        found |= _tasks_of_spec(ClusterSpec(server.server_def.cluster))
        if server.target.removeprefix(SCHEME) not in found:
            found[_address(server.target)] = server.task
    for value in values:
        if isinstance(value, ClusterSpec):
            found |= _tasks_of_spec(value)
    for session in live_sessions():
        found |= {address: found.get(address, task) for address, task in _of_session(session)}
    usable = ((address, task) for address, task in found.items() if not address.endswith(":0"))
    return dict(itertools.islice(usable, MAX_TASKS))


def _servers_of_process() -> list[Any]:
    from tfnb.distributed_runtime.server_lib import live_servers

    return live_servers()


def _of_session(session: BaseSession) -> list[tuple[str, str]]:
    target = str(session.sess_str or "")
    if not target.startswith((SCHEME, TLS_SCHEME)):
        return []
    spec = ClusterSpec(session.runtime.config.cluster_def)
    return [*_tasks_of_spec(spec).items(), (_address(target), "")]


def _address(target: str) -> str:
    """Return the address of a target; one with TLS keeps its scheme."""
    return target.removeprefix(SCHEME)


def _tasks_of_spec(spec: ClusterSpec) -> dict[str, str]:
    from tfnb.distributed_runtime.worker_cache import addresses_of

    return {address: task for task, address in addresses_of(spec).items()}


def _tasks_of_target(target: Any, namespace: Mapping[str, Any]) -> dict[str, str]:
    if isinstance(target, str):
        target = namespace.get(target, target)
    if isinstance(target, ClusterSpec):
        return _tasks_of_spec(target)
    if isinstance(target, Server):
        tasks = _tasks_of_spec(ClusterSpec(target.server_def.cluster))
        return tasks if _address(target.target) in tasks else {_address(target.target): ""}
    if isinstance(target, BaseSession):
        found = dict(_of_session(target))
        if found:
            return found
        raise TargetError("This session runs in this process; it has no server.")
    if isinstance(target, str) and ":" in target:
        return {_address(target): ""}
    raise TargetError(
        f"{cut_middle(str(target), _MAX_CELL)!r} names no server: give a ClusterSpec, a Server, a "
        "session with a target, or host:port."
    )


def task_row(health: TaskHealth) -> tuple[str, ...]:
    """Return the cells of a task: name, address, state, devices, and what it says of itself."""
    state = state_text(health)
    devices = ", ".join(_short_device(name) for name, _, _ in health.devices)
    about = health.about
    if not about and health.answers:
        limit = sum(limit for _, _, limit in health.devices)
        about = f"{limit / 1e6:,.0f} MB for its devices; it tells no more"
    task = health.task.replace("/replica:0", "")
    return task, health.address, state, devices, about


def state_text(health: TaskHealth) -> str:
    """Return whether a task answers, since when, and why not."""
    if health.answers:
        return "answers"
    text = f"{health.state} ({health.seconds:.0f} s)"
    return f"{text}: {health.error}" if health.error else text


def _short_device(name: str) -> str:
    return device_label(name).rpartition("/")[2]


def wait_lines() -> list[str]:
    """Return a line for each request of this process that waits for a server."""
    return [
        f"{wait.method} has been waiting for {wait.target} for {wait.seconds:.0f} s: {wait.text}. "
        f"{wait.advice}. An interrupt ends it."
        for wait in server_waits()
    ]


def _nothing(rows: list[tuple[str, ...]]) -> list[str]:
    return [] if rows else ["No server and no cluster is known here: give a ClusterSpec."]


def _text(rows: list[tuple[str, ...]], lines: list[str]) -> str:
    shown = [tuple(one_line(cut_middle(text, _MAX_CELL)) for text in row) for row in rows]
    table = [_COLUMNS, *shown] if shown else []
    widths = [max(len(row[i]) for row in table) for i in range(len(_COLUMNS))] if table else []
    text = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
    return "\n".join([*text, *(lines or _nothing(rows))])
