"""The debugger in a step on two devices: run as two partitions, or left as one function."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.client.debugger.running import LIMIT_S, Running
from tests.interrupts import interrupted
from tfnb.client.debugger.debugger import Debugger
from tfnb.common_runtime.looking.step_inspection import NodeState
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.core import errors
from tfnb.notebook.steps.step_recorder import NODE_DONE, NODE_STARTED, SENT, EventLog, StepRecorder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.client.debugger.stop import Stop

FIRST, SECOND = "/cpu:0", "/cpu:1"
X = np.array([1.0, 2.0], np.float32)


def chain() -> Any:
    """A value goes over and comes back; it is also used where it was made."""
    with tf.device(FIRST):
        a = tf.square(tf.placeholder(tf.float32, [2], name="x"), name="a")
    with tf.device(SECOND):
        b = tf.multiply(a, 3.0, name="b")
    with tf.device(FIRST):
        return tf.subtract(b, a, name="c")


def choice() -> Any:
    """A cond with its sides on both devices, and a value that only the other side needs."""
    with tf.device(FIRST):
        x = tf.placeholder(tf.float32, [2], name="x")
        a = tf.add(x, 1.0, name="a")

    def yes() -> Any:
        with tf.device(SECOND):
            return tf.multiply(a, 2.0, name="b")

    def no() -> Any:
        with tf.device(FIRST):
            return tf.negative(a, name="n")

    return tf.identity(tf.cond(a[0] > 0.0, yes, no, name="choice"), name="c")


def loop() -> Any:
    """A loop whose body is on both devices, with a choice inside."""

    def body(i: Any, v: Any) -> Any:
        a = tf.add(v, 1.0, name="a")
        with tf.device(SECOND):
            b = tf.multiply(a, 0.5, name="b")
            more = tf.cond(tf.equal(i % 2, 0), lambda: tf.negative(b), lambda: b + a)
        return i + 1, tf.add(more, a, name="c")

    with tf.device(FIRST):
        x = tf.placeholder(tf.float32, [2], name="x")
        return tf.while_loop(lambda i, _: i < 5, body, [0, x], name="loop")[1]


GRAPHS = pytest.mark.parametrize("build", [chain, choice, loop])
WAYS = pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])


def two_devices(**fields: Any) -> tf.ConfigProto:
    """Two CPU devices, and no pass that renames nodes."""
    config = tf.ConfigProto(device_count={"CPU": 2}, **fields)
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


class Script:
    """A scripted user: records each stop, does what is set for it, and resumes."""

    def __init__(self, session: tf.Session, act: Callable[[Any, Stop], object] | None = None):
        self.debugger = Debugger(session, on_stop=self._note)
        self.seen: list[Any] = []
        self._act = act

    def _note(self, stop: Stop) -> None:
        values = [(name, np.asarray(v).tolist()) for name, v in (*stop.inputs, *stop.outputs)]
        device = stop.device.rpartition(":")[2]
        self.seen.append((stop.node, stop.phase, stop.iteration, device, stop.is_dead, values))
        if self._act is not None:
            self._act(self.debugger, stop)
        if self.debugger._command is None:
            self.debugger.resume()


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


# -- breakpoints and values


@GRAPHS
@pytest.mark.parametrize(
    "options",
    [{"node": "*b"}, {"node": "*c", "iteration": 3}, {"condition": "max > 2.5"}, {"op": "_Recv"}],
)
def test_steps_stop_where_the_partitions_do_that_run_apart(
    build: Callable[[], Any], options: dict[str, Any]
) -> None:
    """Stops have the same values on the same devices as with separate partitions.

    The result is unchanged.
    """
    found = build()
    seen = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        with tf.Session(config=two_devices()) as session, lowering(when):
            plain = session.run(found, {"x:0": X})
            script = Script(session)
            script.debugger.break_at(**options)
            with script.debugger:
                for _ in range(2):
                    np.testing.assert_array_equal(session.run(found, {"x:0": X}), plain)
            seen.append(sorted(script.seen, key=repr))
    assert seen[0] == seen[1]
    if build is loop or options.get("iteration") is None:
        assert seen[0]


@WAYS
@GRAPHS
def test_stepping_through_both_devices_changes_nothing(
    build: Callable[[], Any], when: Lowering
) -> None:
    """Stepping from the first node behind the breakpoint to the last does not change the result."""
    found = build()
    with tf.Session(config=two_devices()) as session, lowering(when):
        plain = session.run(found, {"x:0": X})
        script = Script(session, lambda debugger, _: debugger.step())
        script.debugger.break_at("*b", once=True)
        with script.debugger:
            np.testing.assert_array_equal(session.run(found, {"x:0": X}), plain)
    assert {device for _, _, _, device, _, _ in script.seen} == {"0", "1"}
    assert len(script.seen) >= 4


@WAYS
@pytest.mark.parametrize(
    "node",
    ["a/_0", "a/_1", "b"],
    ids=["before it is sent", "before it is received", "where it is used"],
)
def test_a_changed_value_is_changed_on_both_devices(node: str, when: Lowering) -> None:
    """Every node that has not used the value yet gets the new one, on each device."""
    found = chain()
    with tf.Session(config=two_devices()) as session, lowering(when):
        script = Script(session, lambda debugger, _: debugger.set_value("a", [5.0, 6.0]))
        script.debugger.break_at(node)
        with script.debugger:
            assert session.run(found, {"x:0": X}).tolist() == [10.0, 12.0]
        assert [one[0] for one in script.seen] == [node]
        assert session.run(found, {"x:0": X}).tolist() == [2.0, 8.0]


@WAYS
def test_a_value_is_changed_that_has_arrived_and_was_not_taken_yet(when: Lowering) -> None:
    """A value that arrived at its Recv and was not taken yet is changed.

    It is not taken meanwhile.
    """
    with tf.device(SECOND):
        early = tf.square(tf.placeholder(tf.float32, [2], name="x"), name="early")
    with tf.device(FIRST):
        a = tf.add(early, 1.0, name="a")
    with tf.device(SECOND):
        found = tf.negative(a, name="b")
    values: list[Any] = []

    def act(debugger: Debugger, stop: Stop) -> None:
        values.append(debugger.value("a").tolist())
        debugger.set_value("a", [7.0, 8.0])

    with tf.Session(config=two_devices()) as session, lowering(when):
        script = Script(session, act)
        script.debugger.break_at("a/_*", condition=lambda stop: stop.op == "_Send")
        with script.debugger:
            assert session.run(found, {"x:0": X}).tolist() == [-7.0, -8.0]
    assert [one[1] for one in script.seen] == ["after"]
    assert values == [[2.0, 5.0]]


@WAYS
def test_all_nodes_are_told_of_from_either_device(when: Lowering) -> None:
    """The stop lists running, finished and waiting nodes of the iteration, from either device."""
    found = loop()
    states: list[Any] = []
    with tf.Session(config=two_devices()) as session, lowering(when):
        script = Script(session, lambda _, stop: states.append(stop.states_around()))
        script.debugger.break_at("loop/b", iteration=2)
        with script.debugger:
            session.run(found, {"x:0": X})
    (told,) = states
    assert told["loop/b"] is NodeState.RUNNING
    assert told["loop/a"] is NodeState.DONE
    assert told["loop/c"] is NodeState.UNREADY


@WAYS
def test_a_loop_is_left_by_iteration_and_as_a_whole(when: Lowering) -> None:
    """After leaving the loop, both devices are behind it."""
    with tf.device(SECOND):
        found = tf.negative(loop(), name="behind")
    with tf.Session(config=two_devices()) as session, lowering(when):
        plain = session.run(found, {"x:0": X})
        for at in ("loop/a", "loop/b"):
            script = Script(
                session,
                lambda debugger, stop: (
                    (debugger.step_iteration if stop.iteration < 3 else debugger.step_frame)()
                    if stop.loops
                    else None
                ),
            )
            script.debugger.break_at(at, iteration=1, once=True)
            with script.debugger:
                np.testing.assert_array_equal(session.run(found, {"x:0": X}), plain)
            assert [iteration for _, _, iteration, *_ in script.seen] == [1, 2, 3, 0]


# -- pauses, ends


class Turning:
    """A loop on both devices whose iterations each wait for permission to continue."""

    def __init__(self, limit: int = 6) -> None:
        self.runs, self.may_go = threading.Event(), threading.Event()

        def wait(i: Any) -> Any:
            self.runs.set()
            assert self.may_go.wait(LIMIT_S)
            return np.int32(i + 1)

        def body(i: Any, v: Any) -> Any:
            with tf.device(SECOND):
                v = tf.multiply(v, 2.0, name="b")
            i = tf.ensure_shape(tf.py_func(wait, [i], tf.int32), [])
            return i, v

        with tf.device(FIRST):
            self.fetch = tf.while_loop(lambda i, _: i < limit, body, [0, tf.ones([2])])[1]


@pytest.mark.parametrize("num_before", [0, 2])
def test_a_pause_holds_the_step_that_runs(num_before: int) -> None:
    """The running step stops, not only the next one.

    The function is left and the loop continues there.
    """
    turning = Turning()
    with tf.Session(config=two_devices()) as session, Debugger(session) as debugger:
        turning.may_go.set()
        for _ in range(num_before):
            session.run(turning.fetch)
        turning.runs.clear()
        turning.may_go.clear()
        running = Running(session, turning.fetch)
        assert turning.runs.wait(LIMIT_S)
        (step,) = session._session.active_steps()
        assert step.may_be_left
        debugger.pause()
        turning.may_go.set()
        stop = debugger.wait_for_stop(LIMIT_S)
        assert stop is not None
        assert stop.reason == "paused"
        assert stop.step_id == step.step_id
        assert {frame.device[-1] for frame in stop.frames() if frame.name} == {"0", "1"}
        debugger.step()
        debugger.resume() if debugger.wait_for_stop(LIMIT_S) else None
        running.join()
    assert running.error is None
    assert running.result.tolist() == [64.0, 64.0]


def _held(session: tf.Session, fetch: Any) -> tuple[Debugger, Running]:
    """Return a step that stands at a breakpoint on the second device, in another thread."""
    debugger = Debugger(session).attach()
    debugger.break_at("*b")
    running = Running(session, fetch, {"x:0": X})
    stop = debugger.wait_for_stop(LIMIT_S)
    assert stop is not None
    assert stop.device.endswith(":1")
    return debugger, running


@WAYS
@GRAPHS
def test_closing_the_session_ends_a_step_that_is_held(
    build: Callable[[], Any], when: Lowering
) -> None:
    """The step ends, and nothing of it is left in the session."""
    found = build()
    with lowering(when):
        session = tf.Session(config=two_devices())
        session.run(found, {"x:0": X})
        debugger, running = _held(session, found)
        session.close()
        running.join()
    assert isinstance(running.error, tf.errors.CancelledError)
    assert debugger.stop is None
    assert session._session.active_steps() == []


@WAYS
@GRAPHS
def test_cancelling_ends_a_step_that_is_held(build: Callable[[], Any], when: Lowering) -> None:
    """The step ends, and the next one runs."""
    found = build()
    with lowering(when), tf.Session(config=two_devices()) as session:
        plain = session.run(found, {"x:0": X})
        debugger, running = _held(session, found)
        debugger.cancel()
        running.join()
        assert isinstance(running.error, tf.errors.CancelledError)
        debugger.detach()
        np.testing.assert_array_equal(session.run(found, {"x:0": X}), plain)


@WAYS
@GRAPHS
def test_an_interrupt_ends_a_step_that_is_held(build: Callable[[], Any], when: Lowering) -> None:
    """The interrupt reaches the thread that stands in the debugger; the session is usable."""
    found = build()
    with lowering(when), tf.Session(config=two_devices()) as session:
        plain = session.run(found, {"x:0": X})
        debugger = Debugger(session).attach()
        debugger.break_at("*b")

        def until_it_stands() -> None:
            assert debugger.wait_for_stop(LIMIT_S) is not None

        interrupted(lambda: session.run(found, {"x:0": X}), until_it_stands)
        assert debugger.stop is None
        assert session._session.active_steps() == []
        debugger.detach()
        np.testing.assert_array_equal(session.run(found, {"x:0": X}), plain)


@WAYS
def test_a_time_out_ends_a_step_that_is_held(when: Lowering) -> None:
    """The deadline continues while the step stands."""
    found = loop()
    with lowering(when), tf.Session(config=two_devices()) as session:
        plain = session.run(found, {"x:0": X})

        def time_out(stop: Stop) -> None:
            (step,) = session._session.active_steps()
            assert step.step_id == stop.step_id
            step.end(errors.deadline_exceeded("too late"))

        with Debugger(session, on_stop=time_out) as debugger:
            debugger.break_at("loop/b", iteration=2)
            with pytest.raises(tf.errors.DeadlineExceededError, match="too late"):
                session.run(found, {"x:0": X})
        np.testing.assert_array_equal(session.run(found, {"x:0": X}), plain)


# -- recording


@GRAPHS
def test_a_recorded_step_tells_the_same_whether_it_is_debugged_or_not(
    build: Callable[[], Any],
) -> None:
    """The record has every node in its partition, also when it is stopped and stepped through."""
    found = build()
    told = []
    for is_debugged in (False, True):
        with tf.Session(config=two_devices()) as session, lowering(Lowering.NEVER):
            log = EventLog()
            session._session.step_events.add(StepRecorder(log, 0))
            script = Script(session, lambda debugger, _: debugger.step())
            script.debugger.break_at("*b", once=True)
            if is_debugged:
                script.debugger.attach()
            results = [session.run(found, {"x:0": X}).tolist() for _ in range(2)]
            script.debugger.detach()
            assert bool(script.seen) == is_debugged
            kinds = Counter(event[1] for event in log.events)
            told.append((results, {kinds[one] for one in (NODE_STARTED, NODE_DONE)}, kinds[SENT]))
    assert told[0] == told[1]
    assert told[0][2] > 0


@GRAPHS
@WAYS
def test_a_trace_of_a_debugged_step_has_all_its_nodes(
    build: Callable[[], Any], when: Lowering
) -> None:
    """The trace has all nodes of both devices, as often as without a debugger."""
    found = build()
    traced = []
    for is_debugged in (False, True):
        with tf.Session(config=two_devices()) as session, lowering(when):
            script = Script(session)
            script.debugger.break_at("*b")
            if is_debugged:
                script.debugger.attach()
            metadata = tf.RunMetadata()
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(found, {"x:0": X}, options=options, run_metadata=metadata)
            script.debugger.detach()
            assert bool(script.seen) == is_debugged
            traced.append(
                {
                    device.device: Counter(node.node_name for node in device.node_stats)
                    for device in metadata.step_stats.dev_stats
                }
            )
    assert traced[0] == traced[1]
    assert len(traced[0]) >= 2
