"""Staging areas: tuples of tensors between two parts of a pipeline, as a queue or by key.

A put waits while the area is full; a get or peek waits until the tuple is there. Neither holds a
thread.
An area is full by number of tuples (``capacity``) or by bytes (``memory_limit``); 0 sets no limit.
Corresponds to ``stage_op.cc`` and ``map_stage_op.cc``.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.resource_mgr import owned
from tfnb.ops.base.attempts import NOT_YET, Attempt, Attempts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.kernel_types import Array, Outputs

    type_of_done = Callable[[Any], None]


def _bytes(values: Sequence[Array]) -> int:
    return sum(int(np.asarray(value).nbytes) for value in values if value is not None)


class StagingBase:
    """The base class of both kinds of staging areas."""

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        self.name = name
        self.capacity = capacity
        self.memory_limit = memory_limit
        self.attempts = Attempts()
        self._num_bytes = 0  # guarded by self.attempts.lock

    def size(self) -> int:
        """Return the number of complete tuples."""
        raise NotImplementedError

    def _wait(
        self,
        serve: Callable[[], Array],
        done: type_of_done,
        manager: CancellationManager,
        line: str | None,
        what: str,
    ) -> None:
        self.attempts.add(Attempt(serve, done, manager, line, what))

    def _check_bytes(self, values: Sequence[Array]) -> int:
        num_bytes = _bytes(values)
        if self.memory_limit > 0 and num_bytes > self.memory_limit:
            raise errors.resource_exhausted(
                f"Attempted to insert tensors with combined size of '{num_bytes}' bytes into "
                f"Staging Area with a memory limit of '{self.memory_limit}'."
            )
        return num_bytes

    def _has_room(self, count: int, num_bytes: int) -> bool:
        is_full = self.capacity > 0 and count >= self.capacity
        is_large = self.memory_limit > 0 and self._num_bytes + num_bytes > self.memory_limit
        return not is_full and not is_large


class StagingBuffer(StagingBase):
    """A first-in, first-out staging area."""

    def __init__(self, name: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, capacity, memory_limit)
        self._tuples: deque[tuple[Array, ...]] = deque()  # guarded by self.attempts.lock

    def put(
        self, values: Sequence[Array], done: type_of_done, manager: CancellationManager
    ) -> None:
        """Put a tuple in."""
        num_bytes = self._check_bytes(values)
        kept = tuple(owned(value) for value in values)

        def serve() -> Array:
            if not self._has_room(len(self._tuples), num_bytes):
                return NOT_YET
            self._tuples.append(kept)
            self._num_bytes += num_bytes
            return None

        self._wait(serve, done, manager, "put", "Stage")

    def get(self, done: type_of_done, manager: CancellationManager) -> None:
        """Take the oldest tuple out."""

        def serve() -> Array:
            if not self._tuples:
                return NOT_YET
            found = self._tuples[0]
            num_bytes = _bytes(found)
            del self._tuples[0]
            self._num_bytes -= num_bytes
            return found

        self._wait(serve, done, manager, "get", "Unstage")

    def peek(self, index: int, done: type_of_done, manager: CancellationManager) -> None:
        """Return a tuple, which stays in the area."""
        if index < 0:
            raise errors.invalid_argument(f"index must not be negative: {index}")

        def serve() -> Array:
            return self._tuples[index] if index < len(self._tuples) else NOT_YET

        self._wait(serve, done, manager, None, "StagePeek")

    def size(self) -> int:
        """Return the number of tuples."""
        return len(self._tuples)

    def clear(self) -> None:
        """Remove all tuples."""

        def clear() -> None:
            self._tuples.clear()
            self._num_bytes = 0

        self.attempts.change(clear)


class StagingMap(StagingBase):
    """Tuples by key, which may arrive in parts.

    Args:
      name: the name in error messages.
      capacity: upper bound on keys.
      memory_limit: upper bound on bytes.
      num_components: number of components of a complete tuple.
      is_ordered: whether a get without a key takes the lowest one, not the oldest.
    """

    def __init__(
        self, name: str, capacity: int, memory_limit: int, num_components: int, is_ordered: bool
    ) -> None:
        super().__init__(name, capacity, memory_limit)
        self.num_components = num_components
        self.is_ordered = is_ordered
        # Complete tuples, and parts, by key; None where a component is missing or was taken. All
        # are guarded by self.attempts.lock
        self._whole: dict[int, list[Array]] = {}
        self._parts: dict[int, list[Array]] = {}

    def put(
        self,
        key: int,
        indices: Sequence[int],
        values: Sequence[Array],
        done: type_of_done,
        manager: CancellationManager,
    ) -> None:
        """Put components of a tuple in; the last one completes it."""
        self._check_indices(key, indices)
        num_bytes = self._check_bytes(values)
        kept = [owned(value) for value in values]

        def serve() -> Array:
            if not self._has_room(self.size(), num_bytes):
                return NOT_YET
            part = self._parts.get(key)
            for index in indices:
                if part is not None and part[index] is not None:
                    raise errors.invalid_argument(
                        f"The tensor for index '{index}' for key '{key}' was already initialized "
                        f"'{self.num_components}'."
                    )
            part = [None] * self.num_components if part is None else list(part)
            for index, value in zip(indices, kept):
                part[index] = value
            if any(value is None for value in part):
                self._parts[key] = part
            else:
                self._whole[key] = part
                self._parts.pop(key, None)
            self._num_bytes += num_bytes
            return None

        self._wait(serve, done, manager, "put", "Stage")

    def get(
        self,
        key: int | None,
        indices: Sequence[int],
        done: type_of_done,
        manager: CancellationManager,
    ) -> None:
        """Take components of a tuple out; key None takes any; return (key, values)."""
        self._check_indices(key, indices)

        def serve() -> Outputs:
            chosen = self._any_key() if key is None else key
            if chosen is None or chosen not in self._whole:
                return NOT_YET
            values = self._chosen(chosen, indices)
            num_bytes = _bytes(values)
            rest = list(self._whole[chosen])
            for index in indices:
                rest[index] = None
            if any(value is not None for value in rest):
                self._whole[chosen] = rest
            else:
                del self._whole[chosen]
            self._num_bytes -= num_bytes
            return chosen, values

        self._wait(serve, done, manager, None, "Unstage")

    def peek(
        self, key: int, indices: Sequence[int], done: type_of_done, manager: CancellationManager
    ) -> None:
        """Return components of a tuple, which stay in the area."""
        self._check_indices(key, indices)

        def serve() -> Array:
            return self._chosen(key, indices) if key in self._whole else NOT_YET

        self._wait(serve, done, manager, None, "Peek")

    def size(self) -> int:
        """Return the number of keys whose tuple was completed."""
        return len(self._whole)

    def incomplete_size(self) -> int:
        """Return the number of keys that lack a component."""
        return len(self._parts)

    def clear(self) -> None:
        """Remove all tuples."""

        def clear() -> None:
            self._whole.clear()
            self._parts.clear()
            self._num_bytes = 0

        self.attempts.change(clear)

    def _any_key(self) -> int | None:
        if not self._whole:
            return None
        return min(self._whole) if self.is_ordered else next(iter(self._whole))

    def _chosen(self, key: int, indices: Sequence[int]) -> list[Array]:
        whole = self._whole[key]
        for index in indices:
            if whole[index] is None:
                raise errors.invalid_argument(
                    f"Tensor at index '{index}' for key '{key}' has already been removed."
                )
        return [whole[index] for index in indices]

    def _check_indices(self, key: int | None, indices: Sequence[int]) -> None:
        for index in indices:
            if not 0 <= index < self.num_components:
                raise errors.invalid_argument(
                    f"Index '{index}' for key '{key}' was out of bounds '{self.num_components}'."
                )
