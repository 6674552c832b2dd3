"""A failing or blocked viewer loses steps, and steps never wait for it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import tfnb as tf
from tfnb.notebook.steps import step_publisher
from tfnb.notebook.steps.step_model import StepModel
from tfnb.notebook.steps.step_publisher import StepPublisher
from tfnb.notebook.steps.step_recorder import EventLog, StepRecorder

if TYPE_CHECKING:
    import pytest

MAX_EVENTS = 100


def _run_watched(sink: Any, while_running: Any = None) -> tuple[Any, EventLog, StepPublisher]:
    """Run a loop under a publisher with this sink; return the value, the log, the publisher."""
    _, total = tf.while_loop(lambda i, _: i < 200, lambda i, t: (i + 1, t + i), [0, 0])
    with tf.Session() as session:
        log = EventLog(MAX_EVENTS)
        model = StepModel(lambda number: session.graph)
        publisher = StepPublisher(log, model, sink, updates_per_second=1000.0)
        recorder = StepRecorder(log, 0)
        session.runtime.step_events.add(recorder)
        publisher.start()
        session.run(total)
        if while_running is not None:
            while_running()
        value = session.run(total)
        session.runtime.step_events.remove(recorder)
        publisher.stop()
    return value, log, publisher


class Stuck:
    """A sink that blocks until the test ends it."""

    def __init__(self) -> None:
        self.entered, self.freed, self.calls = threading.Event(), threading.Event(), 0

    def show(self, scene: Any, states: bytes, counters: Any = None) -> None:
        """Block."""
        self.calls += 1
        self.entered.set()
        self.freed.wait(60)


def test_a_viewer_that_is_stuck_is_left_behind(
    graph: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Steps continue, the kept data are bounded, and the end does not wait for the viewer."""
    monkeypatch.setattr(step_publisher, "_JOIN_TIMEOUT_S", 0.05)
    sink = Stuck()
    try:
        value, log, _ = _run_watched(sink, lambda: sink.entered.wait(60))
        assert value == 19900
        assert len(log.events) <= MAX_EVENTS
        assert sink.calls == 1
        assert "was left behind" in caplog.text
    finally:
        sink.freed.set()


def test_a_viewer_that_raises_is_dropped(graph: Any, caplog: pytest.LogCaptureFixture) -> None:
    """The error is logged, and steps continue without the viewer."""
    raised = threading.Event()

    class Broken:
        def show(self, scene: Any, states: bytes, counters: Any = None) -> None:
            raised.set()
            raise RuntimeError("viewer")

    value, _, _ = _run_watched(Broken(), lambda: raised.wait(60))
    assert value == 19900
    assert "Showing the steps failed; they go on unseen." in caplog.text
