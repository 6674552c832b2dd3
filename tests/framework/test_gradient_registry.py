"""Gradients by name."""

from __future__ import annotations

import pytest

import tfnb as tf
from tfnb.core import op_registry
from tfnb.framework import gradient_registry


@pytest.fixture(autouse=True)
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what a test registers."""
    monkeypatch.setattr(gradient_registry, "_registry", {})


def test_a_gradient_is_found_by_name() -> None:
    """The decorator returns the function."""

    @tf.RegisterGradient("MyGradient")
    def gradient(op: tf.Operation, grad: tf.Tensor) -> tf.Tensor:
        return grad

    assert gradient_registry.lookup("MyGradient") is gradient


def test_an_op_brings_its_own_gradient() -> None:
    """A gradient is registered with the op."""
    definition = op_registry.get("Neg")
    assert gradient_registry.lookup("Neg") is definition.gradient_function
    op = tf.negative(tf.constant(1.0)).op
    assert gradient_registry.get_gradient_function(op) is definition.gradient_function


def test_a_name_has_one_gradient() -> None:
    """The error names the place of the first registration, or how to override an op's own."""
    tf.RegisterGradient("Once")(lambda op, grad: grad)
    with pytest.raises(KeyError, match=r"Registering two gradient with name 'Once'!.*Previous"):
        tf.RegisterGradient("Once")(lambda op, grad: grad)
    with pytest.raises(KeyError, match=r"use Graph.gradient_override_map"):
        tf.RegisterGradient("Neg")(lambda op, grad: grad)


def test_the_gradient_of_a_program_replaces_that_of_contrib() -> None:
    """TensorFlow's core has none of LSTMBlockCell; a copy of contrib registers one."""
    own = op_registry.get("LSTMBlockCell").gradient_function
    assert gradient_registry.lookup("LSTMBlockCell") is own

    gradient = tf.RegisterGradient("LSTMBlockCell")(lambda op, *grads: grads)
    try:
        assert gradient_registry.lookup("LSTMBlockCell") is gradient
        with pytest.raises(KeyError, match="Previous registration"):
            tf.RegisterGradient("LSTMBlockCell")(gradient)
    finally:
        del gradient_registry._registry["LSTMBlockCell"]
    assert gradient_registry.lookup("LSTMBlockCell") is own


def test_gradients_can_stop() -> None:
    """no_gradient and its older names work; constants have no gradient by default."""
    for register, name in (
        (tf.no_gradient, "A"),
        (tf.NoGradient, "B"),
        (tf.NotDifferentiable, "C"),
    ):
        register(name)
        assert gradient_registry.lookup(name) is None
    assert gradient_registry.lookup("Shape") is None


def test_an_unknown_name_is_a_lookup_error() -> None:
    """tf.gradients turns it into its own message."""
    with pytest.raises(LookupError, match="gradient registry has no entry for: Nope"):
        gradient_registry.lookup("Nope")


def test_names_are_strings() -> None:
    """Both functions check this."""
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.RegisterGradient(3)
    with pytest.raises(TypeError, match="op_type must be a string"):
        tf.no_gradient(3)


def test_overrides_come_first(graph: tf.Graph) -> None:
    """First the graph's functions, then the name on the op, then the op's type."""
    tf.RegisterGradient("Mine")(mine := lambda op, grad: grad)
    x = tf.constant(1.0)
    with graph.gradient_override_map({"Neg": "Mine"}):
        named = tf.negative(x).op
        with graph._override_gradient_function({"Neg": "function"}):
            function = tf.negative(x).op
    assert gradient_registry.get_gradient_function(named) is mine
    assert gradient_registry.get_gradient_function(function) == "function"


def test_an_op_without_inputs_has_no_gradient() -> None:
    """A gradient for an op without inputs is refused."""
    assert gradient_registry.get_gradient_function(tf.constant(1.0).op) is None
