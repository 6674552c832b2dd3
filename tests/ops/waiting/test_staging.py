"""Staging areas and critical sections: waiting, order, limits, and errors inside."""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.core.cancellation import CancellationManager
from tfnb.library.queues.staging_areas import MapStagingArea, StagingArea
from tfnb.ops.waiting.staging_kernels import StagingBuffer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_get_waits_for_a_put_of_the_same_step(sess: Any) -> None:
    """One thread runs both; maps do the same by key."""
    area, by_key = StagingArea([tf.int32]), MapStagingArea([tf.int32])
    key = tf.constant(7, tf.int64)
    found = sess.run([area.get(), area.put([tf.constant(3)])])
    assert found[0] == [3]
    found = sess.run([by_key.get(), by_key.put(key, [tf.constant(4)], [0])])
    assert found[0] == (7, [4])
    found = sess.run([by_key.peek(key), by_key.put(key, [tf.constant(5)], [0])])
    assert found[0] == [5]


def _note(heard: list[Any], what: Any, _: Any) -> None:
    heard.append(what)


def test_a_put_into_a_full_area_waits() -> None:
    """Limits are numbers and bytes; a get lets the next put continue."""
    for limits in ({"capacity": 1, "memory_limit": 0}, {"capacity": 0, "memory_limit": 6}):
        area, manager, heard = StagingBuffer("area", **limits), CancellationManager(), []
        for number in (1, 2, 3):
            area.put([np.int32(number)], partial(_note, heard, number), manager)
        assert heard == [1]
        area.get(heard.append, manager)
        assert heard[1:] == [(np.int32(1),), 2] or heard[1:] == [2, (np.int32(1),)]
        area.clear()
        assert heard[-1] == 3
        assert area.size() == 1


def test_a_cancelled_get_takes_nothing() -> None:
    """The waiting get raises an error; the next element stays inside."""
    area, manager, heard = StagingBuffer("area", 0, 0), CancellationManager(), []
    area.get(heard.append, manager)
    manager.start_cancel()
    assert [str(error) for error in heard] == ["Unstage operation was cancelled"]
    area.put([np.int32(1)], heard.append, CancellationManager())
    assert area.size() == 1


def test_a_waiting_get_ends_with_its_session() -> None:
    """Closing the session cancels it."""
    caught: list[BaseException] = []
    started = threading.Event()

    def wait(session: Any, fetch: Any) -> None:
        started.set()
        try:
            session.run(fetch)
        except (tf.errors.CancelledError, RuntimeError) as error:
            caught.append(error)

    with tf.Graph().as_default():
        session = tf.Session()
        fetch = StagingArea([tf.int32]).get()
        thread = threading.Thread(target=wait, args=(session, fetch))
        thread.start()
        started.wait(60)
        session.close()
        thread.join(60)
    assert len(caught) == 1


def test_a_failure_inside_a_critical_section_lets_others_in(sess: Any) -> None:
    """The lock is released with the step."""
    section = tf.CriticalSection()
    x = tf.placeholder(tf.int32, [])
    fails = section.execute(lambda: tf.constant(1) // x)
    works = section.execute(lambda: tf.constant(5))
    with pytest.raises(tf.errors.InvalidArgumentError):
        sess.run(fails, {x: 0})
    assert sess.run(works) == 5
    assert sess.run(fails, {x: 1}) == 1


def test_a_critical_section_is_not_entered_twice(sess: Any) -> None:
    """Two sections may share a resource only if both allow it."""
    section = tf.CriticalSection()
    with pytest.raises(ValueError, match="in which we are already running"):
        section.execute(lambda: section.execute(lambda: tf.constant(1)))
    v = tf.get_variable("v", [], use_resource=True)
    section.execute(lambda: v + 1.0)
    with pytest.raises(ValueError, match="requested exclusive resource access"):
        tf.CriticalSection(shared_name="other").execute(
            lambda: v + 1.0, exclusive_resource_access=False
        )


def test_limits_are_not_negative(sess: Any) -> None:
    """Negative limits are refused, and so are missing components."""
    with pytest.raises(ValueError, match="capacity must be >= 0 and is -1"):
        StagingArea([tf.int32], capacity=-1)
    with pytest.raises(ValueError, match="Unexpected number of inputs 1 vs"):
        StagingArea([tf.int32] * 2).put([tf.constant(1)])
    with pytest.raises(tf.errors.InvalidArgumentError, match="index must not be negative"):
        sess.run(StagingArea([tf.int32]).peek(-1))


def test_an_index_of_a_map_is_one_of_its_components(sess: Any) -> None:
    """An index out of bounds is an error."""
    area = tf.raw_ops.MapStage(
        key=1, indices=[3], values=[tf.constant(1)], dtypes=[tf.int32], shared_name="m"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="Index '3' for key '1' was out of"):
        sess.run(area)
