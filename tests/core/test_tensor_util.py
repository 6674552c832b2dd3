"""make_tensor_proto and make_ndarray against what TensorFlow answers."""

from __future__ import annotations

import pytest
from google.protobuf import text_format

from tests.core import golden_values
from tfnb.core import tensor_util
from tfnb.proto import tensor_pb2

_RAGGED = (
    "ValueError: Expected values {} to be a dense tensor with shape {}, but its rows have "
    "different lengths: the array has an inhomogeneous shape."
)
_NO_TYPE = "TypeError: Failed to convert elements of {} to Tensor. Consider casting elements to a"
# TensorFlow writes an array of foreign byte order unchanged, which cannot be read back.
DIFFERENT_PROTOS = {
    'make_tensor_proto(np.array([1,2],">i4"))': (
        "dtype: DT_INT32 tensor_shape { dim { size: 2 } } "
        r'tensor_content: "\001\000\000\000\002\000\000\000"'
    ),
    "make_tensor_proto(range(3))": _NO_TYPE.format("range(0, 3)"),
    "make_tensor_proto(tensor_shape.TensorShape([1,2]))": _NO_TYPE.format("(1, 2)"),
    "make_tensor_proto(tensor_shape.TensorShape([1,None]))": _NO_TYPE.format("(1, ?)"),
    'make_tensor_proto([["a"],["b","c"]])': _RAGGED.format([["a"], ["b", "c"]], [2, 1]),
    'make_tensor_proto([["a"],"b"])': _RAGGED.format([["a"], "b"], [2, 1]),
    'make_tensor_proto([[],["a"]])': _RAGGED.format([[], ["a"]], [2, 0]),
}


def proto(text: str) -> tensor_pb2.TensorProto:
    """A TensorProto from text."""
    return text_format.Parse(text, tensor_pb2.TensorProto())


def test_protos_are_tensorflows() -> None:
    """Types found, encodings chosen and errors raised are the recorded ones."""
    found = golden_values.disagreements(
        "make_tensor_proto",
        golden_values.tfnb_names(),
        different=DIFFERENT_PROTOS,
        message_words=3,
    )

    assert found == []


# TensorFlow's make_ndarray is stricter than its runtime about integers out of range, laxer about
# bools, gives str for missing strings, and supports neither handles nor tensor_content of strings.
DIFFERENT_ARRAYS = {
    'dtype: DT_FLOAT tensor_shape {dim {size: 0}} tensor_content: "\\001\\002\\003\\001"': (
        "float32 (0,) []"
    ),
    'dtype: DT_RESOURCE tensor_shape {} resource_handle_val {name: "a"}': "TypeError: U",
    'dtype: DT_VARIANT tensor_shape {} variant_val {type_name: "int"}': "TypeError: U",
    'dtype: DT_VARIANT tensor_shape {} variant_val {type_name: "foo"}': "TypeError: U",
    "dtype: DT_STRING tensor_shape {dim {size: 2}}": "object (2,) [b'', b'']",
    'dtype: DT_STRING tensor_shape {dim {size: 2}} tensor_content: "\\001\\001ab"': (
        "object (2,) [b'a', b'b']"
    ),
    'dtype: DT_BOOL tensor_shape {dim {size: 2}} tensor_content: "\\005\\000"': "ValueError: C",
    "dtype: DT_HALF tensor_shape {dim {size: 2}} half_val: 15872 half_val: 100000": (
        "float16 (2,) [1.5, -0.0001010894775390625]"
    ),
    "dtype: DT_UINT8 tensor_shape {dim {size: 2}} int_val: 300": "uint8 (2,) [44, 44]",
    "dtype: DT_INT8 tensor_shape {dim {size: 2}} int_val: -1 int_val: 200": "int8 (2,) [-1, -56]",
    "dtype: DT_INT16 tensor_shape {dim {size: 2}} int_val: 70000": "int16 (2,) [4464, 4464]",
    "dtype: DT_QINT8 tensor_shape {dim {size: 2}} int_val: -1 int_val: 5": "int8 (2,) [-1, 5]",
    "dtype: DT_QINT32 tensor_shape {dim {size: 2}} int_val: -1 int_val: 5": "int32 (2,) [-1, 5]",
    'dtype: DT_QUINT8 tensor_shape {dim {size: 2}} tensor_content: "\\001\\002"': (
        "uint8 (2,) [1, 2]"
    ),
}


def test_arrays_are_tensorflows() -> None:
    """Every encoding is read as recorded, and refused with an error of the same type."""
    found = golden_values.disagreements(
        "make_ndarray",
        golden_values.tfnb_names(),
        different={
            f"make_ndarray(TensorProto({text!r}))": result
            for text, result in DIFFERENT_ARRAYS.items()
        },
        message_words=0,
    )

    assert found == []


def test_make_ndarray_gives_an_array_of_its_own() -> None:
    """The public function's array may be written to; the runtime's may share bytes."""
    message = tensor_util.make_tensor_proto([1.0, 2.0])
    array = tensor_util.make_ndarray(message)
    array[0] = 5.0

    assert tensor_util.make_ndarray(message).tolist() == [1.0, 2.0]
    assert not tensor_util.decode_tensor(message).flags.writeable


def test_too_many_values_are_named() -> None:
    """make_ndarray refuses more values than the shape holds."""
    with pytest.raises(ValueError, match=r"shape \(2,\) from the 3 values"):
        tensor_util.make_ndarray(
            proto("dtype: DT_FLOAT tensor_shape {dim {size: 2}} float_val: [1, 2, 3]")
        )
