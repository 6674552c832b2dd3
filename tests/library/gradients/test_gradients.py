"""``tf.gradients`` and ``tf.hessians``: options, overrides, sums, errors.

Gradients of loops and branches are compared with TensorFlow in test_control_flow_graphs.py.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator

_numbers = itertools.count()


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph of the test's own."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(name="x")
def _x() -> tf.Tensor:
    return tf.placeholder_with_default([1.0, 2.0, 3.0], [3], name="x")


def _run(fetches: Any, feed: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feed)


def test_gradient_of_a_product(x: tf.Tensor) -> None:
    """Each argument gets the other one; an argument used twice gets both."""
    w = tf.constant([4.0, 5.0, 6.0])
    dx, dw = tf.gradients(x * w, [x, w])
    (square,) = tf.gradients(x * x, x)
    assert _run(dx).tolist() == [4.0, 5.0, 6.0]
    assert _run(dw).tolist() == [1.0, 2.0, 3.0]
    assert _run(square).tolist() == [2.0, 4.0, 6.0]


def test_gradients_of_several_add_up(x: tf.Tensor) -> None:
    """The sum of ys is differentiated."""
    (dx,) = tf.gradients([x * 2.0, x * 3.0], x)
    assert _run(dx).tolist() == [5.0, 5.0, 5.0]


def test_grad_ys_weight_the_results(x: tf.Tensor) -> None:
    """grad_ys replace the ones."""
    (dx,) = tf.gradients(x * 2.0, x, grad_ys=[[1.0, 10.0, 100.0]])
    assert _run(dx).tolist() == [2.0, 20.0, 200.0]


def test_gradient_by_itself_is_one(x: tf.Tensor) -> None:
    """An x that is the y has the gradient one."""
    y = x * 2.0
    assert _run(tf.gradients(y, y)[0]).tolist() == [1.0, 1.0, 1.0]


def test_unconnected_gives_none_or_zeros(x: tf.Tensor) -> None:
    """unconnected_gradients chooses None or zeros."""
    other = tf.constant([1.0, 1.0])
    assert tf.gradients(x, other) == [None]
    (zeros,) = tf.gradients(x, other, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    assert _run(zeros).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'half'"):
        tf.gradients(x, other, unconnected_gradients="half")


def test_integers_are_constants() -> None:
    """No gradient flows through integers."""
    i = tf.constant([1, 2])
    assert tf.gradients(i * 2, i) == [None]
    y = tf.cast(tf.cast(tf.constant([1.5]), tf.int32), tf.float32)
    assert tf.gradients(y, y.op.inputs[0].op.inputs[0]) == [None]


def test_stop_gradients_cut_paths(x: tf.Tensor) -> None:
    """The gradient is that with tf.stop_gradient."""
    y = x * 2.0
    assert _run(tf.gradients(x + y, x)[0]).tolist() == [3.0] * 3
    assert _run(tf.gradients(x + y, x, stop_gradients=[y])[0]).tolist() == [1.0] * 3
    assert _run(tf.gradients(x + tf.stop_gradient(y), x)[0]).tolist() == [1.0] * 3


@pytest.mark.parametrize(
    "method",
    [
        tf.AggregationMethod.ADD_N,
        tf.AggregationMethod.EXPERIMENTAL_TREE,
        tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    ],
)
def test_aggregation_methods_give_the_same_sum(x: tf.Tensor, method: int) -> None:
    """Every method gives the same sum."""
    y = x + x * 2.0 + tf.exp(x * 0.0) + x * x
    (dx,) = tf.gradients(y, x, aggregation_method=method)
    np.testing.assert_allclose(_run(dx), [5.0, 7.0, 9.0])


def test_unknown_aggregation_method_is_refused(x: tf.Tensor) -> None:
    """Three methods are accepted."""
    with pytest.raises(ValueError, match="Invalid `aggregation_method` specified 9"):
        tf.gradients(x, x, aggregation_method=9)


def test_gate_gradients_waits_for_all(graph: tf.Graph, x: tf.Tensor) -> None:
    """The gradients of one operation are used only when all of them are there."""
    y = tf.exp(x)
    (dx,) = tf.gradients(x * y, x, gate_gradients=True)
    assert "gradients/mul_grad/tuple/group_deps" in {op.name for op in graph.get_operations()}
    np.testing.assert_allclose(_run(dx), np.exp([1.0, 2.0, 3.0]) * [2.0, 3.0, 4.0], rtol=1e-5)


def test_gradients_go_to_the_device_of_their_operation() -> None:
    """colocate_gradients_with_ops places them there."""
    with tf.device("/cpu:0"):
        x = tf.constant([1.0])
        y = tf.exp(x)
    (far,) = tf.gradients(y, x)
    (near,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    assert far.device == ""
    assert near.device == x.device


def test_name_is_the_scope_of_all(graph: tf.Graph, x: tf.Tensor) -> None:
    """The name is made unique within the current scope."""
    with tf.name_scope("outer"):
        first = tf.gradients(tf.exp(x), x, name="back")[0]
        second = tf.gradients(tf.exp(x), x, name="back")[0]
    assert first.name.startswith("outer/back/")
    assert second.name.startswith("outer/back_1/")


def test_registered_gradient_overrides(graph: tf.Graph, x: tf.Tensor) -> None:
    """Operations made under the override use the other gradient."""
    name = f"TestFive{next(_numbers)}"

    @tf.RegisterGradient(name)
    def _(op: tf.Operation, grad: tf.Tensor) -> tf.Tensor:
        assert op.type == "Exp"
        return grad * 5.0

    with graph.gradient_override_map({"Exp": name}):
        y = tf.exp(x)
    assert _run(tf.gradients(y, x)[0]).tolist() == [5.0, 5.0, 5.0]


def test_operation_without_gradient_is_named(x: tf.Tensor) -> None:
    """The error is raised only if the gradient is needed."""
    name = f"TestMissing{next(_numbers)}"
    with tf.get_default_graph().gradient_override_map({"Exp": name}):
        y = tf.exp(x, name="mine")
    with pytest.raises(LookupError, match=r"No gradient defined for operation 'mine' .*Exp"):
        tf.gradients(y, x)
    assert tf.gradients(y, tf.constant(1.0)) == [None]


def test_gradient_function_must_give_one_for_each_input(x: tf.Tensor) -> None:
    """The error names the operation."""
    name = f"TestTwo{next(_numbers)}"
    tf.RegisterGradient(name)(lambda op, grad: [grad, grad])
    with tf.get_default_graph().gradient_override_map({"Exp": name}):
        y = tf.exp(x)
    with pytest.raises(ValueError, match="Num gradients 2 generated for op"):
        tf.gradients(y, x)


def test_gradient_of_wrong_shape_is_refused(x: tf.Tensor) -> None:
    """The error names the operation, the input and both shapes."""
    name = f"TestShape{next(_numbers)}"
    tf.RegisterGradient(name)(lambda op, grad: tf.ones([7]))
    with tf.get_default_graph().gradient_override_map({"Exp": name}):
        y = tf.exp(x, name="mine")
    with pytest.raises(ValueError, match=r"Incompatible shapes between op input.*mine"):
        tf.gradients(y, x)


def test_gradient_of_wrong_kind_is_refused(x: tf.Tensor) -> None:
    """Only tensors and IndexedSlices are accepted."""
    name = f"TestKind{next(_numbers)}"
    tf.RegisterGradient(name)(lambda op, grad: 5.0)
    with tf.get_default_graph().gradient_override_map({"Exp": name}):
        y = tf.exp(tf.exp(x))
    with pytest.raises(TypeError, match="Invalid gradient"):
        tf.gradients(y, x)


def test_gather_gives_indexed_slices() -> None:
    """The slices have only the gathered rows; several gathers are concatenated."""
    table = tf.constant(np.arange(10.0, dtype=np.float32).reshape(5, 2))
    (one,) = tf.gradients(tf.gather(table, [3, 1]), table)
    (two,) = tf.gradients([tf.gather(table, [3, 1]), tf.gather(table, [3])], table)
    assert isinstance(one, tf.IndexedSlices)
    assert _run(one).indices.tolist() == [3, 1]
    assert _run(two).indices.tolist() == [3, 1, 3]
    assert _run(two).values.tolist() == [[1.0, 1.0]] * 3


def test_dense_and_sparse_gradients_add_up_dense() -> None:
    """The sum is dense as soon as one gradient is."""
    table = tf.constant(np.zeros((3, 2), np.float32))
    (grad,) = tf.gradients([tf.gather(table, [1, 1]), table * 2.0], table)
    assert isinstance(grad, tf.Tensor)
    assert _run(grad).tolist() == [[2.0, 2.0], [4.0, 4.0], [2.0, 2.0]]


def test_gather_from_a_resource_variable_in_nested_loops() -> None:
    """Slices are accumulated over both loops; TensorFlow fails here."""
    start = np.arange(10.0, dtype=np.float32).reshape(5, 2) / 10.0
    variable = tf.Variable(start, use_resource=True)

    def looped(table: Any) -> tf.Tensor:
        def body(i: tf.Tensor, a: tf.Tensor) -> Any:
            def step(j: tf.Tensor, b: tf.Tensor) -> Any:
                return j + 1, tf.tanh(b + tf.gather(table, [i, j]))

            return i + 1, tf.while_loop(lambda j, b: j < 2, step, [0, a])[1]

        return tf.while_loop(lambda i, a: i < 3, body, [0, tf.zeros([2, 2])])[1]

    dense = tf.constant(start)
    (expected,) = tf.gradients(looped(dense), dense)
    (actual,) = tf.gradients(looped(variable), variable)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        want, got = session.run([tf.convert_to_tensor(expected), tf.convert_to_tensor(actual)])
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_gradient_with_respect_to_an_intermediate(x: tf.Tensor) -> None:
    """An x may lie between another x and y."""
    y = x * x
    z = tf.exp(y * 0.0) * y
    dx, dy = tf.gradients(z, [x, y])
    assert _run(dy).tolist() == [1.0] * 3
    assert _run(dx).tolist() == [2.0, 4.0, 6.0]


def test_second_gradient(x: tf.Tensor) -> None:
    """A gradient is differentiable."""
    (first,) = tf.gradients(x * x * x, x)
    (second,) = tf.gradients(first, x)
    assert _run(second).tolist() == [6.0, 12.0, 18.0]


def test_hessian_is_a_matrix(x: tf.Tensor) -> None:
    """The elements are second derivatives by all pairs of elements."""
    (hessian,) = tf.hessians(tf.reduce_sum(x * x * x) + x[0] * x[1] * 7.0, x)
    assert _run(hessian).tolist() == [[6.0, 7.0, 0.0], [7.0, 12.0, 0.0], [0.0, 0.0, 18.0]]


def test_hessian_of_a_matrix_has_four_dimensions() -> None:
    """Its shape is the shape of x, twice."""
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    (hessian,) = tf.hessians(tf.reduce_sum(x * x), x)
    value = _run(hessian)
    assert value.shape == (2, 2, 2, 2)
    assert value.reshape(4, 4).tolist() == (np.eye(4) * 2).tolist()


@pytest.mark.parametrize(
    ("dtype", "arguments", "kind", "text"),
    [
        (tf.complex64, {}, TypeError, "must set grad_ys"),
        (tf.string, {}, TypeError, "must be numeric"),
        (tf.float32, {"grad_ys": [1.0, 2.0]}, ValueError, "Passed 2 grad_ys for 1 ys"),
        (tf.float32, {"grad_ys": [True]}, TypeError, "must be real or integer"),
        (tf.complex64, {"grad_ys": [1.0]}, TypeError, "must be complex"),
        (tf.string, {"grad_ys": [1.0]}, TypeError, "must be numeric"),
    ],
)
def test_weights_must_fit(
    dtype: Any, arguments: dict[str, Any], kind: type[Exception], text: str
) -> None:
    """Number and types of grad_ys are checked."""
    x = tf.placeholder(dtype, [])
    with pytest.raises(kind, match=text):
        tf.gradients(x, x, **arguments)


def test_gradient_leaves_the_loop_it_is_in_only_through_constants() -> None:
    """A gradient by the initial value of a loop variable would need all iterations."""
    x = tf.constant(2.0, name="x")

    def body(i: tf.Tensor, a: tf.Tensor) -> Any:
        return i + 1, tf.gradients(a * a, x)[0]

    with pytest.raises(ValueError, match=r"Cannot compute gradient inside while loop .*'x'"):
        tf.while_loop(lambda i, a: i < 3, body, [0, x])


def test_second_gradient_of_a_loop_is_refused() -> None:
    """The error is that of TensorFlow 1."""
    x = tf.constant(2.0)
    loop = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])
    (first,) = tf.gradients(loop[1], x)
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
        tf.gradients(first, x)


def test_loop_without_context_is_named() -> None:
    """A bare GraphDef has no contexts for its loops."""
    with tf.Graph().as_default() as inner:
        tf.identity(tf.while_loop(lambda a: a < 3.0, lambda a: a * 2.0, [1.0]), name="out")
    (out,) = tf.import_graph_def(inner.as_graph_def(), return_elements=["out:0"], name="in")
    start = tf.get_default_graph().get_tensor_by_name("in/while/Const:0")
    with pytest.raises(ValueError, match="nothing is known of the loop of 'in/while/Exit'"):
        tf.gradients(out, start)


def test_deep_graphs_need_no_deep_stack() -> None:
    """A chain of thousands of operations is differentiated without recursion."""
    x = tf.constant(1.0)
    y = x
    for _ in range(1500):
        y = tf.identity(y)
    assert _run(tf.gradients(y, x)[0]) == 1.0
