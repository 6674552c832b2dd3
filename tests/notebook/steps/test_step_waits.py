"""Waiting steps in the live view, the panel and a terminal."""

from __future__ import annotations

import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf
from tests.notebook.steps.test_step_model import STATE, Pictures
from tfnb.notebook.lab.lab_snapshot import LabSnapshots
from tfnb.notebook.pictures.terminal_progress import progress_lines
from tfnb.notebook.steps.step_model import ADOPT_NS, BLOCKED, DONE, RUNNING, WAITING
from tfnb.notebook.steps.step_publisher import StepPublisher
from tfnb.notebook.steps.step_waits import BLOCKED as BLOCKED_STEP
from tfnb.notebook.steps.step_waits import waits_of
from tfnb.notebook.views.progress import Watch

if TYPE_CHECKING:
    from collections.abc import Iterator

_TRIES = 200_000


class Looked:
    """A watch whose pictures are made on demand."""

    def __init__(self, session: Any, *, samples: bool = False) -> None:
        self.watch = Watch(samples=samples, keeps_summary=False, displays=False)
        self.sink = Pictures()
        self.now_ns = 0
        watch = self.watch
        self.publisher = StepPublisher(
            watch._log, watch.model, self.sink, look=watch._look, clock_ns=lambda: self.now_ns
        )
        watch.model.is_open = True
        if not samples:
            watch._join(session.runtime.step_events)

    @property
    def phase(self) -> str:
        """Return the last picture's phase."""
        return str(self.sink.counters[-1]["phase"]) if self.sink.counters else ""

    def look_until(self, phase: str) -> dict[str, Any]:
        """Make pictures until one has that phase; return its counters."""
        for _ in range(_TRIES):
            self.publisher.publish()
            if self.phase == phase:
                return self.sink.counters[-1]
        raise AssertionError(f"{self.phase} is not {phase}")

    def states(self) -> dict[str, int]:
        """Return the last picture's state of every node."""
        nodes = self.sink.scenes[-1].nodes
        return {n.name: s & STATE for n, s in zip(nodes, self.sink.states[-1], strict=True)}


@contextmanager
def running(session: Any, fetch: Any) -> Iterator[None]:
    """A step in a separate thread, ended by the end of the session."""

    def run() -> None:
        with suppress(tf.errors.CancelledError):
            session.run(fetch)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        session.close()
        thread.join()


def jobs() -> tuple[Any, Any]:
    """A queue, and a dequeue from it."""
    queue = tf.FIFOQueue(5, tf.float32, shapes=[[]], name="jobs")
    return queue, tf.square(queue.dequeue(name="take"), name="after")


@pytest.mark.slow
def test_a_node_that_waits_for_another_step_is_neither_running_nor_done(graph: Any) -> None:
    """The picture, the header and the summary say what it waits for."""
    _, after = jobs()
    with tf.Session() as session:
        looked = Looked(session)
        with running(session, after):
            counters = looked.look_until("blocked")
            states = looked.states()
    assert (states["take"], states["after"]) == (BLOCKED, WAITING)
    assert "elements of queue 'jobs' (0 elements inside)" in counters["waits"][0]
    assert counters["partitions"][0]["current"] == "take"
    lines = progress_lines(counters, 200, has_colours=False)
    assert lines[0].startswith("blocked")
    assert any("waits for elements of queue 'jobs'" in line for line in lines)


def test_a_sampled_waiting_step_is_shown_too(graph: Any) -> None:
    """Samples do not show the waiting node; the nodes before it count as done."""
    _, after = jobs()
    with tf.Session() as session:
        looked = Looked(session, samples=True)
        with running(session, after):
            looked.look_until("blocked")
            states = looked.states()
    assert (states["jobs"], states["take"], states["after"]) == (DONE, BLOCKED, WAITING)


@pytest.mark.slow
def test_in_a_loop_the_iteration_that_waits_counts(graph: Any) -> None:
    """Other iterations of the node have run, or are dead."""
    queue, _ = jobs()
    put = queue.enqueue_many([[1.0, 2.0]])
    loop = tf.while_loop(
        lambda i, x: i < 4, lambda i, x: (i + 1, x + queue.dequeue(name="each")), [0, 0.0]
    )
    with tf.Session() as session:
        session.run(put)
        looked = Looked(session)
        with running(session, loop):
            looked.look_until("blocked")
            assert looked.states()["while/each"] == BLOCKED


def test_a_hang_is_shown_though_others_came_and_went(graph: Any) -> None:
    """When the shown step has ended, the waiting one is shown."""
    _, after = jobs()
    other = tf.negative(tf.placeholder_with_default(1.0, []), name="other")
    with tf.Session() as session:
        looked = Looked(session)
        with running(session, after):
            looked.look_until("blocked")
            session.run(other)
            counters = looked.look_until("blocked")
            states = looked.states()
    assert states["take"] == BLOCKED
    assert "queue 'jobs'" in counters["waits"][0]


def test_the_panel_knows_a_step_that_waits(graph: Any) -> None:
    """The panel distinguishes waiting from running steps."""
    _, after = jobs()
    with tf.Session() as session, running(session, after):
        while not any(wait.kind == BLOCKED_STEP for wait in waits_of(session).values()):
            pass
        about = next(
            step
            for one in LabSnapshots().take()["sessions"]
            for step in one["running"]
            if "'take'" in str(step["lines"])
        )
    assert about["waits"]


def test_between_two_steps_nothing_is_done(graph: Any) -> None:
    """Further steps may come until the block ends."""
    x = tf.placeholder_with_default(1.0, [])
    y = tf.negative(x)
    with tf.Session() as session:
        looked = Looked(session)
        session.run(y)
        looked.publisher.publish()
        assert looked.phase == "running"  # a moment ago
        assert looked.publisher.publish()
        assert looked.phase == "idle"
        assert not looked.publisher.publish()
        session.run(y)
        looked.publisher.publish()
        assert looked.phase == "running"
        looked.watch.model.is_open = False
        looked.publisher.publish(is_final=True)
        assert looked.phase == "done"


def test_the_longer_of_two_kinds_of_steps_stays_on_show(graph: Any) -> None:
    """Alternating short steps do not replace the picture; a long step is shown at last."""
    x = tf.placeholder(tf.float32, [])
    short, long = tf.negative(x, name="short"), tf.square(x, name="long")
    with tf.Session() as session:
        looked = Looked(session)
        session.run(short, {x: 1.0})
        session.run(long, {x: 1.0})
        events = session.runtime.step_events
        first, second = (view.signature_id for _, view in events.signatures())
    recorder, model, now = looked.watch._recorders[0][1], looked.watch.model, 10**12
    for step_id, (signature, took) in enumerate([(first, 10**5), (second, 10**6)] * 4, 1000):
        recorder.step_started(step_id, signature, now)
        looked.publisher.publish()
        recorder.step_done(step_id, now + took, None)
        looked.publisher.publish()
        now += 2 * took
    assert model.steps_done == 10
    nodes = [{node.name for node in scene.nodes} for scene in looked.sink.scenes]
    assert "long" in nodes[-1]
    assert len(nodes) <= 4
    recorder.step_started(2000, first, now)
    looked.publisher.publish()
    assert len(looked.sink.scenes) == len(nodes)
    looked.now_ns = now + ADOPT_NS + 1
    looked.publisher.publish()
    assert "short" in {node.name for node in looked.sink.scenes[-1].nodes}


def test_a_node_that_runs_in_another_iteration_is_not_done(graph: Any) -> None:
    """The dead copy of the last iteration does not count either."""
    queue, _ = jobs()
    loop = tf.while_loop(
        lambda i, x: i < 2, lambda i, x: (i + 1, x + queue.dequeue(name="each")), [0, 0.0]
    )
    with tf.Session() as session:
        looked = Looked(session)
        with running(session, loop):
            looked.look_until("blocked")
            looked.watch.model.step.standing = {}  # type: ignore[union-attr]
            nodes = looked.sink.scenes[-1].nodes
            states = looked.watch.model.step.state_bytes()  # type: ignore[union-attr]
            found = {n.name: s & STATE for n, s in zip(nodes, states, strict=True)}
    assert found["while/each"] == RUNNING
