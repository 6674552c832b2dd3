"""Functions in a graph."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import text_format

import tfnb as tf
from tfnb.framework.function_library import GraphFunction
from tfnb.framework.functions.function import Defun
from tfnb.proto import graph_pb2


def function(name: str = "Twice", op: str = "AddV2") -> GraphFunction:
    """A function of one float."""
    text = f"""signature {{ name: "{name}" input_arg {{ name: "x" type: DT_FLOAT }}
        output_arg {{ name: "y" type: DT_FLOAT }} }}
      node_def {{ name: "n" op: "{op}" input: "x" input: "x"
        attr {{ key: "T" value {{ type: DT_FLOAT }} }} }} ret {{ key: "y" value: "n:z:0" }}"""
    return GraphFunction(text_format.Parse(text, graph_pb2.FunctionDef()))


def test_a_function_can_be_called_by_name(graph: tf.Graph) -> None:
    """The signature is that of an op; min_consumer is raised."""
    function().add_to_graph(graph)
    call = graph.create_op("Twice", [tf.constant(1.0)])
    assert call.outputs[0].dtype == tf.float32
    assert graph._is_function("Twice")
    assert graph.op_def_for_type("Twice").output_arg[0].name == "y"
    assert graph.graph_def_versions.min_consumer == 12
    assert [f.signature.name for f in graph.as_graph_def().library.function] == ["Twice"]


def test_adding_a_function_again_does_nothing(graph: tf.Graph) -> None:
    """Another function of the same name is refused."""
    graph._add_function(function())
    graph._add_function(function())
    with pytest.raises(tf.errors.InvalidArgumentError, match="a different function with the same"):
        graph._add_function(function(op="Mul"))


def test_a_function_has_one_gradient(graph: tf.Graph) -> None:
    """A gradient is named or in Python, not both; the name is written."""
    twice = function()
    twice.grad_func_name = "TwiceGrad"
    graph._add_function(twice)
    gradient = graph.as_graph_def().library.gradient[0]
    assert (gradient.function_name, gradient.gradient_func) == ("Twice", "TwiceGrad")
    both = function("Both")
    both.grad_func_name, both.python_grad_func = "G", lambda op, grad: grad
    with pytest.raises(ValueError, match="Gradient defined twice for function Both"):
        graph._add_function(both)


def test_a_function_can_be_removed(graph: tf.Graph) -> None:
    """A second removal is refused."""
    graph._add_function(function())
    assert graph._get_function(b"Twice") is not None
    graph._remove_function("Twice")
    assert graph._get_function("Twice") is None
    with pytest.raises(ValueError, match="Function 'Twice' is not found"):
        graph._remove_function("Twice")


def test_functions_that_call_the_one_before_twice_are_built_once_each() -> None:
    """The number of builds is linear, not that of all paths."""

    def calling_twice(inner: Any) -> Any:
        return lambda x: inner(inner(x))

    with tf.Graph().as_default() as graph:
        function = Defun(tf.float32, func_name="f0")(lambda x: x + 1.0)
        for level in range(1, 40):
            function = Defun(tf.float32, func_name=f"f{level}")(calling_twice(function))
        function(tf.constant(0.0))
        assert {*graph._functions} == {f"f{level}" for level in range(40)}
