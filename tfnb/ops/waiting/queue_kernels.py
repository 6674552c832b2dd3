"""Queues of elements, with pending attempts to enqueue, dequeue and close.

A queue serves attempts in order of arrival: an enqueue attempt waits for room, a dequeue attempt
waits for elements, and a close attempt waits for the enqueue attempts before it.  No attempt blocks
a thread: it carries the callback that ends it. Every change calls ``_flush``, which advances the
first attempts of both kinds as far as possible.

An attempt to take several elements takes them as they arrive; if it is cancelled, or the queue
closes before it has all, these elements return to the queue.  Corresponds to ``queue_base.cc`` and
related files.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tfnb.core import errors
from tfnb.core.node_text import shape_text
from tfnb.core.resource_mgr import owned
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.random.philox import Philox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.core.cancellation import CancellationManager
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Xp

    type_of_element = tuple[Any, ...]
    type_of_done = Callable[[Any], None]


# The capacity of a queue without a limit.
UNBOUNDED: Final = (1 << 31) - 1


class _QueueAttempt:
    """A pending attempt: to put ``elements`` in, to take ``wanted`` elements out, or to close."""

    __slots__ = ("closes", "done", "elements", "manager", "small_batch", "token", "wanted")

    def __init__(
        self,
        done: type_of_done,
        elements: list[type_of_element],
        wanted: int = 0,
        small_batch: bool = False,
        closes: bool = False,
    ) -> None:
        self.done = done
        self.closes = closes
        self.elements = elements
        self.wanted = wanted
        self.small_batch = small_batch
        self.manager: CancellationManager | None = None
        self.token = 0


# Attempts that have ended, with their answers.
type_of_ended = list[tuple[_QueueAttempt, Any]]


def _tell(ended: type_of_ended) -> None:
    """Call the callbacks of ended attempts, without holding a lock.

    The attempts may belong to other steps, so an interrupted call is repeated: a second answer to
    an attempt does no harm.
    """
    for attempt, answer in ended:
        if attempt.manager is not None:
            attempt.manager.try_deregister_callback(attempt.token)
        attempt.done(answer)


class Queue:
    """A first-in, first-out queue; thread-safe.

    Args:
      name: the name in messages.
      types: the dtype of each component of an element.
      shapes: the shape of each component; empty if shapes may vary.
      capacity: the maximum number of elements; negative for no limit.
    """

    kind = "FIFOQueue"

    def __init__(
        self, name: str, types: Sequence[DType], shapes: Sequence[TensorShape], capacity: int
    ) -> None:
        self.name = name
        self.types = tuple(types)
        self.shapes = tuple(shapes)
        self.capacity = capacity if capacity >= 0 else UNBOUNDED
        self._lock = threading.RLock()
        self._closed = False  # guarded by self._lock
        self._puts: deque[_QueueAttempt] = deque()  # guarded by self._lock
        self._takes: deque[_QueueAttempt] = deque()  # guarded by self._lock

    # -- how elements are kept; guarded by self._lock

    def _make_store(self) -> Array:
        return deque()

    def _add(self, element: type_of_element) -> None:
        self._store.append(element)

    def _remove(self) -> type_of_element:
        found: type_of_element = self._store.popleft()
        return found

    def _put_back(self, elements: Sequence[type_of_element]) -> None:
        self._store.extendleft(reversed(elements))

    def _available(self) -> int:
        """Return the number of elements that can be taken now."""
        return len(self._store)

    @property
    def _store(self) -> Array:
        store = self.__dict__.get("_elements")
        if store is None:
            store = self.__dict__["_elements"] = self._make_store()
        return store

    # -- public methods

    def size(self) -> int:
        """Return the number of elements."""
        with self._lock:
            return len(self._store)

    @property
    def is_closed(self) -> bool:
        """Whether the queue refuses further elements."""
        return self._closed

    def enqueue(
        self,
        elements: list[type_of_element],
        done: type_of_done,
        manager: CancellationManager,
    ) -> None:
        """Put elements in, one after the other; call ``done`` when all are inside."""
        kept = [tuple(owned(value) for value in element) for element in elements]
        self._start(self._puts, _QueueAttempt(done, kept), manager, "Enqueue")

    def dequeue(
        self,
        count: int,
        done: type_of_done,
        manager: CancellationManager,
        small_batch: bool = False,
    ) -> None:
        """Take ``count`` elements out; call ``done`` with a list of them.

        With ``small_batch``, a closed queue that is not empty returns the elements it has.
        """
        self._start(self._takes, _QueueAttempt(done, [], count, small_batch), manager, "Dequeue")

    def close_in_turn(self, done: type_of_done, manager: CancellationManager) -> None:
        """Close the queue after the enqueue attempts before it.

        Elements in the queue can still be taken out.
        """
        self._start(self._puts, _QueueAttempt(done, [], closes=True), manager, "Close")

    def close(self) -> None:
        """Close the queue at once; cancel the waiting enqueue attempts."""
        ended: type_of_ended = []
        try:
            with self._lock:
                self._closed = True
                for attempt in self._puts:
                    ended.append((attempt, errors.cancelled("Enqueue operation was cancelled")))
                self._puts.clear()
                self._flush(ended)
        finally:
            try:
                _tell(ended)
            except KeyboardInterrupt:
                _tell(ended)
                raise

    def _start(
        self,
        attempts: deque[_QueueAttempt],
        attempt: _QueueAttempt,
        manager: CancellationManager,
        what: str,
    ) -> None:
        ended: type_of_ended = []
        try:
            with self._lock:
                attempts.append(attempt)
                self._flush(ended)
                if attempt in attempts:
                    attempt.manager, attempt.token = manager, manager.get_cancellation_token()

                    def cancel() -> None:
                        self._cancel(attempts, attempt, what)

                    if not manager.register_callback(attempt.token, cancel):
                        attempt.manager = None
                        self._withdraw(attempts, attempt, what, ended)
        except KeyboardInterrupt:
            # The attempt may no longer be cancellable; it would take an element that is then lost.
            with self._lock:
                self._withdraw(attempts, attempt, what, ended)
            raise
        finally:
            try:
                _tell(ended)
            except KeyboardInterrupt:
                _tell(ended)
                raise

    def _cancel(self, attempts: deque[_QueueAttempt], attempt: _QueueAttempt, what: str) -> None:
        ended: type_of_ended = []
        try:
            with self._lock:
                self._withdraw(attempts, attempt, what, ended)
        finally:
            try:
                _tell(ended)
            except KeyboardInterrupt:
                _tell(ended)
                raise

    def _withdraw(
        self,
        attempts: deque[_QueueAttempt],
        attempt: _QueueAttempt,
        what: str,
        ended: type_of_ended,
    ) -> None:
        if attempt not in attempts:
            return
        attempts.remove(attempt)
        if attempts is self._takes and attempt.elements:
            self._put_back(attempt.elements)
        ended.append((attempt, errors.cancelled(f"{what} operation was cancelled")))
        self._flush(ended)

    def _flush(self, ended: type_of_ended) -> None:
        """Advance attempts as far as possible; add those that end to ``ended``, with answers.

        They are added before they leave the line: an interrupt in between may answer an
        attempt twice, which does no harm, but never leaves it unanswered.
        """
        moved = True
        while moved:
            moved = False
            while self._puts and self._serve_put(self._puts[0], ended):
                moved = True
            while self._takes and self._serve_take(self._takes[0], ended):
                moved = True

    def _serve_put(self, attempt: _QueueAttempt, ended: type_of_ended) -> bool:
        """Return whether the attempt or the queue changed."""
        if self._closed:
            ended.append((attempt, errors.cancelled(self._closed_text(attempt))))
            self._puts.popleft()
            return True
        if attempt.closes:
            self._closed = True
            ended.append((attempt, None))
            self._puts.popleft()
            return True
        changed = False
        while attempt.elements and len(self._store) < self.capacity:
            self._add(attempt.elements.pop(0))
            changed = True
        if not attempt.elements:
            ended.append((attempt, None))
            self._puts.popleft()
            return True
        return changed and bool(self._takes)

    def _closed_text(self, attempt: _QueueAttempt) -> str:
        if attempt.closes:
            return f"Queue '{self.name}' is already closed."
        return f"{self.kind} '{self.name}' is closed."

    def _serve_take(self, attempt: _QueueAttempt, ended: type_of_ended) -> bool:
        missing = attempt.wanted - len(attempt.elements)
        if self._closed and self._available() < missing and not self._puts:
            found = len(attempt.elements) + self._available()
            self._takes.popleft()
            if attempt.small_batch and found:
                while self._available():
                    attempt.elements.append(self._remove())
                ended.append((attempt, attempt.elements))
                return True
            self._put_back(attempt.elements)
            ended.append(
                (
                    attempt,
                    errors.out_of_range(
                        f"{self.kind} '{self.name}' is closed and has insufficient elements "
                        f"(requested {attempt.wanted}, current size {found})"
                    ),
                )
            )
            return True
        changed = False
        while missing and self._available():
            attempt.elements.append(self._remove())
            missing -= 1
            changed = True
        if not missing:
            ended.append((attempt, attempt.elements))
            self._takes.popleft()
            return True
        return changed and bool(self._puts)

    def check_element(self, element: type_of_element) -> None:
        """Refuse an element whose components do not have the queue's shapes.

        Raises:
          InvalidArgumentError: a shape does not fit.
        """
        self._check_shapes(element, self.shapes)

    def check_many(self, components: Sequence[Array]) -> None:
        """Refuse components that are not stacked elements.

        Raises:
          InvalidArgumentError: a shape does not fit, or the first sizes differ.
        """
        for position, component in enumerate(components):
            if not np.ndim(component):
                raise errors.invalid_argument(
                    f"Component {position} of an enqueue_many must have at least 1 dimension."
                )
        count = len(components[0])
        if self.shapes:
            lead = TensorShape([count])
            self._check_shapes(components, [lead.concatenate(shape) for shape in self.shapes])
            return
        for position, component in enumerate(components):
            if len(component) != count:
                raise errors.invalid_argument(
                    "All input tensors must have the same size in the 0th dimension. Component "
                    f"{position} has {len(component)}, and should have {count}"
                )

    def _check_shapes(self, values: Sequence[Array], shapes: Sequence[TensorShape]) -> None:
        for position, (value, shape) in enumerate(zip(values, shapes)):
            found = TensorShape(list(np.shape(value)))
            if not shape.is_compatible_with(found):
                raise errors.invalid_argument(
                    f"Shape mismatch in tuple component {position}. Expected {shape_text(shape)}, "
                    f"got {shape_text(found)}"
                )

    def stack(self, xp: Xp, elements: Sequence[type_of_element]) -> tuple[Array, ...]:
        """Return the components of several elements, each along a new first dimension."""
        return tuple(
            self._stack_one(xp, position, [element[position] for element in elements])
            for position in range(len(self.types))
        )

    def _stack_one(self, xp: Xp, position: int, values: list[Array]) -> Array:
        return stacked(values, self.types[position], self.shapes[position], xp)


def stacked(values: list[Array], dtype: DType, shape: TensorShape, xp: Xp = np) -> Array:
    """Return values of one shape, stacked along a new first dimension.

    The shape is needed if there are no values.

    Raises:
      ValueError: the values differ in shape.
    """
    if not values:
        sizes = [] if shape.rank is None else [size or 0 for size in shape.as_list()]
        return xp.zeros((0, *sizes), dtype.as_numpy_dtype)
    return xp.stack(values)


class RandomShuffleQueue(Queue):
    """A queue that returns random elements; while open, it keeps ``min_after_dequeue`` of them."""

    kind = "RandomShuffleQueue"

    def __init__(
        self,
        name: str,
        types: Sequence[DType],
        shapes: Sequence[TensorShape],
        capacity: int,
        min_after_dequeue: int,
        seed: int,
        seed2: int,
    ) -> None:
        super().__init__(name, types, shapes, capacity)
        self.min_after_dequeue = min_after_dequeue
        self.seeds = (seed, seed2)
        if not seed and not seed2:
            seed, seed2 = (int.from_bytes(os.urandom(8)) >> 1 for _ in range(2))
        self._numbers = _stream(Philox.from_seeds(seed, seed2))

    def _make_store(self) -> Outputs:
        return []

    def _available(self) -> int:
        kept = 0 if self._closed else self.min_after_dequeue
        return max(0, len(self._store) - kept)

    def _remove(self) -> type_of_element:
        store = self._store
        index = next(self._numbers) % len(store)
        found: type_of_element = store[index]
        store[index] = store[-1]
        store.pop()
        return found

    def _put_back(self, elements: Sequence[type_of_element]) -> None:
        self._store.extend(elements)


_BLOCKS = 16


def _stream(generator: Philox) -> Iterator[int]:
    """Yield the generator's numbers one by one."""
    while True:
        yield from generator.blocks(np, _BLOCKS).reshape(-1).tolist()
        generator = generator.skip(_BLOCKS)


class PaddingFIFOQueue(Queue):
    """A FIFO queue whose batches are padded with zeros where a size is unknown."""

    kind = "PaddingFIFOQueue"

    def _stack_one(self, xp: Xp, position: int, values: list[Array]) -> Array:
        if not values:
            return super()._stack_one(xp, position, values)
        shapes = [np.shape(value) for value in values]
        largest = tuple(max(sizes) for sizes in zip(*shapes))
        if all(shape == largest for shape in shapes):
            return xp.stack(values)
        batch = xp.zeros((len(values), *largest), self.types[position].numpy_dtype)
        if batch.dtype == object:
            batch.fill(b"")
        for row, value, shape in zip(batch, values, shapes):
            row[tuple(slice(size) for size in shape)] = value
        return batch


class PriorityQueue(Queue):
    """A queue that returns the element with the lowest first component; equal ones in order."""

    kind = "PriorityQueue"

    def __init__(
        self, name: str, types: Sequence[DType], shapes: Sequence[TensorShape], capacity: int
    ) -> None:
        super().__init__(name, types, shapes, capacity)
        self._order = itertools.count()

    def _make_store(self) -> Outputs:
        return []

    def _add(self, element: type_of_element) -> None:
        heapq.heappush(self._store, (int(element[0]), next(self._order), element))

    def _remove(self) -> type_of_element:
        found: type_of_element = heapq.heappop(self._store)[2]
        return found

    def _put_back(self, elements: Sequence[type_of_element]) -> None:
        for element in elements:
            self._add(element)
