"""Attribute values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tfnb.core import dtypes, errors
from tfnb.core.attr_value import (
    NameAttrList,
    TensorAttr,
    decode_attr,
    decode_attrs,
    encode_attr,
    kind_of,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.core.tensor_util import make_tensor_proto
from tfnb.proto import attr_value_pb2, graph_pb2

VALUES: list[tuple[str, Any]] = [
    ("int", -3),
    ("float", 0.5),
    ("bool", False),
    ("string", b"a\xff"),
    ("type", dtypes.float32_ref),
    ("shape", TensorShape([2, None])),
    ("shape", TensorShape(None)),
    ("tensor", TensorAttr.from_value(np.float32([1, 2]))),
    ("func", NameAttrList("f", {"T": dtypes.int32, "n": [1, 2]})),
    ("list(int)", [1, 2]),
    ("list(float)", [0.5]),
    ("list(bool)", [True, False]),
    ("list(string)", [b"a", b""]),
    ("list(type)", [dtypes.int32, dtypes.string]),
    ("list(shape)", [TensorShape([]), TensorShape(None)]),
    ("list(tensor)", [TensorAttr.from_value(np.int64(3))]),
    ("list(func)", [NameAttrList("f"), NameAttrList("g")]),
    ("list(int)", []),
]


@pytest.mark.parametrize(("kind", "value"), VALUES)
def test_every_kind_comes_back(kind: str, value: Any) -> None:
    """A value goes through its message unchanged; the kind can be read off the value."""
    message = encode_attr(value, kind)

    assert decode_attr(message) == value
    assert encode_attr(value) == message
    assert kind_of(value) == kind


def test_what_obviously_converts_is_taken() -> None:
    """Text becomes strings, names types or functions, lists shapes, arrays tensors."""
    assert encode_attr("SAME", "string").s == b"SAME"
    assert encode_attr("float", "type").type == 1
    assert encode_attr([2, None], "shape").shape.dim[1].size == -1
    assert encode_attr([[1.0]], "tensor").tensor.dtype == 1
    assert encode_attr("f", "func").func.name == "f"
    assert encode_attr(np.int64(3), "int").i == 3
    assert encode_attr((1, 2), "list(int)").list.i == [1, 2]
    assert encode_attr([], "list(type)").WhichOneof("value") == "list"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.5),
        ("int", "1"),
        ("float", "x"),
        ("bool", 1),
        ("string", 3),
        ("type", "blah"),
        ("shape", "abc"),
        ("func", 3),
        ("list(int)", 3),
        ("list(string)", "abc"),
    ],
)
def test_a_value_of_another_kind_is_refused(kind: str, value: Any) -> None:
    """The error names the kind and the value."""
    pattern = rf"Expected a value of kind {kind.replace('(', '.').replace(')', '.')}.*got {value!r}"
    with pytest.raises(TypeError, match=pattern):
        encode_attr(value, kind)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (attr_value_pb2.AttrValue(), "must have a value"),
        (attr_value_pb2.AttrValue(placeholder="T"), r"placeholder '\$T' of a function body"),
        (attr_value_pb2.AttrValue(type=0), "0 is not the number of a data type"),
        (attr_value_pb2.AttrValue(type=77), "77 is not the number of a data type"),
        (attr_value_pb2.AttrValue(shape={"dim": [{"size": -7}]}), "values below -1"),
        (attr_value_pb2.AttrValue(list={"i": [1], "s": [b"a"]}), "several kinds: s, i"),
    ],
)
def test_a_message_without_meaning_is_refused(message: attr_value_pb2.AttrValue, text: str) -> None:
    """Decoding says what is wrong; decoding a node's attributes also says with which."""
    with pytest.raises(errors.InvalidArgumentError, match=text):
        decode_attr(message)
    with pytest.raises(errors.InvalidArgumentError) as raised:
        decode_attrs({"dtype": message})

    assert raised.value.message.startswith("Attribute 'dtype': ")


def test_a_nodes_attributes_decode_together() -> None:
    """The map of a NodeDef becomes a dict of plain values."""
    node = graph_pb2.NodeDef(attr={"T": encode_attr(dtypes.int32), "N": encode_attr(2)})

    assert decode_attrs(node.attr) == {"T": dtypes.int32, "N": 2}


def test_a_tensor_is_decoded_when_asked_for_and_once() -> None:
    """Type and shape come from the message; invalid content is an error when the value is read."""
    good = TensorAttr(make_tensor_proto([1.0, 2.0]))
    assert (good.dtype, good.shape.dim_values) == (dtypes.float32, (2,))
    assert good.value() is good.value()

    message = make_tensor_proto([1.0, 2.0])
    message.tensor_content = b"abc"
    bad = TensorAttr(message)
    assert bad.shape.dim_values == (2,)
    with pytest.raises(errors.InvalidArgumentError, match="Cannot parse tensor from proto"):
        bad.value()


def test_tensors_are_equal_whatever_their_encoding() -> None:
    """A splat equals the list of its elements, and NaN itself; another type is another tensor."""
    splat = TensorAttr(make_tensor_proto(np.float32(np.nan), shape=[2]))
    whole = TensorAttr(make_tensor_proto(np.full(2, np.nan, np.float32)))

    assert splat == whole
    assert hash(splat) == hash(whole)
    assert splat != TensorAttr.from_value(np.zeros(2, np.float32))
    assert TensorAttr.from_value(np.int8([1])) != TensorAttr.from_value(np.int8([1]), dtypes.qint8)
    strings = TensorAttr.from_value(np.array([b"a", b""], object))
    assert strings == TensorAttr(make_tensor_proto(["a", ""]))
    assert strings != TensorAttr(make_tensor_proto(["a", "b"]))


def test_a_quantized_tensor_keeps_its_type() -> None:
    """The array has plain integers; the attribute keeps the type."""
    attr = TensorAttr.from_value(np.int8([1, 2]), dtypes.qint8)

    assert (attr.dtype, attr.proto.dtype) == (dtypes.qint8, 11)
    assert repr(attr) == "<TensorAttr qint8 (2,) [1, 2]>"
