"""Iterators while they wait, are interrupted, shared and closed."""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tests.interrupts import InterruptAt, interrupted
from tests.time_outs import let_time_out
from tfnb.ops.dataset import iterator_ops
from tfnb.ops.dataset.iterator_ops import IteratorResource


@pytest.fixture(autouse=True)
def graph():
    """A graph of the test's own."""
    with tf.Graph().as_default() as found:
        yield found


def with_timeout(milliseconds: int = 600_000) -> tf.Session:
    """Open a session whose steps time out."""
    return tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=milliseconds))


def next_of(dataset: Any) -> Any:
    """Return the tensors of a one-shot iterator."""
    return tf.data.make_one_shot_iterator(dataset).get_next()


def never(kind: str) -> Any:
    """Return a dataset whose next element never comes."""
    endless = tf.data.Dataset.range(1).repeat()
    return {
        "filter": endless.filter(lambda x: x > 5),
        "skip": endless.skip(2**62),
        "flat_map": endless.flat_map(lambda x: tf.data.Dataset.range(x)),
        "shard": endless.shard(2**62, 2**62 - 1),
        "unbatch": tf.data.Dataset.from_tensors(np.zeros([0])).repeat().unbatch(),
    }[kind]


@pytest.mark.parametrize("kind", ["filter", "skip", "flat_map", "shard", "unbatch"])
def test_an_element_that_never_comes_ends_with_the_deadline(kind: str) -> None:
    """DeadlineExceededError is raised, and the iterator stays usable."""
    element = next_of(never(kind))
    with with_timeout(50) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(element)


def test_an_interrupt_ends_a_long_get_next_and_leaves_the_iterator_usable() -> None:
    """The source continues behind the taken elements, and the iterator's lock is free."""
    started = threading.Event()
    is_open = [False]

    def passes(x: Any) -> Any:
        if x > 10 and not started.is_set():  # an interrupted `set` would keep the event's lock
            started.set()
        return np.bool_(is_open[0])

    dataset = tf.data.Dataset.range(10**9).filter(
        lambda x: tf.reshape(tf.py_func(passes, [x], tf.bool), [])
    )
    element = next_of(dataset)
    with tf.Session() as session:
        interrupted(partial(session.run, element), partial(started.wait, 60))
        is_open[0] = True
        first = session.run(element)
        assert first > 10
        assert session.run(element) == first + 1


def test_an_interrupt_at_any_moment_leaves_an_iterator_free() -> None:
    """Also beside the calls that take it and give it back."""
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(10**9))
    element = iterator.get_next()
    num_interrupts = 0
    with with_timeout(1000) as session:
        for run in (iterator.initializer, element):
            for number in itertools.count(1):
                at = InterruptAt(number, IteratorResource)
                with suppress(KeyboardInterrupt), at:
                    session.run(run)
                session.run(iterator.initializer)
                assert session.run(element) == 0
                if not at.has_raised:
                    break
                num_interrupts += 1
    assert num_interrupts > 8


def test_steps_ask_whether_to_end_until_it_is_their_turn(monkeypatch) -> None:
    """Also where several wait; one that ends gives its place up."""

    def end(ctx: object) -> None:
        raise tf.errors.CancelledError(None, None, "The step is to end.")

    monkeypatch.setattr(iterator_ops, "go_on_or_end", end)
    resource = IteratorResource([tf.int64], [tf.TensorShape([])])
    others = [iterator_ops._Turn() for _ in range(2)]
    resource._turns.extend(others)
    found: list[BaseException] = []

    def take() -> None:
        try:
            next(resource.get_next(None))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    assert [type(error) for error in found] == [tf.errors.CancelledError]
    assert resource._turns == others


def test_an_interrupt_loses_no_element_of_a_batch() -> None:
    """Gathered elements, and the one whose function was interrupted, come with the next batch."""
    started = threading.Event()

    def slow(x: Any) -> Any:
        if x == 5 and not started.is_set():
            started.set()
            never = threading.Event()
            for _ in range(6000):  # one that comes just before a wait is heard after it
                never.wait(0.01)
        return x

    dataset = tf.data.Dataset.range(12).map(
        lambda x: tf.reshape(tf.py_func(slow, [x], tf.int64), [])
    )
    element = next_of(dataset.batch(8))
    with tf.Session() as session:
        interrupted(partial(session.run, element), partial(started.wait, 60))
        assert session.run(element).tolist() == [*range(8)]
        assert session.run(element).tolist() == [*range(8, 12)]


def test_close_ends_a_get_next_of_another_thread() -> None:
    """The error is CancelledError, or that the session is closed."""
    started = threading.Event()

    def passes(x: Any) -> Any:
        started.set()
        return np.bool_(False)

    element = next_of(
        tf.data.Dataset.range(10**9).filter(
            lambda x: tf.reshape(tf.py_func(passes, [x], tf.bool), [])
        )
    )
    session = tf.Session()
    ended: list[BaseException] = []

    def run() -> None:
        try:
            session.run(element)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert started.wait(60)
    session.close()
    thread.join(60)
    assert not thread.is_alive()
    assert isinstance(ended[0], tf.errors.CancelledError | RuntimeError)


def test_a_function_may_wait_for_a_queue() -> None:
    """Another thread fills the queue; a deadline ends the wait, and loses its element."""
    queue = tf.FIFOQueue(4, tf.int64, shapes=[[]])
    taken: list[Any] = []

    def take(x: Any) -> Any:
        taken.append(x)
        return x

    # On a busy machine a deadline may end several steps before the function has begun.
    dataset = tf.data.Dataset.range(100).map(
        lambda x: tf.reshape(tf.py_func(take, [x], tf.int64), []) + queue.dequeue()
    )
    iterator = tf.data.make_initializable_iterator(dataset)
    element = iterator.get_next()
    put = queue.enqueue(tf.constant(10, tf.int64))
    with with_timeout() as session:
        session.run(iterator.initializer)
        session.run(put)
        assert session.run(element) == 10
        let_time_out(
            lambda limit: session.run(element, options=tf.RunOptions(timeout_in_ms=limit)),
            lambda: len(taken) > 1,
        )
        thread = threading.Thread(target=lambda: session.run(put))
        thread.start()
        assert session.run(element) == taken[-1] + 10
        assert taken[-1] > taken[-2]
        thread.join()


def test_threads_that_share_an_iterator_get_every_element_once() -> None:
    """One element at a time is taken, in any thread."""
    element = next_of(tf.data.Dataset.range(60).map(lambda x: x * 2))
    seen: list[int] = []
    with tf.Session() as session:

        def take() -> None:
            while True:
                try:
                    seen.append(int(session.run(element)))
                except tf.errors.OutOfRangeError:
                    return

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert sorted(seen) == [2 * n for n in range(60)]


def test_a_pipeline_that_asks_itself_is_told_so() -> None:
    """A function that takes from its own iterator would wait for itself."""
    iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    initializer = iterator.make_initializer(
        tf.data.Dataset.range(3).map(lambda x: x + iterator.get_next())
    )
    element = iterator.get_next()
    with with_timeout() as session:
        session.run(initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="wait for itself"):
            session.run(element)


def test_a_captured_array_is_kept_when_its_owner_changes_it() -> None:
    """A fed initializer's array is copied."""
    fed = np.arange(3.0)
    values = tf.placeholder(tf.float64, [None])
    iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(values))
    element = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {values: fed})
        fed[:] = -1
        assert [session.run(element) for _ in range(3)] == [0.0, 1.0, 2.0]


def test_initializing_again_does_not_keep_old_functions() -> None:
    """Kernels of functions with effects belong to one initialization."""
    iterator = tf.data.make_initializable_iterator(
        tf.data.Dataset.range(2).map(lambda x: tf.random_uniform([], seed=1))
    )
    element = iterator.get_next()
    with tf.Session() as session:
        seen = set()
        for _ in range(5):
            session.run(iterator.initializer)
            seen.add(tuple([float(session.run(element)) for _ in range(2)]))
        library = session.runtime._functions
        assert len(library._by_state_handle) == 1
    assert len(seen) == 1


def test_a_string_handle_is_of_its_session() -> None:
    """Another session refuses the handle."""
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    text = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(text, tf.int64, []).get_next()
    with tf.Session() as one, tf.Session() as other:
        handle = one.run(iterator.string_handle())
        assert one.run(element, {text: handle}) == 0
        with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
            other.run(element, {text: handle})


def test_python_iteration_says_what_to_do() -> None:
    """The error for iterating over a dataset of a graph has the remedy."""
    with pytest.raises(RuntimeError, match="make_one_shot_iterator"):
        iter(tf.data.Dataset.range(3))


def test_many_get_nexts_are_warned_of() -> None:
    """A loop that makes a node per element is warned about."""
    iterator = tf.data.make_one_shot_iterator(tf.data.Dataset.range(3))
    for _ in range(32):
        iterator.get_next()
    with pytest.warns(UserWarning, match="get_next"):
        iterator.get_next()


def test_ops_of_old_graphs_give_the_same_as_those_of_new_ones() -> None:
    """The ops are BatchDataset, PaddedBatchDataset, ParallelMapDataset and similar ones."""
    numbers = tf.data.Dataset.range(1, 6)
    batches = numbers.batch(2)
    two, false = tf.constant(2, tf.int64), tf.constant(False)
    many: dict[str, Any] = {"output_types": [tf.int64], "output_shapes": [[None]]}
    one: dict[str, Any] = {"output_types": [tf.int64], "output_shapes": [[]]}
    in_turn = numbers.interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 2, 2)
    function = in_turn._variant_tensor.op.get_attr("f")
    squares = numbers.map(lambda x: x * x)
    square = squares._variant_tensor.op.get_attr("f")
    source, raw = numbers._variant_tensor, tf.raw_ops
    cycle: dict[str, Any] = {
        "input_dataset": source, "other_arguments": [], "f": function, "cycle_length": two,
        "block_length": two, **one,
    }  # fmt: skip
    buffers = {"buffer_output_elements": two, "prefetch_input_elements": two}
    calls = {"input_dataset": source, "other_arguments": [], "f": square}
    pairs = [
        (batches, raw.BatchDataset(input_dataset=source, batch_size=two, **many)),
        (
            batches,
            raw.PaddedBatchDataset(
                input_dataset=source, batch_size=two, padded_shapes=[tf.constant([], tf.int64)],
                padding_values=[tf.constant(0, tf.int64)], output_shapes=[[None]],
            ),
        ),
        (in_turn, raw.ParallelInterleaveDataset(sloppy=false, **cycle, **buffers)),
        (in_turn, raw.ExperimentalParallelInterleaveDataset(sloppy=false, **cycle, **buffers)),
        (in_turn, raw.ParallelInterleaveDatasetV2(num_parallel_calls=two, **cycle)),
        (in_turn, raw.ParallelInterleaveDatasetV3(num_parallel_calls=two, **cycle)),
        (squares, raw.ParallelMapDataset(num_parallel_calls=tf.constant(2), **calls, **one)),
        (
            squares.batch(2),
            raw.ExperimentalMapAndBatchDataset(
                batch_size=two, num_parallel_calls=two, drop_remainder=false, **calls, **many
            ),
        ),
        (numbers, raw.ExperimentalUnbatchDataset(input_dataset=batches._variant_tensor, **one)),
        (numbers, raw.ModelDataset(input_dataset=source, **one)),
    ]  # fmt: skip
    with with_timeout() as session:
        for new, old in pairs:
            spec = new.element_spec
            sums = [
                tf.data.experimental.from_variant(variant, spec).reduce(
                    tf.placeholder_with_default(np.zeros([0], np.int64), [None]),
                    lambda found, x: tf.concat([found, tf.reshape(x, [-1])], 0),
                )
                for variant in (new._variant_tensor, old)
            ]
            expected, actual = session.run(sums)
            assert expected.tolist() == actual.tolist()


def test_datasets_have_the_transformations_of_experimental_as_methods() -> None:
    """The elements equal those of tf.data.experimental."""

    def elements(dataset: tf.data.Dataset, count: int) -> list[object]:
        element = tf.data.make_one_shot_iterator(dataset).get_next()
        with tf.Session() as sess:
            return [np.asarray(sess.run(element)).tolist() for _ in range(count)]

    with tf.Graph().as_default():
        assert elements(tf.data.Dataset.counter(3, 2), 3) == [3, 5, 7]
        rows = tf.data.Dataset.range(1, 5).map(lambda n: tf.fill([n], n))
        batches = rows.bucket_by_sequence_length(lambda row: tf.shape(row)[0], [3], [2, 2])
        assert elements(batches, 2) == [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]
        both = [tf.data.Dataset.from_tensors(n).repeat() for n in (1, 2)]
        method = tf.data.Dataset.sample_from_datasets(both, [0.5, 0.5], seed=3)
        function = tf.data.experimental.sample_from_datasets(both, [0.5, 0.5], seed=3)
        assert elements(method, 8) == elements(function, 8)
        with pytest.raises(RuntimeError, match="run it in a session"):
            rows.as_numpy_iterator()
