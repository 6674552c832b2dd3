"""Requests are joined, limited and timed; one that fails does not fail others."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import threading
import time
import weakref
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
    from collections.abc import Callable, Iterator


class Steps:
    """A function y(x) that notes its steps, and may be held."""

    def __init__(self, answer: Callable[[Any], Any], shape: Any = (None,)) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            tf.placeholder(tf.float32, shape, name="y")
        self.rows: list[int] = []
        self.threads: list[threading.Thread] = []
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self._answer = answer
        x, y = (ModelTensor(key, f"{key}:0", tf.float32, TensorShape(shape)) for key in ("x", "y"))
        self.function = ModelFunction("f", "", {"x": x}, {"y": y}, lambda _: self._run)

    def _run(self, x: Any) -> list[Any]:
        self.begun.release()
        self.go.wait()
        self.threads.append(threading.current_thread())
        self.rows.append(len(x))
        return [self._answer(x)]


@contextlib.contextmanager
def runner_of(steps: Steps, **options: Any) -> Iterator[ModelRunner]:
    """Yield a runner that runs one step at a time."""
    runner = ModelRunner(ServingOptions(num_workers=1, **options), steps.graph)
    try:
        yield runner
    finally:
        steps.go.set()
        runner.stop()


def rows(*values: float) -> list[Any]:
    """Return the values of a request."""
    return [np.array(values, np.float32)]


def while_held(steps: Steps, requests: list[list[Any]], **options: Any) -> list[Any]:
    """Send a first request, the others while it runs; return the outcomes of all, in order."""
    with runner_of(steps, **options) as runner:
        outcomes = [runner.submit(runner.run, steps.function, requests[0])]
        steps.begun.acquire()
        for number, values in enumerate(requests[1:], 1):
            outcomes.append(runner.submit(runner.run, steps.function, values))
            until(lambda: runner.num_waiting == number)  # noqa: B023 - called before the next
        steps.go.set()
        return [one.exception() or one.result() for one in outcomes]


def until(is_so: Callable[[], bool]) -> None:
    """Return when something is so, which another thread does soon."""
    ticks = threading.Event()
    while not is_so():
        ticks.wait(0.001)


def test_requests_that_wait_run_in_one_step() -> None:
    """Each gets its own rows; a step has at most the rows of a batch."""
    steps = Steps(lambda x: x * 2)
    requests = [rows(1), rows(2, 3), rows(4), rows(5, 6, 7)]
    found = while_held(steps, requests, batch_size=4)
    assert [one[0].tolist() for one in found] == [[2], [4, 6], [8], [10, 12, 14]]
    assert steps.rows == [1, 3, 3]


def test_without_a_batch_each_request_is_a_step() -> None:
    """That is the default."""
    steps = Steps(lambda x: x * 2)
    found = while_held(steps, [rows(1), rows(2), rows(3)])
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
    found = while_held(steps, requests, batch_size=8)
    assert isinstance(found[2], tf.errors.InvalidArgumentError)
    assert [found[i][0].tolist() for i in (0, 1, 3)] == [[1], [2], [4]]


def test_an_output_that_lacks_rows_is_computed_for_each_request() -> None:
    """A sum over the rows of all requests is the answer of none."""
    steps = Steps(lambda x: x.sum(keepdims=True))
    requests = [rows(1), rows(2, 3), rows(4)]
    found = while_held(steps, requests, batch_size=8)
    assert [one[0].tolist() for one in found] == [[1], [5], [4]]


def test_a_function_of_a_fixed_number_of_rows_is_not_joined() -> None:
    """Its requests run one by one."""
    steps = Steps(lambda x: x, shape=(1,))
    found = while_held(steps, [rows(1), rows(2), rows(3)], batch_size=8)
    assert [one[0].tolist() for one in found] == [[1], [2], [3]]
    assert steps.rows == [1, 1, 1]


def test_too_many_requests_are_refused() -> None:
    """Those that were accepted get their answers."""
    steps = Steps(lambda x: x)
    with runner_of(steps, max_waiting=2) as runner:
        accepted = [runner.submit(runner.run, steps.function, rows(number)) for number in (1, 2)]
        with pytest.raises(tf.errors.ResourceExhaustedError, match="later"):
            runner.submit(runner.run, steps.function, rows(3))
        steps.go.set()
        assert [one.result()[0].tolist() for one in accepted] == [[1], [2]]
        until(lambda: runner.num_requests == 0)


@pytest.mark.parametrize("batch_size", [1, 8])
def test_a_request_that_takes_too_long_is_answered(batch_size: int) -> None:
    """The step goes on in its thread, and the next request gets its own answer."""
    steps = Steps(lambda x: x)
    with runner_of(steps, timeout_s=0.01, batch_size=batch_size) as runner:
        for number in (1, 2):  # the second one waits for the step of the first
            with pytest.raises(tf.errors.DeadlineExceededError, match=r"longer than 0\.01 s"):
                runner.run(steps.function, rows(number))
        assert runner.num_waiting == 0
        steps.go.set()
        until(lambda: steps.rows == [1])
        assert steps.rows == [1]  # the second one never ran


def test_short_steps_run_in_the_thread_of_their_request() -> None:
    """The first step may be long; its time says what to expect of the next ones."""
    steps = Steps(lambda x: x)
    steps.go.set()
    with runner_of(steps) as runner:
        for number in (1, 2, 3):
            assert runner.run(steps.function, rows(number))[0].tolist() == [number]
    here = threading.current_thread()
    assert steps.threads[0] is not here
    assert steps.threads[1:] == [here, here]


def test_a_step_that_is_expected_to_be_long_has_its_own_thread() -> None:
    """So that its request is answered in time."""

    def answer(x: Any) -> Any:
        end = time.thread_time() + 0.001
        while time.thread_time() < end:
            pass
        return x

    steps = Steps(answer)
    steps.go.set()
    with runner_of(steps, timeout_s=60.0) as runner:
        for _ in range(2):
            runner.run(steps.function, rows(1))
        # A thousandth of a second for 4 kB lets expect more than 6 s, a tenth of the limit.
        runner.run(steps.function, [np.zeros(10**7, np.float32)])
    here = threading.current_thread()
    assert [one is here for one in steps.threads] == [False, True, False]


def test_a_request_whose_client_has_gone_does_not_run() -> None:
    """It waited for its turn; its place in a batch is left out."""
    steps = Steps(lambda x: x)
    with runner_of(steps, batch_size=8) as runner:
        first = runner.submit(runner.run, steps.function, rows(1))
        steps.begun.acquire()
        gone = runner.submit(runner.run, steps.function, rows(2), lambda: False)
        until(lambda: runner.num_waiting == 1)
        last = runner.submit(runner.run, steps.function, rows(3), lambda: True)
        until(lambda: runner.num_waiting == 2)
        steps.go.set()
        assert [one.result()[0].tolist() for one in (first, last)] == [[1], [3]]
        assert isinstance(gone.exception(), tf.errors.CancelledError)
    assert steps.rows == [1, 1]


def test_a_batch_may_wait_for_others() -> None:
    """It runs as soon as it is full; a request of another form is a step of its own."""
    steps = Steps(lambda x: x * 2)
    steps.go.set()
    with runner_of(steps, batch_size=3, batch_wait_s=60.0) as runner:
        requests = [rows(1), rows(2), rows(3)]
        found = [runner.submit(runner.run, steps.function, one) for one in requests]
        assert [one.result()[0].tolist() for one in found] == [[2], [4], [6]]
    assert steps.rows == [3]


def test_a_request_that_fills_a_batch_waits_for_no_other() -> None:
    """Nothing could be joined with it."""
    steps = Steps(lambda x: x * 2)
    steps.go.set()
    with runner_of(steps, batch_size=3, batch_wait_s=60.0, timeout_s=5.0) as runner:
        for _ in range(2):
            assert runner.run(steps.function, rows(1, 2, 3, 4))[0].tolist() == [2, 4, 6, 8]
    assert steps.rows == [4, 4]


def test_a_request_is_answered_in_time_while_its_batch_waits_for_others() -> None:
    """The step follows, for those that joined."""
    steps = Steps(lambda x: x)
    steps.go.set()
    with runner_of(steps, batch_size=3, batch_wait_s=5.0, timeout_s=0.05) as runner:
        late = contextlib.suppress(tf.errors.DeadlineExceededError)
        with late:
            runner.run(steps.function, rows(1, 2, 3))  # its time lets expect short ones
        until(lambda: steps.rows == [3] and runner.num_waiting == 0)
        with pytest.raises(tf.errors.DeadlineExceededError):
            runner.run(steps.function, rows(1))
        with late:
            runner.run(steps.function, rows(2, 3))
        until(lambda: steps.rows == [3, 3])


def test_a_step_whose_thread_cannot_start_runs_in_that_of_its_request() -> None:
    """Its turn is passed on."""
    steps = Steps(lambda x: x)
    steps.go.set()
    with runner_of(steps) as runner:
        runner.stop()
        for number in (1, 2):
            assert runner.run(steps.function, rows(number))[0].tolist() == [number]
    assert steps.threads == [threading.current_thread()] * 2


def test_short_steps_run_at_once_and_others_not_at_all_where_nothing_may_wait() -> None:
    """An event loop asks for that; steps are short once they were, for small inputs."""
    steps = Steps(lambda x: x)
    steps.go.set()
    with runner_of(steps) as runner:
        assert runner.run_if_short(steps.function, rows(1)) is None
        assert steps.rows == []
        found: list[Any] = []

        def is_short() -> bool:
            runner.run(steps.function, rows(1))
            found[:] = runner.run_if_short(steps.function, rows(2)) or []
            return bool(found)

        until(is_short)
        assert found[0].tolist() == [2]
        assert runner.run_if_short(steps.function, [np.zeros(2000, np.float32)]) is None


def test_the_values_of_a_request_that_failed_do_not_stay() -> None:
    """No circle of references keeps them until the collector of Python runs."""

    def answer(x: Any) -> Any:
        if len(x) == 2:
            raise tf.errors.InvalidArgumentError(None, None, "no pairs")
        return x

    steps = Steps(answer)
    steps.go.set()
    with runner_of(steps) as runner:
        runner.run(steps.function, rows(1))  # its time lets the next one run in this thread
        values = rows(1, 2)
        kept = weakref.ref(values[0])
        gc.disable()
        try:
            with contextlib.suppress(tf.errors.InvalidArgumentError):
                runner.run(steps.function, values)
            del values
            assert kept() is None
        finally:
            gc.enable()


def test_many_threads_get_their_own_rows() -> None:
    """Whatever was joined with what, each request has the answer of its own values."""
    steps = Steps(lambda x: x * 2)
    steps.go.set()
    with runner_of(steps, batch_size=4) as runner:
        requests = [rows(*range(number, number + number % 3 + 1)) for number in range(200)]
        found = [runner.submit(runner.run, steps.function, one) for one in requests]
        for given, one in zip(requests, found):
            np.testing.assert_array_equal(one.result()[0], given[0] * 2)
        until(lambda: runner.num_requests == 0)
        assert runner.num_waiting == 0
        assert sum(steps.rows) == sum(len(one[0]) for one in requests)
        assert max(steps.rows) <= 4
        assert runner.num_steps == len(steps.rows)


def test_settings_that_answer_nothing_are_refused() -> None:
    """The error names the setting."""
    for name in ("num_workers", "batch_size", "max_waiting", "timeout_s"):
        with pytest.raises(ValueError, match=f"{name} is 0"):
            ServingOptions(**{name: 0})


def test_as_many_steps_run_at_once_as_the_process_has_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the machine that the process may not use do not count."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert ServingOptions().num_workers == 3


@pytest.mark.parametrize("name", ["timeout_s", "client_timeout_s", "batch_wait_s"])
def test_a_time_is_a_number(name: str) -> None:
    """NaN is neither too small nor large enough."""
    with pytest.raises(ValueError, match=f"{name} is nan"):
        ServingOptions(**{name: math.nan})
