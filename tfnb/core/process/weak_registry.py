"""Collections of objects, and of values of objects, that do not keep the objects alive.

A ``weakref.WeakSet`` calls a Python function as each member ends, at any moment: an interrupt that
is raised there is printed and lost.  These collections call nothing then; references to ended
objects are removed when new members are added.

They are walked as copies: a copy of a dictionary makes no other objects, while ``list(items())``
makes tuples, at which the garbage collector may run, and with it code that adds members.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")
_FEWEST = 16


class WeakRegistry(Generic[T]):
    """Members by key, in the order of addition; each call is thread safe.

    >>> class Thing:
    ...     pass
    >>> registry, thing = WeakRegistry(), Thing()
    >>> registry.add(thing)
    >>> [member is thing for member in registry]
    [True]
    >>> del thing
    >>> list(registry)
    []
    """

    __slots__ = ("_limit", "_on_dropped", "_refs")

    def __init__(self, on_dropped: Callable[[Any], object] | None = None) -> None:
        """Make an empty one.

        Args:
          on_dropped: called with the keys of members that have ended, when others are added.
        """
        self._refs: dict[Any, weakref.ref[T]] = {}
        self._limit = _FEWEST
        self._on_dropped = on_dropped

    def add(self, member: T, key: Any = None) -> None:
        """Add a member under a key, by default one that no other object has."""
        if len(self._refs) >= self._limit:
            self._drop_ended()
        self._refs[id(member) if key is None else key] = weakref.ref(member)

    def get(self, key: Any) -> T | None:
        """Return the member under a key."""
        ref = self._refs.get(key)
        return None if ref is None else ref()

    def __iter__(self) -> Iterator[T]:
        """Iterate over the members that exist now."""
        return iter([found for ref in list(self._refs.values()) if (found := ref()) is not None])

    def items(self) -> Iterator[tuple[Any, T]]:
        """Return the keys and members that exist now."""
        pairs = [(key, ref()) for key, ref in self._refs.copy().items()]
        return iter([(key, member) for key, member in pairs if member is not None])

    def clear(self) -> None:
        """Remove all members."""
        self._refs.clear()

    def _drop_ended(self) -> None:
        for key, ref in self._refs.copy().items():
            if ref() is None:
                dropped = self._refs.pop(key, None)
                if dropped is not None and dropped is not ref:
                    self._refs[key] = dropped  # a new member of another thread, at the same address
                elif self._on_dropped is not None:
                    self._on_dropped(key)
        self._limit = max(_FEWEST, 2 * len(self._refs))


class WeakTable(Generic[K, V]):
    """Values of objects, by identity, that do not keep the objects alive; each call is thread safe.

    A value must not reference its object, which would then never end.

    >>> class Thing:
    ...     pass
    >>> table, thing = WeakTable(), Thing()
    >>> table[thing] = 3
    >>> table.get(thing), table.get(Thing(), 0)
    (3, 0)
    """

    __slots__ = ("_entries", "_limit")

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[K], V]] = {}
        self._limit = _FEWEST

    def __len__(self) -> int:
        return sum(ref() is not None for ref, _ in list(self._entries.values()))

    def __setitem__(self, key: K, value: V) -> None:
        if len(self._entries) >= self._limit:
            for number, (ref, _) in self._entries.copy().items():
                if ref() is None:
                    dropped = self._entries.pop(number, None)
                    if dropped is not None and dropped[0] is not ref:
                        self._entries[number] = dropped  # another thread's, as above
            self._limit = max(_FEWEST, 2 * len(self._entries))
        self._entries[id(key)] = weakref.ref(key), value

    @overload
    def get(self, key: K) -> V | None: ...

    @overload
    def get(self, key: K, default: V) -> V: ...

    def get(self, key: K, default: V | None = None) -> V | None:
        """Return the value of an object, or the default."""
        found = self._entries.get(id(key))
        return default if found is None or found[0]() is not key else found[1]
