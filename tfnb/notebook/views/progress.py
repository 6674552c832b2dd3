"""Watching steps while they run: recorders on every session, one publisher, one widget."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from tfnb.client.step_sampler import StepSampler
from tfnb.core.scalar_events import add_scalar_listener, remove_scalar_listener
from tfnb.core.step_events import unwatch_sessions, watch_sessions
from tfnb.notebook.kernel.control_shell import route_to_control_shell
from tfnb.notebook.kernel.shell import current_shell, is_notebook, show
from tfnb.notebook.pictures.summary_svg import summary_svg, summary_text
from tfnb.notebook.pictures.terminal_progress import TerminalProgress, can_draw
from tfnb.notebook.steps.queue_sizes import queue_sizes
from tfnb.notebook.steps.scalar_curves import ScalarCurves
from tfnb.notebook.steps.step_model import StepModel
from tfnb.notebook.steps.step_publisher import UPDATES_PER_SECOND, StepPublisher
from tfnb.notebook.steps.step_recorder import EventLog, StepRecorder
from tfnb.notebook.steps.step_waits import unseen_steps, waits_of
from tfnb.notebook.views.cluster import wait_lines
from tfnb.notebook.views.sampled_steps import SampledSteps
from tfnb.notebook.views.targets import session_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from tfnb.core.step_events import StepEvents
    from tfnb.framework.graph import Graph
    from tfnb.notebook.scenes.scene import Scene
    from tfnb.notebook.steps.step_publisher import Sink
    from tfnb.notebook.steps.step_waits import StepWait

HEIGHT = 480
_CURVES_EVERY_NS = 250_000_000


class Watch:
    """A context manager that shows every step run inside it, of every session.

    In a notebook a live widget appears at once and a frozen summary at the end; elsewhere the
    summary is printed.

    Args:
      height: height of the drawing, in CSS pixels.
      updates_per_second: how often the picture changes.
      keeps_summary: whether a summary stays when the block ends.
      samples: whether steps are only sampled from outside, so that they run at full speed; events
        between two samples are not seen.
      make_widget: makes the live view.
      displays: whether it appears below the cell; otherwise the caller shows it.

    Attributes:
      model: the model of the steps.
      curves: the scalars that the program summarised.
      widget: the live view, None outside a notebook.
    """

    def __init__(
        self,
        *,
        height: int = HEIGHT,
        updates_per_second: float = UPDATES_PER_SECOND,
        keeps_summary: bool = True,
        samples: bool = False,
        make_widget: Callable[[], Any] | None = None,
        displays: bool = True,
    ) -> None:
        self._make_widget = make_widget
        self._displays = displays
        self.model = StepModel(self._graph_of, self._queue_sizes)
        self._terminal: TerminalProgress | None = None
        self.widget: Any = None
        self._height = height
        self._updates_per_second = updates_per_second
        self._keeps_summary = keeps_summary
        self._log = EventLog()
        self.curves = ScalarCurves()
        self._curves_shown_ns = 0
        self._recorders: list[tuple[StepEvents, StepRecorder]] = []
        self._sampled = SampledSteps(self._log) if samples else None
        if self._sampled is not None:
            self.model.sampled = self._sampled.counters
        self._sampler = StepSampler(on_sample=self._sampled) if samples else None
        self._publisher: StepPublisher | None = None

    def __enter__(self) -> Self:
        sink: Sink = _Nowhere()
        if not is_notebook(current_shell()) and self._displays and can_draw(sys.stderr):
            sink = self._terminal = TerminalProgress()
            self._terminal.__enter__()
        if is_notebook(current_shell()):
            sink = self.widget = self._new_widget()
            if self._displays:
                show(self.widget)
            if self.widget.view == "progress":
                self.widget.on_msg(self._hear)
                self.model.offers_choice = route_to_control_shell(self.widget)
        self._publisher = StepPublisher(
            self._log,
            self.model,
            sink,
            updates_per_second=self._updates_per_second,
            look=self._look,
        )
        if self._sampler is None:
            watch_sessions(self._join)
        else:
            assert self._sampled is not None
            self._sampled.begin()
            self._sampler.start()
        add_scalar_listener(self.curves)
        self.model.is_open = True
        self._publisher.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._sampler is None:
            unwatch_sessions(self._join)
        else:
            self._sampler.stop()
        if self._sampled is not None:
            self._sampled.end()
        for events, recorder in self._recorders:
            events.remove(recorder)
        remove_scalar_listener(self.curves)
        assert self._publisher is not None
        self.model.is_open = False
        self._publisher.stop()
        self._show_curves(is_final=True)
        if self._terminal is not None:
            self._terminal.__exit__(kind, error, traceback)
        if self._keeps_summary:
            self._show_summary()

    def _new_widget(self) -> Any:
        if self._make_widget is not None:
            return self._make_widget()
        from tfnb.notebook.views.widget import SceneWidget

        return SceneWidget(None, view="progress", height=self._height)

    def summary(self) -> str:
        """Return a summary of the steps as text."""
        if self._sampler is not None:
            return self._sampler.text()
        counters = self.model.counters(time.perf_counter_ns())
        return summary_text(self.model, counters, self.curves.curves())

    def _show_summary(self) -> None:
        counters = self.model.counters(time.perf_counter_ns())
        text = self.summary()
        if self.widget is None or self._sampler is not None:
            print(text)
            return
        bundle = {"text/plain": text}
        if counters["partitions"]:
            bundle["image/svg+xml"] = summary_svg(self.model, counters, self.curves.curves())
        show(bundle, raw=True)

    def _hear(self, widget: Any, content: Any, buffers: Any) -> None:
        """Handle a choice in the view's list: a signature; none: the steps that take longest."""
        if isinstance(content, dict) and content.get("command") == "show":
            number = str(content.get("number", ""))
            self.model.wanted = int(number) if number.isdecimal() and len(number) < 10 else None

    def _join(self, events: StepEvents) -> None:
        recorder = StepRecorder(self._log, len(self._recorders))
        self._recorders.append((events, recorder))
        events.add(recorder)

    def _look(self) -> None:
        """Add data that observers do not get: progress of emitted functions, and waits of steps."""
        waits: dict[tuple[int, int], StepWait] = {}
        lines = wait_lines()
        if self._sampled is not None:
            waits = self._sampled.look_for_waits()
        for number, (events, recorder) in enumerate(list(self._recorders)):
            session = session_of(events)
            if session is not None:
                recorder.look(session.runtime.step_counts())
                lines += unseen_steps(session)
                found = waits_of(session).items()
                waits |= {(number, step_id): wait for step_id, wait in found}
        self.model.note_waits(waits)
        self.model.server_waits = lines
        self._show_curves()

    def _show_curves(self, *, is_final: bool = False) -> None:
        """Send the curves if they have grown, a few times a second."""
        now = time.perf_counter_ns()
        if not is_final and now - self._curves_shown_ns < _CURVES_EVERY_NS:
            return
        if self.curves.absorb() and self.widget is not None:
            self._curves_shown_ns = now
            self.widget.show_curves(self.curves.payload())

    def _queue_sizes(self) -> list[dict[str, Any]]:
        seen = [] if self._sampled is None else self._sampled.sessions
        watched = [*seen, *(events for events, _ in self._recorders)]
        sessions = [session_of(events) for events in watched]
        return queue_sizes(session for session in sessions if session is not None)

    def _graph_of(self, number: int) -> Graph | None:
        if self._sampled is not None:
            session = session_of(self._sampled.sessions[number])
        else:
            session = session_of(self._recorders[number][0])
        return None if session is None else session.graph


class _Nowhere:
    """The sink of a terminal, which shows nothing before the end."""

    def show(
        self, scene: Scene | None, states: bytes, counters: dict[str, Any] | None = None
    ) -> None:
        """Show nothing."""


def watch(
    *,
    height: int = HEIGHT,
    updates_per_second: float = UPDATES_PER_SECOND,
    samples: bool = False,
) -> Watch:
    """Watch the steps run inside a ``with`` block.

    Args:
      height: height of the drawing, in CSS pixels.
      updates_per_second: how often the picture changes.
      samples: whether steps are only sampled from outside, so that they run at full speed; events
        between two samples are not seen.
    """
    return Watch(height=height, updates_per_second=updates_per_second, samples=samples)
