"""One thread that shows a watch's steps, a few times a second, however fast they run.

It drains the recorders' log, lets the model make sense of it and hands the picture to a sink as
one message: a new scene only with a new signature, the states as bytes, the counters as small
numbers.  ``publish`` may also be called by hand, which is what tests do.  The thread belongs to
whoever started it; ``stop`` joins it and publishes a last time.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.notebook.scene import Scene
    from tfnb.notebook.step_model import Signature, StepModel
    from tfnb.notebook.step_recorder import EventLog

UPDATES_PER_SECOND = 18.0
_JOIN_TIMEOUT_S = 3.0
_log = logging.getLogger("tfnb")


class Sink(Protocol):
    """Where pictures go; a widget, or a list in a test."""

    def show(
        self, scene: Scene | None, states: bytes, counters: dict[str, Any] | None = None
    ) -> None:
        """Shows states and counters, with a new scene if there is one."""


class StepPublisher:
    """Publishes what a model knows, coalescing everything between two pictures."""

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
        """Prepares.

        Args:
          log: what recorders write into.
          model: makes sense of it.
          sink: is shown the pictures.
          updates_per_second: how often.
          clock_ns: tells the time.
          look: is called before each picture: adds to the log what steps do not tell by themselves.
        """
        self._look = look
        self._events = log
        self._model = model
        self._sink = sink
        self._interval_s = 1.0 / updates_per_second
        self._clock_ns = clock_ns
        self._shown: Signature | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begins to publish, until :meth:`stop`."""
        self._thread = threading.Thread(target=self._run, name="tfnb-publisher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and publishes the final state, unless the sink is stuck."""
        self._stopping.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_JOIN_TIMEOUT_S)
            if thread.is_alive():
                # Showing the end would take as long: whoever ran the steps goes on without.
                _log.warning(
                    "The viewer of the steps has not answered for %g s and was left behind.",
                    _JOIN_TIMEOUT_S,
                )
                return
        self._publish_or_log(is_final=True)

    def publish(self, *, is_final: bool = False) -> bool:
        """Shows what happened since the last call; says whether anything was shown."""
        model = self._model
        if self._look is not None and not is_final:
            self._look()
        changed = model.absorb(self._events)
        # A step that waits for something still shows its time.
        if not (changed or is_final or model.is_running):
            return False
        step = model.step
        scene, states = None, b""
        if step is not None:
            states = step.state_bytes()
            if step.signature is not self._shown:
                self._shown = step.signature
                scene = step.signature.scene
        self._sink.show(scene, states, model.counters(self._clock_ns()))
        return True

    def _run(self) -> None:
        while not self._stopping.wait(self._interval_s):
            if not self._publish_or_log():
                return

    def _publish_or_log(self, *, is_final: bool = False) -> bool:
        """Publishes; a picture that cannot be made must not stop who runs the steps."""
        try:
            self.publish(is_final=is_final)
        except Exception:
            _log.exception("Showing the steps failed; they go on unseen.")
            return False
        return True
