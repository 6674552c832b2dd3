"""Times of kernels on a GPU, measured by events before and after each of them."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


# Limit of recorded kernels, in case a trace is never ended.
_MAX_KERNELS = 1 << 20


class KernelTime(NamedTuple):
    """One kernel's time on the device, in microseconds since the trace began."""

    node_name: str
    op: str
    start_us: int
    duration_us: int


class KernelTrace:
    """The kernels that ran in a stream since the trace was made; thread safe.

    The caller must have made the device current.
    """

    def __init__(self, cupy: Any, stream: Any) -> None:
        self._cupy = cupy
        self._stream = stream
        self._lock = threading.Lock()
        # node, op, event before, event after; guarded by self._lock
        self._events: list[tuple[str, str, Any, Any]] = []
        self._begin = self._record()

    def timed(
        self, node_name: str, op: str, compute: Callable[..., Any], args: Sequence[Any]
    ) -> Any:
        """Run a kernel between two events that time its work on the device."""
        if len(self._events) >= _MAX_KERNELS:
            return compute(*args)
        before = self._record()
        found = compute(*args)
        behind = self._record()
        with self._lock:
            self._events.append((node_name, op, before, behind))
        return found

    def times(self) -> list[KernelTime]:
        """Return the measured times, after waiting for the last kernel."""
        with self._lock:
            events, self._events = self._events, []
        if not events:
            return []
        self._record().synchronize()
        elapsed = self._cupy.cuda.get_elapsed_time  # milliseconds
        return [
            KernelTime(
                node_name,
                op,
                int(elapsed(self._begin, before) * 1000),
                int(elapsed(before, behind) * 1000),
            )
            for node_name, op, before, behind in events
        ]

    def _record(self) -> Any:
        event = self._cupy.cuda.Event()
        event.record(self._stream)
        return event
