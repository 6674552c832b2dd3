"""Operations that are made again replace the earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf
from tfnb.client.graph_replacement import Making

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def sess() -> Iterator[tf.Session]:
    """A session on a graph of the test's own, both the default ones."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


class Cell:
    """Code that runs repeatedly, like a cell."""

    def __init__(self) -> None:
        self.last: Making | None = None

    def run(self, build: Callable[[], Any]) -> Any:
        """Run the code in place of its earlier run."""
        self.last = Making(tf.get_default_graph(), self.last)
        with self.last:
            return build()

    @property
    def made(self) -> Making:
        """The object of the last run."""
        assert self.last is not None
        return self.last


def names() -> list[str]:
    """Return the names of all operations of the default graph."""
    return [op.name for op in tf.get_default_graph().get_operations()]


def line(slope: float, offset: float = 1.0) -> Any:
    """y = slope * x + offset."""
    x = tf.placeholder_with_default(2.0, [], name="x")
    return tf.add(tf.multiply(x, tf.constant(slope, name="slope"), name="product"), offset, "y")


def test_what_is_made_as_before_is_what_it_was(sess: tf.Session) -> None:
    """Nothing is added, no signature is prepared again; cell and line are those of the last run."""
    cell = Cell()
    first = cell.run(lambda: line(3.0))
    assert sess.run(first) == 7.0
    before, num_sent = names(), sess._sent_graph.num_sent
    second = cell.run(lambda: line(3.0))
    assert second is first
    assert names() == before
    assert (cell.made.num_kept, cell.made.num_replaced, cell.made.num_removed) == (6, 0, 0)
    assert sess.run(second) == 7.0
    assert sess._sent_graph.num_sent == num_sent


def test_what_comes_out_differently_takes_the_name(sess: tf.Session) -> None:
    """A changed operation takes the name, the others stay; the name finds the new operation."""
    cell = Cell()
    first = cell.run(lambda: line(3.0))
    assert sess.run("y:0") == 7.0
    second = cell.run(lambda: line(5.0))
    assert second is not first
    assert second.name == "y:0"
    assert sess.run("y:0") == sess.run(second) == 11.0
    assert (cell.made.num_kept, cell.made.num_replaced, cell.made.num_removed) == (3, 3, 0)
    assert len(names()) == 6


def test_what_left_the_graph_is_not_an_element_of_it(sess: tf.Session) -> None:
    """An operation that was replaced is refused: its name means another operation now."""
    cell = Cell()
    first = cell.run(lambda: line(3.0))
    cell.run(lambda: line(5.0))
    with pytest.raises(ValueError, match="not an element of this graph"):
        sess.run(first)
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.add(first, sess.graph.get_tensor_by_name("y:0"))
    assert first.op.type == "AddV2"
    assert first.op.inputs[0].name == "product:0"


def test_what_others_stand_on_stays_under_another_name(sess: tf.Session) -> None:
    """Operations that others use stay under another name, which is reported.

    Results do not change.
    """
    cell = Cell()
    first = cell.run(lambda: line(3.0))
    user = tf.negative(first, name="user")
    assert sess.run(user) == -7.0
    second = cell.run(lambda: line(5.0))
    assert sess.run([user, second]) == [-7.0, 11.0]
    assert first.name == "former/y:0"
    used = {op.name: [u.name for u in users] for op, users in cell.made.still_used}
    assert used["former/y"] == ["user"]
    assert used["former/product"] == []
    # When the consumers are gone, the next run removes these operations.
    user.op._update_input(0, sess.graph.get_tensor_by_name("x:0"))
    third = cell.run(lambda: line(6.0))
    assert sess.run(third) == 13.0
    assert not cell.made.still_used
    assert "former/product" not in names()


def test_variables_keep_their_values(sess: tf.Session) -> None:
    """A variable of the same name, dtype and shape keeps its value, whatever else changed."""

    def build(start: float) -> tuple[Any, Any]:
        with tf.variable_scope("layer"):
            weights = tf.get_variable("w", [2], initializer=tf.constant_initializer(start))
        other = tf.Variable(start, use_resource=True, name="other")
        return weights, other

    cell = Cell()
    weights, other = cell.run(lambda: build(1.0))
    sess.run(tf.global_variables_initializer())
    sess.run([weights.assign([5.0, 6.0]), other.assign(7.0)])
    weights, other = cell.run(lambda: build(2.0))
    assert (weights.name, other.name) == ("layer/w:0", "other:0")
    np.testing.assert_array_equal(sess.run(weights), [5.0, 6.0])
    assert sess.run(other) == 7.0
    sess.run([weights.initializer, other.initializer])
    assert sess.run([weights[0], other]) == [2.0, 2.0]
    assert [v.name for v in tf.global_variables()] == ["layer/w:0", "other:0"]


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_variable_of_another_shape_begins_without_a_value(
    sess: tf.Session, use_resource: bool
) -> None:
    """The session drops the value of a variable whose shape changed."""

    def build(size: int) -> Any:
        return tf.Variable(tf.zeros([size]), use_resource=use_resource, name="v")

    cell = Cell()
    sess.run(cell.run(lambda: build(2)).initializer)
    variable = cell.run(lambda: build(3))
    with pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        sess.run(variable + 1.0)
    sess.run(variable.initializer)
    assert sess.run(variable).shape == (3,)
    assert len(sess.runtime.device_mgr.host.resource_manager.names()) == 1


def test_collections_hold_what_is_there_now(sess: tf.Session) -> None:
    """A replaced object takes the same place in collections."""

    def build(number: int) -> None:
        for index in range(number):
            tf.Variable(float(number), name=f"v{index}")

    cell = Cell()
    tf.Variable(0.0, name="first")
    cell.run(lambda: build(2))
    tf.Variable(0.0, name="last")
    cell.run(lambda: build(1))
    assert [v.op.name for v in tf.trainable_variables()] == ["first", "v0", "last"]
    sess.run(tf.global_variables_initializer())


def test_others_names_are_not_given_away(sess: tf.Session) -> None:
    """Names that were taken after the first run are not reused."""
    cell = Cell()
    cell.run(lambda: tf.constant(1.0, name="x"))
    tf.constant(2.0, name="x")
    with tf.name_scope("x_2"):
        tf.constant(3.0, name="inner")

    def build() -> list[str]:
        return [tf.constant(float(i), name="x").op.name for i in range(3)]

    assert cell.run(build) == ["x", "x_3", "x_4"]
    assert tf.constant(0.0, name="x").op.name == "x_5"
    assert sess.run("x_1:0") == 2.0


def test_layers_scopes_and_seeds_are_counted_as_in_the_first_run(sess: tf.Session) -> None:
    """Counters restart with the cell, so that all names are the same."""
    tf.set_random_seed(3)
    x = tf.placeholder_with_default(tf.ones([1, 2]), [None, 2])

    def build() -> Any:
        with tf.variable_scope(None, "block"):
            return tf.layers.dense(tf.layers.dense(x, 2) + tf.random_uniform([2]), 1)

    cell = Cell()
    first = cell.run(build)
    count = len(names())
    second = cell.run(build)
    assert second is first
    assert len(names()) == count
    assert [v.op.name for v in tf.global_variables()] == [
        "block/dense/kernel", "block/dense/bias", "block/dense_1/kernel", "block/dense_1/bias",
    ]  # fmt: skip


def test_loops_are_made_anew(sess: tf.Session) -> None:
    """Operations of a loop refer to each other, so the whole loop is made again."""

    def build() -> Any:
        _, total = tf.while_loop(lambda i, _: i < 5, lambda i, t: (i + 1, t + i), [0, 0])
        return total, tf.gradients(tf.cond(total > 3, lambda: total * 2, lambda: total), total)

    cell = Cell()
    total, _ = cell.run(build)
    assert sess.run(total) == 10
    count = len(names())
    total, _ = cell.run(build)
    assert sess.run(total) == 10
    assert len(names()) == count
    assert total.op.name == "while/Exit_1"


def test_a_training_step_goes_on_after_its_cell_ran_again(sess: tf.Session) -> None:
    """Training continues from the current weights with another rate; nothing accumulates."""

    def build(rate: float) -> Any:
        w = tf.get_variable("w", [], initializer=tf.zeros_initializer())
        loss = tf.square(w - 3.0)
        return w, tf.train.GradientDescentOptimizer(rate).minimize(loss)

    cell = Cell()
    _, step = cell.run(lambda: build(0.1))
    sess.run(tf.global_variables_initializer())
    sess.run(step)
    count = len(names())
    w, step = cell.run(lambda: build(0.5))
    assert sess.run(w) == pytest.approx(0.6)
    sess.run(step)
    assert sess.run(w) == pytest.approx(3.0)
    assert len(names()) == count


def test_imported_nodes_are_replaced(sess: tf.Session) -> None:
    """Imported nodes are replaced under the same prefix."""
    with tf.Graph().as_default() as other:
        tf.constant(1.0, name="a")
    graph_def = other.as_graph_def()

    def build() -> Any:
        return tf.import_graph_def(graph_def, return_elements=["a:0"], name="import")[0]

    cell = Cell()
    cell.run(build)
    found = cell.run(build)
    assert names() == ["import/a"]
    assert sess.run(found) == 1.0


def test_a_cell_that_fails_loses_nothing(sess: tf.Session) -> None:
    """Operations made before the failure count, the rest stays; the next run repairs the graph."""
    cell = Cell()
    first = cell.run(lambda: line(3.0))

    def fail() -> None:
        tf.placeholder_with_default(2.0, [], name="x")
        tf.constant(5.0, name="slope")
        raise KeyError("mine")

    with pytest.raises(KeyError):
        cell.run(fail)
    assert sess.run(first) == 7.0
    assert sess.run("slope:0") == 5.0
    assert sess.run(cell.run(lambda: line(4.0))) == 9.0
    assert len(names()) == 6
    assert tf.constant(0.0, name="x").op.name == "x_1"


def test_a_refused_operation_leaves_the_former_in_place(sess: tf.Session) -> None:
    """A refused operation does not free the name of the earlier one."""
    cell = Cell()
    cell.run(lambda: tf.matmul(tf.ones([1, 2]), tf.ones([2, 1]), name="m"))
    with pytest.raises(ValueError, match="Dimensions must be equal"):
        cell.run(lambda: tf.matmul(tf.ones([1, 2]), tf.ones([3, 1]), name="m"))
    assert sess.run("m:0") == [[2.0]]


def test_sessions_of_all_kinds_go_on(sess: tf.Session) -> None:
    """A second session, a new one, callables and partial runs continue."""
    cell = Cell()
    first = cell.run(lambda: line(3.0))
    x = sess.graph.get_tensor_by_name("x:0")
    by_name = tf.Session()
    assert by_name.run("y:0") == 7.0
    handle = sess.partial_run_setup([first], [x])
    callable_ = by_name.make_callable("y:0")
    second = cell.run(lambda: line(5.0))
    assert sess.run(second) == by_name.run("y:0") == 11.0
    assert callable_() == 7.0
    assert tf.Session().run(second) == 11.0
    assert sess.partial_run(handle, sess.graph.get_tensor_by_name("y:0"), {x: 1.0}) == 4.0
    handle = sess.partial_run_setup([second], [x])
    assert sess.partial_run(handle, second, {x: 1.0}) == 6.0
    by_name.close()


def test_runs_inside_the_cell_see_what_is_there_so_far(sess: tf.Session) -> None:
    """A run inside the cell uses new operations, earlier ones, or both."""
    cell = Cell()
    former = cell.run(lambda: line(3.0))

    def build() -> list[Any]:
        slope = tf.constant(9.0, name="slope")
        return sess.run([slope, former, slope + former])

    assert cell.run(build) == [9.0, 7.0, 16.0]


def test_a_queue_of_another_capacity_is_another_queue(sess: tf.Session) -> None:
    """A queue of another capacity replaces the old one; an unchanged queue keeps its elements."""

    def build(capacity: int) -> Any:
        return tf.FIFOQueue(3, tf.float32, [[]], name="kept"), tf.FIFOQueue(
            capacity, tf.float32, [[]], name="other"
        )

    cell = Cell()
    for queue in cell.run(lambda: build(3)):
        sess.run(queue.enqueue(1.0))
    kept, other = cell.run(lambda: build(4))
    assert sess.run([kept.size(), other.size()]) == [1, 0]


def test_only_one_block_at_a_time(sess: tf.Session) -> None:
    """Nested blocks are refused, because the owner of an operation would be ambiguous."""
    with (
        Making(sess.graph),
        pytest.raises(RuntimeError, match="replaced already"),
        Making(sess.graph),
    ):
        pass
    sess.graph.finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        Making(sess.graph).__enter__()


def test_a_static_session_says_that_it_cannot() -> None:
    """A session with a static graph raises an error; another session runs the new graph."""
    config = tf.ConfigProto()
    config.experimental.optimize_for_static_graph = True
    with tf.Graph().as_default():
        cell = Cell()
        cell.run(lambda: line(3.0))
        with tf.Session(config=config) as static:
            static.runtime.create(static.graph.as_graph_def())
            static._sent_graph.assume_all_sent()
            assert static.run("y:0") == 7.0
            cell.run(lambda: line(5.0))
            with pytest.raises(tf.errors.FailedPreconditionError, match="cannot change"):
                static.run("y:0")
        with tf.Session() as other:
            assert other.run("y:0") == 11.0
