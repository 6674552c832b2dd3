"""Conditional accumulators and barriers: waiting, cancellation, and what they refuse."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tests.time_outs import message_of_time_out
from tfnb.core import dtypes
from tfnb.core.cancellation import CancellationManager
from tfnb.core.tensor_shape import TensorShape
from tfnb.library.queues.barriers import Barrier
from tfnb.ops.waiting import barrier_ops
from tfnb.ops.waiting.accumulator_ops import DenseAccumulator

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def sess() -> Iterator[Any]:
    """A session on a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_take_waits_for_gradients_of_another_thread(sess: Any) -> None:
    """The step continues when another thread has applied enough gradients."""
    acc = tf.ConditionalAccumulator(tf.float32, [2])
    put, take, got = acc.apply_grad([2.0, 4.0]), acc.take_grad(2), []
    thread = threading.Thread(target=lambda: got.append(sess.run(take).tolist()))
    thread.start()
    sess.run(put)
    sess.run(put)
    thread.join(60)
    assert got == [[2.0, 4.0]]


def test_takes_are_served_in_the_order_they_came() -> None:
    """A small request does not overtake a large one; a cancelled one takes nothing."""
    acc = DenseAccumulator("a", dtypes.float32, TensorShape([]), is_mean=False)
    first, second = CancellationManager(), CancellationManager()
    heard: list[Any] = []
    acc.take(3, lambda answer: heard.append(("large", answer)), first)
    acc.take(1, lambda answer: heard.append(("small", answer)), second)
    acc.apply(0, np.float32(1))
    assert heard == []
    first.start_cancel()
    assert [what for what, _ in heard] == ["large", "small"]
    assert str(heard[0][1]) == "TakeGrad operation was cancelled"
    assert heard[1][1] == 1
    assert acc.num_accumulated() == 0


def test_gradients_of_unknown_shape_agree_with_each_other(sess: Any) -> None:
    """A refused gradient is not counted."""
    acc = tf.ConditionalAccumulator(tf.float32)
    x, step = tf.placeholder(tf.float32), tf.placeholder(tf.int64)
    put = acc.apply_grad(x, step)
    sess.run(put, {x: [1, 2], step: 0})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected \[2\], got \[3\]"):
        sess.run(put, {x: [1, 2, 3], step: 0})
    with pytest.raises(tf.errors.InvalidArgumentError, match="local_step must be scalar"):
        sess.run(put, {x: [1, 2], step: [0]})
    assert sess.run([acc.num_accumulated(), acc.take_grad(1)])[0] == 1


def test_the_first_kind_of_accumulator_has_a_reference(sess: Any) -> None:
    """Old graphs contain it; an op of another dtype or kind is refused."""
    ops = tf.raw_ops
    acc = ops.ConditionalAccumulator(dtype=tf.int32, shape=[2], shared_name="a")
    sess.run(ops.AccumulatorApplyGradient(handle=acc, local_step=0, gradient=[-3, 4]))
    sess.run(ops.AccumulatorApplyGradient(handle=acc, local_step=0, gradient=[-4, 5]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is of type int32, not float32"):
        sess.run(ops.AccumulatorApplyGradient(handle=acc, local_step=0, gradient=[1.0, 1.0]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a SparseAccumulator"):
        sess.run(ops.SparseAccumulatorTakeGradient(handle=acc, num_required=1, dtype=tf.int32))
    take = ops.AccumulatorTakeGradient(handle=acc, num_required=2, dtype=tf.int32)
    assert sess.run(take).tolist() == [-3, 4]
    assert sess.run(acc).tolist() == [b"localhost", b"a"]


def test_a_take_from_a_barrier_waits(sess: Any) -> None:
    """Insertion and removal in one step run in one thread."""
    barrier = Barrier(tf.int32, shapes=((),))
    taken, _ = sess.run([barrier.take_many(2), barrier.insert_many(0, ["a", "b"], [1, 2])])
    assert taken.keys.tolist() == [b"a", b"b"]
    assert [value.tolist() for value in taken.values] == [[1, 2]]


def test_a_cancelled_take_leaves_the_elements() -> None:
    """The elements stay in the barrier."""
    barrier = barrier_ops.Barrier("b", [dtypes.int32], [TensorShape([])])
    manager, heard = CancellationManager(), []
    barrier.take_many(2, False, heard.append, manager)
    barrier.insert_many(0, [b"a"], np.asarray([1], dtype=np.int32))
    manager.start_cancel()
    assert [str(error) for error in heard] == ["Dequeue operation was cancelled"]
    assert barrier.ready_size() == 1


def test_a_component_of_another_shape_is_refused(sess: Any) -> None:
    """The key keeps its components, and each component has one value."""
    barrier = Barrier((tf.int32, tf.int32), shapes=((), (2,)))
    x = tf.placeholder(tf.int32)
    sess.run(barrier.insert_many(0, ["a"], [1]))
    second = barrier.insert_many(1, ["a"], x)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected \[2\], got \[3\]"):
        sess.run(second, {x: [[1, 2, 3]]})
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value for each key"):
        sess.run(second, {x: [[1, 2], [3, 4]]})
    assert sess.run([barrier.ready_size(), barrier.incomplete_size()]) == [0, 1]
    sess.run(second, {x: [[1, 2]]})
    assert sess.run(barrier.take_many(1))[2][1].tolist() == [[1, 2]]


@pytest.mark.parametrize("shape", [None, ((2,),)])
def test_a_barrier_takes_no_values_without_elements(sess: Any, shape: Any) -> None:
    """Whatever its shapes; without keys nothing is inserted."""
    barrier = Barrier(tf.int32, shapes=shape)
    empty = np.zeros((1, 2, 0), np.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"received shape \[1,2,0\]"):
        sess.run(barrier.insert_many(0, ["a"], empty))
    sess.run(barrier.insert_many(0, tf.zeros([0], tf.string), np.zeros((0, 2), np.int32)))
    assert sess.run(barrier.incomplete_size()) == 0


def test_shapes_of_a_barrier_are_known_and_hold_elements() -> None:
    """Partial and empty shapes are refused when the graph is built."""
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="All shapes must be fully defined"):
            Barrier(tf.int32, shapes=([None],))
        with pytest.raises(ValueError, match="Empty tensors are not supported"):
            Barrier(tf.int32, shapes=([0, 2],))


def test_a_step_that_stands_still_says_what_it_waits_for() -> None:
    """The error names the accumulator or barrier and its contents."""
    with tf.Graph().as_default(), tf.Session() as session:
        acc = tf.ConditionalAccumulator(tf.float32, [2], name="a", shared_name="acc")
        barrier = Barrier((tf.int32, tf.int32), shapes=((), ()), shared_name="b")
        session.run(acc.apply_grad([1.0, 2.0]))
        session.run(barrier.insert_many(0, ["a", "b"], [1, 2]))
        for fetch, words in (
            (acc.take_grad(2), "'a' (1 gradients inside"),
            (barrier.take_many(1), "0 whole elements, 2 incompl"),
        ):
            message = message_of_time_out(
                lambda limit, fetch=fetch: session.run(
                    fetch, options=tf.RunOptions(timeout_in_ms=limit)
                ),
                words,
            )
            assert words in message


def test_rows_of_an_accumulator_have_its_rank() -> None:
    """That of its shape, and that of the rows before; the error says which is expected."""

    def rows(*shape: int) -> np.ndarray:
        return np.ones(shape, np.float32)

    with tf.Graph().as_default(), tf.Session() as session:
        made = tf.SparseConditionalAccumulator(tf.float32, [2, 2, None], name="made")
        refused = [(rows(1, 2), "expected values rank at least 3, got 2")]
        later = [
            (rows(1, 2, 2), "expected values rank 4, got 3"),
            (rows(1, 2, 2, 3), "expected values dim 3 to be 2, got 3"),
        ]
        for values, text in refused:
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"Shape mismatch: {text}"):
                session.run(made.apply_grad([0], values))
        session.run(made.apply_grad([0], rows(1, 2, 2, 2)))
        for values, text in later:
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"Shape mismatch: {text}"):
                session.run(made.apply_grad([0], values))
        session.run(made.take_grad(1))
        session.run(made.apply_grad([0], rows(1, 2, 2)))
