"""Clicks that reach the kernel while a cell runs: a subshell for widgets' messages.

A front end's message goes to the loop that last used its comm, which is the loop that runs the
cell: it would be read when the cell has ended.  Kernels with subshells can read it in another
thread at once.  The names used here are private to ipykernel, so each is looked up; if one is
missing there is no subshell, and only Ctrl-C reaches a running cell.

Code in that thread has no default session and no default graph: handlers only set flags or pass
commands on.
"""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future
from typing import Any

from tfnb.notebook.kernel.shell import current_shell

_log = logging.getLogger("tfnb")
_WAIT_S = 3.0

_lock = threading.Lock()
_ids: dict[int, str] = {}  # by the kernel's identity; guarded by _lock


def control_shell_id() -> str | None:
    """Return the id of this kernel's subshell, made at the first call; None if it has none."""
    kernel = getattr(current_shell(), "kernel", None)
    thread = getattr(kernel, "shell_channel_thread", None)
    manager = getattr(thread, "manager", None)
    create = getattr(manager, "_create_subshell", None)
    loop = getattr(thread, "io_loop", None)
    if not getattr(kernel, "_supports_kernel_subshells", False) or create is None or loop is None:
        return None
    with _lock:
        found = _ids.get(id(kernel))
        if found is None:
            answer: Future[str] = Future()
            loop.add_callback(_into(answer, create))
            try:
                found = _ids[id(kernel)] = answer.result(_WAIT_S)
            except Exception:
                _log.debug("No subshell for widgets.", exc_info=True)
                return None
    return found


def _into(answer: Future[str], create: Any) -> Any:
    def run() -> None:
        try:
            answer.set_result(create())
        except BaseException as error:
            answer.set_exception(error)

    return run


def route_to_control_shell(widget: Any) -> bool:
    """Make a widget's messages be read while a cell runs; return whether that is possible."""
    comm: Any = getattr(widget, "comm", None)
    if getattr(comm, "is_heard_while_running", False):
        return True
    shell_id = control_shell_id()
    if shell_id is None or not hasattr(comm, "_reply_subshell_for"):
        return False
    comm._reply_subshell_for = lambda data, default: shell_id
    return True
