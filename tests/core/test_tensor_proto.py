"""Arrays and shapes as messages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from tests.joined import in_one_test
from tests.traced_memory import traced_memory
from tfnb.core import dtypes, errors, tensor_proto, tensor_util
from tfnb.core.tensor_shape import TensorShape
from tfnb.proto import tensor_pb2


def proto(text: str) -> tensor_pb2.TensorProto:
    """A TensorProto from text."""
    return text_format.Parse(text, tensor_pb2.TensorProto())


def decoded(text: str) -> Any:
    """Return the tensor of a TensorProto in text, as nested lists."""
    return tensor_proto.decode_tensor(proto(text)).tolist()


# Results of TensorFlow's Const that differ from make_ndarray's.
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
    """The runtime drops extra values and fills missing ones with zeros."""
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
    """A few bytes that claim terabytes are an error, and no memory is allocated."""
    bad = proto(text)
    with traced_memory() as memory, pytest.raises(errors.InvalidArgumentError, match=message):
        tensor_proto.decode_tensor(bad)

    assert memory.peak < 1_000_000
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
    """Type, shape and content must agree; the error names the contradiction."""
    with pytest.raises(errors.InvalidArgumentError, match=message):
        tensor_proto.decode_tensor(proto(text))


NUMERIC = [
    dtype
    for dtype in map(dtypes.as_dtype, range(1, 34))
    if dtype.is_numpy_compatible and dtype is not dtypes.string
]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (0, 4)])
@in_one_test("dtype", NUMERIC)
def test_every_numeric_type_comes_back(dtype: dtypes.DType, shape: tuple[int, ...]) -> None:
    """Encoding and decoding give the same array, scalars and empty ones included."""
    values = np.arange(np.prod(shape)).reshape(shape) % 2
    array = values.astype(dtype.numpy_dtype)

    message = tensor_proto.encode_tensor(array, dtype)
    back = tensor_proto.decode_tensor(message)

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
    """NaN payloads, signed zeros and infinities keep their bits."""
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
        array = tensor_proto.decode_tensor(message)
    except errors.InvalidArgumentError:
        return

    assert array.shape == tuple(dim.size for dim in message.tensor_shape.dim)


def test_content_of_2_gb_is_refused() -> None:
    """A message cannot hold 2 GB; a stride of 0 makes a small array that only looks as large."""
    with pytest.raises(ValueError, match="larger than 2GB"):
        tensor_proto.encode_tensor(np.broadcast_to(np.float32(1), (2**29,)))


def test_shapes_travel_as_messages() -> None:
    """Known, partly known and unknown shapes come back equal."""
    for shape in (TensorShape([]), TensorShape([2, None, 0]), TensorShape(None)):
        assert tensor_proto.shape_from_proto(tensor_proto.shape_to_proto(shape)) == shape


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
        tensor_proto.shape_from_proto(text_format.Parse(text, tensor_pb2.TensorShapeProto()))
