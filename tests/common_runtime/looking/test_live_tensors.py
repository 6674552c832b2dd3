"""An out-of-memory error names the largest tensors that the step held."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.common_runtime.lowering.run.step_way import Lowering, lowering
from tfnb.framework.functions.function import Defun

HUGE = 1 << 44


@pytest.fixture(params=[Lowering.NEVER, Lowering.ALWAYS])
def way(request: Any) -> Any:
    """Both ways of running a step."""
    with lowering(request.param):
        yield request.param


def live_of(session: tf.Session, fetches: Any, feeds: dict[Any, Any]) -> list[str]:
    """Return names and sizes in the error of a second run that exhausts the memory."""
    session.run(fetches, {**feeds, "size:0": [1]})
    for _ in range(2):
        with pytest.raises(tf.errors.ResourceExhaustedError) as caught:
            session.run(fetches, {**feeds, "size:0": [HUGE]})
    message = caught.value.message
    assert message.count("Hint: If you want to see a list of allocated tensors") == 1
    (told,) = re.findall(r"^Largest live tensors: (.*)$", message, re.MULTILINE)
    session.run(fetches, {**feeds, "size:0": [1]})
    return re.findall(r"(\S+iB|\d+B) of '([^']+)'", told)


def exhausting(x: Any) -> Any:
    """Return a tensor with too many elements, made after x."""
    size = tf.get_default_graph().get_tensor_by_name("size:0")
    with tf.control_dependencies([x]):
        return tf.reduce_sum(tf.fill(size, 1.0, name="huge"))


@pytest.fixture
def x() -> Any:
    """Build a graph with a fed vector, and a size beyond the memory."""
    with tf.Graph().as_default():
        tf.placeholder(tf.int64, [1], name="size")
        yield tf.placeholder(tf.float32, [None], name="x")


def test_what_waits_in_the_step_and_its_results_are_named(way: Any, x: Any) -> None:
    """Largest first, views of one buffer once; fed and freed tensors are left out."""
    gone = tf.reduce_sum(tf.concat([x] * 9, 0, name="gone"))
    large = tf.concat([x, x, x], 0, name="large")
    small = tf.exp(x, name="small")
    view = tf.reshape(small, [-1, 1], name="view")
    with tf.control_dependencies([gone, large, view]):
        huge = exhausting(gone)
    with tf.control_dependencies([huge]):
        late = large[:1] + view[:1]
    with tf.Session() as session:
        found = live_of(session, [late, view, gone], {x: np.ones(1000)})
    assert found[0] == ("11.7KiB", "large")
    assert [size for size, _ in found].count("3.9KiB") == 1
    assert len(found) == 2


def test_what_the_failed_node_was_given_counts(way: Any, x: Any) -> None:
    """The inputs of the failed node are listed, although they have left their slots."""
    size = tf.get_default_graph().get_tensor_by_name("size:0")
    y = tf.exp(x, name="y")
    tiled = tf.tile(y, size, name="tiled")
    with tf.Session() as session:
        assert ("3.9KiB", "y") in live_of(session, tf.reduce_sum(tiled), {x: np.ones(1000)})


def test_loops_and_functions_tell_what_is_held_around_them(way: Any, x: Any) -> None:
    """The error passes the call, the loop and the step, and each adds its tensors."""

    @Defun(tf.float32, tf.int64, func_name="Fail")
    def fail(v: Any, size: Any) -> Any:
        inside = tf.exp(v, name="inside")
        with tf.control_dependencies([inside]):
            huge = tf.reduce_sum(tf.fill(size, 1.0))
        with tf.control_dependencies([huge]):
            return huge + tf.reduce_sum(inside * 2.0)

    around = tf.concat([x, x], 0, name="around")
    size = tf.get_default_graph().get_tensor_by_name("size:0")

    def body(i: Any, total: Any) -> Any:
        step = fail(around, size)
        return i + 1, total + tf.ensure_shape(step, [])

    _, total = tf.while_loop(lambda i, _: i < 2, body, [0, tf.reduce_sum(around)])
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    with tf.Session(config=config) as session:
        found = live_of(session, around * total, {x: np.ones(1000)})
    assert found[:2] == [("7.8KiB", "inside"), ("7.8KiB", "around")]


def test_no_more_than_a_few_are_named(way: Any, x: Any) -> None:
    """The other tensors are summed up."""
    many = [tf.exp(x * float(i), name=f"one{i}") for i in range(9)]
    with tf.control_dependencies(many):
        huge = exhausting(many[0])
    with tf.Session() as session:
        found = live_of(session, [*many, huge], {x: np.ones(1000)})
    assert found[:5] == [("3.9KiB", f"one{i}") for i in range(8, 3, -1)]
    assert len(found) == 5
