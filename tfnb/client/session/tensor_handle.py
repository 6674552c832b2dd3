"""Values that stay in the session: the results of fetching ``tf.get_session_handle(x)``.

The kernel's output is the name of the value, and carries the value itself. Only when it is
fetched, and the step has succeeded, does the value go into the session's store, where it stays as
long as the ``TensorHandle`` exists or until it is deleted by name.

A session in this process has direct access to its store (``session_state``); for a session on a
server, the ops of :mod:`tfnb.ops.state.session_ops` are run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfnb.core.resource_mgr import owned

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation


class HandleOwner(Protocol):
    """The interface of the session that keeps the value of a handle.

    Attributes:
        runtime: The runtime's session.
        is_closed: Whether the session is closed.
    """

    runtime: Any
    is_closed: bool

    @property
    def graph(self) -> Graph:
        """The graph that the session runs."""

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """Run one step."""


_HANDLE_OPS = frozenset({"GetSessionHandle", "GetSessionHandleV2"})


def is_handle_op(op: Operation) -> bool:
    """Return whether the op's output is the handle of a value to keep in the session."""
    return op.type in _HANDLE_OPS


class TensorHandle:
    """A value kept in a session, to be fed to later runs without a copy to Python."""

    __slots__ = ("__weakref__", "_dtype", "_handle", "_is_owner", "_session")

    def __init__(self, fetched: Any, dtype: DType, session: HandleOwner) -> None:
        """Keep a fetched value.

        Args:
            fetched: The output of the op: a name, with the value in its attribute ``tensor``.
            dtype: The dtype of the value.
            session: The session from which it was fetched.
        """
        name = getattr(fetched, "name", fetched)
        self._handle: str = name.decode() if isinstance(name, bytes) else str(name)
        self._dtype = dtype
        self._session = session
        self._is_owner = True
        store = _store_of(session.runtime)
        if store is not None:
            store.add(self._handle, owned(fetched.tensor))

    def __del__(self) -> None:
        if getattr(self, "_is_owner", False) and not self._session.is_closed:
            store = _store_of(self._session.runtime)
            if store is not None:
                store.discard(self._handle)

    def __str__(self) -> str:
        return self._handle

    def __repr__(self) -> str:
        return f"<TensorHandle {self._handle!r} dtype={self._dtype.name}>"

    @property
    def handle(self) -> str:
        """The name under which the session keeps the value: ``op;number;device``."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        return self._dtype

    def get_raw_handle(self) -> str:
        """Return the name; the value then stays until it is deleted by name or the session ends."""
        self._is_owner = False
        return self._handle

    def fed_to(self, runtime: Any) -> Any:
        """Return the value that the runtime's session gets when this handle is fed.

        Raises:
            InvalidArgumentError: The value belongs to another session, or was deleted.
        """
        store = _store_of(runtime)
        if store is None:
            return self.eval()
        value = store.get(self._handle)
        # A feed comes from host memory, wherever the value is stored.
        return value if isinstance(value, np.ndarray | np.generic) else _to_host(value)

    def eval(self) -> Any:
        """Return the value in the form of a fetch."""
        store = _store_of(self._session.runtime)
        if store is not None:
            value = self.fed_to(self._session.runtime)
            if not isinstance(value, np.ndarray):
                return value
            return value.copy() if value.ndim else value[()]
        from tfnb.ops.state import session_ops

        with self._session.graph.as_default():
            holder, reader = session_ops.handle_reader(self._handle, self._dtype)
        return self._session.run(reader, feed_dict={holder: self._handle})

    def delete(self) -> None:
        """Drop the value now.

        Raises:
            InvalidArgumentError: It was deleted before.
        """
        self._is_owner = False
        store = _store_of(self._session.runtime)
        if store is not None:
            store.delete(self._handle)
            return
        from tfnb.ops.state import session_ops

        with self._session.graph.as_default():
            holder, deleter = session_ops.handle_deleter(self._handle)
        self._session.run(deleter, feed_dict={holder: self._handle})


def _store_of(runtime: Any) -> Any:
    """Return the store of a session of this process; None for a session on a server."""
    return getattr(runtime, "session_state", None)


def _to_host(value: Any) -> Any:
    get = getattr(value, "get", None)
    return value if get is None else get()
