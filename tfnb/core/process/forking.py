"""Objects that a forked process renews, so that it may use the objects of its parent.

A child has one thread, the one that forked.  The parent's other threads do not exist there, and a
lock that one of them held would stay locked forever.  Objects that own threads have a method
``renew_after_fork``, which is called in the child (:func:`renew_in_child`).  The locks passed to
:func:`guard` are acquired before a fork, so that no state they guard is half changed in the child,
and released after it.  If a thread does not release its lock in time, the parent leaves the lock to
it; the child then gets a new lock.
"""

from __future__ import annotations

import os
import threading
from time import monotonic
from typing import Any, Protocol

from tfnb.core.process.weak_registry import WeakRegistry

# Maximum time in seconds that a fork waits for locks of other threads, all of them together.
_PATIENCE_S = 1.0
_RLOCK = type(threading.RLock())


class Renewable(Protocol):
    """An object with threads, or with state that belongs to steps of threads."""

    def renew_after_fork(self) -> None:
        """Renew the object in a child; called in the only thread of the child."""


_renewables: WeakRegistry[Any] = WeakRegistry()
_guarded: WeakRegistry[Any] = WeakRegistry()  # key: the id of the owner and the names of the locks
_held: list[Any] = []


def renew_in_child(owner: Renewable) -> None:
    """Register an object whose ``renew_after_fork()`` is called in each child."""
    _renewables.add(owner)


def guard(owner: Any, *names: str) -> None:
    """Register locks of an object or a module that must be free in each child."""
    _guarded.add(owner, (id(owner), names))


def renew_lock(owner: Any, name: str) -> None:
    """Replace a lock that is held, by a thread of the parent, with a new one."""
    lock = getattr(owner, name)
    if lock.acquire(blocking=False):
        lock.release()
    else:
        setattr(owner, name, threading.RLock() if isinstance(lock, _RLOCK) else threading.Lock())


def _before() -> None:
    deadline = monotonic() + _PATIENCE_S
    for (_, names), owner in _guarded.items():
        for name in names:
            lock = getattr(owner, name)
            if lock.acquire(timeout=max(0.0, deadline - monotonic())):
                _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    _release()
    for (_, names), owner in _guarded.items():
        for name in names:
            renew_lock(owner, name)
    for owner in list(_renewables):
        owner.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
