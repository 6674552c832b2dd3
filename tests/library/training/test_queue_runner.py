"""Queue runners: threads that fill queues until the source ends, fails, or is stopped."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def sess() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def _counting(limit: int) -> Any:
    """Return a number that counts up to a limit."""
    counter = tf.Variable(0, name="counter")
    return counter.count_up_to(limit)


def test_threads_fill_the_queue_until_the_source_ends(sess: Any) -> None:
    """The last thread closes the queue."""
    queue = tf.FIFOQueue(100, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(_counting(10))] * 3)
    sess.run(tf.global_variables_initializer())
    threads = runner.create_threads(sess, start=True)
    for thread in threads:
        thread.join(60)
    assert len(threads) == 3
    assert sorted(sess.run(queue.dequeue_many(10)).tolist()) == list(range(10))
    assert sess.run(queue.is_closed())
    assert runner.exceptions_raised == []


def test_threads_are_named_and_made_once(sess: Any) -> None:
    """While they run, the session gets no further threads."""
    queue = tf.FIFOQueue(1, tf.int32, name="q")
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1, name="put")])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(sess, coord, daemon=True)
    assert [thread.name for thread in threads] == [
        "QueueRunnerThread-q-put",
        "QueueRunnerThread-q-close_on_stop",
    ]
    assert all(thread.daemon for thread in threads)
    assert runner.create_threads(sess, coord) == []
    with tf.Session() as other:
        assert len(runner.create_threads(other)) == 1
    for thread in threads:
        thread.start()
    coord.request_stop()
    coord.join()


def test_a_coordinator_ends_enqueues_that_wait_for_room(sess: Any) -> None:
    """The cancel op ends an enqueue into a full queue."""
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(5)]))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    assert sess.run(queue.dequeue_many(5)).tolist() == [5] * 5
    coord.request_stop()
    coord.join(threads)
    assert not any(thread.is_alive() for thread in threads)


def test_a_failure_reaches_the_coordinator(sess: Any) -> None:
    """join raises the error."""
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    x = tf.constant(1) // tf.constant(0)
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(x)]))
    coord = tf.train.Coordinator()
    with sess.as_default():
        tf.train.start_queue_runners(coord=coord)
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        coord.join()


def test_a_failure_without_a_coordinator_is_kept(
    sess: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is stored, and the thread ends."""
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.constant(1) // tf.constant(0))])
    for thread in runner.create_threads(sess, start=True):
        thread.join(60)
    assert [type(error) for error in runner.exceptions_raised] == [tf.errors.InvalidArgumentError]


def test_another_error_may_be_the_end(sess: Any) -> None:
    """queue_closed_exception_types lists the accepted classes."""
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
    runner = tf.train.QueueRunner(
        queue,
        [queue.enqueue(tf.constant(1) // tf.constant(0))],
        queue_closed_exception_types=(tf.errors.InvalidArgumentError,),
    )
    for thread in runner.create_threads(sess, start=True):
        thread.join(60)
    assert runner.exceptions_raised == []
    assert sess.run(queue.is_closed())


def test_types_that_are_no_errors_are_refused(sess: Any) -> None:
    """An empty tuple is refused, too."""
    queue = tf.FIFOQueue(2, tf.int32)
    for types in ((), (ValueError,), [tf.errors.OutOfRangeError]):
        with pytest.raises(TypeError, match=r"must be a tuple of tf\.error types"):
            tf.train.QueueRunner(queue, [queue.size()], queue_closed_exception_types=types)


def test_starting_nothing_warns(sess: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Without a runner in the collection a warning says that the call is superfluous."""
    assert tf.train.start_queue_runners(sess) == []
    assert "no queue runners were defined" in caplog.text


def test_files_become_batches(sess: Any, tmp_path: Path) -> None:
    """The pipeline has names, lines, columns, batches, and the end of the input."""
    for name, start in (("a", 0), ("b", 3)):
        lines = "".join(f"{i},{i / 2}\n" for i in range(start, start + 3))
        (tmp_path / f"{name}.csv").write_text(lines)
    names = tf.train.match_filenames_once(str(tmp_path / "*.csv"))
    files = tf.train.string_input_producer(names, num_epochs=2, shuffle=False)
    _, line = tf.TextLineReader().read(files)
    number, half = tf.decode_csv(line, [[0], [0.0]])
    batch = tf.train.batch([number, half], 5, allow_smaller_final_batch=True)
    sess.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    seen: list[int] = []
    try:
        while not coord.should_stop():
            numbers, halves = sess.run(batch)
            assert (halves == numbers / 2).all()
            seen += numbers.tolist()
    except tf.errors.OutOfRangeError:
        coord.request_stop()
    coord.join(threads)
    assert seen == [*range(6), *range(6)]


def test_sparse_elements_are_batched(sess: Any) -> None:
    """Each row keeps its entries; the batch has the width of the widest."""
    first = tf.SparseTensor([[0], [2]], [1.0, 2.0], [3])
    second = tf.SparseTensor([[4]], [3.0], [5])
    batches = tf.train.batch_join([[first, tf.constant(1)], [second, tf.constant(2)]], 2)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    sparse, labels = sess.run(batches)
    coord.request_stop()
    coord.join(threads)
    rows = {1: {0: 1.0, 2: 2.0}, 2: {4: 3.0}}
    found: list[dict[int, float]] = [{}, {}]
    for (row, column), value in zip(sparse.indices, sparse.values, strict=True):
        found[row][int(column)] = float(value)
    assert found == [rows[int(label)] for label in labels]
    assert sparse.dense_shape.tolist() == [2, 5 if 2 in labels.tolist() else 3]


def test_sources_of_a_batch_are_compared() -> None:
    """Their names must be equal; the static shapes are those of the first source."""
    join = tf.train.batch_join
    with pytest.raises(ValueError, match="must have the same keys"):
        join([{"a": 1, "b": 2}, {"a": 1, "c": 2}], 2)
    with pytest.raises(ValueError, match="must have the same keys"):
        join([{"a": 1}, [1]], 2)
    unknown = tf.placeholder_with_default([1], [None])
    for sources, length in (([unknown, [1, 2]], None), ([[1, 2], unknown], 2)):
        batches = join([[one] for one in sources], 3, dynamic_pad=True)
        assert batches.shape.as_list() == [3, length]


def test_rows_are_kept_by_a_vector(sess: Any) -> None:
    """maybe_batch with enqueue_many keeps the rows whose condition is true."""
    keep = tf.constant([True, False, True, False])
    sparse = tf.SparseTensor([[0, 0], [1, 1], [2, 0], [3, 2]], [1, 2, 3, 4], [4, 3])
    batch = tf.train.maybe_batch([tf.range(4), sparse], keep, 2, enqueue_many=True)
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    numbers, found = sess.run(batch)
    coord.request_stop()
    coord.join(threads)
    assert numbers.tolist() == [0, 2]
    assert found.values.tolist() == [1, 3]
    assert found.indices.tolist() == [[0, 0], [1, 0]]


def test_shuffled_slices_hold_every_row(sess: Any) -> None:
    """slice_input_producer and shuffle_batch give each row once per epoch."""
    rows = tf.constant([[i, i * i] for i in range(7)])
    (row,) = tf.train.slice_input_producer([rows], num_epochs=2, seed=1)
    batch = tf.train.shuffle_batch([row], 4, 20, 5, seed=2, allow_smaller_final_batch=True)
    sess.run(tf.local_variables_initializer())
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    seen: list[int] = []
    while not coord.should_stop():
        with coord.stop_on_exception():
            seen += [int(a) for a, _ in sess.run(batch)]
    coord.request_stop()
    coord.join(threads)
    assert sorted(seen) == sorted([*range(7), *range(7)])
