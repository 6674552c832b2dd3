"""Progress of steps that run as emitted functions: counters and the current line."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.notebook.steps.test_step_model import STATE, Pictures
from tests.notebook.steps.waiting_node import Stops
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.core.step_events import StepObserver
from tfnb.notebook.steps.step_model import DEAD, DONE, FAILED, RUNNING, WAITING, StepModel
from tfnb.notebook.steps.step_publisher import StepPublisher
from tfnb.notebook.steps.step_recorder import EventLog, StepRecorder

if TYPE_CHECKING:
    from collections.abc import Callable

_LIMIT_S = 60


class Looked:
    """A watched session whose state is read on demand."""

    def __init__(self, session: Any) -> None:
        self.log = EventLog()
        self.model = StepModel(lambda _: session.graph)
        self.sink = Pictures()
        self.recorder = StepRecorder(self.log, 0)
        native = session.runtime
        self.publisher = StepPublisher(
            self.log, self.model, self.sink, look=lambda: self.recorder.look(native.step_counts())
        )
        native.step_events.add(self.recorder)

    def look(self) -> dict[str, Any]:
        """Return the state of every node by name, and the counters under ""."""
        self.publisher.publish()
        nodes, states = self.sink.scenes[-1].nodes, self.sink.states[-1]
        found: dict[str, Any] = {n.name: s & STATE for n, s in zip(nodes, states, strict=True)}
        return found | {"": self.sink.counters[-1]}

    def runs(self, name: str) -> int:
        """Return how often a node of the shown step ran, including dead runs."""
        step = self.model.step
        assert step is not None
        names = [node.name for node in step.signature.scene.nodes]
        return step.counts[names.index(name)]


def conds_in_loops() -> Any:
    """A loop in a loop with a cond in each, one that never takes a side, one outside."""

    def inner(j: Any, y: Any) -> list[Any]:
        return [j + 1, tf.cond(tf.equal(j % 3, 0), lambda: y + 1.0, lambda: y * 0.5)]

    def outer(i: Any, x: Any) -> list[Any]:
        _, y = tf.while_loop(lambda j, _: j < i, inner, [0, x], name="in", parallel_iterations=1)
        return [i + 1, tf.cond(i > 100, lambda: tf.constant(0.0, name="far"), lambda: y)]

    _, total = tf.while_loop(lambda i, _: i < 5, outer, [0, 1.0], name="out", parallel_iterations=1)
    return tf.cond(total > 1e9, lambda: tf.reduce_sum(total), lambda: total + 2.0)


def chain() -> Any:
    """Nodes without control flow."""
    return tf.reduce_sum(tf.square(tf.constant([1.0, 2.0]) * 3.0))


def on_two_devices() -> Any:
    """A loop whose body is on another device."""

    def body(i: Any, x: Any) -> list[Any]:
        with tf.device("/CPU:1"):
            return [i + 1, x * 2.0]

    _, x = tf.while_loop(lambda i, _: i < 4, body, [0, tf.ones([3])], parallel_iterations=1)
    with tf.device("/CPU:1"):
        return tf.reduce_sum(x)


@pytest.mark.parametrize("build", [conds_in_loops, chain, on_two_devices])
def test_what_is_shown_at_the_end_is_what_the_reference_tells(
    graph: Any, build: Callable[[], Any]
) -> None:
    """States, bars and loops at the end equal those of the reference executor."""
    fetch = build()
    seen = []
    for when in (Lowering.NEVER, Lowering.ALWAYS):
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session, lowering(when):
            looked = Looked(session)
            value = session.run(fetch)
            states = looked.look()
            counters = states.pop("")
            rows = {key: counters[key] for key in ("phase", "steps", "frames", "sent_bytes")}
            bars = [{**one, "current": ""} for one in counters["partitions"]]
            assert looked.model.step is not None
            counts = looked.model.step.counts
            seen.append((value, states, rows, bars, counts, looked.model.node_runs))
            told = [event for event in looked.log.events if event[1] < 4]
            assert told == []
            assert (looked.model.events_seen == 3) == (when is Lowering.ALWAYS)
    assert seen[0] == seen[1]


def test_a_loop_is_seen_while_it_runs(graph: Any) -> None:
    """The running node, finished nodes, the iteration and the untaken side are shown."""
    stops = Stops(2)

    def body(i: Any) -> Any:
        slow = tf.py_func(stops.wait, [i], tf.int32, name="slow")
        slow.set_shape([])
        late = tf.multiply(slow, 2, name="late")
        low = tf.cond(slow < 3, lambda: late + 1, lambda: tf.constant(7, name="high"))
        with tf.control_dependencies([low]):
            return slow + 1

    x = tf.placeholder(tf.int32, [], name="x")
    before = tf.subtract(x, 5, name="before")
    loop = tf.while_loop(lambda i: i < 4, body, [before], parallel_iterations=1)
    after = tf.multiply(loop, 3, name="after")
    with tf.Session() as session:
        looked = Looked(session)
        thread = threading.Thread(target=session.run, args=(after, {x: 5}))
        thread.start()
        assert stops.here[0].wait(_LIMIT_S)
        seen = looked.look()
        assert looked.runs("while/slow") == 2
        assert looked.runs("while/Merge") == 3
        stops.go[0].set()
        thread.join(_LIMIT_S)
        end = looked.look()
    counters = seen[""]
    assert seen["while/slow"] == RUNNING
    assert seen["while/late"] == seen["before"] == DONE
    assert seen["while/cond/high"] == seen["while/Exit"] == DEAD
    assert seen["after"] == WAITING
    assert counters["phase"] == "running"
    assert counters["partitions"][0]["current"] == "while/slow"
    assert counters["partitions"][0]["done"] < counters["partitions"][0]["total"]
    (frame,) = counters["frames"]
    assert (frame["iteration"], frame["live"], frame["isDone"]) == (2, 1, False)
    assert end["after"] == end["while/slow"] == end["while/cond/high"] == end["while/Exit"] == DONE
    assert end[""]["frames"][0] == {**frame, "iteration": 4, "live": 0, "isDone": True}
    assert end[""]["partitions"][0]["done"] == end[""]["partitions"][0]["total"]


def test_time_is_counted_by_samples(graph: Any) -> None:
    """The time is counted for the op of the node that is running at a sample."""
    stops = Stops(0)
    slow = tf.py_func(stops.wait, [tf.constant(1.0)], tf.float32)
    with tf.Session() as session, lowering(Lowering.ALWAYS):
        looked = Looked(session)
        thread = threading.Thread(target=session.run, args=(slow,))
        thread.start()
        assert stops.here[0].wait(_LIMIT_S)
        looked.look()
        stops.go[0].set()
        thread.join(_LIMIT_S)
        looked.look()
    assert list(looked.model.busy_by_op) == ["PyFunc"]


@pytest.mark.parametrize(
    ("error", "phase"), [(ValueError("no"), "failed"), (KeyboardInterrupt(), "cancelled")]
)
def test_a_step_that_ends_early_shows_how_far_it_came(
    graph: Any, error: BaseException, phase: str
) -> None:
    """The failed or interrupted node is shown, with the nodes that ran before."""

    def fail(value: Any) -> Any:
        if value == 3:
            raise error
        return value

    def body(i: Any) -> Any:
        made = tf.py_func(fail, [i], tf.int32, name="made")
        made.set_shape([])
        return tf.add(made, 1, name="next")

    loop = tf.while_loop(lambda i: i < 9, body, [0], parallel_iterations=1)
    with tf.Session() as session:
        looked = Looked(session)
        with pytest.raises((tf.errors.OpError, KeyboardInterrupt)):
            session.run(loop)
        seen = looked.look()
        native = session.runtime
        (executors,) = [one.executors for one in native._executors.values()]
        assert executors.states[0].warm_up.counted is not None
    assert seen["while/made"] == FAILED
    assert looked.runs("while/made") == 3
    assert looked.runs("while/Less") == 4
    assert seen[""]["phase"] == phase
    assert seen[""]["frames"][0]["iteration"] == 3
    assert seen["while/next"] == DONE


def test_steps_that_come_and_go_between_two_pictures_are_added_up(graph: Any) -> None:
    """The last step is shown, the others are counted, of any signature."""
    x = tf.placeholder(tf.float32, name="x")
    one, other = x * 2.0, conds_in_loops()
    with tf.Session() as session, lowering(Lowering.ALWAYS):
        looked = Looked(session)
        feed = {x: np.ones(2, np.float32)}
        session.run(one, feed)
        session.run(other)
        looked.look()
        first, per_run = looked.model.node_runs, sum(looked.model.step.counts)  # type: ignore[union-attr]
        for _ in range(5):
            session.run(one, feed)
            session.run(other)
        counters = looked.look()[""]
        assert counters["steps"] == 12
        assert len(looked.model.step_times_ns) == 12
        assert looked.model.node_runs == 6 * first
        assert sum(looked.model.step.counts) == per_run  # type: ignore[union-attr]
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.reshape(x, [3], name="bad"), feed)
        session.run(one, feed)
        counters = looked.look()[""]
        assert (counters["steps"], looked.model.steps_failed) == (13, 1)
        assert counters["phase"] == "done"


class Nodes(StepObserver):
    """Takes events of every node."""

    def __init__(self) -> None:
        self.num_nodes = 0

    def node_done(self, *args: Any) -> None:
        """Count."""
        self.num_nodes += 1


def test_an_observer_of_nodes_gets_events_beside_a_watch(graph: Any) -> None:
    """The step runs node by node, and the watch gets the same states."""
    fetch = conds_in_loops()
    with tf.Session() as session:
        looked, nodes = Looked(session), Nodes()
        session.runtime.step_events.add(nodes)
        session.run(fetch)
        looked.look()
        assert nodes.num_nodes == looked.model.node_runs > 0
        session.runtime.step_events.remove(nodes)
        session.run(fetch)
        looked.look()
        assert looked.model.node_runs == 2 * nodes.num_nodes


def test_a_watch_leaves_the_function_of_unwatched_steps_alone(graph: Any) -> None:
    """Counting uses a separate function; the other one is unchanged byte for byte."""
    fetch = conds_in_loops()
    with tf.Session() as session:
        session.run(fetch)
        (before,) = session.emitted_sources()
        looked = Looked(session)
        session.run(fetch)
        session.runtime.step_events.remove(looked.recorder)
        session.run(fetch)
        assert session.emitted_sources() == [before]
        assert "counted" not in before
