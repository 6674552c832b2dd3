"""A thread that publishes a watch's steps a few times a second, however fast they run.

Where no thread can be started, the thread that drives a step publishes between nodes.

It drains the recorders' log, lets the model update its state and hands the picture to a sink as one
message: a new scene only with a new signature, the states as bytes, the counters as small numbers.
``publish`` may also be called directly, as tests do.  The caller of ``start`` owns the thread;
``stop`` joins it and publishes a last time.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

from tfnb.core.process import threads
from tfnb.core.process.notification import Notification
from tfnb.core.process.threads import ERRANDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.step_model import Signature, StepModel
    from tfnb.notebook.steps.step_recorder import EventLog

UPDATES_PER_SECOND = 18.0
_JOIN_TIMEOUT_S = 3.0
_log = logging.getLogger("tfnb")


class Sink(Protocol):
    """Receives pictures; a widget, or a list in a test."""

    def show(
        self, scene: Scene | None, states: bytes, counters: dict[str, Any] | None = None
    ) -> None:
        """Show states and counters, with a new scene if there is one."""


class StepPublisher:
    """Publishes a model's state, coalescing all events between two pictures."""

    def __init__(
        self,
        log: EventLog,
        model: StepModel,
        sink: Sink,
        *,
        updates_per_second: float = UPDATES_PER_SECOND,
        clock_ns: Callable[[], int] = time.perf_counter_ns,
        look: Callable[[], None] | None = None,
    ) -> None:
        """Initialize without starting the thread.

        Args:
          log: the recorders' log.
          model: turns the log into states.
          sink: receives the pictures.
          updates_per_second: the rate of pictures.
          clock_ns: returns the time in nanoseconds.
          look: called before each picture; adds to the log what steps do not report by themselves.
        """
        self._look = look
        self._events = log
        self._model = model
        self._sink = sink
        self._interval_s = 1.0 / updates_per_second
        self._clock_ns = clock_ns
        self._shown: Signature | None = None
        self._stopping = Notification()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start publishing, until :meth:`stop`."""
        if not threads.can_start():
            ERRANDS.add(self._publish_or_log, self._interval_s)
            return
        self._thread = threading.Thread(target=self._run, name="tfnb-publisher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and publish the final state, unless the sink is stuck."""
        self._stopping.notify()
        ERRANDS.remove(self._publish_or_log)
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_JOIN_TIMEOUT_S)
            if thread.is_alive():
                # Publishing the final state would block as well; the cell continues without it.
                _log.warning(
                    "The viewer of the steps has not answered for %g s and was left behind.",
                    _JOIN_TIMEOUT_S,
                )
                return
        self._publish_or_log(is_final=True)

    def publish(self, *, is_final: bool = False) -> bool:
        """Publish the events since the last call; return whether anything was shown."""
        model = self._model
        if self._look is not None and not is_final:
            self._look()
        had_news = model.has_news
        changed = model.absorb(self._events)
        model.choose(self._clock_ns())
        # A step that waits still updates its time; after the last step one more picture shows that
        # no step runs.
        is_over = model.is_open and had_news
        waits = bool(model.server_waits)
        if not (changed or is_final or is_over or waits or model.is_running):
            return False
        picture = model.picture(self._clock_ns())
        scene = None
        if picture.signature is not None and picture.signature is not self._shown:
            self._shown = picture.signature
            scene = picture.signature.scene
        self._sink.show(scene, picture.states, picture.counters)
        return True

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            if not self._publish_or_log():
                return

    def _publish_or_log(self, *, is_final: bool = False) -> bool:
        """Publish; log errors, since a failed picture must not stop the cell."""
        try:
            self.publish(is_final=is_final)
        except Exception:
            _log.exception("Showing the steps failed; they go on unseen.")
            return False
        return True
