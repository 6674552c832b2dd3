"""Values that stay in the session: what a fetch of ``tf.get_session_handle(x)`` gives.

The value lives as long as its ``TensorHandle``. When the object dies its name is noted in the
session, and the values of ten dead handles are dropped in one run, since dropping one is a run of
its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.resource_mgr import ResourceHandle

if TYPE_CHECKING:
    from tfnb.client.session import BaseSession
    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation

HANDLE_RESOURCE_TYPE = "TensorHandle"

_HANDLE_OPS = frozenset({"GetSessionHandle", "GetSessionHandleV2"})


def is_handle_op(op: Operation) -> bool:
    """Whether the op's output is the handle of a value kept in the session."""
    return op.type in _HANDLE_OPS


class TensorHandle:
    """A value kept in a session, to be fed to later runs without coming to Python."""

    __slots__ = ("__weakref__", "_auto_gc_enabled", "_dtype", "_handle", "_session")

    def __init__(self, handle: Any, dtype: DType, session: BaseSession) -> None:
        if isinstance(handle, ResourceHandle):
            handle = handle.name
        self._handle: str = handle.decode() if isinstance(handle, bytes) else str(handle)
        self._dtype = dtype
        self._session = session
        self._auto_gc_enabled = True

    def __del__(self) -> None:
        if self._auto_gc_enabled:
            self._session._note_dead_handle(self._handle)

    def __str__(self) -> str:
        return self._handle

    def __repr__(self) -> str:
        return f"<TensorHandle {self._handle!r} dtype={self._dtype.name}>"

    @property
    def handle(self) -> str:
        """The name under which the session keeps the value: ``op;id;device``."""
        return self._handle

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        return self._dtype

    @property
    def device(self) -> str:
        """The device the value is on."""
        return self._handle.rpartition(";")[2]

    @property
    def resource(self) -> ResourceHandle:
        """What the runtime is fed with to find the value."""
        return ResourceHandle(
            self.device, HANDLE_RESOURCE_TYPE, self._handle, HANDLE_RESOURCE_TYPE, self._dtype
        )

    def get_raw_handle(self) -> str:
        """The name alone; the value then stays until it is deleted by name or the session ends."""
        self._auto_gc_enabled = False
        return self._handle

    def eval(self) -> Any:
        """The value, as a fetch would give it."""
        from tfnb.ops import session_ops

        holder, reader = session_ops.handle_reader(self._session.graph, self._handle, self._dtype)
        return self._session.run(reader, feed_dict={holder: self._handle})

    def delete(self) -> None:
        """Drop the value now."""
        from tfnb.ops import session_ops

        self._auto_gc_enabled = False
        holder, deleter = session_ops.handle_deleter(self._session.graph, self._handle)
        self._session.run(deleter, feed_dict={holder: self._handle})
