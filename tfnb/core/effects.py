"""External effects of ops, and the effects allowed to a graph from a file.

An op declares its effects where it is registered: ``effects="read filename"``. A node built by the
user may always have them; a node from a file may have them only if the user allowed it or fed the
path. The runtime checks this here (``common_runtime/executor/loaded_effects.py``).

Four effects: ``read`` and ``write`` files, ``python`` functions of this process, ``network``.

State: an :class:`EffectsPolicy` holds the grants, guarded by ``_lock``; each graph has one, on top
of :data:`PROCESS`. ``_running.guard`` checks the files that a kernel opens in this thread, if the
kernel finds out its paths only while it runs.
"""

from __future__ import annotations

import fnmatch
import os
import re
import threading
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Final, Protocol

from tfnb.core.process.later import pattern_later
from tfnb.core.process.records import record
from tfnb.core.process.weak_registry import WeakRegistry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

KINDS: Final = ("read", "write", "python", "network")
LOADED_ATTR: Final = "_loaded_from_file"
"""The attribute of nodes from a file that have effects; only sessions write it."""


@record(frozen=True, slots=True)
class Effect:
    """One effect of an op.

    Attributes:
      kind: one of :data:`KINDS`.
      source: the input or attribute that holds the paths, or "" if only the kernel knows them.
      scheme: prefix of the values that are paths; "" if all values are paths.
    """

    kind: str
    source: str = ""
    scheme: str = ""


@cache
def parse_effects(text: str) -> tuple[Effect, ...]:
    """Parse the effects that an op declares, separated by commas.

    >>> parse_effects("read filename, write stream file://")[1]
    Effect(kind='write', source='stream', scheme='file://')

    Raises:
      ValueError: a word is not an effect.
    """
    effects = tuple(Effect(*one.split()) for one in text.split(",") if one.strip())
    for effect in effects:
        if effect.kind not in KINDS:
            raise ValueError(f"{effect.kind!r} is no effect; there are {', '.join(KINDS)}")
    return effects


# -- grants ----------------------------------------------------------------------------------------


@record(frozen=True, slots=True, eq=False)
class Grant:
    """One allowed effect, for files below a (resolved) folder or anywhere."""

    kind: str
    under: str | None


@record(frozen=True, slots=True)
class StepLimits:
    """Limits of one step of a graph; None for no limit but that of the machine.

    Attributes:
      max_iterations: loop iterations plus function calls.
      max_seconds: wall time.
      max_tensor_bytes: size of any single tensor.
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
        """Apply these limits to all later steps."""


class EffectsPolicy:
    """Effects and limits allowed to loaded nodes; thread safe.

    Attributes:
      max_nodes: maximum number of nodes in a file, including its functions; None: no limit.
    """

    def __init__(self, parent: EffectsPolicy | None = None) -> None:
        self._parent = parent
        self._lock = threading.Lock()
        self._grants: tuple[Grant, ...] = ()  # replaced as a whole, guarded by self._lock
        self._sessions: WeakRegistry[LimitedSession] = WeakRegistry()  # guarded by self._lock
        self.max_nodes: int | None = None
        self.step_limits = StepLimits()  # guarded by self._lock

    def add(self, grants: tuple[Grant, ...]) -> None:
        """Add grants."""
        with self._lock:
            self._grants += grants

    def remove(self, grants: tuple[Grant, ...]) -> None:
        """Remove grants; ignore those that do not exist."""
        with self._lock:
            self._grants = tuple(one for one in self._grants if one not in grants)

    def apply_to(self, session: LimitedSession) -> None:
        """Apply the limits to a session, now and when they change."""
        with self._lock:
            self._sessions.add(session)
            limits = self.step_limits
        if limits:
            session.set_step_limits(limits)

    def set_step_limits(self, limits: StepLimits) -> None:
        """Apply these limits to all sessions of the graph."""
        with self._lock:
            self.step_limits = limits
            sessions = list(self._sessions)
        for session in sessions:
            session.set_step_limits(limits)

    def grants(self) -> tuple[Grant, ...]:
        """Return the grants of this policy and its parent."""
        return self._grants + (self._parent.grants() if self._parent is not None else ())

    def allows(self, kind: str, path: str | None = None) -> bool:
        """Return whether an effect is allowed, on the file ``path`` if it has one."""
        if any(grant.kind == kind and grant.under is None for grant in self.grants()):
            return True
        return path is not None and self.allows_resolved(kind, resolved_path(path))

    def allows_resolved(self, kind: str, path: str) -> bool:
        """Return whether an effect is allowed on a path that is resolved already."""
        return any(
            grant.kind == kind and (grant.under is None or is_below(path, grant.under))
            for grant in self.grants()
        )


PROCESS: Final = EffectsPolicy()
"""The policy that applies to every graph of this process."""


def resolved_path(path: str) -> str:
    """Return the absolute path, without links, ``..`` and ``file://``."""
    return os.path.realpath(path.removeprefix("file://"))


def is_below(resolved: str, folder: str) -> bool:
    """Return whether a resolved path is a folder or in it.

    >>> is_below("/data/x", "/data"), is_below("/database", "/data"), is_below("/x", "/")
    (True, False, True)
    """
    return resolved == folder or resolved.startswith(folder.rstrip("/") + "/")


_WILD: Final = pattern_later(r"[*?\[]")
# Suffixes of the files of a checkpoint and of an event log, after their prefix; compiled on use.
_FILE_OF_PREFIX: Final = (
    r"(\.index|\.data-[\d?]{5}-of-[\d?]{5})?(\.tempstate\d+)?"
    r"|\.out\.tfevents\.\d{10,}\.[^/]*"
)


def is_file_of(path: str, prefix: str) -> bool:
    """Return whether a path is a file of the checkpoint or event log with this prefix.

    >>> is_file_of("/m/model.index", "/m/model"), is_file_of("/m/model.py", "/m/model")
    (True, False)
    """
    if (
        path.startswith(prefix)
        and re.compile(_FILE_OF_PREFIX).fullmatch(path, len(prefix)) is not None
    ):
        return True
    # In the V1 format, a pattern of the shards may be the prefix.
    return (
        _WILD.search(prefix) is not None
        and path.count("/") == prefix.count("/")
        and all(map(fnmatch.fnmatchcase, path.split("/"), prefix.split("/")))
    )


# Suffixes of the parts of a checkpoint, after the requested path: the folder and part of a sharded
# save, a shard, the pattern of all shards.
_PART_OF_CHECKPOINT: Final = r"(\.part|_temp(_[0-9a-f]+)?/part)?(-\d{5}-of-\d{5}|-\?{5}-of-\d{5})?"


def is_named_by(path: str, given: str) -> bool:
    """Return whether a path is the given path, or a part of the checkpoint of that name.

    >>> is_named_by("/m/model_temp_0f/part-00000-of-00001", "/m/model"), is_named_by("/m/x", "/m/")
    (True, False)
    """
    return (
        bool(given)
        and path.startswith(given)
        and (re.compile(_PART_OF_CHECKPOINT).fullmatch(path, len(given)) is not None)
    )


# -- the kernel that runs now ----------------------------------------------------------------------


class Guard(Protocol):
    """A checker of the effects of a node from a file; called by ``core/files/file_access.py``."""

    def check(self, kind: str, path: str | None) -> None:
        """Raise PermissionDeniedError if the effect is not allowed, by the text of the path."""

    def permit(self, kind: str, path: str, real: str, part_of: str | None) -> bool:
        """Check whether an effect is allowed, by the resolved path.

        Args:
          kind: "read" or "write".
          path: the path that the node gave.
          real: the resolved path.
          part_of: the prefix that the path is a part of, if permission for the prefix suffices.

        Returns:
          For a write, whether an existing file may be replaced.

        Raises:
          PermissionDeniedError: it is not allowed.
        """

    def listable(self, pattern: str, base: str, part_of: str | None) -> Callable[[str], bool]:
        """Check a pattern; return a predicate that says whether a (resolved) folder may be listed.

        Args:
          pattern: the pattern that the node gave.
          base: the folder that it begins with, resolved; the whole pattern if it has no wildcard.
          part_of: as in :meth:`permit`.

        Raises:
          PermissionDeniedError: it is not allowed.
        """

    def refuse_replacing(self, path: str) -> Exception:
        """Return the error for an existing file that may not be replaced."""


class _Running(threading.local):
    guard: Guard | None = None
    feeding: Mapping[str, str | None] | None = None


_running = _Running()


def current_guard() -> Guard | None:
    """Return the guard of this thread; None for a node that the user built."""
    return _running.guard


@contextmanager
def watched_by(guard: Guard | None) -> Iterator[None]:
    """Return a context in which ``guard`` checks the effects of this thread."""
    before, _running.guard = _running.guard, guard
    try:
        yield
    finally:
        _running.guard = before


def check(kind: str, path: str | None = None) -> None:
    """Check with this thread's guard that an effect is allowed, on a file if it has one.

    Raises:
      PermissionDeniedError: it is not allowed.
    """
    guard = _running.guard
    if guard is not None:
        guard.check(kind, path)


@contextmanager
def feeding_to_read(paths: Mapping[str, str | None]) -> Iterator[None]:
    """Return a context in which feeds come from the library and permit reading only these paths.

    Args:
      paths: path -> the resolved file that it must lead to; None for any.
    """
    before, _running.feeding = _running.feeding, paths
    try:
        yield
    finally:
        _running.feeding = before


def paths_fed_to_read() -> Mapping[str, str | None] | None:
    """Return the paths of :func:`feeding_to_read`; None outside of it, where the user feeds."""
    return _running.feeding
