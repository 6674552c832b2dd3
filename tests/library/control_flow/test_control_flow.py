"""``tf.group``, ``tf.tuple`` and ``with_dependencies``: order of execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.library.control_flow.with_dependencies import with_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def test_group_waits_for_all() -> None:
    """The control inputs of the group are the given operations."""
    a, b = tf.constant(1), tf.no_op()
    grouped = tf.group(a, [b], name="all")
    assert grouped.name == "all"
    assert grouped.type == "NoOp"
    assert grouped.control_inputs == [a.op, b]


def test_group_of_nothing_does_nothing() -> None:
    """The result is a NoOp without inputs."""
    assert tf.group().control_inputs == []


def test_group_gathers_per_device() -> None:
    """There is a NoOp for each device, and one that waits for these."""
    with tf.device("/cpu:0"):
        a = tf.constant(1)
    with tf.device("/cpu:1"):
        b, c = tf.constant(2), tf.constant(3)
    grouped = tf.group(a, b, c)
    first, second = grouped.control_inputs
    assert (first.device, second.device) == (a.device, b.device)
    assert second.control_inputs == [b.op, c.op]


def test_group_refuses_what_is_no_operation() -> None:
    """Numbers and unknown arguments are refused."""
    with pytest.raises(TypeError, match="should be zero or more"):
        tf.group(1)
    with pytest.raises(ValueError, match="Unknown keyword arguments: other"):
        tf.group(other=1)


def test_tuple_gives_values_after_all_are_computed() -> None:
    """Fetching one value computes all of them."""
    good = tf.constant([1.0])
    bad = tf.gather(good, tf.placeholder_with_default(5, []))
    first, nothing, _ = tf.tuple([good, None, bad])
    assert nothing is None
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 1\)"):
            session.run(first)


def test_tuple_waits_for_control_inputs() -> None:
    """Control inputs may be operations or tensors."""
    bad = tf.gather([1.0], tf.placeholder_with_default(5, []))
    (value,) = tf.tuple([tf.constant(1)], control_inputs=[bad])
    with (
        tf.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 1\)"),
    ):
        session.run(value)
    with pytest.raises(TypeError, match="must only contain Operation or Tensor"):
        tf.tuple([tf.constant(1)], control_inputs=[1])


def test_tuple_needs_a_tensor() -> None:
    """A list of None only is refused."""
    with pytest.raises(ValueError, match="at least one Tensor"):
        tf.tuple([None])


def test_tuple_keeps_indexed_slices() -> None:
    """The values of IndexedSlices wait, the indices do not."""
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    (after,) = tf.tuple([slices])
    assert isinstance(after, tf.IndexedSlices)
    assert after.indices is slices.indices


def test_with_dependencies_gives_the_same_value_later() -> None:
    """The result is an Identity with the operations as control inputs."""
    op = tf.no_op()
    x = tf.constant(3)
    after = with_dependencies([op], x)
    assert after.op.control_inputs == [op]
    with tf.Session() as session:
        assert session.run(after) == 3


def test_assert_of_host_values_is_one_operation() -> None:
    """Text and int32 values are on the host, so that no cond is needed."""
    assert tf.Assert(tf.constant(True), ["why", 3]).type == "Assert"


def test_assert_fails_the_step() -> None:
    """The error shows the data."""
    x = tf.constant([1.5, 2.5])
    check = tf.Assert(tf.reduce_all(x > 2.0), ["x is", x])
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"x is.*1\.5"):
            session.run(check)
