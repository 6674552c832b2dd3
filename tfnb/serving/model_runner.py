"""Runs a model in the threads of requests, and joins requests that wait.

The thread of a request runs its step, so that no time is lost on the way to another thread. As many
threads run steps as there are turns; further requests wait for one. The thread that ends a step
gives its turn to the request that waits longest, together with those that can be joined with it:
requests with one row in each input and output for each row of the request. So joining needs no
wait, and a lone request never waits.

A step that may be so long that its request is answered without it runs in a thread of its own.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.effects import feeding_to_read
from tfnb.core.process.notification import Notification
from tfnb.distributed_runtime.server_threads import ServerThreads
from tfnb.serving.short_steps import StepTimes

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from tfnb.client.model_function import ModelFunction
    from tfnb.client.model_tensor import ModelTensor
    from tfnb.framework.graph import Graph
    from tfnb.serving.serving_options import ServingOptions


class _Request:
    """A request that has a turn or waits for one.

    Its box gets the batch that its thread shall run, if it gets a turn, and then its outcome. Both
    are put while the runner's lock is held, or by the thread that runs its batch.
    """

    __slots__ = ("box", "function", "is_joinable", "is_wanted", "rows", "values")

    def __init__(
        self, function: ModelFunction, values: list[Any], is_wanted: Callable[[], bool] | None
    ) -> None:
        self.function, self.values, self.is_wanted = function, values, is_wanted
        self.box: SimpleQueue[_Batch | Exception | list[Any]] = SimpleQueue()
        self.is_joinable, self.rows = False, 0

    @property
    def form(self) -> list[Any]:
        """What requests must have in common to be joined, besides the function."""
        return [(value.dtype, value.shape[1:]) for value in self.values]


class _Batch:
    """Requests that run in one step.

    Attributes:
        requests: The requests.
        rows: The number of their rows.
        is_complete: Set where no further request can join.
    """

    __slots__ = ("is_complete", "requests", "rows")

    def __init__(self, first: _Request) -> None:
        self.requests, self.rows = [first], first.rows
        self.is_complete = Notification()

    def takes(self, one: _Request, size: int) -> bool:
        """Add a request if it fits; return whether it did."""
        first = self.requests[0]
        if (
            not (first.is_joinable and one.is_joinable)
            or self.rows + one.rows > size
            or one.function is not first.function
            or one.form != first.form
        ):
            return False
        self.requests.append(one)
        self.rows += one.rows
        if self.rows >= size:
            self.is_complete.notify()
        return True


class ModelRunner:
    """Runs functions; any thread may use it.

    Attributes:
        num_requests: The number of requests that run or wait.
        num_steps: The number of steps that were run.
        threads: As many threads as there are requests.
    """

    def __init__(self, options: ServingOptions, graph: Graph) -> None:
        self._options, self._graph = options, graph
        self._lock = threading.Lock()
        self._times: dict[int, StepTimes] = {}  # guarded by self._lock
        self._num_turns = options.num_workers  # that no request has; guarded by self._lock
        # Requests wait only while each turn is taken; guarded by self._lock.
        self._waiting: deque[_Request] = deque()
        # Batches whose thread waits for others to join; guarded by self._lock.
        self._gathering: list[_Batch] = []
        self.num_requests = 0  # guarded by self._lock
        self.num_steps = 0  # guarded by self._lock
        self.threads = ServerThreads("tfnb-serving")

    @property
    def num_waiting(self) -> int:
        """The number of requests that wait for a turn."""
        return len(self._waiting)

    # -- threads

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Answer a request in a thread, so that others go on.

        Raises:
            ResourceExhaustedError: Too many requests run or wait.
        """
        self.begin()
        try:
            future = self.threads.submit(work, *arguments)
        except BaseException:
            self.end()
            raise
        future.add_done_callback(lambda _: self.end())
        return future

    def begin(self) -> None:
        """Count a request.

        Raises:
            ResourceExhaustedError: Too many requests run or wait.
        """
        with self._lock:
            if self.num_requests >= self._options.max_waiting:
                raise errors.resource_exhausted(
                    f"{self.num_requests} requests run or wait. Send the request again later."
                )
            self.num_requests += 1

    def end(self) -> None:
        """Count a request no longer."""
        with self._lock:
            self.num_requests -= 1

    def stop(self) -> None:
        """End the threads after their steps."""
        self.threads.shutdown()

    # -- steps

    def run_if_short(self, function: ModelFunction, values: list[Any]) -> list[Any] | None:
        """Run a step that takes less time than the way to another thread; else return None.

        Raises:
            OpError: The model failed.
        """
        if not self._step_times(function).are_short(values):
            return None
        return self._step(function, values)

    def run(
        self,
        function: ModelFunction,
        values: list[Any],
        is_wanted: Callable[[], bool] | None = None,
    ) -> list[Any]:
        """Run a function in this thread; return the values of its outputs.

        Args:
            function: The function.
            values: The values of its inputs.
            is_wanted: Returns whether the client still waits; asked before the step.

        Raises:
            CancelledError: The client has gone.
            DeadlineExceededError: It takes too long.
            OpError: The model failed.
        """
        results = self.run_if_short(function, values)
        if results is not None:
            return results
        one = _Request(function, values, is_wanted)
        if self._options.batch_size > 1 and _may_be_joined(function, values):
            one.is_joinable, one.rows = True, len(values[0])
        deadline = time.monotonic() + self._options.timeout_s
        batch = self._turn_of(one)
        while True:
            if batch is not None:
                self._lead(batch)
            try:
                found = one.box.get(timeout=max(0.0, deadline - time.monotonic()))
            except Empty:
                self._give_up(one)
                raise errors.deadline_exceeded(
                    f"The request took longer than {self._options.timeout_s:g} s."
                ) from None
            if isinstance(found, Exception):
                try:
                    raise found
                finally:
                    # Its traceback has this frame: the values must not wait for the collector.
                    del found
            if isinstance(found, list):
                return found
            batch = found

    def _turn_of(self, one: _Request) -> _Batch | None:
        """Return the batch of a request that has a turn; None if it waits, or joined another."""
        with self._lock:
            if any(batch.takes(one, self._options.batch_size) for batch in self._gathering):
                return None
            if not self._num_turns:
                self._waiting.append(one)
                return None
            self._num_turns -= 1
            return self._new_batch(one)

    def _new_batch(self, first: _Request) -> _Batch:
        """Return a batch of a request and those that wait behind it; the lock is held."""
        batch = _Batch(first)
        size = self._options.batch_size
        while self._waiting and batch.takes(self._waiting[0], size):
            self._waiting.popleft()
        if self._options.batch_wait_s and first.is_joinable and batch.rows < size:
            self._gathering.append(batch)
        else:
            batch.is_complete.notify()
        return batch

    def _lead(self, batch: _Batch) -> None:
        """Run a batch, in this thread if that is likely to end long before the deadline.

        A batch that still gathers is none of these: it waits, and its final size is not known.
        """
        first = batch.requests[0]
        if batch.is_complete.has_been_notified() and self._step_times(first.function).are_below(
            self._options.timeout_s, [value for one in batch.requests for value in one.values]
        ):
            self._run_batch(batch)
        else:
            self._run_elsewhere(batch)

    def _run_elsewhere(self, batch: _Batch) -> None:
        """Run a batch in a thread of its own."""
        try:
            self.threads.submit(self._run_batch, batch)
        except RuntimeError:
            # None can be started. The turn must be passed on: other requests wait for it.
            self._run_batch(batch)

    def _give_up(self, one: _Request) -> None:
        with self._lock:
            if one in self._waiting:
                self._waiting.remove(one)
                return
            # The turn may have come at the last moment.
            found = None if one.box.empty() else one.box.get()
        if isinstance(found, _Batch):
            self._run_elsewhere(found)

    def _run_batch(self, batch: _Batch) -> None:
        """Run a batch, put the outcomes into the boxes, and pass the turn on."""
        try:
            if self._options.batch_wait_s:
                batch.is_complete.wait(self._options.batch_wait_s)
                with self._lock:
                    if batch in self._gathering:
                        self._gathering.remove(batch)
            wanted = []
            for one in batch.requests:
                if one.is_wanted is None or one.is_wanted():
                    wanted.append(one)
                else:
                    one.box.put(errors.cancelled("The client went away."))
            if len(wanted) > 1 and self._run_together(wanted):
                return
            # A request that fails does not fail those that it was joined with.
            for one in wanted:
                try:
                    one.box.put(self._step(one.function, one.values))
                except Exception as error:
                    one.box.put(error)
        finally:
            with self._lock:
                if self._waiting:
                    first = self._waiting.popleft()
                    first.box.put(self._new_batch(first))
                else:
                    self._num_turns += 1

    def _run_together(self, requests: list[_Request]) -> bool:
        """Run requests in one step; return whether they have their answers."""
        rows = sum(one.rows for one in requests)
        try:
            joined = [np.concatenate(parts) for parts in zip(*(one.values for one in requests))]
            results = self._step(requests[0].function, joined)
        except Exception:
            return False
        if any(np.shape(value)[:1] != (rows,) for value in results):
            return False
        begin = 0
        for one in requests:
            end = begin + one.rows
            one.box.put([value[begin:end] for value in results])
            begin = end
        return True

    def _step(self, function: ModelFunction, values: list[Any]) -> list[Any]:
        with self._lock:
            self.num_steps += 1
        # Processor time: what other processes take does not make a step long.
        began = time.thread_time()
        # A path in a request is a stranger's: it gives no permission to read or write.
        with feeding_to_read({}):
            results = function.run(values)
        self._step_times(function).note(time.thread_time() - began, values)
        return results

    def _step_times(self, function: ModelFunction) -> StepTimes:
        # The function lives as long as the served model, and so does its id.
        found = self._times.get(id(function))
        if found is None:
            with self._lock:
                found = self._times.setdefault(id(function), StepTimes(function, self._graph))
        return found


def _may_be_joined(function: ModelFunction, values: list[Any]) -> bool:
    sides = (*function.inputs.values(), *function.outputs.values())
    if not function.inputs or not all(map(_takes_any_rows, sides)):
        return False
    return len({len(value) for value in values}) == 1 and len(values[0]) > 0


def _takes_any_rows(one: ModelTensor) -> bool:
    dims = one.shape.dims
    return dims is not None and len(dims) > 0 and dims[0].value is None
