"""Remembers which signature each session ran last; one store per step, and nothing else."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from tfnb.core.step_events import StepObserver, unwatch_sessions, watch_sessions
from tfnb.notebook.targets import SignatureViews, events_of, session_of

if TYPE_CHECKING:
    from tfnb.client.session import BaseSession
    from tfnb.core.step_events import StepEvents


class _LastSignature(StepObserver):
    """The observer of one session."""

    never_raises = True

    def __init__(self, owner: LastRun, events: StepEvents) -> None:
        self._owner = owner
        self._events = weakref.ref(events)
        self.signature_id = -1

    def step_started(self, step_id: int, signature_id: int, t_ns: int) -> None:
        """Notes the signature."""
        self.signature_id = signature_id
        self._owner._latest = self

    def views(self) -> SignatureViews | None:
        """What the runtime told of the signature."""
        events = self._events()
        session = None if events is None else session_of(events)
        if events is None or session is None:
            return None
        for placed, partitioned in events.signatures():
            if partitioned is not None and partitioned.signature_id == self.signature_id:
                return SignatureViews(session, placed, partitioned)
        return None


class LastRun:
    """Listens to every session from :meth:`start` to :meth:`stop`."""

    def __init__(self) -> None:
        self._observers: weakref.WeakKeyDictionary[StepEvents, _LastSignature] = (
            weakref.WeakKeyDictionary()
        )
        self._latest: _LastSignature | None = None

    def start(self) -> None:
        """Begins to listen."""
        watch_sessions(self._join)

    def stop(self) -> None:
        """Ends listening."""
        unwatch_sessions(self._join)
        for events, observer in list(self._observers.items()):
            events.remove(observer)
        self._observers.clear()

    def views(self, session: BaseSession | None = None) -> SignatureViews | None:
        """The signature that ran last, in a session or anywhere."""
        if session is None:
            return None if self._latest is None else self._latest.views()
        events = events_of(session)
        observer = None if events is None else self._observers.get(events)
        return None if observer is None else observer.views()

    def _join(self, events: StepEvents) -> None:
        observer = self._observers[events] = _LastSignature(self, events)
        events.add(observer)
