"""Numbers about the requests of a server."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.core.host_memory import resident_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.serving.model_runner import ModelRunner
    from tfnb.serving.served_model import ServedModel

_log = logging.getLogger("tfnb")
_NUM_KEPT = 1000
OK = "OK"


class RequestLog:
    """Counts requests by method and code, and keeps the times of the latest ones."""

    def __init__(self, served: ServedModel, runner: ModelRunner) -> None:
        self._served, self._runner = served, runner
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()  # guarded by self._lock
        self._seconds: deque[float] = deque(maxlen=_NUM_KEPT)  # guarded by self._lock
        self._began = time.monotonic()

    @contextmanager
    def request(self, method: str) -> Iterator[None]:
        """Count a request, and turn what fails into an ``OpError``.

        Raises:
            OpError: The request failed; errors of our own code have no details for the client.
        """
        began = time.perf_counter()
        code = OK
        try:
            yield
        except errors.OpError as error:
            code = code_name(error.error_code)
            raise
        except MemoryError:
            code = code_name(errors.RESOURCE_EXHAUSTED)
            raise errors.resource_exhausted("The server has not enough memory for it.") from None
        except Exception as error:
            code = code_name(errors.INTERNAL)
            _log.exception("A %s request failed", method)
            raise errors.internal(f"The server failed with {type(error).__name__}.") from error
        finally:
            seconds = time.perf_counter() - began
            with self._lock:
                self._counts[method, code] += 1
                self._seconds.append(seconds)

    def state(self) -> dict[str, Any]:
        """Return the numbers as a JSON object."""
        with self._lock:
            times = sorted(self._seconds)
            counts = sorted(self._counts.items())
        return {
            "status": "ok",
            "model": self._served.name,
            "version": self._served.version,
            "uptime_seconds": round(time.monotonic() - self._began, 1),
            "memory_bytes": resident_bytes(),
            "requests": {f"{method} {code}": count for (method, code), count in counts},
            "in_flight": self._runner.num_requests,
            "steps": self._runner.num_steps,
            "milliseconds": {
                name: round(times[int(share * (len(times) - 1))] * 1e3, 3) if times else None
                for name, share in (("median", 0.5), ("p99", 0.99))
            },
        }


def code_name(code: int) -> str:
    """Return the name of a code, as gRPC and TensorFlow write it.

    >>> code_name(3)
    'INVALID_ARGUMENT'
    """
    return _NAMES.get(code, "UNKNOWN")


_NAMES = {
    getattr(errors, name): name
    for name in (
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    )
}
