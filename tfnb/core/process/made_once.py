"""A property that is computed once, on first use, also with several threads."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, Any

__all__ = ["made_once"]

if TYPE_CHECKING:
    from functools import cached_property as made_once
else:
    _LOCK = threading.RLock()

    class made_once(cached_property):
        """A ``cached_property`` with a lock, which the standard one has lacked since Python 3.12.

        All such properties share one lock, so the computation must not wait for another thread.
        """

        def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            with _LOCK:
                return super().__get__(instance, owner)
