"""Collective ops between the devices of one process; values and errors are TensorFlow's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tfnb.core.dtypes import DType

_NUM_DEVICES = 3
_VALUES = [[1.0, 2.0], [3.0, 4.0], [5.0, 0.5]]


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session with three CPUs, on a graph of its own."""
    config = tf.ConfigProto(device_count={"CPU": _NUM_DEVICES})
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        yield session


def _reduce(
    values: Sequence[Any],
    merge_op: str = "Add",
    final_op: str = "Id",
    dtype: DType = tf.float32,
    devices: Sequence[int] = (0, 1, 2),
    **attrs: Any,
) -> list[tf.Tensor]:
    found = []
    given = {"group_size": len(values), "group_key": 1, "instance_key": 1} | attrs
    for device, value in zip(devices, values):
        with tf.device(f"/cpu:{device}"):
            one = tf.raw_ops.CollectiveReduce(
                input=tf.constant(value, dtype), merge_op=merge_op, final_op=final_op,
                subdiv_offsets=[0], **given,
            )  # fmt: skip
            found.append(one)
    return found


def _gather(values: Sequence[Any], devices: Sequence[int] = (0, 1, 2)) -> list[tf.Tensor]:
    found = []
    for device, value in zip(devices, values):
        with tf.device(f"/cpu:{device}"):
            one = tf.raw_ops.CollectiveGather(
                input=tf.constant(value, tf.float32), group_size=len(values), group_key=1,
                instance_key=7, shape=[len(values) * len(value), *np.shape(value)[1:]],
            )  # fmt: skip
            found.append(one)
    return found


def _broadcast(
    senders: Sequence[int] = (0,),
    shape: Sequence[int | None] = (2,),
    dtype: DType = tf.float32,
) -> list[tf.Tensor]:
    keys: dict[str, Any] = {"group_size": 3, "group_key": 3, "instance_key": 9}
    found = []
    for device in range(3):
        with tf.device(f"/cpu:{device}"):
            if device in senders:
                value = tf.constant([0.0, 1.0])
                one = tf.raw_ops.CollectiveBcastSend(input=value, shape=[2], **keys)
            else:
                one = tf.raw_ops.CollectiveBcastRecv(T=dtype, shape=list(shape), **keys)
            found.append(one)
    return found


@pytest.mark.parametrize(
    ("merge_op", "answer"),
    [("Add", [9.0, 6.5]), ("Mul", [15.0, 4.0]), ("Min", [1.0, 0.5]), ("Max", [5.0, 4.0])],
)
def test_each_member_gets_the_reduced_value(
    sess: tf.Session, merge_op: str, answer: list[float]
) -> None:
    """And an array of its own."""
    found = sess.run(_reduce(_VALUES, merge_op))
    found[0][:] = -1.0
    assert [one.tolist() for one in found[1:]] == [answer] * 2


def test_a_mean_of_integers_is_cut_towards_zero(sess: tf.Session) -> None:
    """That of floats is divided."""
    integers = _reduce([[1, -2], [3, -5], [4, 0]], final_op="Div", dtype=tf.int32)
    floats = _reduce(_VALUES, final_op="Div", instance_key=2)
    found = sess.run([integers, floats])
    assert [one.tolist() for one in found[0]] == [[2, -2]] * 3
    np.testing.assert_allclose(found[1], [[3.0, 6.5 / 3]] * 3, rtol=1e-6)


def test_rows_are_gathered_in_the_order_of_devices(sess: tf.Session) -> None:
    """The order of nodes does not count."""
    found = sess.run(_gather([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], devices=(2, 0, 1)))
    assert [one.tolist() for one in found] == [[3.0, 4.0, 5.0, 6.0, 1.0, 2.0]] * 3


@pytest.mark.parametrize("sender", range(3))
def test_a_broadcast_comes_from_any_member(sess: tf.Session, sender: int) -> None:
    """The sender gets its own value."""
    found = sess.run(_broadcast([sender]))
    assert [one.tolist() for one in found] == [[0.0, 1.0]] * 3


def test_keys_may_be_inputs(sess: tf.Session) -> None:
    """The second version of each op; a value may come from another instance."""
    found: list[tf.Tensor] = []
    for device in range(3):
        with tf.device(f"/cpu:{device}"):
            keys: dict[str, Any] = {"group_size": 3, "group_key": 11}
            mean = tf.raw_ops.CollectiveReduceV2(
                input=tf.constant([1.0 + device]), merge_op="Add", final_op="Div",
                ordering_token=[], instance_key=12, **keys,
            )  # fmt: skip
            rows = tf.raw_ops.CollectiveGatherV2(
                input=mean + float(device), ordering_token=[], instance_key=13, **keys
            )
            if device == 1:
                sent = tf.raw_ops.CollectiveBcastSendV2(input=rows, instance_key=14, **keys)
            else:
                sent = tf.raw_ops.CollectiveBcastRecvV2(
                    T=tf.float32, shape=[3], instance_key=14, **keys
                )
            assert (rows.shape.as_list(), sent.shape.rank) == ([None], 1)
            found += [rows, sent]
    assert [one.tolist() for one in sess.run(found)] == [[2.0, 3.0, 4.0]] * 6


def test_a_group_of_one_gets_its_own_value(sess: tf.Session) -> None:
    """Nothing is waited for."""
    assert sess.run(_reduce([[1.0]])[0]).tolist() == [1.0]


def test_steps_after_each_other_and_at_once_do_not_mix(sess: tf.Session) -> None:
    """Each step has members of its own."""
    fed = tf.placeholder(tf.float32, [1])
    found = []
    for device in range(2):
        with tf.device(f"/cpu:{device}"):
            found += [
                tf.raw_ops.CollectiveReduce(
                    input=fed + float(device), group_size=2, group_key=1, instance_key=1,
                    merge_op="Add", final_op="Id", subdiv_offsets=[0],
                )
            ]  # fmt: skip
    for value in (1.0, 2.0, 3.0):
        assert sess.run(found, {fed: [value]})[1].tolist() == [2 * value + 1]


@pytest.mark.parametrize(
    ("build", "error", "text"),
    [
        (lambda: _reduce([[1.0, 2.0], [3.0], [5.0, 0.5]]), tf.errors.InvalidArgumentError, "[1]"),
        (lambda: _gather([[1.0, 2.0], [3.0]]), tf.errors.InvalidArgumentError, "[1]"),
        (lambda: _broadcast(shape=[3]), tf.errors.InvalidArgumentError, "[3]"),
        (lambda: _broadcast(shape=[None]), tf.errors.InvalidArgumentError, "must be known"),
        (lambda: _broadcast(dtype=tf.int32), tf.errors.InternalError, "int32"),
        (lambda: _broadcast([0, 1]), tf.errors.InternalError, "one sender, this one has 2"),
        (lambda: _broadcast([]), tf.errors.InternalError, "one sender, this one has 0"),
        (lambda: _reduce(_VALUES, group_size=2), tf.errors.InternalError, "larger group_size"),
        (
            lambda: [*_reduce([[1.0]], group_size=2), *_reduce([[1.0]], devices=[1], group_size=3)],
            tf.errors.InternalError,
            "one size",
        ),
        (
            lambda: [
                *_reduce([[1.0]], group_size=2),
                *_reduce([[1]], devices=[1], dtype=tf.int32, group_size=2),
            ],
            tf.errors.InternalError,
            "int32",
        ),
        (lambda: _reduce([[1.0]], group_size=0), tf.errors.InvalidArgumentError, "at least one"),
    ],
)
def test_members_that_do_not_fit_end_the_step(
    sess: tf.Session, build: Any, error: type[Exception], text: str
) -> None:
    """The error says what differs; the next step of the session works."""
    nodes = build()
    with pytest.raises(error) as found:
        sess.run(nodes)
    assert text in str(found.value)
    assert sess.run(_reduce(_VALUES, instance_key=20))[0].tolist() == [9.0, 6.5]


def test_a_member_that_fails_ends_the_waiting_of_the_others(sess: tf.Session) -> None:
    """The error is that of the failed node."""
    with tf.device("/cpu:0"):
        check = tf.Assert(tf.constant(False), ["no value"])
    with tf.control_dependencies([check]):
        late = tf.constant([2.0])
    nodes = _reduce([[1.0]], group_size=2)
    with tf.device("/cpu:1"):
        nodes.append(
            tf.raw_ops.CollectiveReduce(
                input=late, group_size=2, group_key=1, instance_key=1, merge_op="Add",
                final_op="Id", subdiv_offsets=[0],
            )
        )  # fmt: skip
    with pytest.raises(tf.errors.InvalidArgumentError, match="no value"):
        sess.run(nodes)
