"""A recorded step: graph, loops and timeline over one cursor in time; also without a kernel."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Self

from tfnb.core.files.file_access import write_whole
from tfnb.core.step_events import unwatch_sessions, watch_sessions
from tfnb.notebook.kernel.shell import TextPicture, current_shell, is_notebook, show
from tfnb.notebook.pictures.record_summary import record_svg, record_text
from tfnb.notebook.steps.chrome_trace import chrome_trace
from tfnb.notebook.steps.run_costs import remember
from tfnb.notebook.steps.run_record import RunTape
from tfnb.notebook.views.record_html import record_html
from tfnb.notebook.views.targets import session_of

if TYPE_CHECKING:
    from types import TracebackType

    from tfnb.core.step_events import StepEvents
    from tfnb.notebook.steps.run_record import RunRecord

HEIGHT = 480


class Recording:
    """A context manager that keeps the latest steps run inside it, of every session.

    Args:
      height: height of the graph's drawing, in CSS pixels.
      step: the index of the kept step that is shown; -1 is the last.
      shows: whether the view appears when the block ends.

    Attributes:
      records: the steps that were kept, oldest first; set when the block has ended.
    """

    def __init__(self, *, height: int = HEIGHT, step: int = -1, shows: bool = False) -> None:
        self.records: list[RunRecord] = []
        self._height = height
        self._step = step
        self._shows = shows
        self._tapes: list[tuple[StepEvents, RunTape]] = []

    def __enter__(self) -> Self:
        watch_sessions(self._join)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
        found = []
        for events, tape in self._tapes:
            records = tape.records()
            found += records
            session = session_of(events)
            if records and session is not None:
                remember(session.graph, records[-1])
        self.records = sorted(found, key=lambda record: record.step_id)
        if self._shows:
            self.show()

    def stop(self) -> None:
        """Stop recording."""
        unwatch_sessions(self._join)
        for events, tape in self._tapes:
            events.remove(tape)

    def latest(self) -> RunRecord | None:
        """Return the step that ended last, also while others are recorded."""
        found = [one for _, tape in self._tapes if (one := tape.latest()) is not None]
        return max(found, key=lambda one: one.step_id, default=None)

    def _join(self, events: StepEvents) -> None:
        def graph_of() -> Any:
            session = session_of(events)
            return None if session is None else session.graph

        tape = RunTape(graph_of)
        self._tapes.append((events, tape))
        events.add(tape)

    @property
    def record(self) -> RunRecord:
        """The step on display.

        Raises:
          IndexError: no step ran, or there is no step with that index.
        """
        return self._at(self._step)

    def _at(self, step: int) -> RunRecord:
        if not self.records:
            raise IndexError("No step ran inside the recording.")
        if not -len(self.records) <= step < len(self.records):
            raise IndexError(
                f"There is no step {step}: {len(self.records)} were kept, 0 is the first of them "
                "and -1 the last."
            )
        return self.records[step]

    def view(self, step: int | None = None) -> Any:
        """Return the view of a kept step: a widget in a notebook, text elsewhere."""
        if not self.records:
            return TextPicture("No step ran.")
        record = self._at(self._step if step is None else step)
        if not is_notebook(current_shell()):
            return TextPicture(record_text(record))
        from tfnb.notebook.views.widget import SceneWidget

        return SceneWidget(
            record.scene,
            view="run",
            height=self._height,
            record=record,
            picture=lambda: record_svg(record),
        )

    def show(self) -> None:
        """Display the step, and a static picture for front ends without widgets."""
        view = self.view()
        if isinstance(view, TextPicture):
            print(view.text)
            return
        show(view)

    def save_html(self, path: str | os.PathLike[str], step: int | None = None) -> None:
        """Write a kept step as one file that any browser opens, without a kernel or a network."""
        record = self._at(self._step if step is None else step)
        write_whole(os.fspath(path), record_html(record, self._height).encode())

    def save_chrome_trace(self, path: str | os.PathLike[str], step: int | None = None) -> None:
        """Write a kept step for Perfetto or chrome://tracing."""
        record = self._at(self._step if step is None else step)
        write_whole(os.fspath(path), json.dumps(chrome_trace(record)).encode())


def record(*, height: int = HEIGHT) -> Recording:
    """Record the steps run inside a ``with`` block; ``show()`` or ``save_html()`` it afterwards.

    Args:
      height: height of the graph's drawing, in CSS pixels.
    """
    return Recording(height=height)
