"""Stopping, stepping, looking and changing, in the real executor."""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress

import numpy as np
import pytest

import tfnb as tf
from tests.interrupts import InterruptAt
from tfnb.client.debugger.debugger import Debugger
from tfnb.common_runtime.looking.step_inspection import EntryState, NodeState
from tfnb.framework.functions import function
from tfnb.notebook.steps.step_recorder import EventLog, StepRecorder


class Script:
    """A scripted user: one function per stop, then resume; records where the step stood."""

    def __init__(self, *actions):
        self.actions = list(actions)
        self.places = []
        self.seen = []
        self.debugger = None

    def __call__(self, stop):
        """Acts at a stop."""
        self.places.append((stop.phase, stop.node, stop.iteration))
        if not self.actions:
            self.debugger.resume()
            return
        found = self.actions.pop(0)(self.debugger, stop)
        self.seen.append(found)

    def attach(self, session, **options):
        """A debugger that this script drives."""
        self.debugger = Debugger(session, on_stop=self, **options)
        return self.debugger


def _resume(debugger, stop):
    debugger.resume()


def _step(debugger, stop):
    debugger.step()


@pytest.fixture
def session():
    """A session without passes that rename nodes."""
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default(), tf.Session(config=config) as found:
        yield found


def _loop(limit=5, parallel_iterations=10):
    i = tf.constant(0, name="start")
    return tf.while_loop(
        lambda i, x: i < limit,
        lambda i, x: (tf.add(i, 1, name="next"), tf.multiply(x, 2.0, name="twice")),
        [i, tf.constant(1.0, name="one")],
        parallel_iterations=parallel_iterations,
        name="loop",
    )


def test_a_breakpoint_stops_before_its_node_with_its_inputs(session):
    """The stop shows the node's inputs by name, and the step then runs to its end."""
    x = tf.constant([1.0, 2.0], name="x")
    y = tf.add(x, tf.constant(3.0, name="three"), name="y")
    script = Script(lambda debugger, stop: (stop.inputs, debugger.resume()))
    with script.attach(session) as debugger:
        one = debugger.break_at(y)
        assert session.run(y).tolist() == [4.0, 5.0]
    assert script.places == [("before", "y", 0)]
    names, values = zip(*script.seen[0][0], strict=True)
    assert names == ("x:0", "three:0")
    assert values[0].tolist() == [1.0, 2.0]
    assert one.hits == 1


def test_stepping_visits_every_node_that_runs_in_its_order(session):
    """Node by node, sources first."""
    x = tf.constant(1.0, name="x")
    y = tf.negative(x, name="y")
    script = Script(*[_step] * 10)
    with script.attach(session, stop_at_start=True):
        assert session.run(y) == -1.0
    nodes = [node for _, node, _ in script.places]
    assert nodes[:2] == ["x", "y"]
    assert len(nodes) == 3  # and the result


def test_a_breakpoint_in_one_iteration_of_a_frame(session):
    """A breakpoint with node, frame and iteration stops at exactly that point."""
    found = _loop()
    script = Script(lambda debugger, stop: (stop.loops, debugger.value("loop/Identity_1:0")))
    script.actions[0] = lambda debugger, stop: (
        stop.loops,
        dict(stop.inputs)["loop/Identity_1:0"],
        debugger.resume(),
    )
    with script.attach(session) as debugger:
        debugger.break_at("loop/twice", iteration=3)
        assert session.run(found)[1] == 32.0
    assert script.places == [("before", "loop/twice", 3)]
    loops, value, _ = script.seen[0]
    assert [loop.iteration for loop in loops] == [3]
    assert value == 8.0


def test_stepping_by_iteration_stops_once_in_each(session):
    """Stepping goes from one iteration to the next, then to the first node behind the loop."""
    found = _loop(limit=3, parallel_iterations=1)

    def go(debugger, stop):
        if stop.loops:
            debugger.step_iteration()
        else:
            debugger.resume()

    script = Script(*[go] * 20)
    with script.attach(session) as debugger:
        debugger.break_at(frame="loop/while_context", once=True)
        session.run(found)
    assert [place[2] for place in script.places[:-1]] == [0, 1, 2, 3]
    assert script.debugger.stop is None


def test_stepping_out_of_a_frame_stops_behind_the_loop(session):
    """The first node that runs once the loop has ended."""
    found = tf.identity(_loop()[1], name="behind")
    script = Script(lambda debugger, stop: debugger.step_frame(), _resume)
    with script.attach(session) as debugger:
        debugger.break_at("loop/twice", iteration=1, once=True)
        assert session.run(found) == 32.0
    assert script.places[0] == ("before", "loop/twice", 1)
    assert script.places[1][1] in ("behind", "loop/Exit_1")
    assert len(script.places) == 2


def test_a_changed_input_changes_the_result(session):
    """The nodes that follow compute with the new value."""
    x = tf.constant(2.0, name="x")
    y = tf.square(x, name="y")
    script = Script(
        lambda debugger, stop: (debugger.set_value("x", 5.0), debugger.resume()),
    )
    with script.attach(session) as debugger:
        debugger.break_at("y")
        assert session.run(y) == 25.0
    assert session.run(y) == 4.0


def test_a_changed_loop_variable_ends_the_loop_earlier(session):
    """A value in an iteration is changed like any other."""
    found = _loop(limit=1000, parallel_iterations=1)

    def jump(debugger, stop):
        debugger.set_value("loop/Identity:0", 999)
        debugger.resume()

    script = Script(jump)
    with script.attach(session) as debugger:
        debugger.break_at("loop/next", iteration=2)
        count, value = session.run(found)
    assert count == 1000
    assert value == 8.0


def test_a_value_of_another_type_is_refused_and_the_step_goes_on(session):
    """The error names the tensor and its type, and nothing was changed."""
    x = tf.constant(2, name="x")
    y = tf.square(x, name="y")
    caught = []

    def wrong(debugger, stop):
        for value in (1.5, "text", [object()]):
            with pytest.raises(tf.errors.InvalidArgumentError, match="'x:0' must be int32"):
                debugger.set_value(x, value)
            caught.append(value)
        debugger.resume()

    with Script(wrong).attach(session) as debugger:
        debugger.break_at("y")
        assert session.run(y) == 4
    assert len(caught) == 3


@pytest.mark.parametrize(
    ("condition", "node"),
    [("nan", "root"), ("nan or inf", "root"), ("max > 8", "big"), ("== 10", "big")],
)
def test_a_condition_on_values_stops_behind_the_node_that_gave_it(session, condition, node):
    """Conditions are words or comparisons; the outputs are visible at the stop."""
    x = tf.constant([-1.0, 10.0], name="x")
    big = tf.maximum(x, -1.0, name="big")
    found = tf.sqrt(big, name="root")
    script = Script(lambda debugger, stop: (stop.outputs, debugger.resume()))
    with script.attach(session) as debugger:
        debugger.break_at("[br]*", condition=condition)
        session.run(found)
    assert script.places[0][:2] == ("after", node)
    assert script.seen[0][0][0][0] == f"{node}:0"


def test_a_python_condition_sees_the_stop(session):
    """Any Python function of a stop may be a condition."""
    found = _loop()
    script = Script(_resume)
    with script.attach(session) as debugger:
        debugger.break_at(
            "loop/twice", condition=lambda stop: stop.iteration == 2 and stop.outputs[0][1] == 8.0
        )
        session.run(found)
    assert script.places == [("after", "loop/twice", 2)]


def test_a_condition_that_raises_is_switched_off_and_the_step_goes_on(session, caplog):
    """The breakpoint reports the exception."""
    y = tf.square(tf.constant(2.0), name="y")
    with Script().attach(session) as debugger:
        one = debugger.break_at("y", condition=lambda stop: 1 / 0)
        assert session.run(y) == 4.0
    assert not one.enabled
    assert "ZeroDivisionError" in str(one)
    assert "switched off" in caplog.text


@pytest.mark.parametrize("condition", ["often", "max >", "__import__('os')", "max > x"])
def test_a_condition_that_is_none_is_refused_at_once(session, condition):
    """An invalid condition is refused when it is set."""
    with pytest.raises(ValueError, match="is no condition"):
        Debugger(session).break_at(condition=condition)


def test_a_dead_node_stops_where_deadness_is_asked_for(session):
    """A breakpoint on dead nodes stops there, and ``why`` names the Switch."""
    x = tf.placeholder(tf.float32, name="x")
    found = tf.cond(x > 0, lambda: tf.negative(x, name="n"), lambda: tf.square(x), name="c")
    script = Script(lambda debugger, stop: (stop.is_dead, stop.why("c/n").render()))
    script.actions[0] = lambda debugger, stop: (
        stop.is_dead,
        stop.why("c/n").render(),
        debugger.resume(),
    )
    with script.attach(session) as debugger:
        debugger.break_at("c/n", condition="dead")
        assert session.run(found, {x: -3.0}) == 9.0
    is_dead, why, _ = script.seen[0]
    assert is_dead
    assert "Switch" in why


def test_a_step_is_cancelled_and_the_session_is_usable(session):
    """The step ends with a CancelledError that names the debugger."""
    y = tf.square(tf.constant(2.0), name="y")
    with Script(lambda debugger, stop: debugger.cancel()).attach(session) as debugger:
        debugger.break_at("y")
        with pytest.raises(tf.errors.CancelledError, match="in the debugger"):
            session.run(y)
    assert session.run(y) == 4.0


def test_another_thread_pauses_an_endless_loop_looks_and_cancels_it(session):
    """Another thread can pause, inspect and cancel, as buttons of a notebook do."""
    found = tf.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [0], name="forever")
    debugger = Debugger(session).attach()
    errors = []

    def run():
        try:
            session.run(found)
        except tf.errors.CancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    debugger.pause()
    stop = debugger.wait_for_stop(30)
    assert stop is not None
    assert stop.reason == "paused"
    debugger.step()
    assert debugger.wait_for_stop(30) is not None
    frames = debugger.stop.frames()
    assert frames[0].name == ""
    debugger.cancel()
    thread.join(60)
    debugger.detach()
    assert errors


def test_frames_iterations_and_entries_are_told(session):
    """A stop shows counts, deferred iterations, values and their states in a loop."""
    found = _loop(limit=50, parallel_iterations=2)
    seen = []

    def look(debugger, stop):
        loop = next(frame for frame in stop.frames() if frame.name)
        nodes = {node.name: node for node in stop.nodes()}
        seen.append((loop, nodes))
        debugger.resume()

    with Script(look).attach(session) as debugger:
        debugger.break_at("loop/twice", iteration=5)
        session.run(found)
    loop, nodes = seen[0]
    assert loop.name.startswith("loop")
    assert loop.parallel_iterations == 2
    assert 1 <= len(loop.iterations) <= 2
    assert loop.parent_id == 0
    twice = nodes["loop/twice"]
    assert twice.state is NodeState.RUNNING
    assert [entry.state for entry in twice.inputs] == [EntryState.VALUE] * 2
    assert twice.inputs[0].value == 32.0
    later = nodes["loop/NextIteration_1"]
    assert later.state is NodeState.UNREADY
    assert later.inputs[0].state is EntryState.MISSING
    assert later.missing == ("loop/twice",)


def test_a_ready_node_is_run_first_if_the_user_says_so(session):
    """A ready node may be run first, because their order is free.

    A node that is not ready is refused.
    """
    a = tf.constant(1.0, name="a")
    b = tf.constant(2.0, name="b")
    c = tf.add(a, b, name="c")

    def other(debugger, stop):
        with pytest.raises(ValueError, match="'c' is not ready"):
            debugger.run_next("c")
        debugger.run_next("b" if stop.node == "a" else "a")

    script = Script(other, _step, _step)
    with script.attach(session, stop_at_start=True):
        assert session.run(c) == 3.0
    assert {script.places[0][1], script.places[1][1]} == {"a", "b"}
    assert script.places[2][1] == script.places[0][1]


def test_a_function_is_entered_by_step_and_passed_by_step_over():
    """The body's nodes are separate stops, which name their function."""

    @function.Defun(tf.float32, func_name="body", noinline=True)
    def body(x):
        return tf.square(x, name="inner")

    with tf.Graph().as_default(), tf.Session() as session:
        y = tf.identity(body(tf.constant(3.0, name="x")), name="y")
        for way, enters in (("step", True), ("step_over", False)):
            functions = []

            def go(debugger, stop, way=way, functions=functions):
                functions.append(stop.function)
                getattr(debugger, way)()

            with Script(*[go] * 50).attach(session, stop_at_start=True):
                assert session.run(y) == 9.0
            assert ("body" in functions) is enters


def test_a_tensor_is_evaluated_in_a_step_of_its_own_while_another_stands(session):
    """An evaluation runs in a step of its own, without stops."""
    x = tf.constant(2.0, name="x")
    y = tf.square(x, name="y")
    script = Script(lambda debugger, stop: (debugger.evaluate(y + 1.0), debugger.resume()))
    with script.attach(session) as debugger:
        debugger.break_at("y")
        assert session.run(y) == 4.0
    assert script.seen[0][0] == 5.0
    assert len(script.places) == 1


def test_a_watched_tensor_keeps_its_values_of_every_iteration(session):
    """Watched tensors need not be fetchable; dead values are left out of the stack."""
    found = _loop(limit=4)
    with Debugger(session) as debugger:
        watched = debugger.watch("loop/twice")
        session.run(found)
    assert watched.stacked().tolist() == [2.0, 4.0, 8.0, 16.0]
    assert watched.last == 16.0
    assert [row.iteration for row in watched.values if row.value is not None] == [0, 1, 2, 3]
    assert len(watched.sparkline()) == 4


def test_a_listener_that_raises_is_dropped_and_the_step_goes_on(session, caplog):
    """An exception in a listener does not end the step."""

    def bad(stop):
        raise OSError("no screen")

    y = tf.square(tf.constant(2.0), name="y")
    with Debugger(session, on_stop=bad) as debugger:
        debugger.break_at("y")
        assert session.run(y) == 4.0
    assert "no screen" in caplog.text


def test_a_closed_session_ends_a_step_that_stands(session):
    """Closing the session wakes the thread that waits in the debugger."""
    y = tf.square(tf.constant(2.0), name="y")
    errors = []
    debugger = Debugger(session).attach()
    debugger.break_at("y")

    def run():
        try:
            session.run(y)
        except tf.errors.CancelledError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert debugger.wait_for_stop(30) is not None
    session.close()
    thread.join(60)
    assert errors
    assert debugger.stop is None


def test_a_stop_that_is_over_says_so(session):
    """A stop that has ended keeps names, but no values."""
    kept = []
    y = tf.square(tf.constant(2.0), name="y")
    with Script(lambda debugger, stop: (kept.append(stop), debugger.resume())).attach(
        session
    ) as debugger:
        debugger.break_at("y")
        session.run(y)
        with pytest.raises(RuntimeError, match="No step stands"):
            debugger.step()
    assert kept[0].node == "y"
    assert kept[0].inputs == []
    with pytest.raises(RuntimeError, match="went on"):
        kept[0].frames()


def test_two_debuggers_of_one_session_are_refused(session):
    """The error of the second debugger names the first."""
    with Debugger(session), pytest.raises(RuntimeError, match="Another debugger"):
        Debugger(session).attach()


def test_writers_wait_for_readers_as_they_do_undebugged(session):
    """A read without an order relative to an assignment runs first, with or without a debugger."""
    v = tf.Variable(1.0, name="v", use_resource=False)
    seen = tf.add(v, 0.0, name="seen")
    write = tf.assign_add(v, 1.0, name="write")
    session.run(tf.global_variables_initializer())
    plain = [session.run([write, seen]) for _ in range(3)]
    session.run(tf.global_variables_initializer())
    with Script(*[_step] * 1000).attach(session, stop_at_start=True):
        stepped = [session.run([write, seen]) for _ in range(3)]
    assert stepped == plain


def test_results_are_those_of_an_undebugged_step(session):
    """Training steps, loops and queues give bit-equal results when they are stepped through."""
    v = tf.Variable(tf.ones([3]), name="v", use_resource=False)
    loss = tf.reduce_sum(tf.square(v * _loop()[1]), name="loss")
    train = tf.train.GradientDescentOptimizer(1e-3).minimize(loss)
    session.run(tf.global_variables_initializer())
    plain = [session.run([loss, train])[0] for _ in range(3)]
    session.run(tf.global_variables_initializer())
    with Script(*[_step] * 100_000).attach(session, stop_at_start=True):
        stepped = [session.run([loss, train])[0] for _ in range(3)]
    np.testing.assert_array_equal(plain, stepped)


def test_states_around_are_those_of_the_iteration_where_the_step_stands(session):
    """States refer to the current iteration: an inner loop that it has not entered is not ready."""
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i, y):
        inner = tf.while_loop(
            lambda j, _: j < 2,
            lambda j, z: (j + 1, tf.negative(z, name="in")),
            [0, y],
            name="inner",
        )[1]
        return i + 1, tf.square(inner, name="behind")

    loop = tf.while_loop(lambda i, _: i < 3, body, [0, x], name="outer", parallel_iterations=1)

    def look(debugger, stop):
        found = stop.states_around()
        debugger.resume()
        return found

    script = Script(look, look)
    with script.attach(session) as debugger:
        debugger.break_at("outer/LoopCond", iteration=1)
        debugger.break_at("outer/inner/in", iteration=1, once=True)
        session.run(loop, {x: 1.0})
    first, second = script.seen
    assert script.places[0][1] == "outer/inner/in"
    assert (first["outer/inner/in"], first["outer/behind"]) == (
        NodeState.RUNNING, NodeState.UNREADY
    )  # fmt: skip
    assert first["_arg_x_0_0"] == first["outer/LoopCond"] == NodeState.DONE
    assert second["outer/LoopCond"] == NodeState.RUNNING
    assert second["outer/behind"] == second["outer/inner/in"] == NodeState.UNREADY


def test_a_pause_stops_an_endless_loop_that_is_watched() -> None:
    """A pause stops an endless loop that another observer watches and no breakpoint can stop."""
    is_running = threading.Event()
    with tf.Graph().as_default(), tf.Session() as session:

        def run(k):
            is_running.set()
            return k

        def body(k):
            found = tf.py_func(run, [k], tf.int32)
            found.set_shape([])
            return found

        endless = tf.while_loop(lambda k: k >= 0, body, [0], name="forever")
        events = session.runtime.step_events
        events.add(StepRecorder(EventLog(), 0))
        debugger = Debugger(session, on_stop=lambda stop: debugger.cancel())
        debugger.break_at("nowhere")
        with debugger:
            thread = threading.Thread(target=lambda: is_running.wait(60) and debugger.pause())
            thread.start()
            with pytest.raises(tf.errors.CancelledError):
                session.run(endless)
            thread.join(60)


def test_an_interrupt_at_any_moment_of_a_stop_lets_the_next_step_stop(session):
    """Also beside the calls that begin and end a stop; the next step is another thread's."""
    y = tf.add(tf.constant(1.0), 2.0, name="y")
    places = []

    def go_on(stop):
        places.append(stop.node)
        debugger.resume()

    for number in itertools.count(1):
        debugger = Debugger(session, on_stop=go_on)
        debugger.break_at(y)
        at = InterruptAt(number, Debugger, threading)
        with debugger:
            with suppress(KeyboardInterrupt), at:
                session.run(y)
            assert debugger.stop is None
            places.clear()
            thread = threading.Thread(target=session.run, args=(y,), daemon=True)
            thread.start()
            thread.join(100)
            assert not thread.is_alive()
            assert places == ["y"]
        if not at.has_raised:
            assert number > 20
            return


def test_an_interrupt_at_any_moment_of_waiting_for_a_stop_lets_steps_go_on(session):
    """The thread that waited holds nothing that a step needs."""
    y = tf.add(tf.constant(1.0), 2.0, name="y")
    for number in itertools.count(1):
        debugger = Debugger(session)
        debugger.break_at(y)
        at = InterruptAt(number, Debugger, threading)
        with debugger:
            with suppress(KeyboardInterrupt), at:
                debugger.wait_for_stop(0.001)
            thread = threading.Thread(target=session.run, args=(y,), daemon=True)
            thread.start()
            assert debugger.wait_for_stop(100) is not None
            debugger.resume()
            thread.join(100)
            assert not thread.is_alive()
        if not at.has_raised:
            assert number > 2
            return
