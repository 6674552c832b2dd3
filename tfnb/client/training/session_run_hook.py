"""``tf.train.SessionRunHook``: code around the runs of a monitored session."""

from __future__ import annotations

from typing import Any, NamedTuple

EXPORTS = {
    "train": ["SessionRunHook", "SessionRunArgs", "SessionRunContext", "SessionRunValues"],
}


class SessionRunHook:
    """The base class of hooks: called when a session begins, around each run, and at the end.

    ``begin`` may add to the graph; afterwards it is finalized. An exception of a hook ends the
    training; ``end`` is then not called.
    """

    def begin(self) -> None:
        """Begin; called once, before the session is made."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Receive a new session, also one that replaces a lost one.

        Args:
            session: The ``tf.Session``.
            coord: The coordinator of its threads.
        """

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Return further fetches and feeds, or None; called before each run."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Receive the values that ``before_run`` fetched; called after each successful run."""

    def end(self, session: Any) -> None:
        """End; called while the session is open, unless an error ended it."""


class SessionRunArgs(NamedTuple):
    """The arguments of a run, as for ``Session.run``."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """The results of a run: values of the hook's fetches, ``RunOptions``, ``RunMetadata``."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The data of one run that hooks get."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        """The fetches and feeds of the program."""
        return self._original_args

    @property
    def session(self) -> Any:
        """The ``tf.Session`` that runs; its own ``run`` does not call hooks."""
        return self._session

    @property
    def stop_requested(self) -> bool:
        """Whether a hook requested a stop."""
        return self._stop_requested

    def request_stop(self) -> None:
        """Request that no more runs follow: ``should_stop()`` is then true."""
        self._stop_requested = True
