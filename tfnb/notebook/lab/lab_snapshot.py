"""The data that JupyterLab's side panel shows of a kernel: sessions, steps, devices, containers.

It is plain data; lists and texts are limited in length. It is read while steps run, from a thread
of its own, and only read: data that changes meanwhile may be slightly out of date, never wrong in
kind. ``labextension/src/lab/snapshot.ts`` reads it.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from tfnb.client.session.session import live_sessions
from tfnb.distributed_runtime.remote_steps import RemoteStep
from tfnb.notebook.kernel.shell import current_shell
from tfnb.notebook.scenes.attr_text import cut_middle, device_label, shape_text
from tfnb.notebook.steps.step_pace import StepPace
from tfnb.notebook.steps.step_waits import BLOCKED, STOPPED, lines_of, wait_of
from tfnb.notebook.views.cluster import HEALTH, known_tasks, task_row, wait_lines
from tfnb.notebook.views.targets import events_of, signatures_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.client.session.session import BaseSession
    from tfnb.core.step_events import PartitionedGraph

MAX_SESSIONS = 20
MAX_SIGNATURES = 30
MAX_STEPS = 10
MAX_RESOURCES = 100
_MAX_NAME = 120
_MAX_NAMES = 6
_MAX_VARIABLES = 3
_MAX_LINE = 200
_MAX_WAIT = 400
_ENDPOINTS = frozenset(("_SOURCE", "_SINK"))


class LabSnapshots:
    """Makes snapshots, and caches the parts that do not change between them."""

    def __init__(self) -> None:
        self._signatures: dict[int, tuple[PartitionedGraph, dict[str, Any]]] = {}
        self._first_seen: dict[int, int] = {}
        self._paces: dict[str, StepPace] = {}  # by session

    def take(self, now_ns: int | None = None) -> dict[str, Any]:
        """Return a snapshot of the present state."""
        if now_ns is None:
            now_ns = time.perf_counter_ns()
        sessions = sorted(live_sessions(), key=_age)
        seen: set[int] = set()
        shown = [self._session(one, now_ns, seen) for one in sessions[:MAX_SESSIONS]]
        self._first_seen = {step: t for step, t in self._first_seen.items() if step in seen}
        self._paces = {one["key"]: self._paces[one["key"]] for one in shown}
        return {
            "kind": "snapshot",
            "sessions": shown,
            "moreSessions": max(0, len(sessions) - MAX_SESSIONS),
            "servers": self._servers(),
            "waits": [cut_middle(line, _MAX_WAIT) for line in wait_lines()],
        }

    def _servers(self) -> list[dict[str, Any]]:
        """Return the tasks that this kernel knows, each with its last answer."""
        # Without gRPC there is no server to ask.
        if "grpc" not in sys.modules:
            return []
        values = list(getattr(current_shell(), "user_ns", {}).values())
        found = HEALTH.look(known_tasks(values))
        rows = []
        for health in found:
            task, address, state, devices, about = task_row(health)
            rows.append(
                {
                    "task": cut_middle(task, _MAX_NAME),
                    "address": cut_middle(address, _MAX_NAME),
                    "answers": health.answers,
                    "state": cut_middle(state, _MAX_LINE),
                    "devices": cut_middle(devices, _MAX_NAME),
                    "about": cut_middle(about, _MAX_LINE),
                }
            )
        return rows

    def _session(self, session: BaseSession, now_ns: int, seen: set[int]) -> dict[str, Any]:
        runtime, events = session.runtime, events_of(session)
        last_step, last_signature = getattr(runtime, "last_run", lambda: (0, 0))()
        active: list[Any] = getattr(runtime, "active_steps", list)()
        if active and is_on_server(session):
            runtime.look_at_steps()
        active.sort(key=lambda run_state: run_state.step_id)
        seen.update(run_state.step_id for run_state in active)
        signatures = [] if events is None else self._signatures_of(session)
        pace = self._paces.setdefault(session_key(session), StepPace())
        return {
            "key": session_key(session),
            "title": session_title(session),
            "name": type(session).__name__,
            "target": cut_middle(session.sess_str or "", _MAX_NAME),
            "nodes": len(session.graph.get_operations()),
            "lastStep": last_step,
            "stepsPerSecond": pace.look(last_step, now_ns),
            "lastSignature": last_signature,
            "isHeld": bool(getattr(runtime, "is_held", False)),
            "canHold": hasattr(runtime, "hold_steps") and not is_on_server(session),
            "running": [self._step(one, now_ns) for one in active[:MAX_STEPS]],
            "moreRunning": max(0, len(active) - MAX_STEPS),
            "signatures": signatures[:MAX_SIGNATURES],
            "moreSignatures": max(0, len(signatures) - MAX_SIGNATURES),
            "devices": _devices(runtime),
        }

    def _signatures_of(self, session: BaseSession) -> list[dict[str, Any]]:
        """Return the signatures of a session, the newest first."""
        found = []
        for _, partitioned in reversed(signatures_of(session)):
            if partitioned is None:
                continue
            known = self._signatures.get(partitioned.signature_id)
            if known is None or known[0] is not partitioned:
                known = self._signatures[partitioned.signature_id] = (
                    partitioned,
                    _signature(partitioned),
                )
            found.append(known[1])
        return found

    def _step(self, run_state: Any, now_ns: int) -> dict[str, Any]:
        step_id = run_state.step_id
        started = self._first_seen.setdefault(step_id, now_ns)
        wait = wait_of(run_state)
        lines = list(wait.lines) if wait is not None else []
        return {
            "step": step_id,
            "isHeld": run_state.is_held,
            "waits": wait is not None and wait.kind == BLOCKED,
            "isStopped": wait is not None and wait.kind == STOPPED,
            "elapsed_ms": max(0, now_ns - started) // 1_000_000,
            "lines": lines or _lines(run_state),
        }


def session_key(session: BaseSession) -> str:
    """Return a session's name in messages, unique in the process."""
    return str(getattr(session.runtime, "session_handle", f"session_{id(session)}"))


def session_title(session: BaseSession) -> str:
    """Return a session's title: the user's variable that holds it, or its number."""
    shell = current_shell()
    try:
        held = [
            name
            for name, value in list(getattr(shell, "user_ns", {}).items())
            if value is session and not name.startswith("_")
        ]
    except RuntimeError:  # a cell adds variables while they are read
        held = []
    if held:
        return cut_middle(", ".join(held[:_MAX_VARIABLES]), _MAX_NAME)
    number = session_key(session).rpartition("_")[2]
    return f"session {number}" if number.isdecimal() else session_key(session)


def find_session(key: str) -> BaseSession | None:
    """Return the open session with a key, or None."""
    return next((one for one in live_sessions() if session_key(one) == key), None)


def _age(session: BaseSession) -> tuple[int, str]:
    key = session_key(session)
    number = key.rpartition("_")[2]
    return (int(number) if number.isdecimal() else 0, key)


def _signature(partitioned: PartitionedGraph) -> dict[str, Any]:
    nodes = sum(op not in _ENDPOINTS for view in partitioned.partitions for op in view.node_ops)
    return {
        "id": partitioned.signature_id,
        "feeds": _names(partitioned.feeds),
        "fetches": _names(partitioned.fetches),
        "targets": _names(partitioned.targets),
        "nodes": nodes,
        "devices": [device_label(view.device) for view in partitioned.partitions][:_MAX_NAMES],
    }


def _names(names: Iterable[str]) -> list[str]:
    every = list(names)
    shown = [cut_middle(name, _MAX_NAME) for name in every[:_MAX_NAMES]]
    return [*shown, f"{len(every) - _MAX_NAMES:,} more"] if len(every) > _MAX_NAMES else shown


def is_on_server(session: BaseSession) -> bool:
    """Return whether the steps of a session run in another process."""
    return getattr(session.runtime, "device_mgr", None) is None


def _lines(run_state: Any) -> list[str]:
    """Return where the step is, in a few lines."""
    if isinstance(run_state, RemoteStep):
        return run_state.lines()
    from tfnb.common_runtime.executor.waiting import explain_progress, explain_standstill

    try:
        found = explain_standstill(run_state) or explain_progress(run_state)
    except (RuntimeError, KeyError, IndexError, AttributeError):
        return []  # the step continued or ended meanwhile
    return [] if found is None else lines_of(found)


# -- devices and their resources ------------------------------------------------------------------


def _devices(runtime: Any) -> list[dict[str, Any]]:
    manager = getattr(runtime, "device_mgr", None)
    return [] if manager is None else [_device(device) for device in manager.devices]


def _device(device: Any) -> dict[str, Any]:
    manager = device.resource_manager
    names = manager.names()
    rows: list[dict[str, Any]] = []
    held = 0
    for container, kind, name in names:
        resource = manager.find(container, kind, name)
        if resource is None:
            continue
        num_bytes, text = _about(resource, name)
        held += num_bytes
        if len(rows) < MAX_RESOURCES:
            rows.append(
                {
                    "container": cut_middle(container, _MAX_NAME),
                    "kind": cut_middle(kind, _MAX_NAME),
                    "name": cut_middle(name, _MAX_NAME),
                    "text": text,
                    "bytes": num_bytes,
                }
            )
    pool = getattr(device, "pool", None)
    return {
        "name": device_label(device.name),
        "type": device.device_type,
        "limit": device.memory_limit,
        "held": held,
        "used": held if pool is None else int(pool.used_bytes()),
        "resources": rows,
        "moreResources": max(0, len(names) - MAX_RESOURCES),
    }


def _about(resource: Any, name: str) -> tuple[int, str]:
    """Return the bytes of a resource, if it is one tensor, and a description in one line."""
    dtype = getattr(resource, "dtype", None)
    if hasattr(resource, "is_initialized") and dtype is not None:
        value = getattr(resource, "value", None)
        if value is None:
            return 0, f"{dtype.name}, not initialized"
        shape = shape_text(getattr(value, "shape", ()))
        return int(getattr(value, "nbytes", 0)), f"{dtype.name} {shape}"
    size, state_text = getattr(resource, "size", None), getattr(resource, "state_text", None)
    if callable(size):
        count = size()
        text = f"{count:,} element{'' if count == 1 else 's'}"
        capacity = getattr(resource, "capacity", None)
        if isinstance(capacity, int) and 0 < capacity < (1 << 31) - 1:
            text += f" of {capacity:,}"
        return 0, f"{text}, closed" if getattr(resource, "is_closed", False) else text
    return 0, cut_middle(str(state_text(name)), _MAX_LINE) if callable(state_text) else ""
