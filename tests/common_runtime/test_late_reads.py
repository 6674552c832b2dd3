"""The value of a reference variable is read by the op that computes with it."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering


def values(session: Any, fetches: Any, feeds: Any = None) -> list[float]:
    """Return the values of the fetches, as lists."""
    return [np.asarray(x).tolist() for x in session.run(fetches, feeds)]


@pytest.fixture(params=[False, True], ids=["plain", "with a loop"])
def session(request: pytest.FixtureRequest) -> Any:
    """A session in which some signatures have a loop, and therefore no fixed order."""
    with tf.Graph().as_default(), tf.Session() as found:
        tf.add_to_collection("loop", tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]))
        found.more = [tf.get_collection("loop")[0]] if request.param else []
        yield found


def test_an_op_behind_an_assignment_computes_with_what_was_assigned(session):
    """The Identity that passes the reference ran before the assignment."""
    v = tf.Variable([1.0, 2.0], use_resource=False)
    with tf.control_dependencies([tf.assign(v, [5.0, 6.0])]):
        same, double = tf.identity(v), v * 2.0
    with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
        more = v + 0.0
    session.run(v.initializer)
    found = values(session, [same, double, *session.more])
    assert found[:2] == [[5, 6], [10, 12]]
    assert values(session, [more, *session.more])[0] == [6, 7]


def test_moving_averages_behind_a_training_step_are_those_of_the_new_weights(session):
    """The example is TensorFlow's own for moving averages."""
    v = tf.Variable(1.0, use_resource=False)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(3.0 * v)
    averages = tf.train.ExponentialMovingAverage(0.75)
    with tf.control_dependencies([step]):
        both = averages.apply([v])
    session.run(tf.global_variables_initializer())
    session.run([both, *session.more])
    assert session.run([v, averages.average(v)]) == [-0.5, 0.625]


@pytest.mark.parametrize("use_resource", [False, True])
def test_what_is_computed_beside_a_training_step_is_of_the_old_weights(session, use_resource):
    """The order is open in the graph, and does not depend on the order of construction."""
    v = tf.Variable(2.0, use_resource=use_resource)
    before = v * 10.0
    step = tf.assign_sub(v, 1.0)
    after = tf.sqrt(tf.square(v)) * 10.0
    session.run(v.initializer)
    for start in (20.0, 10.0):
        found = values(session, [step, before, after, *session.more])
        assert found[1:3] == [start, start]


def test_a_slice_and_a_count_are_written_after_the_variable_was_read(session):
    """Every op that writes through the variable's handle counts as a writer."""
    v = tf.Variable([1.0, 2.0], use_resource=True)
    n = tf.Variable(3, use_resource=True)
    update = tf.raw_ops.ResourceStridedSliceAssign(
        ref=v.handle, begin=[0], end=[1], strides=[1], value=[9.0]
    )
    count = tf.raw_ops.ResourceCountUpTo(resource=n.handle, limit=8, T=tf.int32)
    both = v.read_value(), n.read_value()
    session.run(tf.global_variables_initializer())
    assert values(session, [*both, update, count, *session.more])[:2] == [[1, 2], 3]
    assert values(session, [*both, *session.more])[:2] == [[9, 2], 4]


@pytest.mark.parametrize(("size", "expected"), [(2, 4.0), (32, 1.0)])
def test_weights_clipped_beside_a_large_forward_pass_are_clipped_before_it(session, size, expected):
    """As in TensorFlow, small updates run before large products and the nodes behind them."""
    x = tf.placeholder(tf.float32, [1, size])
    first = tf.Variable(np.full([size, size], 4.0, np.float32), use_resource=False)
    second = tf.Variable(np.full([size, 1], 4.0, np.float32), use_resource=False)
    loss = tf.reduce_sum(tf.matmul(tf.matmul(x, first) / size, second)) / size
    step = tf.train.GradientDescentOptimizer(1.0).minimize(-loss)
    clip = [v.assign(tf.clip_by_value(v, -1.0, 1.0)) for v in (first, second)]
    feeds = {x: np.ones([1, size])}
    for fetches in (clip, [step, *clip]):
        for _ in range(3):  # the second step of a signature goes another way than the first
            session.run(tf.global_variables_initializer())
            assert session.run([loss, fetches, *session.more], feeds)[0] == expected**2
    session.run(tf.global_variables_initializer())
    # An update that depends on the loss runs after the loss has read.
    assert session.run([loss, step, *session.more], feeds)[0] == 16.0


def test_fetching_a_variable_beside_an_assignment_gives_what_it_is_at_the_end(session):
    """The reference and its read value give the last value; a copy gives the first."""
    v = tf.Variable(2.0, use_resource=False)
    copy = v + 0.0
    step = tf.assign_sub(v, 1.0)
    session.run(v.initializer)
    assert values(session, [v, v.value(), copy, step, *session.more])[:3] == [1.0, 1.0, 2.0]


@pytest.mark.parametrize("reader_device", ["/cpu:0", "/cpu:1"])
def test_fetching_a_variable_of_another_device_gives_what_it_is_at_the_end(reader_device):
    """The edge to the fetch is cut; the variable is read as late as on one device."""
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            v = tf.Variable([1.0, 1.0], use_resource=False)
            step = tf.assign_add(v, [1.0, 1.0])
        with tf.device(reader_device):
            read = tf.identity(tf.identity(v))
            computed = v * 1.0
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            session.run(v.initializer)
            # The second step of a signature runs in another way than the first.
            for number in (2.0, 3.0, 4.0):
                found = values(session, [v, read, step])
                assert found == [[number, number]] * 3
            fetched, before, _ = session.run(["Variable:0", computed, step.op])
            assert fetched.tolist() == [5.0, 5.0]
            assert before.tolist() == [4.0, 4.0]
            with tf.device("/cpu:1"):
                empty = tf.Variable([1.0], use_resource=False)
            with pytest.raises(tf.errors.FailedPreconditionError, match="Variable_1"):
                session.run(empty)


def _two_devices(when: Lowering, *, with_threads: bool) -> contextlib.AbstractContextManager[Any]:
    """Return a session with two CPU devices whose steps run in one way."""

    @contextlib.contextmanager
    def opened() -> Any:
        config = tf.ConfigProto(device_count={"CPU": 2})
        if with_threads:
            config.use_per_session_threads = True
            config.inter_op_parallelism_threads = 3
        with lowering(when), tf.Session(config=config) as session:
            yield session

    return opened()


@pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])
@pytest.mark.parametrize("with_threads", [False, True])
def test_a_reader_on_another_device_gets_what_was_assigned_before_it(when, with_threads):
    """Both devices have the variable's own buffer; a reader that waits for nothing reads first."""
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            v = tf.Variable([1.0, 2.0], use_resource=False)
            first = tf.assign(v, [10.0, 20.0])
            slow = tf.matmul(tf.ones([50, 50]), tf.ones([50, 50]) * first[0])
        with tf.device("/cpu:0"):
            passed_on = tf.identity(v)
            with tf.control_dependencies([slow]):
                read = tf.identity(v)
                doubled = v * 2.0
                through = passed_on + 1.0
                raw = v.read_value() * 3.0
            computed = read * 1.0
        with tf.device("/cpu:1"), tf.control_dependencies([doubled]):
            second = tf.assign_add(v, [100.0, 100.0])
        with tf.device("/cpu:0"), tf.control_dependencies([second]):
            later = v - 1.0
        with _two_devices(when, with_threads=with_threads) as session:
            for _ in range(3):
                for fetches, expected in (
                    ([computed, read], [[10.0, 20.0]] * 2),
                    (computed, [10.0, 20.0]),
                    (through, [11.0, 21.0]),
                    (raw, [30.0, 60.0]),
                    ([doubled, later], [[20.0, 40.0], [109.0, 119.0]]),
                    (later, [109.0, 119.0]),
                ):
                    session.run(v.initializer)
                    assert values(session, [fetches])[0] == expected
                    assert values(session, [v])[0][0] in (10.0, 110.0)
                    session.run(v.initializer)
                    traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
                    found = session.run(fetches, options=traced, run_metadata=tf.RunMetadata())
                    assert np.asarray(found).tolist() == expected


@pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])
def test_readers_on_another_device_that_wait_for_nothing_read_before_an_assignment(when):
    """Only the tensor of a reader behind the assignment is the variable's buffer."""
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            v = tf.Variable([1.0, 2.0], use_resource=False)
            step = tf.assign(v, [10.0, 20.0])
        with tf.device("/cpu:0"):
            before = v * 1.0
            with tf.control_dependencies([step]):
                after = v * 1.0
        with _two_devices(when, with_threads=False) as session:
            for _ in range(3):
                session.run(v.initializer)
                found = values(session, [before, after, step])
                assert found == [[1.0, 2.0], [10.0, 20.0], [10.0, 20.0]]


@pytest.mark.parametrize("when", [Lowering.NEVER, Lowering.ALWAYS])
def test_a_branch_and_a_loop_on_another_device_read_what_was_assigned(when):
    """The cell passes a Switch and an Enter before its edge is cut; a dead one passes, too."""
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            v = tf.Variable(1.0, use_resource=False)
            chosen = tf.placeholder(tf.bool, [])

        def assigned():
            with tf.device("/cpu:1"):
                step = tf.assign_add(v, 10.0)
            with tf.device("/cpu:0"), tf.control_dependencies([step]):
                return v * 2.0

        def body(i, total):
            with tf.device("/cpu:1"):
                step = tf.assign_add(v, 1.0)
            with tf.device("/cpu:0"), tf.control_dependencies([step]):
                return i + 1, total + tf.identity(v)

        with tf.device("/cpu:0"):
            branch = tf.cond(chosen, assigned, lambda: tf.constant(-1.0))
            loop = tf.while_loop(lambda i, _: i < 3, body, [0, 0.0])[1]
        with _two_devices(when, with_threads=False) as session:
            for _ in range(3):
                session.run(v.initializer)
                assert session.run(branch, {chosen: False}) == -1.0
                assert session.run(branch, {chosen: True}) == 22.0
                session.run(v.initializer)
                assert session.run(loop) == 2.0 + 3.0 + 4.0


def test_a_branch_reads_what_it_assigned():
    """The value passes a Switch, and the dead side assigns nothing."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, use_resource=False)
        p = tf.placeholder(tf.bool, [])

        def add() -> Any:
            with tf.control_dependencies([tf.assign_add(v, 100.0)]):
                return tf.identity(v)

        y = tf.cond(p, add, lambda: tf.identity(v))
        session.run(v.initializer)
        assert [session.run(y, {p: flag}) for flag in (False, True, False)] == [1.0, 101.0, 101.0]


def test_a_loop_reads_what_its_body_assigned():
    """The value is a constant of the loop."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, use_resource=False)

        def body(i: Any, total: Any) -> Any:
            with tf.control_dependencies([tf.assign_add(v, 1.0)]):
                return i + 1, total + v

        _, total = tf.while_loop(lambda i, _: i < 4, body, [0, 0.0], parallel_iterations=1)
        session.run(v.initializer)
        assert session.run(total) == 1 + 2 + 3 + 4


def test_a_variable_without_a_value_is_missed_where_it_is_named():
    """The Identity raises the error, not an op behind it."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, use_resource=False, name="v")
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(tf.exp(v))
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            session.run(v)


def test_a_partial_run_reads_late_too():
    """The second call computes with the value that the first assigned."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, use_resource=False)
        x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
        step, z = tf.assign_add(v, x), v * y
        session.run(v.initializer)
        handle = session.partial_run_setup([step, z], [x, y])
        assert session.partial_run(handle, step, {x: 2.0}) == 3.0
        assert session.partial_run(handle, z, {y: 10.0}) == 30.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use_resource", "is_traced"),
    [
        (False, False),
        (True, False),
        (False, True),
        pytest.param(True, True, marks=pytest.mark.repeats),
    ],
)
def test_a_loop_that_waits_for_an_assignment_beside_it_ends(use_resource, is_traced):
    """An assignment with open order waits for reads, but not forever."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, use_resource=use_resource)
        step = tf.assign(v, 1.0).op

        def is_waiting(i: Any) -> Any:
            with tf.control_dependencies([i]):
                return v.read_value() < 1.0

        rounds = tf.while_loop(is_waiting, lambda i: i + 1, [0])
        level = tf.RunOptions.SOFTWARE_TRACE if is_traced else tf.RunOptions.NO_TRACE
        options = tf.RunOptions(trace_level=level, timeout_in_ms=250_000)
        for _ in range(1 if is_traced else 3):
            session.run(v.initializer)
            found = session.run([rounds, step], options=options, run_metadata=tf.RunMetadata())
            assert found[0] > 0


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_loop_before_or_behind_an_assignment_is_one_function(use_resource):
    """A training step reads weights in a loop, and updates them after the loop."""
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, use_resource=use_resource)
        (total, _) = tf.while_loop(
            lambda _, i: i < 3, lambda s, i: (s + v.read_value(), i + 1), [0.0, 0]
        )
        update = tf.assign_add(v, total)
        with tf.control_dependencies([update]):
            behind, _ = tf.while_loop(
                lambda _, i: i < 2, lambda s, i: (s + v.read_value(), i + 1), [0.0, 0]
            )
        session.run(v.initializer)
        assert session.run([total, behind]) == [3.0, 8.0]
        assert len(session.emitted_sources()) >= 1
