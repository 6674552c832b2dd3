"""A property that is made when it is first asked for, once, whichever threads ask."""

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
        """``cached_property``, which lets two threads make two of them since Python 3.12.

        What makes it may wait for nobody: all such properties share a lock.
        """

        def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
            if instance is None:
                return self
            with _LOCK:
                return super().__get__(instance, owner)
