"""The open sessions, without a dependency on their class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.process.weak_registry import WeakRegistry

if TYPE_CHECKING:
    from tfnb.client.session.tensor_handle import HandleOwner
    from tfnb.framework.graph import Graph

_sessions: WeakRegistry[HandleOwner] = WeakRegistry()


def register(session: HandleOwner) -> None:
    """Add a session, which is removed when it ends."""
    _sessions.add(session)


def open_sessions() -> list[Any]:
    """Return the open sessions, in no particular order."""
    return [session for session in _sessions if not session.is_closed]


def runtimes_of(graph: Graph) -> list[Any]:
    """Return the runtime's session of every open session of a graph."""
    return [session.runtime for session in open_sessions() if session.graph is graph]
