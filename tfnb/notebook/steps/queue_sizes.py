"""The sizes of sessions' queues, for the live progress."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.client.session.session import BaseSession

MAX_QUEUES = 8
_UNBOUNDED = (1 << 31) - 1
# A queue without a shared name is registered as `_3_jobs`, after its node.
_PRIVATE = re.compile(r"_\d+_(?=.)")


def queue_sizes(sessions: Iterable[BaseSession]) -> list[dict[str, Any]]:
    """Return name, size, capacity (0: unlimited) and whether closed, of the first few queues.

    Nothing is evaluated: the sizes are read from the sessions' resources.
    """
    found: list[dict[str, Any]] = []
    for session in sessions:
        manager = getattr(session.runtime, "device_mgr", None)
        for device in () if manager is None else manager.devices:
            for container, kind, name in device.resource_manager.names():
                queue = device.resource_manager.find(container, kind, name)
                capacity = getattr(queue, "capacity", None)
                if not isinstance(capacity, int) or not callable(getattr(queue, "size", None)):
                    continue
                bounded = capacity if 0 < capacity < _UNBOUNDED else 0
                closed = bool(getattr(queue, "is_closed", False))
                own = _PRIVATE.match(name)
                found.append(
                    {
                        "name": name[own.end() :] if own else name,
                        "size": queue.size(),
                        "capacity": bounded,
                        "isClosed": closed,
                    }
                )
                if len(found) == MAX_QUEUES:
                    return found
    return found
