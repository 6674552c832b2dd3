"""Holds the steps of a session on request: pauses a training loop and lets it continue.

The steps in flight are held by a flag that they already read between nodes, at no extra cost.
Steps that begin later are held by an observer, which exists only during the hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.common_runtime.executor.run_state import RunState
    from tfnb.core.step_events import StepEvents


class StepHold(StepObserver):
    """Holds every step of one session from :meth:`begin` to :meth:`end`.

    Args:
      step_events: the events of the session.
      active_steps: returns the steps in flight of the session.
    """

    def __init__(
        self, step_events: StepEvents, active_steps: Callable[[], Sequence[RunState]]
    ) -> None:
        self._step_events = step_events
        self._active_steps = active_steps
        self._is_over = False

    def begin(self) -> None:
        """Hold the running steps and those that begin later."""
        self._step_events.add(self)
        for run_state in self._active_steps():
            run_state.hold()

    def end(self) -> None:
        """Release all steps."""
        self._is_over = True
        self._step_events.remove(self)
        for run_state in self._active_steps():
            run_state.let_go()

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Hold a step that begins."""
        for run_state in self._active_steps():
            if run_state.step_id == step_id:
                run_state.hold()
                if self._is_over:  # the hold ended while this method ran
                    run_state.let_go()
