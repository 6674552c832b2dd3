"""Coordinators and looper threads: stopping together, and reporting why."""

from __future__ import annotations

import threading
import traceback
from typing import Any

import pytest

import tfnb as tf
from tfnb.library.training import coordinator


def _started(target: Any, *args: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def test_a_request_stops_all_threads() -> None:
    """All threads see the request; join returns when they have ended."""
    coord = tf.train.Coordinator()
    seen: list[bool] = []
    threads = [_started(lambda: seen.append(coord.wait_for_stop())) for _ in range(3)]
    assert not coord.should_stop()
    assert not coord.joined
    coord.request_stop()
    coord.join(threads)
    assert coord.should_stop()
    assert coord.joined
    assert seen == [True] * 3


def test_join_waits_for_threads_that_end_by_themselves() -> None:
    """No request is needed."""
    coord = tf.train.Coordinator()
    ended: list[int] = []
    coord.register_thread(_started(ended.append, 1))
    coord.join()
    assert ended == [1]
    assert not coord.should_stop()


def test_join_raises_the_first_exception_with_its_traceback() -> None:
    """The traceback contains the frame of the failed thread."""

    def fails_here() -> None:
        with coord.stop_on_exception():
            raise RuntimeError("first")

    coord = tf.train.Coordinator()
    _started(fails_here).join(60)
    coord.request_stop(ValueError("second"))
    with pytest.raises(RuntimeError, match="first") as info:
        coord.join()
    assert any(frame.name == "fails_here" for frame in traceback.extract_tb(info.tb))
    with pytest.raises(RuntimeError, match="first"):
        coord.raise_requested_exception()


def test_the_end_of_the_input_is_no_failure() -> None:
    """OutOfRangeError, or the configured classes, stop without an error."""
    coord = tf.train.Coordinator()
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
    coord.join()
    coord = tf.train.Coordinator(clean_stop_exception_types=(KeyError,))
    coord.request_stop(KeyError("end"))
    coord.join()
    coord = tf.train.Coordinator(clean_stop_exception_types=())
    coord.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
    with pytest.raises(tf.errors.OutOfRangeError, match="end"):
        coord.join()


def test_a_late_exception_is_raised_where_it_is_reported() -> None:
    """After join the exception is raised by the thread that reports it."""
    coord = tf.train.Coordinator()
    coord.request_stop()
    coord.join()
    with pytest.raises(ValueError, match="late"):
        coord.request_stop(ValueError("late"))


def test_threads_that_do_not_stop_are_named() -> None:
    """The error names the threads, unless they may continue."""
    release = threading.Event()
    coord = tf.train.Coordinator()
    thread = threading.Thread(target=release.wait, name="stubborn", daemon=True)
    thread.start()
    coord.request_stop()
    coord.join([thread], stop_grace_period_secs=0.02, ignore_live_threads=True)
    coord.clear_stop()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="threads still running: stubborn"):
        coord.join([thread], stop_grace_period_secs=0.02)
    release.set()
    thread.join(60)


def test_threads_that_end_with_their_session_are_not_waited_for_to_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The session is closed after join, which ends the step that they wait for."""
    monkeypatch.setattr(coordinator, "_SESSION_THREADS_S", 0.02)
    release = threading.Event()
    coord = tf.train.Coordinator()
    thread = coordinator.SessionThread(target=release.wait, daemon=True)
    coord.register_thread(thread)
    thread.start()
    coord.request_stop()
    coord.join(stop_grace_period_secs=3600)
    assert thread.is_alive()
    release.set()
    thread.join(60)


def test_a_coordinator_may_begin_again() -> None:
    """clear_stop removes the request and the exception."""
    coord = tf.train.Coordinator()
    coord.request_stop(ValueError("old"))
    coord.clear_stop()
    assert not coord.should_stop()
    assert not coord.wait_for_stop(0)
    coord.join()


def test_what_is_no_exception_is_refused() -> None:
    """With an empty sys.exc_info() the argument itself must be an exception."""
    coord = tf.train.Coordinator()
    coord.request_stop((None, None, None))
    with pytest.raises(ValueError, match="ex must be a tuple or"):
        coord.join()


def test_a_looper_repeats_until_the_coordinator_stops() -> None:
    """The target runs with its arguments, with and without a pause."""
    for interval in (0, 0.001):
        coord = tf.train.Coordinator()
        calls: list[tuple[int, int]] = []

        def repeat(
            a: int,
            b: int,
            coord: Any = coord,
            calls: list[tuple[int, int]] = calls,
        ) -> None:
            calls.append((a, b))
            if len(calls) == 3:
                coord.request_stop()

        tf.train.LooperThread.loop(coord, interval, repeat, args=(1,), kwargs={"b": 2})
        coord.join()
        assert calls == [(1, 2)] * 3


def test_a_looper_has_a_beginning_and_an_end() -> None:
    """A subclass defines both; an exception in a repetition stops the coordinator."""
    seen: list[str] = []

    class Looper(tf.train.LooperThread):  # type: ignore[misc]
        def start_loop(self) -> None:
            seen.append("start")

        def run_loop(self) -> None:
            seen.append("round")
            coord.request_stop()

        def stop_loop(self) -> None:
            seen.append("stop")

    coord = tf.train.Coordinator()
    Looper(coord, 0).start()
    coord.join()
    assert seen == ["start", "round", "stop"]

    coord = tf.train.Coordinator()
    tf.train.LooperThread.loop(coord, 5, target=lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        coord.join()


def test_a_looper_needs_a_coordinator() -> None:
    """Arguments without a target are refused too."""
    with pytest.raises(ValueError, match="'coord' argument must be a Coordinator: 3"):
        tf.train.LooperThread(3, 1)
    with pytest.raises(ValueError, match="require that you also pass 'target'"):
        tf.train.LooperThread(tf.train.Coordinator(), 1, args=(1,))
