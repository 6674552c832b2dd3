"""Makes the sessions of this process; importing it registers the factory."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tfnb.common_runtime.device.device_mgr import DeviceMgr, make_local_devices
from tfnb.common_runtime.session import process_state, session_factory, session_settings
from tfnb.common_runtime.session.direct_session import DirectSession
from tfnb.core.process.weak_registry import WeakRegistry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.common_runtime.session.session_factory import SessionOptions


class DirectSessionFactory:
    """Makes sessions for the empty target, and keeps track of the live ones."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: WeakRegistry[DirectSession] = WeakRegistry()  # guarded by self._lock

    def accepts_options(self, options: SessionOptions) -> bool:
        """Return whether the target is this process."""
        return options.target == ""

    def new_session(self, options: SessionOptions) -> DirectSession:
        """Return a session with devices of its own."""
        config = options.config
        settings = session_settings.settings_of(config)
        process_state.prepare(config)
        devices = make_local_devices(settings.device_count, config)
        session = DirectSession(options, DeviceMgr(devices))
        with self._lock:
            self._sessions.add(session)
        return session

    def reset(self, options: SessionOptions, containers: Sequence[str]) -> None:
        """Clear the containers of every live session and close the sessions."""
        with self._lock:
            sessions = list(self._sessions)
            self._sessions.clear()
        for session in sessions:
            session.reset_containers(containers)
        for session in sessions:
            session.close()


DIRECT_SESSION_FACTORY = DirectSessionFactory()
session_factory.register("DIRECT_SESSION", DIRECT_SESSION_FACTORY)
