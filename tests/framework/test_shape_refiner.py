"""Running shape functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.core.op_registry import OpDefinition, find, register_op
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.core.shape_inference import InferenceContext


def test_op(name: str, signature: str, shape: object) -> OpDefinition:
    """An op without kernel, registered once for all runs of the tests."""
    definition = find(name) or register_op(name, signature)(None)
    definition.shape_function = shape  # type: ignore[assignment]
    return definition


test_op.__test__ = False  # type: ignore[attr-defined]  # a helper, not a test


def test_without_a_shape_function_nothing_is_known() -> None:
    """Every output has an unknown shape."""
    a, b = test_op("TestPair", "x: float -> a: float, b: float", None)(tf.constant(1.0))
    assert (a.shape.rank, b.shape.rank) == (None, None)


def test_a_shape_function_gives_one_shape_or_a_list() -> None:
    """A list has one shape per output."""
    one = test_op("TestOne", "x: float -> y: float", lambda c: TensorShape([3]))
    assert one(tf.constant(1.0)).shape.as_list() == [3]
    both = [TensorShape([1]), TensorShape(None)]
    a, b = test_op("TestPair", "x: float -> a: float, b: float", lambda c: both)(tf.constant(1.0))
    assert (a.shape.rank, b.shape.rank) == (1, None)


def test_what_a_handle_refers_to_is_passed_on() -> None:
    """A shape function reads and sets (dtype, shape) pairs of resources."""

    def declare(c: InferenceContext) -> TensorShape:
        c.set_output_handle_data(0, [(tf.float32, TensorShape([2]))])
        return TensorShape([])

    def read(c: InferenceContext) -> TensorShape:
        data = c.input_handle_data(0)
        assert data is not None
        return data[0][1]

    handle = test_op("TestShapeHandle", "-> h: resource", declare)()
    assert handle._handle_data == [(tf.float32, TensorShape([2]))]
    assert test_op("TestRead", "h: resource -> y: float", read)(handle).shape.as_list() == [2]


def test_an_error_shows_what_the_function_looked_at() -> None:
    """The node, its inputs' shapes, values and values read as shapes."""

    def refuse(c: InferenceContext) -> TensorShape:
        if c.constant_value(1) is None:
            return TensorShape(None)
        c.constant_value_as_shape(2)
        raise ValueError("No.")

    refused = test_op("TestRefuse", "x: float, y: int32, z: int32 -> w: float", refuse)
    x = tf.placeholder(tf.float32, [2, None], name="x")
    y = tf.constant([1, 2, 3, 4], name="y")
    z = tf.stack([tf.placeholder(tf.int32, []), 4], name="z")
    with pytest.raises(ValueError, match=r"No. for") as caught:
        refused(x, y, z, name="r")
    assert str(caught.value) == (
        "No. for '{{node r}} = TestRefuse[](x, y, z)' with input shapes: [2,?], [4], [2] and with "
        "computed input tensors: input[1] = <1 2 3 4> and with input tensors computed as partial "
        "shapes: input[2] = [?,4]."
    )


def test_what_is_refused_without_values_shows_none() -> None:
    """The error of TensorFlow's first call, without values, is raised."""

    def refuse(c: InferenceContext) -> TensorShape:
        known = c.constant_value(0)
        raise ValueError("Known." if known is not None else f"{c.constant_value_as_shape(0)}")

    refused = test_op("TestRefuseFirst", "x: int32 -> y: float", refuse)
    with pytest.raises(ValueError, match=r"\?") as caught:
        refused(tf.constant([1, 2], name="x"), name="r")
    assert str(caught.value) == (
        "(?, ?) for '{{node r}} = TestRefuseFirst[](x)' with input shapes: [2]."
    )


def test_an_input_that_holds_a_shape_has_one_dimension() -> None:
    """A scalar is refused, also -1."""
    wants = test_op("TestWants", "x: int32 -> y: float", lambda c: c.constant_value_as_shape(0))
    for value in (0, -1, [[2]]):
        rank = 2 if isinstance(value, list) else 0
        with pytest.raises(ValueError, match=f"Shape must be rank 1 but is rank {rank} for"):
            wants(tf.constant(value))
