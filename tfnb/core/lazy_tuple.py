"""A tuple whose items are made when the first one is read.

The runtime describes each signature for observers that may never read the description: in a graph
of a hundred thousand nodes that takes longer than a kernel does.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LazyTuple"]

_Item = TypeVar("_Item", covariant=True)
_LOCK = threading.RLock()


class LazyTuple(Sequence[_Item]):
    """A sequence that equals the tuple of its items; thread safe.

    >>> squares = LazyTuple(lambda: (number * number for number in range(4)))
    >>> squares[2], len(squares), squares == (0, 1, 4, 9)
    (4, 4, True)
    """

    __slots__ = ("_items", "_make")

    def __init__(self, make: Callable[[], Iterable[_Item]]) -> None:
        """Store the function that makes the items; it must not wait for another thread."""
        self._make: Callable[[], Iterable[_Item]] | None = make
        self._items: tuple[_Item, ...] = ()

    def _made(self) -> tuple[_Item, ...]:
        if self._make is not None:
            with _LOCK:
                make = self._make
                if make is not None:
                    self._items = tuple(make())
                    self._make = None  # last: other threads see the items or take the lock
        return self._items

    @overload
    def __getitem__(self, index: int) -> _Item: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[_Item, ...]: ...

    def __getitem__(self, index: int | slice) -> _Item | tuple[_Item, ...]:
        """Return one item, or the tuple of some."""
        return self._made()[index]

    def __len__(self) -> int:
        """Return the number of items."""
        return len(self._made())

    def __iter__(self) -> Iterator[_Item]:
        """Return an iterator over the items."""
        return iter(self._made())

    def __eq__(self, other: object) -> bool:
        """Return whether the other has equal items in the same order."""
        if isinstance(other, LazyTuple):
            return self._made() == other._made()
        return self._made() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the tuple."""
        return hash(self._made())

    def __repr__(self) -> str:
        """Return the text of the tuple."""
        return repr(self._made())
