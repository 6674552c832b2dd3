"""TensorShape and Dimension."""

from __future__ import annotations

import pytest

from tests.core import golden_values
from tfnb.core.tensor_shape import SCALAR, UNKNOWN, Dimension, TensorShape, unknown_shape
from tfnb.proto import tensor_pb2

_NOT_A_SHAPE = (
    "could not be converted to a dimension. A shape should either be single dimension (e.g. 10), "
    "or an iterable of dimensions (e.g. [1, 10, None])."
)
DIFFERENT = {
    "TensorShape([True])": "TensorShape([Dimension(1)])",
    "Dimension(True)": "Dimension(1)",
    "TensorShape([1,2,3])[5]": "IndexError: tuple index out of range",
    "dimension_at_index(TensorShape([1]),3)": "IndexError: tuple index out of range",
    'TensorShape("abc")': f"TypeError: Failed to convert ''abc'' to a shape: ''a'' {_NOT_A_SHAPE}",
    'TensorShape({"a":1})': (
        f"TypeError: Failed to convert '{{'a': 1}}' to a shape: ''a'' {_NOT_A_SHAPE}"
    ),
}


def test_shapes_are_tensorflows() -> None:
    """Every method, operator and error is the recorded one."""
    found = golden_values.disagreements(
        "tensor_shape", golden_values.tfnb_names(), different=DIFFERENT
    )

    assert found == []


def test_dim_values_are_plain() -> None:
    """The inner view is a tuple of int or None, or None, whatever the shape was made from."""
    assert TensorShape([Dimension(2), None, 3]).dim_values == (2, None, 3)
    assert TensorShape(None).dim_values is None
    assert TensorShape([]).dim_values == ()


def test_a_shape_from_a_tuple_equals_one_from_a_list() -> None:
    """The unchecked way in gives an equal shape with an equal hash."""
    fast, slow = TensorShape.from_tuple((2, None)), TensorShape([2, None])

    assert fast == slow
    assert hash(fast) == hash(slow)


def test_nothing_is_copied_where_nothing_changes() -> None:
    """Merging with an equal or unknown shape gives the same object back."""
    shape = TensorShape([2, None])

    assert shape.merge_with([2, None]) is shape
    assert shape.merge_with(None) is shape
    assert UNKNOWN.merge_with(shape) is shape
    assert unknown_shape() is UNKNOWN
    assert SCALAR.concatenate(SCALAR) == SCALAR


def test_a_shape_reads_its_message() -> None:
    """TensorShape takes a TensorShapeProto, where -1 is unknown."""
    proto = tensor_pb2.TensorShapeProto(dim=[{"size": 2}, {"size": -1}])

    assert TensorShape(proto).dim_values == (2, None)
    assert TensorShape(tensor_pb2.TensorShapeProto(unknown_rank=True)).dim_values is None
    with pytest.raises(ValueError, match="Dimension -3 must be >= 0"):
        TensorShape(tensor_pb2.TensorShapeProto(dim=[{"size": -3}]))
