"""``tf.while_loop``: iterations, shapes, access from outside, errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


def _run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_loop_runs_until_the_condition_fails() -> None:
    """The results are the last values of the variables."""
    i, total = tf.while_loop(lambda i, t: i < 5, lambda i, t: (i + 1, t + i), [0, 0])
    assert _run([i, total]) == [5, 10]


def test_loop_may_run_no_iteration() -> None:
    """Then the results are the initial values."""
    assert _run(tf.while_loop(lambda i: i < 0, lambda i: i + 1, [7])) == 7


@pytest.mark.parametrize("parallel_iterations", [1, 2, 10])
def test_parallel_iterations_do_not_change_results(parallel_iterations: int) -> None:
    """Any number of iterations in flight gives the same results."""
    n = 20
    result = tf.while_loop(
        lambda i, a, b: i < n,
        lambda i, a, b: (i + 1, a * 0.5 + b, a + 1.0),
        [0, 1.0, 2.0],
        parallel_iterations=parallel_iterations,
    )
    a, b = 1.0, 2.0
    for _ in range(n):
        a, b = a * 0.5 + b, a + 1.0
    np.testing.assert_allclose(_run(result)[1:], [a, b], rtol=1e-5)


@pytest.mark.parametrize(("limit", "expected"), [(3, 3), (100, 10), (0, 0), (-1, 0)])
def test_maximum_iterations_ends_the_loop(limit: int, expected: int) -> None:
    """The loop ends without an error, unless the condition ends it earlier."""
    loop = tf.while_loop(lambda i: i < 10, lambda i: i + 1, [0], maximum_iterations=limit)
    assert _run(loop) == expected


def test_single_variable_comes_without_its_list() -> None:
    """return_same_structure keeps the list."""
    loose = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    same = tf.while_loop(lambda i: i < 3, lambda i: [i + 1], [0], return_same_structure=True)
    assert isinstance(loose, tf.Tensor)
    assert isinstance(same, list)


def test_error_in_an_iteration_aborts_the_step() -> None:
    """The error is that of the operation."""
    loop = tf.while_loop(lambda i: i < 9, lambda i: tf.gather([1, 2], i), [0])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"2 is not in \[0, 2\)"):
        _run(loop)


def test_shape_that_changes_is_refused() -> None:
    """An invariant allows it."""
    x = tf.ones([2])
    with pytest.raises(
        ValueError, match=r"enters the loop with shape \(2,\), but has shape \(4,\)"
    ):
        tf.while_loop(lambda a: True, lambda a: tf.concat([a, a], 0), [x])
    grown = tf.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf.concat([a, a], 0)),
        [0, x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )
    assert grown[1].shape.as_list() == [None]
    assert _run(grown[1]).tolist() == [1.0] * 16


def test_dtype_that_changes_is_refused() -> None:
    """A loop variable keeps its dtype."""
    with pytest.raises(TypeError, match="incompatible with expected int32"):
        tf.while_loop(lambda a: True, lambda a: tf.cast(a, tf.float32), [1])


def test_invariant_must_fit_the_first_value() -> None:
    """The invariant must be a shape."""
    with pytest.raises(ValueError, match="is not compatible with the initial shape"):
        tf.while_loop(
            lambda a: True, lambda a: a, [tf.ones([2])], shape_invariants=[tf.TensorShape([3])]
        )
    with pytest.raises(TypeError, match="'shape' must be one of"):
        tf.while_loop(lambda a: True, lambda a: a, [tf.ones([2])], shape_invariants=[2])


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"cond": 1}, TypeError, "'cond' must be callable"),
        ({"body": 1}, TypeError, "'body' must be callable"),
        ({"loop_vars": []}, ValueError, "'loop_vars' must be provided"),
        ({"parallel_iterations": 0}, TypeError, "must be a positive integer"),
        ({"maximum_iterations": [1]}, ValueError, "must be a scalar"),
        ({"body": lambda i: (i, i)}, ValueError, "same number of elements"),
    ],
)
def test_wrong_arguments_are_refused(
    arguments: dict[str, Any], kind: type[Exception], text: str
) -> None:
    """Each mistake has TensorFlow's class and text."""
    good: dict[str, Any] = {"cond": lambda i: i < 3, "body": lambda i: i + 1, "loop_vars": [0]}
    with pytest.raises(kind, match=text):
        tf.while_loop(**{**good, **arguments})


def test_tensors_inside_are_neither_fetched_nor_fed() -> None:
    """They have a value in each iteration."""
    inside: list[tf.Tensor] = []

    def body(i: tf.Tensor) -> tf.Tensor:
        inside.append(i + 1)
        return inside[0]

    loop = tf.while_loop(lambda i: i < 3, body, [0])
    with tf.Session() as session:
        with pytest.raises(ValueError, match="not fetchable"):
            session.run(inside[0])
        with pytest.raises(ValueError, match="may not be fed"):
            session.run(loop, {inside[0]: 1})


def test_tensors_inside_are_not_used_outside() -> None:
    """They are refused outside of all loops and in another loop."""
    inside: list[tf.Tensor] = []

    def body(i: tf.Tensor) -> tf.Tensor:
        inside.append(i + 1)
        return inside[0]

    tf.while_loop(lambda i: i < 3, body, [0])
    with pytest.raises(ValueError, match="is in a while loop"):
        tf.identity(inside[0])
    with pytest.raises(ValueError, match="different while loops"):
        tf.while_loop(lambda i: i < 3, lambda i: i + inside[0], [0])


def test_a_failing_body_leaves_no_context(graph: tf.Graph) -> None:
    """After an exception in the body, ops are built outside of the loop again."""

    def fail(i: tf.Tensor) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tf.while_loop(lambda i: i < 3, fail, [0])
    assert graph._get_control_flow_context() is None


def test_control_dependencies_inside_run_in_every_iteration() -> None:
    """Control inputs from outside run once, before the loop."""
    outside = tf.gather([1.0], tf.placeholder_with_default(5, []))

    def body(i: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([outside]):
            return tf.identity(i) + 1

    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in \[0, 1\)"):
        _run(tf.while_loop(lambda i: i < 3, body, [0]))


def test_loop_in_a_loop_begins_anew_each_time() -> None:
    """Initial values may depend on the outer iteration."""

    def body(i: tf.Tensor, total: tf.Tensor) -> Any:
        inner = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), [0, total])
        return i + 1, inner[1]

    total = sum(j for i in range(6) for j in range(i))
    assert _run(tf.while_loop(lambda i, t: i < 6, body, [0, 0])[1]) == total


def test_loop_on_the_side_not_taken_does_not_run() -> None:
    """A loop in the untaken branch is dead as a whole, even an endless one."""
    p = tf.placeholder(tf.bool, [])
    result = tf.cond(
        p,
        lambda: tf.while_loop(lambda i: i >= 0, lambda i: i * 1, [1]),
        lambda: tf.constant(5),
    )
    assert _run(result, {p: False}) == 5


def test_structures_of_variables() -> None:
    """Dicts, lists, arrays and sparse tensors are loop variables."""
    sparse = tf.SparseTensor([[0]], [1.0], [2])

    def body(state: Any, values: Any, s: Any) -> Any:
        twice = tf.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)
        return {"i": state["i"] + 1}, [values[0] + 1.0], twice

    state, values, s = _run(
        tf.while_loop(
            lambda state, values, s: state["i"] < 3, body, ({"i": 0}, [np.zeros(2)], sparse)
        )
    )
    assert state == {"i": 3}
    assert values[0].tolist() == [3.0, 3.0]
    assert s.values.tolist() == [8.0]


def test_strings_go_around_the_loop() -> None:
    """A loop variable may have any type."""
    loop = tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + "b"), [0, tf.constant("a")])
    assert _run(loop)[1] == b"abbb"


def test_contexts_are_collected(graph: tf.Graph) -> None:
    """The outermost loops are in their collection."""
    loop = tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="mine")
    (context,) = graph.get_collection(tf.GraphKeys.WHILE_CONTEXT)
    assert context.name == "mine/while_context"
    assert context.loop_exits == [loop]


def test_a_graph_with_a_loop_can_be_imported_into_a_branch() -> None:
    """The operations of the loop join the branch, with its back edges."""
    with tf.Graph().as_default() as inner:
        x = tf.placeholder(tf.int32, [], name="x")
        tf.identity(tf.while_loop(lambda i: i < 10, lambda i: i + 3, [x]), name="out")
    definition = inner.as_graph_def()
    p = tf.placeholder(tf.bool, [])
    y = tf.placeholder(tf.int32, [])

    def load() -> tf.Tensor:
        return tf.import_graph_def(definition, {"x:0": y}, ["out:0"])[0]

    result = tf.cond(p, load, lambda: y)
    assert _run(result, {p: True, y: 2}) == 11
    assert _run(result, {p: False, y: 2}) == 2
