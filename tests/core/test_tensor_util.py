"""Python values, arrays and TensorProtos."""

from __future__ import annotations

import tracemalloc
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tests.core import golden_values
from tfnb.core import dtypes, errors, tensor_util
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import tensor_pb2

_RAGGED = (
    "ValueError: Expected values {} to be a dense tensor with shape {}, but its rows have "
    "different lengths: the array has an inhomogeneous shape."
)
_NO_TYPE = "TypeError: Failed to convert elements of {} to Tensor. Consider casting elements to a"
# TensorFlow writes an array of foreign byte order as it is, which nobody can read back.
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


def decoded(text: str) -> Any:
    """The tensor that a TensorProto in text holds, as nested lists."""
    return tensor_util.decode_tensor(proto(text)).tolist()


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
# bools, gives str for absent strings, and knows neither handles nor content of strings.
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


# What TensorFlow's Const gives for a proto, where that is not what make_ndarray gives.
RUNTIME = [
    ("dtype: DT_FLOAT tensor_shape {dim {size: 2}} float_val: [1, 2, 3]", [1.0, 2.0]),
    ("dtype: DT_FLOAT tensor_shape {dim {size: 0}} float_val: 1", []),
    ("dtype: DT_STRING tensor_shape {dim {size: 1}} string_val: ['a', 'b']", [b"a"]),
    ("dtype: DT_UINT8 tensor_shape {dim {size: 2}} int_val: 300", [44, 44]),
    ("dtype: DT_INT64 tensor_shape {dim {size: 2}} int_val: 5", [0, 0]),
    ("dtype: DT_COMPLEX64 tensor_shape {dim {size: 2}} scomplex_val: [1, 2, 3]", [1 + 2j, 1 + 2j]),
    ("dtype: DT_FLOAT tensor_shape {unknown_rank: true} float_val: 1", 1.0),
]


@pytest.mark.parametrize(("text", "value"), RUNTIME)
def test_the_runtime_reads_more_than_make_ndarray(text: str, value: Any) -> None:
    """The runtime drops values that are too many and fills in zeros for those that are missing."""
    assert decoded(text) == value


CLAIMS = [
    (
        "dtype: DT_FLOAT tensor_shape {dim {size: 2199023255552}} float_val: 1",
        "it asks for 8796093",
    ),
    ("dtype: DT_STRING tensor_shape {dim {size: 2199023255552}} string_val: 'a'", "it asks for"),
    ("dtype: DT_BOOL tensor_shape {dim {size: 8796093022208}}", "this machine has"),
    (
        'dtype: DT_FLOAT tensor_shape {dim {size: 2199023255552}} tensor_content: "abcd"',
        "its shape and type need 8796093022208 bytes .* tensor_content: 4 bytes",
    ),
    (
        'dtype: DT_STRING tensor_shape {dim {size: 2199023255552}} tensor_content: "abcd"',
        "2199023255552 strings need at least as many bytes",
    ),
    (
        "dtype: DT_FLOAT tensor_shape {dim {size: 4294967296} dim {size: 4294967296}} float_val: 1",
        r"Shape \[4294967296,4294967296\] is too large \(more than 2\*\*63 - 1 entries\)",
    ),
    (
        "dtype: DT_FLOAT tensor_shape {dim {size: 0} dim {size: 9223372036854775807} "
        "dim {size: 9223372036854775807}}",
        "Cannot parse tensor from proto",
    ),
]


@pytest.mark.parametrize(("text", "message"), CLAIMS)
def test_a_claimed_size_is_checked_before_allocation(text: str, message: str) -> None:
    """A few bytes that claim terabytes are an error, and cost nothing."""
    bad = proto(text)
    tracemalloc.start()
    try:
        with pytest.raises(errors.InvalidArgumentError, match=message):
            tensor_util.decode_tensor(bad)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000
    with pytest.raises(ValueError, match=message):
        tensor_util.make_ndarray(bad)


BAD = [
    (
        "dtype: DT_FLOAT tensor_shape {dim {size: -1}} float_val: 1",
        r"Shape \[\?\] is not fully def",
    ),
    ("dtype: DT_FLOAT tensor_shape {dim {size: -2}} float_val: 1", r"Shape \[-2\] is not fully"),
    (f"dtype: DT_FLOAT tensor_shape {{{'dim {size: 1}' * 255}}}", "has too many dimensions"),
    (f"dtype: DT_FLOAT tensor_shape {{{'dim {size: 1}' * 65}}}", "at most 64 dimensions, not 65"),
    ('dtype: DT_FLOAT tensor_shape {dim {size: 3}} tensor_content: "abc"', "need 12 bytes"),
    ('dtype: DT_BOOL tensor_shape {dim {size: 1}} tensor_content: "\\005"', "neither 0 nor 1"),
    ('dtype: DT_STRING tensor_shape {dim {size: 2}} tensor_content: "\\001\\002ab"', "lengths it"),
    ('dtype: DT_STRING tensor_shape {dim {size: 1}} tensor_content: "\\377"', "are cut off"),
    ("dtype: DT_FLOAT_REF float_val: 1", "type float32_ref cannot be a constant"),
    ("dtype: DT_RESOURCE resource_handle_val {name: 'a'}", "type resource cannot be a constant"),
    ("dtype: DT_VARIANT variant_val {type_name: 'a'}", "type variant cannot be a constant"),
    ("float_val: 1", "0 is not the number of a data type"),
    ("dtype: 99", "99 is not the number of a data type"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_a_proto_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    """Type, shape and content must agree; the error says what does not."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tensor_util.decode_tensor(proto(text))


NUMERIC = [
    dtype
    for dtype in map(dtypes.as_dtype, range(1, 34))
    if dtype.is_numpy_compatible and dtype is not dtypes.string
]


@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (0, 4)])
def test_every_numeric_type_comes_back(dtype: dtypes.DType, shape: tuple[int, ...]) -> None:
    """Encoding and decoding give the same array, scalars and empty ones included."""
    values = np.arange(np.prod(shape)).reshape(shape) % 2
    array = values.astype(dtype.numpy_dtype)

    message = tensor_util.encode_tensor(array, dtype)
    back = tensor_util.decode_tensor(message)

    assert message.dtype == dtype.as_datatype_enum
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert back.tobytes() == array.tobytes()


@given(
    st_numpy.arrays(
        st.sampled_from([np.float32, np.float64, np.float16, np.int8, np.uint16, np.complex64]),
        st_numpy.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4),
    )
)
def test_any_array_comes_back(array: np.ndarray[Any, Any]) -> None:
    """Bits are kept: NaN payloads, signed zeros, infinities."""
    message = tensor_util.make_tensor_proto(array)

    assert tensor_util.make_ndarray(message).tobytes() == np.ascontiguousarray(array).tobytes()


@given(st.lists(st.one_of(st.binary(max_size=200), st.sampled_from(["", "é", "a\0"])), max_size=5))
def test_any_strings_come_back(values: list[bytes | str]) -> None:
    """Text becomes UTF-8, bytes stay; NUL bytes at the end are kept."""
    message = tensor_util.make_tensor_proto(values, dtype="string")
    wanted = [value.encode() if isinstance(value, str) else value for value in values]

    assert tensor_util.make_ndarray(message).tolist() == wanted


@given(st.binary(max_size=64))
def test_garbage_never_crashes(data: bytes) -> None:
    """Any bytes that parse as a TensorProto give a tensor or an InvalidArgumentError."""
    message = tensor_pb2.TensorProto()
    try:
        message.ParseFromString(b"\x08\x01" + data)
    except Exception:
        return
    try:
        array = tensor_util.decode_tensor(message)
    except errors.InvalidArgumentError:
        return

    assert array.shape == tuple(dim.size for dim in message.tensor_shape.dim)


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


def test_content_of_2_gb_is_refused() -> None:
    """A message cannot hold it; a stride of 0 makes an array that only looks as large."""
    with pytest.raises(ValueError, match="larger than 2GB"):
        tensor_util.encode_tensor(np.broadcast_to(np.float32(1), (2**29,)))


def test_scalars_are_arrays_of_rank_0() -> None:
    """A Python or NumPy scalar gives a 0-d array, a string one of bytes."""
    for value, dtype in [(1, np.int32), (1.5, np.float32), (True, np.bool_), (1j, np.complex128)]:
        array = tensor_util.convert_to_ndarray(value)

        assert (array.shape, array.dtype) == ((), dtype)
    text = tensor_util.convert_to_ndarray("é")

    assert (text.shape, text.dtype, text[()]) == ((), object, b"\xc3\xa9")


def test_strings_of_numpy_become_bytes() -> None:
    """Arrays of kind S, U and object give the same array; one of bytes is not copied."""
    wanted = [b"a", b"bc"]
    for array in (np.array(["a", "bc"]), np.array([b"a", b"bc"]), np.array(["a", b"bc"], object)):
        assert tensor_util.convert_to_ndarray(array).tolist() == wanted
    ready = np.array(wanted, object)

    assert tensor_util.convert_to_ndarray(ready) is ready


def test_no_numbers_are_no_strings_either() -> None:
    """An empty array becomes one of strings; a number in it is refused."""
    empty = tensor_util.convert_to_ndarray(np.zeros((0, 2)), dtypes.string)

    assert (empty.dtype, empty.shape) == (object, (0, 2))
    with pytest.raises(TypeError, match=r"Expected binary or unicode string, got 1\.0"):
        tensor_util.convert_to_ndarray(np.ones(2), dtypes.string)


def test_an_array_of_the_right_type_is_not_copied() -> None:
    """What needs no conversion is passed on."""
    array = np.zeros(3, np.float32)

    assert tensor_util.convert_to_ndarray(array) is array
    assert tensor_util.convert_to_ndarray(array, dtypes.float32) is array


def test_anything_with_array_is_an_array() -> None:
    """An object with __array__, such as a table's column, keeps its type."""

    class Column:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.array([1.0, 2.0])

    assert tensor_util.convert_to_ndarray(Column()).dtype == np.float64
    assert tensor_util.convert_to_ndarray(Column(), dtypes.int32).tolist() == [1, 2]


def test_the_offending_element_is_named() -> None:
    """The error shows the first element of the wrong kind, however deep it is."""
    with pytest.raises(TypeError, match="Expected float32, but got b of type 'str'"):
        tensor_util.convert_to_ndarray([[1.0, 2.0], [3.0, "b"]], dtypes.float32)
    with pytest.raises(TypeError, match=r"Expected int32, but got 2\.5 of type 'float64'"):
        tensor_util.convert_to_ndarray([1, np.float64(2.5)], dtypes.int32)


def test_extended_types_convert_as_elements() -> None:
    """Scalars of ml_dtypes count as numbers."""
    values = [ml_dtypes.bfloat16(1.5), 2]

    assert tensor_util.convert_to_ndarray(values, dtypes.float32).tolist() == [1.5, 2.0]
    with pytest.raises(TypeError, match=r"Expected int32, but got 1\.5 of type 'bfloat16'"):
        tensor_util.convert_to_ndarray(values, dtypes.int32)


def test_shapes_travel_as_messages() -> None:
    """Known, partly known and unknown shapes come back equal."""
    for shape in (TensorShape([]), TensorShape([2, None, 0]), TensorShape(None)):
        assert tensor_util.shape_from_proto(tensor_util.shape_to_proto(shape)) == shape


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("dim {size: -2}", r"Shape \[-2\] has dimensions with values below -1"),
        ("unknown_rank: true dim {size: 2}", "must not have any dimensions set"),
        ("dim {size: 1}" * 255, "has too many dimensions"),
        ("dim {size: 4294967296}" * 2, "is too large"),
    ],
)
def test_a_shape_that_makes_no_sense_is_refused(text: str, message: str) -> None:
    """The error shows the shape."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tensor_util.shape_from_proto(text_format.Parse(text, tensor_pb2.TensorShapeProto()))
