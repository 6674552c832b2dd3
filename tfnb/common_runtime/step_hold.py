"""Steps that stand still because somebody asked: a training loop is paused and goes on.

The steps in flight are held by a flag that they read between nodes anyway, so that nobody pays for
it.  Those that begin later are held by an observer, which is there only meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from tfnb.common_runtime.direct_session import DirectSession


class StepHold(StepObserver):
    """Holds every step of one session from :meth:`begin` to :meth:`end`."""

    def __init__(self, session: DirectSession) -> None:
        self._session = session
        self._is_over = False

    def begin(self) -> None:
        """Holds what runs, and whatever begins."""
        self._session.step_events.add(self)
        for run_state in self._session.active_steps():
            run_state.hold()

    def end(self) -> None:
        """Lets all go on."""
        self._is_over = True
        self._session.step_events.remove(self)
        for run_state in self._session.active_steps():
            run_state.let_go()

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Holds a step that begins."""
        for run_state in self._session.active_steps():
            if run_state.step_id == step_id:
                run_state.hold()
                if self._is_over:  # between two lines of this
                    run_state.let_go()
