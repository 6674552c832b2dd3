"""Tensors in messages: what is written is read again, and is what TensorFlow writes."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from tfnb.core import dtypes, errors
from tfnb.distributed_runtime import grpc_tensor_coding as coding
from tfnb.distributed_runtime.grpc_remote_worker import received_tensor
from tfnb.distributed_runtime.grpc_services import WorkerService
from tfnb.ops.containers.optional_ops import OptionalVariant
from tfnb.proto import tensor_pb2, worker_pb2

if TYPE_CHECKING:
    from collections.abc import Callable

# tf.raw_ops.OptionalFromValue(components=[[1.0, 2.0], b"ab", 7]) and OptionalNone of TensorFlow
# 2.21, serialized; the messages of a RecvTensor hold the same bytes as ``variant_val``.
FROM_VALUE = (
    b"\n\x1atensorflow::data::Optional\x12\x01\x01\x1a\x12\x08\x01\x12\x04\x12\x02\x08\x02"
    b"*\x08\x00\x00\x80?\x00\x00\x00@\x1a\x08\x08\x07\x12\x00B\x02ab\x1a\x07\x08\x03\x12\x00:\x01\x07"
)
NONE = b"\n\x1atensorflow::data::Optional\x12\x01\x00"


def variant_message(content: bytes) -> bytes:
    """Return a scalar TensorProto of a variant."""
    proto = tensor_pb2.TensorProto(dtype=dtypes.variant.as_datatype_enum)
    proto.tensor_shape.SetInParent()
    proto.variant_val.add().MergeFromString(content)
    return proto.SerializeToString()


def written(value: Any, dtype: dtypes.DType) -> bytes:
    """Return the message of a value."""
    tensor = coding.encode(value, dtype)
    message = b"".join(tensor.parts)
    assert len(message) == tensor.size
    return message


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.float32(1.5), dtypes.float32),
        (np.arange(6, dtype=np.int64).reshape(2, 3), dtypes.int64),
        (np.zeros((0, 3), np.float32), dtypes.float32),
        (np.array([True, False]), dtypes.bool),
        (np.arange(5000, dtype=np.float64), dtypes.float64),
        (np.ones(300, np.complex64), dtypes.complex64),
        (b"text", dtypes.string),
    ],
)
def test_a_tensor_is_read_as_it_was_written(value: Any, dtype: dtypes.DType) -> None:
    """With its type and shape, and memory of its own; protobuf reads the same."""
    message = written(value, dtype)
    found = coding.decode(memoryview(message))

    np.testing.assert_array_equal(found, value)
    assert found.shape == np.shape(value)
    assert found.flags.writeable
    assert tensor_pb2.TensorProto.FromString(message).dtype == dtype.as_datatype_enum


def test_an_optional_of_tensorflow_is_read() -> None:
    """With the types of its tensors, among them text."""
    found = coding.decode(memoryview(variant_message(FROM_VALUE)))

    assert found.types == (dtypes.float32, dtypes.string, dtypes.int32)
    np.testing.assert_array_equal(found.values[0], [1.0, 2.0])
    assert found.values[2] == 7
    assert coding.decode(memoryview(variant_message(NONE))) == OptionalVariant()


def test_an_optional_is_written_in_the_form_of_tensorflow() -> None:
    """Name, metadata, tensors."""
    values = (np.float32([1.0, 2.0]), b"ab", np.int32(7))
    types = (dtypes.float32, dtypes.string, dtypes.int32)
    message = written(OptionalVariant(values, types), dtypes.variant)
    found = tensor_pb2.TensorProto.FromString(message)

    wanted = tensor_pb2.TensorProto.FromString(variant_message(FROM_VALUE))
    assert found.dtype == wanted.dtype
    assert found.variant_val[0].type_name == wanted.variant_val[0].type_name
    assert found.variant_val[0].metadata == wanted.variant_val[0].metadata
    assert [one.dtype for one in found.variant_val[0].tensors] == [1, 7, 3]
    again = coding.decode(memoryview(message))
    assert again.types == types
    assert again.values[2] == 7
    assert written(OptionalVariant(), dtypes.variant) == variant_message(NONE)


def test_a_variant_of_an_unknown_class_is_refused() -> None:
    """With its name."""
    content = tensor_pb2.VariantTensorDataProto(type_name="other::Thing").SerializeToString()

    with pytest.raises(errors.InvalidArgumentError, match="other::Thing"):
        coding.decode(memoryview(variant_message(content)))


@pytest.mark.parametrize("length", range(len(variant_message(FROM_VALUE))))
def test_a_message_that_is_cut_off_is_refused(length: int) -> None:
    """At any place; no message is read as another."""
    message = variant_message(FROM_VALUE)[:length]

    try:
        found = coding.decode(memoryview(message))
    except errors.OpError:
        return
    assert not isinstance(found, OptionalVariant)


def test_a_tensor_on_its_way_has_one_copy_in_its_own_process() -> None:
    """The sender holds its message, the receiver its tensor, beside what they were made of."""
    tensor = np.arange(1 << 22, dtype=np.float32)
    key = "/job:a/replica:0/task:0/device:CPU:0;1;/job:a/replica:0/task:1/device:CPU:0;x;0:0"

    class OneTensor:
        """A worker that has the tensor."""

        def recv_tensor(self, step_id: int, name: str, callback: Any) -> None:
            callback(None, tensor, False)

    class Context:
        """A client that stays."""

        def add_callback(self, callback: Any) -> bool:
            return True

    request = worker_pb2.RecvTensorRequest(step_id=1, rendezvous_key=key).SerializeToString()
    serve: Any = WorkerService(cast("Any", OneTensor())).handlers["RecvTensor"]
    serve(request, Context())  # fills caches, which are not the tensor's

    response, sent = _most_memory(lambda: serve(request, Context()))
    (value, is_dead), received = _most_memory(lambda: received_tensor(response))
    np.testing.assert_array_equal(value, tensor)
    assert not is_dead
    assert max(sent, received) < tensor.nbytes * 1.1


def _most_memory(run: Callable[[], Any]) -> tuple[Any, int]:
    """Return a result, and the most bytes that Python and NumPy had taken for it."""
    tracemalloc.start()
    try:
        found = run()
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
