"""``tf.train.SessionRunHook``: code around the runs of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple

EXPORTS = {
    "train": ["SessionRunHook", "SessionRunArgs", "SessionRunContext", "SessionRunValues"],
}


class SessionRunHook:
    """Is told when a session begins, before and after each run, and at the end.

    ``begin`` may add to the graph; afterwards it is finalized. What a hook raises ends the
    training; ``end`` is then not called.
    """

    def begin(self) -> None:
        """Called once, before the session is made."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session was made, also one that takes the place of a lost one.

        Args:
            session: The ``tf.Session``.
            coord: The coordinator of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before each run; may ask for more to fetch and to feed."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after each run that did not fail, with what ``before_run`` asked for."""

    def end(self, session: Any) -> None:
        """Called at the end, while the session is open, unless an error ended it."""


class SessionRunArgs(NamedTuple):
    """What goes into a run: as for ``Session.run``."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What came out of a run: values of what the hook fetched, ``RunOptions``, ``RunMetadata``."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One run, as hooks see it."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """What the program asked for."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The ``tf.Session`` that runs; a run of it is not seen by hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook asked to stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Ask that no more runs follow: ``should_stop()`` is then true."""
        self._stop_requested = True
