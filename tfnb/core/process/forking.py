"""What a forked process makes anew, so that it may use what its parent has made.

A child has one thread, the one that forked.  The parent's other threads are not there, and a lock
that one of them held would stay held for ever.  Objects that own threads have a method
``renew_after_fork``, which is called in the child (:func:`renew_in_child`).  The locks named to
:func:`guard` are taken before a fork, so that nothing they guard is half changed in the child, and
given back behind it.  A thread that does not give up its lock in time keeps it in the parent; the
child then has a new lock.
"""

from __future__ import annotations

import os
import threading
from time import monotonic
from typing import Any, Protocol

from tfnb.core.process.weak_registry import WeakRegistry

# How long a fork waits for locks that other threads hold, in seconds, all of them together.
_PATIENCE_S = 1.0
_RLOCK = type(threading.RLock())


class Renewable(Protocol):
    """An object with threads, or with steps of threads."""

    def renew_after_fork(self) -> None:
        """Called in a child, in the only thread that it has."""


_renewables: WeakRegistry[Any] = WeakRegistry()
_guarded: WeakRegistry[Any] = WeakRegistry()  # by number and the names of the locks
_held: list[Any] = []


def renew_in_child(owner: Renewable) -> None:
    """Has a child call ``owner.renew_after_fork()``."""
    _renewables.add(owner)


def guard(owner: Any, *names: str) -> None:
    """Has a child find these locks of an object or a module free."""
    _guarded.add(owner, (id(owner), names))


def renew_lock(owner: Any, name: str) -> None:
    """Give a lock that a thread of the parent holds a new one as its successor."""
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
