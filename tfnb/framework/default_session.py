"""The session that ``eval()`` and ``run()`` use if none is given.

This module holds only the stack; the client pushes its sessions.  Any object with ``graph`` and
``run`` may be on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from tfnb.framework.default_stack import DefaultStack, StackController

if TYPE_CHECKING:
    from tfnb.framework.graph import Graph


class SessionLike(Protocol):
    """The part of a session that ``eval`` and ``run`` use."""

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Run the graph and return the values of the fetches."""


_default_session_stack: DefaultStack[SessionLike] = DefaultStack()


def get_default_session() -> SessionLike | None:
    """Return the innermost session that this thread has entered, or None."""
    return _default_session_stack.get_default()


def default_session(
    session: SessionLike, *, enforce_nesting: bool = True
) -> StackController[SessionLike]:
    """Return a context manager in which ``session`` is this thread's default session."""
    return _default_session_stack.get_controller(session, enforce_nesting=enforce_nesting)


def session_for_eval(graph: Graph, session: SessionLike | None) -> SessionLike:
    """Return the session that evaluates a tensor of ``graph``: the one given, else the default one.

    Raises:
      ValueError: there is no session, or it runs another graph.
    """
    _check_not_former(graph)
    if session is not None:
        if session.graph is not graph:
            raise ValueError(
                "Cannot use the given session to evaluate tensor: the tensor's graph is different "
                "from the session's graph."
            )
        return session
    session = get_default_session()
    if session is None:
        raise ValueError(
            "Cannot evaluate tensor using `eval()`: No default session is registered. Use "
            "`with sess.as_default()` or pass an explicit session to `eval(session=sess)`"
        )
    if session.graph is not graph:
        raise ValueError(
            "Cannot use the default session to evaluate tensor: the tensor's graph is different "
            "from the session's graph. Pass an explicit session to `eval(session=sess)`."
        )
    return session


def session_for_run(graph: Graph, session: SessionLike | None) -> SessionLike:
    """Return the session that runs an operation of ``graph``: the one given, else the default one.

    Raises:
      ValueError: there is no session, or it runs another graph.
    """
    _check_not_former(graph)
    if session is not None:
        if session.graph is not graph:
            raise ValueError(
                "Cannot use the given session to execute operation: the operation's graph is "
                "different from the session's graph."
            )
        return session
    session = get_default_session()
    if session is None:
        raise ValueError(
            "Cannot execute operation using `run()`: No default session is registered. Use "
            "`with sess.as_default():` or pass an explicit session to `run(session=sess)`"
        )
    if session.graph is not graph:
        raise ValueError(
            "Cannot use the default session to execute operation: the operation's graph is "
            "different from the session's graph. Pass an explicit session to run(session=sess)."
        )
    return session


def _check_not_former(graph: Graph) -> None:
    if graph.is_former:
        raise ValueError(
            "What is asked for is no longer in a graph: it was replaced when what made it ran "
            "again. Take what was made then."
        )
