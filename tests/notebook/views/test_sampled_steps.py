"""The live view of steps that are sampled."""

from __future__ import annotations

import threading
from typing import Any

import tfnb as tf
from tests.notebook.steps.test_step_model import STATE, Pictures
from tests.notebook.steps.waiting_node import Stops
from tfnb.client.step_sampler import StepSampler
from tfnb.core.step_events import IDLE_HOOKS
from tfnb.notebook.pictures.summary_svg import headline
from tfnb.notebook.steps.step_model import DONE, RUNNING, StepModel
from tfnb.notebook.steps.step_publisher import StepPublisher
from tfnb.notebook.steps.step_recorder import EventLog
from tfnb.notebook.views.progress import Watch
from tfnb.notebook.views.sampled_steps import SampledSteps

_LIMIT_S = 60


def test_samples_show_the_running_node_its_loop_and_the_end(graph: Any) -> None:
    """A loop in its emitted form is sampled twice, and once after its end."""
    stops = Stops(1, 3)

    def body(i: Any) -> Any:
        slow = tf.py_func(stops.wait, [i], tf.int32, name="slow")
        slow.set_shape([])
        return slow + 1

    loop = tf.while_loop(lambda i: i < 5, body, [0], parallel_iterations=1)
    log = EventLog()
    with tf.Session() as session:
        model, sink = StepModel(lambda _: session.graph), Pictures()
        publisher = StepPublisher(log, model, sink)
        sampled = SampledSteps(log)
        sampler = StepSampler(session, on_sample=sampled)

        def look() -> dict[str, int]:
            sampled(sampler.sample())
            publisher.publish()
            nodes, states = sink.scenes[-1].nodes, sink.states[-1]
            return {node.name: s & STATE for node, s in zip(nodes, states, strict=True)}

        thread = threading.Thread(target=session.run, args=(loop,))
        thread.start()
        seen = []
        for here, go in zip(stops.here, stops.go, strict=True):
            assert here.wait(_LIMIT_S)
            seen.append((look()["while/slow"], sink.counters[-1]["frames"][0]["iteration"]))
            go.set()
        thread.join(_LIMIT_S)
        assert session.runtime.step_events.hooks is IDLE_HOOKS
        assert len(session.emitted_sources()) == 1
        assert seen == [(RUNNING, 1), (RUNNING, 3)]
        assert look()["while/slow"] == DONE
        assert sink.counters[-1]["phase"] == "done"
        assert sink.counters[-1]["steps"] == 1
        assert sink.counters[-1]["frames"][0]["isDone"]


def test_an_inner_loop_that_begins_again_is_followed(graph: Any) -> None:
    """Iterations of the inner loop count from 0 again, and its row ends with the outer loop."""
    stops = Stops(1, 2)

    def step(i: Any) -> Any:
        slow = tf.py_func(stops.wait, [i], tf.int32)
        slow.set_shape([])
        return slow + 1

    def body(i: Any) -> Any:
        inner = tf.while_loop(lambda j: j < 2, step, [0], parallel_iterations=1)
        with tf.control_dependencies([inner]):
            return i + 1

    loop = tf.while_loop(lambda i: i < 2, body, [0], parallel_iterations=1)
    log, rows = EventLog(), []
    with tf.Session() as session:
        model = StepModel(lambda _: session.graph)
        sampled = SampledSteps(log)
        sampler = StepSampler(session)
        thread = threading.Thread(target=session.run, args=(loop,))
        thread.start()
        for here, go in zip(stops.here, stops.go, strict=True):
            assert here.wait(_LIMIT_S)
            sampled(sampler.sample())
            model.absorb(log)
            rows.append([(row.depth, row.iteration, row.is_done) for row in model.frame_rows()])
            go.set()
        thread.join(_LIMIT_S)
        sampled.end()
        model.absorb(log)
    # In its first iteration an inner loop still shows the last iteration from before.
    assert rows == [[(0, 0, False), (1, 1, False)], [(0, 1, False), (1, 1, False)]]
    assert all(row.is_done for row in model.frame_rows())


def test_a_watch_that_samples_leaves_steps_alone(graph: Any, capsys: Any) -> None:
    """No observer is added; the summary has the times."""
    stops, seen = Stops(0), threading.Event()
    y = tf.py_func(stops.wait, [tf.constant(1.0)], tf.float32, name="slow")
    with tf.Session() as session:
        with Watch(samples=True) as watch:
            assert session.runtime.step_events.hooks is IDLE_HOOKS
            thread = threading.Thread(target=session.run, args=(y,))
            thread.start()
            assert stops.here[0].wait(_LIMIT_S)
            while not watch.model.is_running:
                assert thread.is_alive()
                seen.wait(0.01)
            stops.go[0].set()
            thread.join(_LIMIT_S)
        assert "100.0 %  'slow' (PyFunc), made at" in capsys.readouterr().out
        assert not watch.model.is_running


def test_steps_too_fast_to_be_seen_are_counted(graph: Any) -> None:
    """Steps are counted by their ids; without samples there are no times."""
    one = tf.constant(1.0)
    with tf.Session() as session:
        session.run(one)
        sampled = SampledSteps(EventLog())
        model = StepModel()
        model.sampled = sampled.counters
        assert model.counters(0)["steps"] == 0
        for _ in range(100):
            session.run(one)
        counters = model.counters(500_000_000)
        assert (counters["steps"], counters["steps_per_second"]) == (100, 200)
        assert "nodes/s" not in headline(counters)
