"""What ops do to the world, and which of it a graph from a file may do.

An op declares its effects where it is registered: ``effects="read filename"``. A node that the user
built does them; a node that came from a file does them only where the user allowed it, or where the
path is one that the user fed. The runtime asks here (``common_runtime/loaded_effects.py``).

Four effects: ``read`` and ``write`` files, ``python`` functions of this process, ``network``.

State: an :class:`EffectsPolicy` holds what was allowed, guarded by ``_lock``; each graph has one,
on top of :data:`PROCESS`. ``_running.guard`` is who watches the files that a kernel opens in this
thread, where the kernel finds out its paths only as it runs.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS: Final = ("read", "write", "python", "network")
LOADED_ATTR: Final = "_loaded_from_file"
"""The attribute of nodes that a file brought and that have effects; only sessions write it."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect of an op.

    Attributes:
      kind: one of :data:`KINDS`.
      source: the input or attribute that holds the paths, or "" where the kernel finds them out.
      scheme: paths without this prefix are none; "" where all are.
    """

    kind: str
    source: str = ""
    scheme: str = ""


@cache
def parse_effects(text: str) -> tuple[Effect, ...]:
    """Effects as ops declare them, separated by commas.

    >>> parse_effects("read filename, write stream file://")[1]
    Effect(kind='write', source='stream', scheme='file://')

    Raises:
      ValueError: a word is no effect.
    """
    effects = tuple(Effect(*one.split()) for one in text.split(",") if one.strip())
    for effect in effects:
        if effect.kind not in KINDS:
            raise ValueError(f"{effect.kind!r} is no effect; there are {', '.join(KINDS)}")
    return effects


# -- what was allowed ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """One thing that was allowed: an effect, for files below a folder (resolved) or anywhere."""

    kind: str
    under: str | None


@dataclass(frozen=True, slots=True)
class StepLimits:
    """What one step of a graph may use; None: no limit but the machine's.

    Attributes:
      max_iterations: iterations of loops and calls of functions, together.
      max_seconds: of wall time.
      max_tensor_bytes: of any one tensor.
    """

    max_iterations: int | None = None
    max_seconds: float | None = None
    max_tensor_bytes: int | None = None

    def __bool__(self) -> bool:
        values = self.max_iterations, self.max_seconds, self.max_tensor_bytes
        return values != (None, None, None)


class LimitedSession(Protocol):
    """A session that holds its steps to limits."""

    def set_step_limits(self, limits: StepLimits) -> None:
        """Holds steps to these limits from now on."""


class EffectsPolicy:
    """What loaded nodes may do, and how much; thread safe.

    Attributes:
      max_nodes: how many nodes a file may bring, with those in its functions; None: any number.
    """

    def __init__(self, parent: EffectsPolicy | None = None) -> None:
        self._parent = parent
        self._lock = threading.Lock()
        self._grants: tuple[Grant, ...] = ()  # replaced as a whole, guarded by self._lock
        self._sessions: WeakSet[LimitedSession] = WeakSet()  # guarded by self._lock
        self.max_nodes: int | None = None
        self.step_limits = StepLimits()  # guarded by self._lock

    def add(self, grants: tuple[Grant, ...]) -> None:
        """Allows more."""
        with self._lock:
            self._grants += grants

    def remove(self, grants: tuple[Grant, ...]) -> None:
        """Takes back; what is not there is no error."""
        with self._lock:
            self._grants = tuple(one for one in self._grants if one not in grants)

    def apply_to(self, session: LimitedSession) -> None:
        """Holds a session to the limits, now and when they change."""
        with self._lock:
            self._sessions.add(session)
            limits = self.step_limits
        if limits:
            session.set_step_limits(limits)

    def set_step_limits(self, limits: StepLimits) -> None:
        """Holds all sessions of the graph to these limits."""
        with self._lock:
            self.step_limits = limits
            sessions = list(self._sessions)
        for session in sessions:
            session.set_step_limits(limits)

    def grants(self) -> tuple[Grant, ...]:
        """What is allowed, here and above."""
        return self._grants + (self._parent.grants() if self._parent is not None else ())

    def allows(self, kind: str, path: str | None = None) -> bool:
        """Whether an effect is allowed, on the file ``path`` if it has one."""
        resolved: str | None = None
        for grant in self.grants():
            if grant.kind != kind:
                continue
            if grant.under is None:
                return True
            if path is None:
                continue
            if resolved is None:
                resolved = resolved_path(path)
            if is_below(resolved, grant.under):
                return True
        return False


PROCESS: Final = EffectsPolicy()
"""What every graph of this process may do."""


def resolved_path(path: str) -> str:
    """The absolute path that a path means, without links, ``..`` and ``file://``."""
    return os.path.realpath(path.removeprefix("file://"))


def is_below(resolved: str, folder: str) -> bool:
    """Whether a resolved path is a folder or in it.

    >>> is_below("/data/x", "/data"), is_below("/database", "/data"), is_below("/x", "/")
    (True, False, True)
    """
    return resolved == folder or resolved.startswith(folder.rstrip("/") + "/")


# What the parts of a checkpoint are called, behind the path that somebody asked for: the folder and
# part of a sharded save, a shard, the pattern of all shards.
_PART_OF_CHECKPOINT: Final = re.compile(
    r"(\.part|_temp(_[0-9a-f]+)?/part)?(-\d{5}-of-\d{5}|-\?{5}-of-\d{5})?"
)


def is_named_by(path: str, given: str) -> bool:
    """Whether a path is one that the user gave, or a part of the checkpoint of that name.

    >>> is_named_by("/m/model_temp_0f/part-00000-of-00001", "/m/model"), is_named_by("/m/x", "/m/")
    (True, False)
    """
    return (
        bool(given)
        and path.startswith(given)
        and (_PART_OF_CHECKPOINT.fullmatch(path, len(given)) is not None)
    )


# -- the kernel that runs now ----------------------------------------------------------------------


class Guard(Protocol):
    """Who watches a kernel."""

    def check(self, kind: str, path: str | None) -> None:
        """Refuses what is not allowed with a PermissionDeniedError."""


class _Running(threading.local):
    guard: Guard | None = None


_running = _Running()


def current_guard() -> Guard | None:
    """Who watches what runs in this thread; None: a node that the user built."""
    return _running.guard


@contextmanager
def watched_by(guard: Guard | None) -> Iterator[None]:
    """Has ``guard`` watch what this thread does inside."""
    before, _running.guard = _running.guard, guard
    try:
        yield
    finally:
        _running.guard = before


def check(kind: str, path: str | None = None) -> None:
    """Asks whoever watches this thread whether an effect is allowed, on a file if it has one.

    Raises:
      PermissionDeniedError: it is not.
    """
    guard = _running.guard
    if guard is not None:
        guard.check(kind, path)
