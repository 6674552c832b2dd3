"""A stack per thread of default objects: graphs and sessions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")


class DefaultStack(threading.local, Generic[T]):
    """The stack that ``with x.as_default()`` pushes to and pops from; each thread has its own."""

    def __init__(self) -> None:
        self.stack: list[T] = []

    def get_default(self) -> T | None:
        """Return the innermost object of this thread, or None."""
        return self.stack[-1] if self.stack else None

    def is_cleared(self) -> bool:
        """Return whether this thread's stack is empty."""
        return not self.stack

    def reset(self) -> None:
        """Empty this thread's stack."""
        self.stack = []

    def get_controller(self, default: T, *, enforce_nesting: bool = True) -> StackController[T]:
        """Return a context manager that makes ``default`` the innermost object.

        Args:
          default: the object.
          enforce_nesting: whether leaving in another order than entering is an error.
        """
        return StackController(self, default, enforce_nesting)


class StackController(Generic[T]):
    """One entry on a :class:`DefaultStack`, from ``__enter__`` to ``__exit__``."""

    __slots__ = ("_default", "_stack", "enforce_nesting")

    def __init__(self, stack: DefaultStack[T], default: T, enforce_nesting: bool) -> None:
        self._stack = stack
        self._default = default
        self.enforce_nesting = enforce_nesting

    def __enter__(self) -> T:
        self._stack.stack.append(self._default)
        return self._default

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        stack = self._stack.stack
        if not stack:  # reset() was called inside the block
            return
        if not self.enforce_nesting:
            _remove_last(stack, self._default)
        elif stack[-1] is self._default:
            stack.pop()
        else:
            raise AssertionError(
                f"Nesting violated for default stack of {type(self._default)} objects"
            )


def _remove_last(stack: list[T], item: T) -> None:
    for index in range(len(stack) - 1, -1, -1):
        if stack[index] is item:
            del stack[index]
            return
