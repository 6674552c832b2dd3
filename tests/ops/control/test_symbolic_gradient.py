"""Gradients of functions in a graph: SymbolicGradient builds them at run time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.core.attr_value import NameAttrList
from tfnb.framework.functions import function
from tfnb.library.control_flow.functional_control_flow import Gradient
from tfnb.ops.control.functional_ops import partitioned_call
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

# tanh(a * b) and a + b, in which nothing needs b twice.
_LIBRARY = """
library {
  function {
    signature {
      name: "F"
      input_arg { name: "a" type: DT_FLOAT }
      input_arg { name: "b" type: DT_FLOAT }
      output_arg { name: "y" type: DT_FLOAT }
      output_arg { name: "z" type: DT_FLOAT }
    }
    node_def {
      name: "product" op: "Mul" input: "a" input: "b"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    node_def {
      name: "tanh" op: "Tanh" input: "product:z:0"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    node_def {
      name: "sum" op: "AddV2" input: "a" input: "b"
      attr { key: "T" value { type: DT_FLOAT } }
    }
    ret { key: "y" value: "tanh:y:0" }
    ret { key: "z" value: "sum:z:0" }
  }
  function {
    signature {
      name: "G"
      input_arg { name: "a" type: DT_FLOAT }
      input_arg { name: "b" type: DT_FLOAT }
      input_arg { name: "dy" type: DT_FLOAT }
      input_arg { name: "dz" type: DT_FLOAT }
      output_arg { name: "da" type: DT_FLOAT }
      output_arg { name: "db" type: DT_FLOAT }
    }
    ret { key: "da" value: "dy" }
    ret { key: "db" value: "dz" }
  }
}
versions { producer: 21 }
"""


def _graph_def(gradient_of_f: str = "") -> graph_pb2.GraphDef:
    definition = text_format.Parse(_LIBRARY, graph_pb2.GraphDef())
    if gradient_of_f:
        definition.library.gradient.add(function_name="F", gradient_func=gradient_of_f)
    return definition


def _call(graph: tf.Graph, a: Any, b: Any) -> list[tf.Tensor]:
    return graph.create_op("F", [tf.convert_to_tensor(a), tf.convert_to_tensor(b)]).outputs


def _partitioned_call(graph: tf.Graph, a: Any, b: Any) -> list[tf.Tensor]:
    outputs: list[tf.Tensor] = partitioned_call(
        [a, b], Tout=[tf.float32] * 2, f=NameAttrList("F", {})
    )
    return outputs


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("call", [_call, _partitioned_call])
def test_gradient_of_a_function(call: Callable[..., Any], number: int) -> None:
    """The gradient is that of the body, for any used result and any kind of call."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(_graph_def(), name="")
        a, b = tf.constant([0.5, 1.0]), tf.constant([0.25, -1.0])
        body = [tf.tanh(a * b), a + b]
        expected = tf.gradients(body[number], [a, b])
        actual = tf.gradients(call(graph, a, b)[number], [a, b])
        assert actual[0].op.type == "SymbolicGradient"
        with tf.Session() as session:
            want, got = session.run([expected, actual])
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_declared_gradient_function_is_called() -> None:
    """A function may name another one as its gradient."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(_graph_def("G"), name="")
        a, b = tf.constant(0.5), tf.constant(0.25)
        outputs = _call(graph, a, b)
        found = tf.gradients(outputs, [a, b], grad_ys=[3.0, 4.0])
        with tf.Session() as session:
            assert session.run(found) == [3.0, 4.0]


def test_python_gradient_is_preferred() -> None:
    """A function may bring a gradient in Python, which is built with the graph."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(_graph_def(), name="")
        graph._get_function("F").python_grad_func = lambda op, dy, dz: [dy * 5.0, dz * 6.0]
        a, b = tf.constant(0.5), tf.constant(0.25)
        found = tf.gradients(_call(graph, a, b), [a, b])
        with tf.Session() as session:
            assert session.run(found) == [5.0, 6.0]


def test_function_in_a_loop_has_a_gradient() -> None:
    """The call's arguments are saved in every iteration."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(_graph_def(), name="")
        x, w = tf.constant(0.5), tf.constant(0.75)

        def looped(step: Any) -> list[tf.Tensor]:
            loop = tf.while_loop(
                lambda i, a: i < 3,
                lambda i, a: (i + 1, step(a)),
                [0, x],
                shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)],
            )
            return tf.gradients(loop[1], [x, w])

        expected = looped(lambda a: tf.tanh(a * w))
        actual = looped(lambda a: _call(graph, a, w)[0])
        with tf.Session() as session:
            want, got = session.run([expected, actual])
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_second_derivative_of_a_function() -> None:
    """A gradient inside of a body is differentiated like its other nodes."""

    @function.Defun(tf.float32)
    def power(x: tf.Tensor) -> tf.Tensor:
        return tf.exp(x)

    @function.Defun(tf.float32, tf.float32)
    def slope(x: tf.Tensor, grad: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.no_op()]):
            found: tf.Tensor = Gradient([x, grad], power)[0]
        return found

    with tf.Graph().as_default(), tf.Session() as session:
        x, ones = tf.constant([1.0, 2.0]), tf.ones([2])
        second, by_grad = session.run(Gradient([x, ones, ones], slope))
    np.testing.assert_allclose(second, np.exp([1.0, 2.0]), rtol=1e-6)
    np.testing.assert_allclose(by_grad, np.exp([1.0, 2.0]), rtol=1e-6)


def test_a_declared_gradient_with_other_results_is_refused() -> None:
    """A function has one gradient for each argument."""

    @function.Defun(tf.float32, tf.float32, tf.float32)
    def gradient(x: Any, y: Any, dz: Any) -> Any:
        return y * dz

    @function.Defun(tf.float32, tf.float32, grad_func=gradient)
    def product(x: Any, y: Any) -> Any:
        return x * y

    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.constant(1.0), tf.constant(2.0)
        found = tf.gradients(product(x, y), [x, y])
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"to return 2 tensor\(s\), but get 1 tensor\(s\)"
        ):
            session.run(found)
