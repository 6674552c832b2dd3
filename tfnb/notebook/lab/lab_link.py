"""The kernel's end of JupyterLab's side panel: receives its requests and sends snapshots.

There is one comm with a fixed id, which is never announced: a front end with tfnb's extension finds
it, before or after a reload of the page, and others do not notice it.  A subshell reads its
messages, so that buttons work while a cell runs.

A page that shows the panel renews a lease (``watch``).  Snapshots are sent only during a lease, a
few times a second, and only if they differ from the last one.  Views use the widgets of ``views/``,
whose messages travel over this comm (``lab_views.py``).

Messages from a front end are checked for type, size and rate.  Requests that set a flag are carried
out at once; slower ones go to the worker, a thread that starts with the first request. Where no
thread can be started, all requests are carried out at once, and a running step sends snapshots.
"""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import secrets
import threading
import time
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.process import threads
from tfnb.core.process.package_version import __version__
from tfnb.core.process.threads import ERRANDS
from tfnb.notebook.kernel.control_shell import route_to_control_shell
from tfnb.notebook.lab.lab_snapshot import LabSnapshots, find_session
from tfnb.notebook.lab.lab_sweeps import cancel_run, sweeps
from tfnb.notebook.scenes.attr_text import cut_middle
from tfnb.notebook.views.targets import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.notebook.lab.lab_views import LabViews

COMM_ID = "tfnb.lab"
SNAPSHOTS_PER_SECOND = 4.0
# A page renews its lease at least once in this time, even if a browser slows hidden pages down.
LEASE_S = 150.0
MAX_MESSAGE = 64_000
MAX_WORD = 400
# Rate limit: enough for a user's clicks and the restoration of a page, not for a flood.
_BURST, _PER_SECOND = 80.0, 40.0
_JOIN_TIMEOUT_S = 5.0
_WAITING_MOST = 200
_log = logging.getLogger("tfnb")


class LabLink:
    """Receives requests, sends snapshots and views.

    Args:
      send: sends a message, with buffers, to every front end.
      clock: returns monotonic seconds.
    """

    def __init__(
        self,
        send: Callable[[dict[str, Any], list[Any]], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._send = send
        self._clock = clock
        self._snapshots = LabSnapshots()
        self._views: LabViews | None = None
        self._name = secrets.token_hex(8)  # differs after a restart of the kernel
        self._queue: queue.Queue[dict[str, Any] | None] = queue.Queue(_WAITING_MOST)
        self._last_sent = ""
        self._watched_until = -1.0
        self._allowance, self._allowance_at = _BURST, clock()
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None  # guarded by _lock
        self._is_over = False  # guarded by _lock

    @property
    def views(self) -> LabViews:
        """The views in tabs; their modules are imported when the first view is opened."""
        if self._views is None:
            from tfnb.notebook.lab.lab_views import LabViews

            self._views = LabViews(self._tell)
        return self._views

    # -- incoming messages -------------------------------------------------------------------------

    def hear(self, content: Any, buffers: Any = ()) -> None:
        """Handle a front end's message; invalid and excess messages are dropped."""
        if self._is_over or not self._may_pass() or not _is_bearable(content, buffers):
            return
        request = content["request"]
        try:
            if request == "view":
                self.views.hear(content.get("view"), content.get("content"))
            elif request in ("cancel", "pause", "resume"):
                self._steer(request, content)
            elif threads.can_start():
                self._queue.put_nowait(content)
                self._start_worker()
            else:
                self.carry_out(content)
        except queue.Full:
            self._problem(content, "Too much was asked at once.")
        except errors.OpError as error:
            self._problem(content, error.message)
        except (TargetError, ValueError, TypeError) as error:
            self._problem(content, str(error))

    def _may_pass(self) -> bool:
        now = self._clock()
        grown = self._allowance + (now - self._allowance_at) * _PER_SECOND
        self._allowance, self._allowance_at = min(_BURST, grown), now
        if self._allowance < 1.0:
            return False
        self._allowance -= 1.0
        return True

    def _steer(self, request: str, content: dict[str, Any]) -> None:
        """Cancel, hold or release steps; only sets flags."""
        session = find_session(_word(content, "session"))
        if session is None:
            raise TargetError("This session is closed.")
        runtime: Any = session.runtime
        if request == "pause":
            runtime.hold_steps()
        elif request == "resume":
            runtime.let_steps_go()
        else:
            wanted = content.get("step")
            for run_state in runtime.active_steps():
                if wanted is None or run_state.step_id == wanted:
                    run_state.end(errors.cancelled("The step was cancelled in JupyterLab."))
        if self._worker is not None:
            self._queue.put_nowait({"request": "look"})

    # -- the worker --------------------------------------------------------------------------------

    def _start_worker(self) -> None:
        with self._lock:
            if self._worker is None and not self._is_over:
                self._worker = threading.Thread(target=self._run, name="tfnb-lab", daemon=True)
                self._worker.start()

    def _run(self) -> None:
        interval = 1.0 / SNAPSHOTS_PER_SECOND
        due = self._clock()
        while True:
            try:
                # Without a lease the worker sleeps until the next request.
                wait = max(0.0, due - self._clock()) if self._is_watched else None
                content = self._queue.get(timeout=wait)
            except queue.Empty:
                content = {"request": "look"}
            if content is None:
                return
            self.carry_out(content)
            due = self._clock() + interval

    def carry_out(self, content: dict[str, Any]) -> None:
        """Carry out a request; report its errors to the front end."""
        try:
            self._carry_out(content)
        except errors.OpError as error:
            self._problem(content, error.message)
        except (TargetError, ValueError, TypeError) as error:
            self._problem(content, str(error))
        except Exception as error:
            _log.exception("A request of JupyterLab's panel failed.")
            self._problem(content, f"{type(error).__name__}: {error}")

    def _carry_out(self, content: dict[str, Any]) -> None:
        request = content["request"]
        if request == "look":
            self.publish()
        elif request == "hello":
            self._tell(self.greeting())
        elif request == "watch":
            self._watched_until = self._clock() + LEASE_S
            if not threads.can_start():
                ERRANDS.remove(self._look)
                ERRANDS.add(self._look, 1.0 / SNAPSHOTS_PER_SECOND)
            self._last_sent = ""
            self.publish()
        elif request == "renderer":
            script, style = _renderer()
            self._tell({"kind": "renderer", "script": script, "style": style})
        elif request == "open":
            signature = content.get("signature")
            if not isinstance(signature, int | None):
                raise TypeError("A signature is a number.")
            self.views.open(
                _word(content, "view"),
                _word(content, "session"),
                signature,
                ask=_word(content, "id"),
                anew=content.get("anew") is True,
            )
            # Force the next snapshot, which reports the view even if it has been closed by then.
            self._last_sent = ""
        elif request == "cancelRun":
            cancel_run(_word(content, "sweep"), content.get("run"))
        elif request == "close":
            self.views.close(_word(content, "view"))
        else:
            raise ValueError(f"There is no request '{request[:40]}'.")

    def _look(self) -> None:
        self.carry_out({"request": "look"})

    @property
    def _is_watched(self) -> bool:
        return self._clock() < self._watched_until

    def publish(self) -> bool:
        """Send a snapshot, if a page has a lease and it differs; return whether it was sent."""
        views = self._views
        if not self._is_watched:
            if views is not None:
                views.close_all()
            return False
        if views is not None:
            views.refresh()
        titles = {} if views is None else views.titles()
        found = {**self._snapshots.take(), "views": titles, "sweeps": sweeps()}
        text = json.dumps(found)
        if text == self._last_sent:
            return False
        self._last_sent = text
        self._tell(found)
        return True

    def greeting(self) -> dict[str, Any]:
        """Return the message with which a kernel announces tfnb."""
        return {
            "kind": "hello",
            "version": __version__,
            "renderer": renderer_hash(),
            "kernel": self._name,
        }

    def _problem(self, content: dict[str, Any], text: str) -> None:
        asked = content.get("id")
        self._tell(
            {
                "kind": "problem",
                "id": asked if isinstance(asked, str) else "",
                "text": cut_middle(text, MAX_WORD),
            }
        )

    def _tell(self, content: dict[str, Any], buffers: list[Any] | None = None) -> None:
        self._send(content, buffers or [])

    def stop(self) -> None:
        """Close the views and end the worker."""
        with self._lock:
            self._is_over = True
            worker, self._worker = self._worker, None
        ERRANDS.remove(self._look)
        if worker is not None:
            with suppress(queue.Empty):  # no thread waits for the answers any more
                while True:
                    self._queue.get_nowait()
            self._queue.put_nowait(None)
            worker.join(_JOIN_TIMEOUT_S)
        if self._views is not None:
            self._views.close_all(with_kept=True)


def _is_bearable(content: Any, buffers: Any) -> bool:
    """Return whether a message has the expected form and an acceptable size."""
    if not isinstance(content, dict) or not isinstance(content.get("request"), str) or buffers:
        return False
    try:
        return len(json.dumps(content)) <= MAX_MESSAGE
    except (TypeError, ValueError, RecursionError):
        return False


def _word(content: dict[str, Any], name: str) -> str:
    word = content.get(name, "")
    if not isinstance(word, str) or len(word) > MAX_WORD:
        raise TypeError(f"'{name}' is a short text.")
    return word


@cache
def _renderer() -> tuple[str, str]:
    """Return the widgets' module and stylesheet."""
    from tfnb.notebook.views.widget_page import STATIC

    return tuple((STATIC / name).read_text(encoding="utf-8") for name in ("tfnb.js", "tfnb.css"))  # type: ignore[return-value]


@cache
def renderer_hash() -> str:
    """Return a hash of the widgets' module, with which a page detects that its version differs."""
    return hashlib.sha256("\0".join(_renderer()).encode()).hexdigest()[:16]


class LabComm:
    """A link together with the kernel's comm."""

    def __init__(self) -> None:
        import comm

        # primary=False: does not announce the comm.
        make: Any = comm.create_comm
        self.comm = make(target_name=COMM_ID, comm_id=COMM_ID, primary=False)
        self.link = LabLink(self._send)

    def start(self) -> None:
        """Start receiving messages, and announce the kernel to open pages."""
        import comm

        comm.get_comm_manager().register_comm(self.comm)
        self.comm.on_msg(self._hear)
        route_to_control_shell(self)
        self._send(self.link.greeting(), [])

    def stop(self) -> None:
        """Close the link and the comm, and notify the pages."""
        import comm

        self.link.stop()
        self._send({"kind": "gone"}, [])
        comm.get_comm_manager().comms.pop(COMM_ID, None)
        self.comm._closed = True

    def _hear(self, message: dict[str, Any]) -> None:
        self.link.hear(message["content"].get("data"), message.get("buffers"))

    def _send(self, content: dict[str, Any], buffers: list[Any]) -> None:
        self.comm.send(content, buffers=buffers)
