"""Requests are joined, limited and timed; one that fails does not fail others."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.model_function import ModelFunction
from tfnb.client.model_tensor import ModelTensor
from tfnb.core.tensor_shape import TensorShape
from tfnb.serving.model_runner import ModelRunner
from tfnb.serving.serving_options import ServingOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine


class Steps:
    """A function y(x) that notes its steps, and may be held."""

    def __init__(self, answer: Callable[[Any], Any], shape: Any = (None,)) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.placeholder(tf.float32, shape, name="y")
        self.rows: list[int] = []
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self._answer = answer
        x, y = (ModelTensor(key, f"{key}:0", tf.float32, TensorShape(shape)) for key in ("x", "y"))
        self.function = ModelFunction("f", "", {"x": x}, {"y": y}, lambda _: self._run)

    def _run(self, x: Any) -> list[Any]:
        self.begun.release()
        self.go.wait()
        self.rows.append(len(x))
        return [self._answer(x)]


def run(
    steps: Steps, work: Callable[[ModelRunner], Coroutine[Any, Any, Any]], **options: Any
) -> Any:
    """Run work with a runner of one thread."""

    async def inner() -> Any:
        runner = ModelRunner(ServingOptions(num_workers=1, **options), steps.graph)
        try:
            return await work(runner)
        finally:
            steps.go.set()
            runner.stop()

    return asyncio.run(inner())


def rows(*values: float) -> list[Any]:
    """Return the values of a request."""
    return [np.array(values, np.float32)]


async def while_held(steps: Steps, runner: ModelRunner, requests: list[list[Any]]) -> list[Any]:
    """Send a first request, the others while it runs, and return the answers of all."""
    tasks = [asyncio.create_task(runner.run(steps.function, requests[0]))]
    await runner_has_begun(steps)
    tasks += [asyncio.create_task(runner.run(steps.function, one)) for one in requests[1:]]
    await asyncio.sleep(0)  # each task runs up to its wait
    steps.go.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def runner_has_begun(steps: Steps) -> None:
    """Wait until a step has begun, in a thread that is not the runner's."""
    await asyncio.get_running_loop().run_in_executor(None, steps.begun.acquire)


def test_requests_that_wait_run_in_one_step() -> None:
    """Each gets its own rows; a step has at most the rows of a batch."""
    steps = Steps(lambda x: x * 2)
    requests = [rows(1), rows(2, 3), rows(4), rows(5, 6, 7)]
    found = run(steps, lambda runner: while_held(steps, runner, requests), batch_size=4)
    assert [one[0].tolist() for one in found] == [[2], [4, 6], [8], [10, 12, 14]]
    assert steps.rows == [1, 3, 3]


def test_without_a_batch_each_request_is_a_step() -> None:
    """That is the default."""
    steps = Steps(lambda x: x * 2)
    found = run(steps, lambda runner: while_held(steps, runner, [rows(1), rows(2), rows(3)]))
    assert [one[0].tolist() for one in found] == [[2], [4], [6]]
    assert steps.rows == [1, 1, 1]


def test_a_request_that_fails_does_not_fail_others() -> None:
    """What was joined with it runs again alone."""

    def answer(x: Any) -> Any:
        if 3 in x:
            raise tf.errors.InvalidArgumentError(None, None, "three")
        return x

    steps = Steps(answer)
    requests = [rows(1), rows(2), rows(3), rows(4)]
    found = run(steps, lambda runner: while_held(steps, runner, requests), batch_size=8)
    assert isinstance(found[2], tf.errors.InvalidArgumentError)
    assert [found[i][0].tolist() for i in (0, 1, 3)] == [[1], [2], [4]]


def test_an_output_that_lacks_rows_is_computed_for_each_request() -> None:
    """A sum over the rows of all requests is the answer of none."""
    steps = Steps(lambda x: x.sum(keepdims=True))
    requests = [rows(1), rows(2, 3), rows(4)]
    found = run(steps, lambda runner: while_held(steps, runner, requests), batch_size=8)
    assert [one[0].tolist() for one in found] == [[1], [5], [4]]


def test_a_function_of_a_fixed_number_of_rows_is_not_joined() -> None:
    """Its requests run one by one."""
    steps = Steps(lambda x: x, shape=(1,))
    found = run(
        steps, lambda runner: while_held(steps, runner, [rows(1), rows(2), rows(3)]), batch_size=8
    )
    assert [one[0].tolist() for one in found] == [[1], [2], [3]]
    assert steps.rows == [1, 1, 1]


def test_too_many_requests_are_refused() -> None:
    """Those that were accepted get their answers."""
    steps = Steps(lambda x: x)
    requests = [rows(1), rows(2), rows(3)]
    found = run(steps, lambda runner: while_held(steps, runner, requests), max_waiting=2)
    assert [one[0].tolist() for one in found[:2]] == [[1], [2]]
    assert isinstance(found[2], tf.errors.ResourceExhaustedError)
    assert "later" in found[2].message


@pytest.mark.parametrize("batch_size", [1, 8])
def test_a_request_that_takes_too_long_is_answered(batch_size: int) -> None:
    """The step goes on in its thread, and the next request gets its own answer."""
    steps = Steps(lambda x: x)

    async def work(runner: ModelRunner) -> Any:
        with pytest.raises(tf.errors.DeadlineExceededError, match=r"longer than 0\.01 s"):
            await runner.run(steps.function, rows(1))
        assert runner.num_requests == 0

    run(steps, work, timeout_s=0.01, batch_size=batch_size)


def test_settings_that_answer_nothing_are_refused() -> None:
    """The error names the setting."""
    for name in ("num_workers", "batch_size", "max_waiting", "timeout_s"):
        with pytest.raises(ValueError, match=f"{name} is 0"):
            ServingOptions(**{name: 0})
