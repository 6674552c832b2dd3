"""The debugger in sessions with pools of threads: values and ends are the same."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.debugger.running import LIMIT_S, Running
from tfnb.client.debugger.debugger import Debugger
from tfnb.notebook.steps.step_recorder import NODE_DONE, EventLog, StepRecorder
from tfnb.proto.config_pb2 import ThreadPoolOptionProto

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def with_pool(num_devices: int) -> tf.ConfigProto:
    """A pool of three threads."""
    config = tf.ConfigProto(
        device_count={"CPU": num_devices},
        session_inter_op_thread_pool=[ThreadPoolOptionProto(num_threads=3)],
    )
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def branches() -> Any:
    """A loop with products that the pool may compute at the same time, on both devices."""
    start = tf.constant(np.eye(8, dtype=np.float32) * 0.5, name="start")

    def body(i: Any, m: Any) -> Any:
        left = tf.matmul(m, m, name="left")
        with tf.device("/cpu:1"):
            right = tf.matmul(m, m + 1.0, name="right")
        return i + 1, tf.add(left, right, name="both")

    return tf.while_loop(lambda i, _: i < 3, body, [0, start], name="loop")[1]


DEVICES = pytest.mark.parametrize("num_devices", [1, 2])


def _session(num_devices: int) -> tf.Session:
    config = with_pool(num_devices)
    config.allow_soft_placement = True
    return tf.Session(config=config)


@DEVICES
def test_breakpoints_stop_with_the_values_of_each_iteration(num_devices: int) -> None:
    """Breakpoints stop in the calling thread, in order; the result is that of the pool."""
    found = branches()
    seen: list[Any] = []
    with _session(num_devices) as session:
        plain = session.run(found)

        def look(stop: Any) -> None:
            seen.append((stop.iteration, threading.current_thread(), dict(stop.outputs)))
            debugger.resume()

        debugger = Debugger(session, on_stop=look)
        debugger.break_at("loop/both", condition="max > 0")
        with debugger:
            np.testing.assert_array_equal(session.run(found), plain)
    assert [iteration for iteration, _, _ in seen] == [0, 1, 2]
    assert {thread for _, thread, _ in seen} == {threading.current_thread()}
    np.testing.assert_array_equal(seen[-1][2]["loop/both:0"], plain)


@DEVICES
def test_stepping_through_gives_the_result_of_the_pool(num_devices: int) -> None:
    """Stepping node by node from the start gives the same result."""
    found = branches()
    stops: list[str] = []
    with _session(num_devices) as session:
        plain = session.run(found)

        def step(stop: Any) -> None:
            stops.append(stop.node)
            debugger.step()

        debugger = Debugger(session, on_stop=step, stop_at_start=True)
        with debugger:
            np.testing.assert_array_equal(session.run(found), plain)
    assert stops.count("loop/left") == 4  # once more where it is dead
    assert stops.count("loop/right") == 4


@DEVICES
def test_a_changed_value_is_what_the_later_nodes_get(num_devices: int) -> None:
    """Later nodes use the changed value; the next step is not affected."""
    found = branches()
    with _session(num_devices) as session:
        plain = session.run(found)

        def change(stop: Any) -> None:
            debugger.set_value("loop/left", np.zeros([8, 8], np.float32))
            debugger.set_value("loop/right", np.ones([8, 8], np.float32))
            debugger.resume()

        debugger = Debugger(session, on_stop=change)
        debugger.break_at("loop/both", iteration=2)
        with debugger:
            assert session.run(found).tolist() == np.ones([8, 8]).tolist()
        np.testing.assert_array_equal(session.run(found), plain)


@DEVICES
def test_a_pause_holds_the_step_that_runs(num_devices: int) -> None:
    """A pause stops the loop although the session has a pool."""
    runs, may_go = threading.Event(), threading.Event()

    def wait(i: Any) -> Any:
        runs.set()
        assert may_go.wait(LIMIT_S)
        return np.int32(i + 1)

    def body(i: Any, m: Any) -> Any:
        with tf.device("/cpu:1"):
            m = tf.matmul(m, m)
        return tf.ensure_shape(tf.py_func(wait, [i], tf.int32), []), m

    found = tf.while_loop(lambda i, _: i < 6, body, [0, tf.ones([2, 2]) * 0.5])[0]
    with _session(num_devices) as session, Debugger(session) as debugger:
        running = Running(session, found)
        assert runs.wait(LIMIT_S)
        (step,) = session._session.active_steps()
        debugger.pause()
        may_go.set()
        stop = debugger.wait_for_stop(LIMIT_S)
        assert stop is not None
        assert (stop.reason, stop.step_id) == ("paused", step.step_id)
        debugger.resume()
        running.join()
    assert running.result == 6


@DEVICES
def test_closing_and_cancelling_end_a_step_that_is_held(num_devices: int) -> None:
    """After the session is closed, no thread is left in the pool."""
    found = branches()
    session = _session(num_devices)
    plain = session.run(found)
    debugger = Debugger(session).attach()
    debugger.break_at("loop/right", iteration=1)
    for end in (debugger.cancel, session.close):
        running = Running(session, found)
        assert debugger.wait_for_stop(LIMIT_S) is not None
        end()
        running.join()
        assert isinstance(running.error, tf.errors.CancelledError)
        assert debugger.stop is None
    assert session._session.active_steps() == []
    assert np.isfinite(plain).all()


def _step_through(session: tf.Session, fetch: Any) -> None:
    debugger = Debugger(session, on_stop=lambda _: debugger.step(), stop_at_start=True)
    with debugger:
        session.run(fetch)


@DEVICES
def test_a_recorded_step_is_debugged_with_all_its_nodes_told(num_devices: int) -> None:
    """The record has as many nodes as the pool ran."""
    found = branches()
    told = []
    for is_debugged in (False, True):
        with _session(num_devices) as session:
            log = EventLog()
            session._session.step_events.add(StepRecorder(log, 0))
            if is_debugged:
                _step_through(session, found)
            else:
                session.run(found)
            told.append(sum(event[1] == NODE_DONE for event in log.events))
    assert told[0] == told[1] > 30


@pytest.mark.parametrize("way", ["far", "step", "partial"])
def test_python_functions_that_wait_for_each_other_go_on_under_a_debugger(way: str) -> None:
    """They run in threads of their own, far from a breakpoint and when stepped through."""
    first, second = threading.Event(), threading.Event()

    def one() -> np.float32:
        first.set()
        assert second.wait(LIMIT_S)
        return np.float32(1)

    def other() -> np.float32:
        second.set()
        assert first.wait(LIMIT_S)
        return np.float32(2)

    made = [tf.py_func(function, [], tf.float32) for function in (one, other)]
    total = tf.add(*made, name="total")
    seen: list[Any] = []
    with tf.Session() as session:
        debugger = Debugger(session, stop_at_start=way == "step")
        debugger._on_stop = lambda stop: (seen.append(stop.node), debugger.step())
        debugger.break_at("nowhere")
        debugger.break_at(total, condition="== 3")
        with debugger:
            if way == "partial":
                handle = session.partial_run_setup([total])
                assert session.partial_run(handle, total) == 3.0
            else:
                assert session.run(total) == 3.0
    assert "total" in seen
