"""Quick steps give the results of other steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.step_events import StepObserver

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def session() -> Iterator[tf.Session]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as found:
        yield found


def settled(session: tf.Session, fetches: Any, feeds: Any = None) -> Any:
    """Run until the quick step is used; return the prepared signature."""
    for _ in range(4):
        session.run(fetches, feeds)
    (plan,) = session.plans.values()
    return plan.executors


def test_it_gives_what_other_steps_give_and_the_caller_may_write_to_it(session: tf.Session) -> None:
    """Scalars and arrays, fed and constant, in another order than the runtime's."""
    x = tf.placeholder(tf.float32, [3])
    fetches = {"b": x + 1.0, "a": tf.constant([1.0, 2.0]), "c": tf.reduce_sum(x), "d": x * 2.0}
    feeds = {x: np.arange(3)}
    first = session.run(fetches, feeds)
    assert settled(session, fetches, feeds).quick is not None
    for _ in range(2):
        again = session.run(fetches, feeds)
        for name, value in first.items():
            assert type(again[name]) is type(value)
            np.testing.assert_array_equal(again[name], value)
        again["a"][:] = again["b"][:] = 7.0


def test_a_new_observer_sees_the_next_step(session: tf.Session) -> None:
    """An observer sees the steps between its begin and its end."""
    x = tf.placeholder(tf.float32)
    y = x + 1.0
    assert settled(session, y, {x: 1.0}).quick is not None
    seen: list[int] = []

    class Counter(StepObserver):
        def step_done(self, step_id: int, t_ns: int, error: str | None) -> None:
            seen.append(step_id)

    counter = Counter()
    session.runtime.step_events.add(counter)
    session.run(y, {x: 1.0})
    session.runtime.step_events.remove(counter)
    session.run(y, {x: 1.0})
    assert len(seen) == 1


def test_errors_name_the_node_and_leave_nothing_behind(session: tf.Session) -> None:
    """The next step runs, and NumPy's error settings are restored."""
    x = tf.placeholder(tf.int32, [None])
    y = tf.floordiv(6, x, name="quotient")
    assert settled(session, y, {x: [2]}).quick is not None
    with np.errstate(divide="raise", over="warn"):
        before = np.geterr()
        with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero") as met:
            session.run(y, {x: [0]})
        assert np.geterr() == before
    assert met.value.op is y.op
    assert session.run(y, {x: [3]}) == [2]
    assert not session.runtime.active_steps()


def test_a_closed_session_refuses(session: tf.Session) -> None:
    """A callable that bypasses the client session is refused, too."""
    y = tf.constant(1.0) + 2.0
    call = session.make_callable(y)
    for _ in range(4):
        assert call() == 3.0
    assert settled(session, y).quick is not None
    session.close()
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        call()


def test_steps_that_need_more_go_the_other_way(session: tf.Session) -> None:
    """Loops, kernels that use their step, and fetches that may be dead have no quick step."""
    x = tf.placeholder(tf.float32, [])
    for fetch in (
        tf.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [x]),
        tf.TensorArray(tf.float32, 1).write(0, x).read(0),
        tf.raw_ops.Switch(data=x, pred=tf.greater(x, 0.0))[1],
    ):
        assert settled(session, fetch, {x: 1.0}).quick is None
        session.plans.clear()


@pytest.mark.parametrize("use_resource", [False, True])
def test_variables_are_read_and_written_the_short_way(
    session: tf.Session, use_resource: bool
) -> None:
    """Kernels of variables use their node only; another session has its own variables."""
    x = tf.placeholder(tf.float32, [])
    v = tf.Variable(1.0, use_resource=use_resource)
    init, y, count = tf.global_variables_initializer(), v + x, v.assign_add(x)
    with tf.Session(graph=session.graph) as other:
        for number, one in enumerate((session, other)):
            one.run(init)
            one.plans.clear()
            assert settled(one, count, {x: 0.0}).quick is not None
            one.plans.clear()
            for _ in range(3 + number):
                assert one.run(count.op, {x: 2.0}) is None
            one.plans.clear()
            assert settled(one, y, {x: 0.5}).quick is not None
            assert one.run(y, {x: 0.5}) == 7.5 + 2 * number


def test_a_fetch_belongs_to_the_caller_even_if_the_array_is_shared(session: tf.Session) -> None:
    """An array that is fetched twice, assigned or passed on is copied."""
    x = tf.placeholder(tf.float32, [2])
    y = x + 1.0
    v = tf.Variable([0.0, 0.0])
    session.run(v.initializer)
    kept = tf.assign(v, y)
    expected = {"alone": True, "twice": False, "assigned": False, "fed on": False}
    cases = {"alone": [y * 2.0], "twice": [y, tf.identity(y)], "assigned": [y, kept.op]}
    cases["fed on"] = [y, tf.identity(x)]
    fed = np.ones(2, np.float32)
    for name, fetches in cases.items():
        session.plans.clear()
        prepared = settled(session, fetches, {x: fed})
        assert prepared.executors.alone.warm_up.lowered.only.owns_fetches is expected[name]
        first, *others = session.run(fetches, {x: fed})
        first[:] = 7.0
        assert not any(np.any(other == 7.0) for other in others if other is not None)
    assert session.run(v).tolist() == [2.0, 2.0]
    assert fed.tolist() == [1.0, 1.0]


def test_a_number_beside_an_array_or_a_number_gives_the_same_either_way(
    session: tf.Session,
) -> None:
    """Beside an array the number is converted to an array, which is faster; results are equal."""
    x = tf.placeholder(tf.float32)
    y = (1.0 - x) / 3.0
    first = session.run(y, {x: 0.3}), session.run(y, {x: [0.3, 0.4]})
    assert settled(session, y, {x: 0.3}).quick is not None
    for value, wanted in zip((0.3, [0.3, 0.4]), first, strict=True):
        found = session.run(y, {x: value})
        assert type(found) is type(wanted)
        np.testing.assert_array_equal(found, wanted)
    assert "a if v" in "".join(session.emitted_sources())


def test_a_variable_that_was_dropped_is_made_anew(session: tf.Session) -> None:
    """A kernel keeps the variable's cell only as long as the resource manager does."""
    v = tf.compat.v1.get_variable("v", initializer=1.0, use_resource=False)
    session.run(v.initializer)
    session.plans.clear()
    assert settled(session, v).quick is not None
    session.runtime.device_mgr.host.resource_manager.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
        session.run(v)
    session.run(v.initializer)
    assert session.run(v) == 1.0


def test_a_number_in_a_variable_is_updated_or_refused_as_on_the_reference(
    session: tf.Session,
) -> None:
    """The value to add may have another form than the variable's value."""
    x = tf.placeholder(tf.float32)
    for use_resource in (False, True):
        v = tf.Variable(1.0, use_resource=use_resource)
        more, less = v.assign_add(x).op, v.assign_sub(x).op
        session.run(v.initializer)
        for change, wanted in ((more, 9.0), (less, 1.0)):
            session.plans.clear()
            assert settled(session, change, {x: 2.0}).quick is not None
            assert session.run(v) == wanted
            with np.errstate(all="raise"), pytest.raises(tf.errors.InvalidArgumentError):
                session.run(change, {x: [2.0]})
        huge = np.float32(3e38)
        with np.errstate(all="raise"):
            session.run(more, {x: huge})
            session.run(more, {x: huge})
            assert np.geterr()["over"] == "raise"
        assert np.isinf(session.run(v))


def test_a_variable_without_a_value_is_refused(session: tf.Session) -> None:
    """The error names the reading node, also after steps that found a value."""
    v = tf.Variable(1.0, use_resource=False, name="v")
    change = tf.assign_add(v, 1.0).op
    session.run(v.initializer)
    session.plans.clear()
    assert settled(session, change).quick is not None
    session.runtime.device_mgr.host.resource_manager.clear()
    with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v") as met:
        session.run(change)
    assert met.value.op is change
