"""`tf.contrib.graph_editor`: graphs that are searched, copied and wired in another way."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.usefixtures("as_tensorflow", "graph")


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """Build in a graph of the test's own."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture
def ge() -> Any:
    """Return the module."""
    return importlib.import_module("tensorflow.contrib.graph_editor")


def _chain() -> dict[str, Any]:
    x = tf.constant(2.0, name="x")
    with tf.name_scope("inner"):
        a = tf.add(x, 1.0, name="a")
        b = tf.multiply(a, a, name="b")
    c = tf.negative(b, name="c")
    return {"x": x, "a": a, "b": b, "c": c}


def _names(ops: Any) -> set[str]:
    return {op.name for op in ops}


def test_walks_follow_edges_and_stop_where_they_are_told(ge: Any) -> None:
    """Forward, backward, within a set, and between two ends."""
    made = _chain()

    assert _names(ge.get_forward_walk_ops(made["a"].op)) == {"inner/a", "inner/b", "c"}
    assert _names(ge.get_forward_walk_ops([made["a"]])) == {"inner/b", "c"}
    assert _names(ge.get_backward_walk_ops(made["b"].op, inclusive=False)) == {
        "inner/a", "x", "inner/a/y",
    }  # fmt: skip
    assert _names(ge.get_backward_walk_ops(made["c"].op, stop_at_ts=[made["a"]])) == {
        "c", "inner/b",
    }  # fmt: skip
    within = [made["a"].op, made["b"].op]
    assert _names(ge.get_forward_walk_ops(made["x"].op, within_ops=within)) == set()
    assert _names(ge.get_walks_intersection_ops([made["x"].op], [made["b"].op])) == {
        "x", "inner/a", "inner/b",
    }  # fmt: skip


def test_walks_follow_control_edges_when_they_are_asked_to(ge: Any, graph: tf.Graph) -> None:
    """In both directions."""
    first = tf.no_op(name="first")
    with tf.control_dependencies([first]):
        then = tf.no_op(name="then")
    outputs = ge.ControlOutputs(graph)

    assert _names(ge.get_forward_walk_ops(first)) == {"first"}
    assert _names(ge.get_forward_walk_ops(first, control_outputs=outputs)) == {"first", "then"}
    assert _names(ge.get_backward_walk_ops(then, control_inputs=True)) == {"first", "then"}
    ge.remove_control_inputs(then, first)
    assert outputs.update().get_all() == {}
    ge.add_control_inputs(then, first)
    with pytest.raises(ValueError, match="already a control_input"):
        ge.add_control_inputs(then, first)


def test_operations_and_tensors_are_selected_by_name(ge: Any, graph: tf.Graph) -> None:
    """Expressions need a graph."""
    made = _chain()

    assert _names(ge.select_ops("^inner/", graph=graph)) == {"inner/a", "inner/b", "inner/a/y"}
    assert ge.select_ts("a:0$", graph=graph) == [made["a"]]
    assert ge.filter_ts_from_regex([made["b"].op], "b") == [made["b"]]
    assert ge.filter_ts([made["b"].op], True) == [made["a"], made["b"]]
    assert ge.sgv_scope("inner", graph).outputs == [made["b"]]
    assert ge.sgv([made["b"].op]).inputs == [made["a"]]
    with pytest.raises(ValueError, match="'graph'"):
        ge.select_ops("a")
    with pytest.raises(TypeError, match="Expected a Operation"):
        ge.make_list_of_op([made["a"]])


def test_a_copy_with_other_inputs_computes_the_same_of_them(ge: Any) -> None:
    """The originals stay as they were."""
    made = _chain()
    other = tf.constant(9.0)
    view, info = ge.copy_with_input_replacements(
        [made["b"].op, made["c"].op], {made["a"]: other}, dst_scope="copied"
    )
    copied = info.transformed(made["c"])

    assert _names(view.ops) == {"copied/inner/b", "copied/c"}
    assert info.original(copied) is made["c"]
    assert info._transformed_ops[made["b"].op]._outputs[0].shape == []
    with tf.Session() as session:
        assert session.run([copied, made["c"]]) == [-81.0, -9.0]


def test_a_copy_in_another_graph_needs_all_inputs(ge: Any) -> None:
    """Names are kept there."""
    made = _chain()
    ops = [made[name].op for name in "abc"]
    with pytest.raises(ValueError, match="no replacement"):
        ge.copy(ops, tf.Graph())
    target = tf.Graph()
    with target.as_default():
        fed = tf.placeholder(tf.float32, [], name="fed")
    ge.copy_with_input_replacements(ops, {made["x"]: fed, made["a"].op.inputs[1]: fed}, target)
    with tf.Session(graph=target) as session:
        assert session.run("c:0", {fed: 2.0}) == -16.0


def test_targets_are_made_of_replacements(ge: Any) -> None:
    """What depends on none of them is refused."""
    made = _chain()
    found = ge.graph_replace([made["c"]], {made["a"]: tf.constant(2.0)})
    with tf.Session() as session:
        assert session.run(found) == [-4.0]
    with pytest.raises(ValueError, match="not connected"):
        ge.graph_replace(made["x"], {made["c"]: tf.constant(0.0)})


def test_consumers_get_other_tensors(ge: Any) -> None:
    """Only those that may change; the numbers have to fit."""
    made = _chain()
    other = tf.constant(5.0)

    assert ge.reroute_ts([other], [made["a"]], cannot_modify=[made["b"].op]) == 0
    assert ge.reroute_ts([other], [made["a"]], can_modify=[made["b"].op]) == 2
    with pytest.raises(ValueError, match="1 and 0 tensors"):
        ge.reroute_ts([other], [])
    with tf.Session() as session:
        assert session.run(made["c"]) == -25.0


def test_loops_are_not_copied(ge: Any) -> None:
    """The error says what to do."""
    found = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
    with pytest.raises(NotImplementedError, match=r"tf\.while_loop"):
        ge.copy(ge.get_backward_walk_ops(found.op))


def test_forward_parts_are_computed_again_in_the_backward_pass(ge: Any) -> None:
    """As programs do that save memory: copy, cut, and differentiate the copy."""
    x = tf.get_variable("x", initializer=np.linspace(0.1, 0.9, 4).astype(np.float32))
    middle = tf.sin(x * 2.0)
    loss = tf.reduce_sum(tf.exp(middle) * middle)
    kept = tf.stop_gradient(middle)
    later = ge.get_backward_walk_ops(loss.op, stop_at_ts=[middle])
    _, info = ge.copy_with_input_replacements(later, {})
    ge.reroute_ts([kept], [middle], can_modify=list(info._transformed_ops.values()))
    (partial,) = tf.gradients(info.transformed(loss), [kept])
    (found,) = tf.gradients(middle, [x], grad_ys=[partial])
    (expected,) = tf.gradients(loss, [x])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_allclose(*session.run([found, expected]), rtol=1e-6)


def test_a_function_keeps_a_walk_inside(ge: Any) -> None:
    """In each direction, and between two ends."""
    made = _chain()
    x, a, b, c = (made[name].op for name in "xabc")

    def is_near(op: Any) -> bool:
        return op is not b

    assert set(ge.get_forward_walk_ops([x], within_ops_fn=is_near)) == {x, a}
    assert set(ge.get_backward_walk_ops([c], within_ops_fn=is_near)) == {c}
    assert ge.get_walks_intersection_ops([x], [c], within_ops_fn=is_near) == []
    assert set(ge.get_walks_intersection_ops([x], [c])) == {x, a, b, c}
    assert set(ge.get_walks_union_ops([x], [c], within_ops_fn=is_near)) == {x, a, c}


def test_targets_of_a_replacement_may_be_a_dictionary(ge: Any) -> None:
    """The result has the same keys."""
    made = _chain()
    found = ge.graph_replace({"c": made["c"]}, {made["x"]: tf.constant(3.0)})
    with tf.Session() as session:
        assert session.run(found) == {"c": -16.0}


def test_tensors_of_other_shapes_and_types_are_not_exchanged(ge: Any) -> None:
    """The error names both; nothing has changed."""
    made = _chain()
    for other in (tf.constant([1.0, 2.0]), tf.constant(1)):
        with pytest.raises(ValueError, match="is not compatible with x:0"):
            ge.reroute_ts([other], [made["x"]])
    with tf.Session() as session:
        assert session.run(made["c"]) == -9
