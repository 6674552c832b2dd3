"""Runs a model in threads for requests of an event loop, and joins requests that wait.

Requests are joined where every input and output has one row for each row of the request. While a
step runs, further requests gather for the next one, so that joining needs no wait.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.effects import feeding_to_read
from tfnb.serving.short_steps import ShortSteps

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.client.model_function import ModelFunction
    from tfnb.client.model_tensor import ModelTensor
    from tfnb.framework.graph import Graph
    from tfnb.serving.serving_options import ServingOptions


@dataclass(slots=True)
class _Waiting:
    """A request that waits to be joined."""

    values: list[Any]
    rows: int
    answer: asyncio.Future[list[Any]]

    @property
    def form(self) -> list[Any]:
        """What requests must have in common to be joined."""
        return [(value.dtype, value.shape[1:]) for value in self.values]


class ModelRunner:
    """Runs functions in threads; used in one event loop.

    Attributes:
        num_requests: The number of requests that run or wait.
        num_steps: The number of steps that were run.
    """

    def __init__(self, options: ServingOptions, graph: Graph) -> None:
        self._options, self._graph = options, graph
        self._short: dict[int, ShortSteps] = {}
        self._threads = ThreadPoolExecutor(options.num_workers, thread_name_prefix="tfnb-serving")
        self._batches: dict[int, _Batches] = {}
        self.num_requests = 0
        self.num_steps = 0

    async def run(self, function: ModelFunction, values: list[Any]) -> list[Any]:
        """Run a function; return the values of its outputs.

        Raises:
            ResourceExhaustedError: Too many requests wait.
            DeadlineExceededError: It takes too long.
            OpError: The model failed.
        """
        if self.num_requests >= self._options.max_waiting:
            raise errors.resource_exhausted(
                f"{self.num_requests} requests run or wait. Send the request again later."
            )
        short = self._short_steps(function)
        if short.expects(values):
            # Nothing is awaited: there is no time for a timeout, or for others to be joined with.
            self.num_steps += 1
            return _timed(function, values, short)
        self.num_requests += 1
        try:
            async with asyncio.timeout(self._options.timeout_s):
                if self._options.batch_size > 1 and _may_be_joined(function, values):
                    return await self._joined(function, values)
                return await self.step(function, values)
        except TimeoutError:
            raise errors.deadline_exceeded(
                f"The request took longer than {self._options.timeout_s:g} s."
            ) from None
        finally:
            self.num_requests -= 1

    async def step(self, function: ModelFunction, values: list[Any]) -> list[Any]:
        """Run one step, in a thread unless it is shorter than the way there."""
        self.num_steps += 1
        short = self._short_steps(function)
        if short.expects(values):
            return _timed(function, values, short)
        results: list[Any] = await self.call(_timed, function, values, short)
        return results

    def _short_steps(self, function: ModelFunction) -> ShortSteps:
        found = self._short.get(id(function))
        if found is None:
            # The function lives as long as the served model, and so does its id.
            found = self._short[id(function)] = ShortSteps(function, self._graph)
        return found

    async def call(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in a thread, so that other requests go on."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def _joined(self, function: ModelFunction, values: list[Any]) -> list[Any]:
        batches = self._batches.get(id(function))
        if batches is None:
            batches = self._batches[id(function)] = _Batches(self, function, self._options)
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        batches.add(_Waiting(values, len(values[0]), answer))
        return await answer

    def stop(self) -> None:
        """End the threads after their steps."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class _Batches:
    """The requests for one function that wait to be joined."""

    def __init__(
        self, runner: ModelRunner, function: ModelFunction, options: ServingOptions
    ) -> None:
        self._runner, self._function = runner, function
        self._size, self._wait_s = options.batch_size, options.batch_wait_s
        self._num_free = options.num_workers
        self._waiting: deque[_Waiting] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, one: _Waiting) -> None:
        """Add a request, and begin to run where a thread is free."""
        self._waiting.append(one)
        if self._num_free:
            self._num_free -= 1
            task = asyncio.get_running_loop().create_task(self._drain())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _drain(self) -> None:
        try:
            while self._waiting:
                if self._wait_s and sum(one.rows for one in self._waiting) < self._size:
                    await asyncio.sleep(self._wait_s)
                batch = self._take()
                if batch:
                    await self._run(batch)
        finally:
            self._num_free += 1

    def _take(self) -> list[_Waiting]:
        """Return the first requests of one form that have at most the rows of a batch."""
        batch: list[_Waiting] = []
        rows = 0
        while self._waiting:
            one = self._waiting[0]
            if one.answer.done():  # its client has gone
                self._waiting.popleft()
                continue
            if batch and (rows + one.rows > self._size or one.form != batch[0].form):
                break
            batch.append(self._waiting.popleft())
            rows += one.rows
        return batch

    async def _run(self, batch: list[_Waiting]) -> None:
        if len(batch) > 1 and await self._run_together(batch):
            return
        # A request that fails does not fail those that it was joined with.
        for one in batch:
            try:
                results = await self._runner.step(self._function, one.values)
            except Exception as error:
                if not one.answer.done():
                    one.answer.set_exception(error)
            else:
                if not one.answer.done():
                    one.answer.set_result(results)

    async def _run_together(self, batch: list[_Waiting]) -> bool:
        """Run requests in one step; return whether they have their answers."""
        joined = [np.concatenate(parts) for parts in zip(*(one.values for one in batch))]
        rows = sum(one.rows for one in batch)
        try:
            results = await self._runner.step(self._function, joined)
        except Exception:
            return False
        if any(np.shape(value)[:1] != (rows,) for value in results):
            return False
        begin = 0
        for one in batch:
            end = begin + one.rows
            if not one.answer.done():
                one.answer.set_result([value[begin:end] for value in results])
            begin = end
        return True


def _timed(function: ModelFunction, values: list[Any], short: ShortSteps) -> list[Any]:
    # Processor time: what other processes take does not make a step long.
    began = time.thread_time()
    # A path in a request is a stranger's: it gives no permission to read or write.
    with feeding_to_read({}):
        results = function.run(values)
    short.note(time.thread_time() - began)
    return results


def _may_be_joined(function: ModelFunction, values: list[Any]) -> bool:
    sides = (*function.inputs.values(), *function.outputs.values())
    if not function.inputs or not all(map(_takes_any_rows, sides)):
        return False
    return len({len(value) for value in values}) == 1 and len(values[0]) > 0


def _takes_any_rows(one: ModelTensor) -> bool:
    dims = one.shape.dims
    return dims is not None and len(dims) > 0 and dims[0].value is None
