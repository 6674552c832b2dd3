"""The reader ops: read records from files whose names come from a queue; see readers.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.named_resources import as_reference, find_resource, own_resource, pair_shape
from tfnb.ops.io.readers import (
    FixedLengthRecordReader,
    IdentityReader,
    Reader,
    TextLineReader,
    TFRecordReader,
    WholeFileReader,
)
from tfnb.ops.waiting.queue_kernels import Queue

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext, type_of_done
    from tfnb.core.resource_mgr import ResourceHandle

_TYPE = "Reader"


# -- shape functions


def _scalars(c: InferenceContext) -> list[TensorShape]:
    for position in range(len(c.inputs)):
        c.with_rank(position, 0)
    return [SCALAR_SHAPE] * c.num_outputs


def _vectors(c: InferenceContext) -> list[TensorShape]:
    for position in range(len(c.inputs)):
        c.with_rank(position, 0)
    return [TensorShape([None])] * c.num_outputs


# -- making


def _reader(
    ctx: OpKernelContext, container: str, shared_name: str, make: Callable[[str], Reader]
) -> ResourceHandle:
    def check(reader: Reader) -> None:
        wanted = make(ctx.node_name)
        if type(reader) is not type(wanted):
            raise errors.invalid_argument(
                f"Reader '{shared_name}' is a {reader.kind} but a {wanted.kind} was requested."
            )

    # Readers write their node's name into error messages.
    return own_resource(ctx, _TYPE, container, shared_name, lambda _: make(ctx.node_name), check)


_NAMES = ("container: string = ''", "shared_name: string = ''")


@register_op(
    "TextLineReaderV2", "-> reader_handle: resource", "skip_header_lines: int = 0", *_NAMES,
    stateful=True, shape=_scalars, devices=("CPU",),
)  # fmt: skip
def text_line_reader_v2(
    ctx: OpKernelContext, *, skip_header_lines: int, container: str, shared_name: str
) -> Handle:
    """Return a reader of lines."""
    return _reader(
        ctx, container, shared_name, lambda name: TextLineReader(name, skip_header_lines)
    )


@register_op(
    "TFRecordReaderV2", "-> reader_handle: resource", *_NAMES, "compression_type: string = ''",
    stateful=True, shape=_scalars, devices=("CPU",),
)  # fmt: skip
def tf_record_reader_v2(
    ctx: OpKernelContext, *, container: str, shared_name: str, compression_type: str
) -> Handle:
    """Return a reader of TFRecord files."""
    return _reader(ctx, container, shared_name, lambda name: TFRecordReader(name, compression_type))


@register_op(
    "WholeFileReaderV2", "-> reader_handle: resource", *_NAMES, stateful=True, shape=_scalars,
    devices=("CPU",),
    traits="loads",
)  # fmt: skip
def whole_file_reader_v2(ctx: OpKernelContext, *, container: str, shared_name: str) -> Handle:
    """Return a reader of whole files."""
    return _reader(ctx, container, shared_name, WholeFileReader)


@register_op(
    "IdentityReaderV2", "-> reader_handle: resource", *_NAMES, stateful=True, shape=_scalars,
    devices=("CPU",),
)  # fmt: skip
def identity_reader_v2(ctx: OpKernelContext, *, container: str, shared_name: str) -> Handle:
    """Return a reader that returns the names themselves."""
    return _reader(ctx, container, shared_name, IdentityReader)


@register_op(
    "FixedLengthRecordReaderV2", "-> reader_handle: resource", "header_bytes: int = 0",
    "record_bytes: int", "footer_bytes: int = 0", "hop_bytes: int = 0", *_NAMES,
    "encoding: string = ''", stateful=True, shape=_scalars, devices=("CPU",),
)  # fmt: skip
def fixed_length_record_reader_v2(
    ctx: OpKernelContext,
    *,
    header_bytes: int,
    record_bytes: int,
    footer_bytes: int,
    hop_bytes: int,
    container: str,
    shared_name: str,
    encoding: str,
) -> Handle:
    """Return a reader of records of a fixed size."""
    return _reader(
        ctx,
        container,
        shared_name,
        lambda name: FixedLengthRecordReader(
            name, header_bytes, record_bytes, footer_bytes, hop_bytes, encoding
        ),
    )


# -- reading


def _find(ctx: OpKernelContext, handle: Handle) -> Reader:
    found: Reader = find_resource(ctx, handle, _TYPE, Reader)
    return found


def _queue(ctx: OpKernelContext, handle: Handle) -> Queue:
    queue: Queue = find_resource(ctx, handle, "Queue", Queue)
    if len(queue.types) != 1:
        raise errors.invalid_argument("Expected single component queue")
    if queue.types[0] is not dtypes.string:
        raise errors.invalid_argument("Expected queue with single string component")
    return queue


def _string(text: bytes) -> Array:
    return np.array(text, dtype=object)


def _strings(texts: list[bytes]) -> Array:
    found = np.empty(len(texts), dtype=object)
    found[:] = texts
    return found


@register_op(
    "ReaderReadV2", "reader_handle: resource, queue_handle: resource -> key: string, value: string",
    stateful=True, shape=_scalars, devices=("CPU",), effects="read",
    traits="takes_elements",
)  # fmt: skip
def reader_read_v2(
    ctx: OpKernelContext, done: type_of_done, reader_handle: Array, queue_handle: Array
) -> None:
    """Read the next record; wait while the queue has no names."""

    def finish(answer: Array) -> None:
        if isinstance(answer, BaseException):
            done(answer)
        else:
            key, value = answer[0]
            done((_string(key), _string(value)))

    queue = _queue(ctx, queue_handle)
    _find(ctx, reader_handle).read(None, queue, finish, ctx.cancellation_manager)


@register_op(
    "ReaderReadUpToV2",
    "reader_handle: resource, queue_handle: resource, num_records: int64 -> keys: string, "
    "values: string",
    stateful=True, shape=_vectors, devices=("CPU",), effects="read",
    traits="takes_elements",
)  # fmt: skip
def reader_read_up_to_v2(
    ctx: OpKernelContext,
    done: type_of_done,
    reader_handle: Array,
    queue_handle: Array,
    num_records: Array,
) -> None:
    """Read up to ``num_records`` records, all of one file."""

    def finish(answer: Array) -> None:
        if isinstance(answer, BaseException):
            done(answer)
        else:
            done((_strings([key for key, _ in answer]), _strings([value for _, value in answer])))

    limit = int(num_records)
    if limit < 0:
        raise errors.invalid_argument(f"num_records must be >= 0, not {limit}")
    if not limit:
        finish([])
        return
    queue = _queue(ctx, queue_handle)
    _find(ctx, reader_handle).read(limit, queue, finish, ctx.cancellation_manager)


@register_op(
    "ReaderNumRecordsProducedV2", "reader_handle: resource -> records_produced: int64",
    stateful=True, shape=_scalars, devices=("CPU",),
)  # fmt: skip
def reader_num_records_produced_v2(ctx: OpKernelContext, reader_handle: Array) -> Array:
    """Return the number of records read."""
    return np.int64(_find(ctx, reader_handle).num_records_produced())


@register_op(
    "ReaderNumWorkUnitsCompletedV2", "reader_handle: resource -> units_completed: int64",
    stateful=True, shape=_scalars, devices=("CPU",),
)  # fmt: skip
def reader_num_work_units_completed_v2(ctx: OpKernelContext, reader_handle: Array) -> Array:
    """Return the number of names that are completed."""
    return np.int64(_find(ctx, reader_handle).num_work_units_completed())


@register_op(
    "ReaderResetV2", "reader_handle: resource ->", stateful=True, shape=_scalars, devices=("CPU",)
)
def reader_reset_v2(ctx: OpKernelContext, reader_handle: Array) -> None:
    """Reset a reader to its initial state."""
    _find(ctx, reader_handle).reset()


@register_op(
    "ReaderSerializeStateV2", "reader_handle: resource -> state: string", stateful=True,
    shape=_scalars, devices=("CPU",),
)  # fmt: skip
def reader_serialize_state_v2(ctx: OpKernelContext, reader_handle: Array) -> Array:
    """Serialize the state of a reader."""
    return _string(_find(ctx, reader_handle).serialize_state())


@register_op(
    "ReaderRestoreStateV2", "reader_handle: resource, state: string ->", stateful=True,
    shape=_scalars, devices=("CPU",),
)  # fmt: skip
def reader_restore_state_v2(ctx: OpKernelContext, reader_handle: Array, state: Array) -> None:
    """Restore the state of a reader."""
    _find(ctx, reader_handle).restore_state(bytes(np.asarray(state, dtype=object)[()]))


# -- the first versions, whose handles are references to two strings


def _first_scalars(c: InferenceContext) -> list[TensorShape]:
    for position in range(1, len(c.inputs)):
        if not c.op_def.inputs[position].is_ref:
            c.with_rank(position, 0)
    return [SCALAR_SHAPE] * c.num_outputs


def _first_vectors(c: InferenceContext) -> list[TensorShape]:
    return [TensorShape([None])] * c.num_outputs


@register_op(
    "TextLineReader", "-> reader_handle: Ref(string)", "skip_header_lines: int = 0", *_NAMES,
    stateful=True, shape=pair_shape, devices=("CPU",), deprecated=(26, "Use TextLineReaderV2"),
)  # fmt: skip
def text_line_reader(
    ctx: OpKernelContext, *, skip_header_lines: int, container: str, shared_name: str
) -> Array:
    """Return a reader of lines."""

    def make(name: str) -> Reader:
        return TextLineReader(name, skip_header_lines)

    return as_reference(ctx, _reader(ctx, container, shared_name, make))


@register_op(
    "TFRecordReader", "-> reader_handle: Ref(string)", *_NAMES, "compression_type: string = ''",
    stateful=True, shape=pair_shape, devices=("CPU",), deprecated=(26, "Use TFRecordReaderV2"),
)  # fmt: skip
def tf_record_reader(
    ctx: OpKernelContext, *, container: str, shared_name: str, compression_type: str
) -> Array:
    """Return a reader of TFRecord files."""

    def make(name: str) -> Reader:
        return TFRecordReader(name, compression_type)

    return as_reference(ctx, _reader(ctx, container, shared_name, make))


@register_op(
    "WholeFileReader", "-> reader_handle: Ref(string)", *_NAMES, stateful=True,
    shape=pair_shape, devices=("CPU",),
    traits="loads",
)  # fmt: skip
def whole_file_reader(ctx: OpKernelContext, *, container: str, shared_name: str) -> Array:
    """Return a reader of whole files."""
    return as_reference(ctx, _reader(ctx, container, shared_name, WholeFileReader))


@register_op(
    "IdentityReader", "-> reader_handle: Ref(string)", *_NAMES, stateful=True,
    shape=pair_shape, devices=("CPU",), deprecated=(26, "Use IdentityReaderV2"),
)  # fmt: skip
def identity_reader(ctx: OpKernelContext, *, container: str, shared_name: str) -> Array:
    """Return a reader that returns the names themselves."""
    return as_reference(ctx, _reader(ctx, container, shared_name, IdentityReader))


@register_op(
    "FixedLengthRecordReader", "-> reader_handle: Ref(string)", "header_bytes: int = 0",
    "record_bytes: int", "footer_bytes: int = 0", "hop_bytes: int = 0", *_NAMES, stateful=True,
    shape=pair_shape, devices=("CPU",), deprecated=(26, "Use FixedLengthRecordReaderV2"),
)  # fmt: skip
def fixed_length_record_reader(
    ctx: OpKernelContext,
    *,
    header_bytes: int,
    record_bytes: int,
    footer_bytes: int,
    hop_bytes: int,
    container: str,
    shared_name: str,
) -> Array:
    """Return a reader of records of a fixed size."""

    def make(name: str) -> Reader:
        sizes = (header_bytes, record_bytes, footer_bytes, hop_bytes)
        return FixedLengthRecordReader(name, *sizes, "")

    return as_reference(ctx, _reader(ctx, container, shared_name, make))


_READER = "reader_handle: Ref(string)"
_PAIR = f"{_READER}, queue_handle: Ref(string)"

# The kernels are those of the second versions, which take both kinds of handles.
reader_read = register_op(
    "ReaderRead",
    f"{_PAIR} -> key: string, value: string",
    shape=_first_scalars,
    devices=("CPU",),
    effects="read",
    traits="takes_elements",
)(reader_read_v2.kernels["CPU"])
reader_read_up_to = register_op(
    "ReaderReadUpTo",
    f"{_PAIR}, num_records: int64 -> keys: string, values: string",
    shape=_first_vectors,
    devices=("CPU",),
    effects="read",
    traits="takes_elements",
)(reader_read_up_to_v2.kernels["CPU"])
reader_num_records_produced = register_op(
    "ReaderNumRecordsProduced",
    f"{_READER} -> records_produced: int64",
    shape=_first_scalars,
    devices=("CPU",),
)(reader_num_records_produced_v2.kernels["CPU"])
reader_num_work_units_completed = register_op(
    "ReaderNumWorkUnitsCompleted",
    f"{_READER} -> units_completed: int64",
    shape=_first_scalars,
    devices=("CPU",),
)(reader_num_work_units_completed_v2.kernels["CPU"])
reader_reset = register_op(
    "ReaderReset",
    f"{_READER} ->",
    shape=_first_scalars,
    devices=("CPU",),
)(reader_reset_v2.kernels["CPU"])
reader_serialize_state = register_op(
    "ReaderSerializeState",
    f"{_READER} -> state: string",
    shape=_first_scalars,
    devices=("CPU",),
)(reader_serialize_state_v2.kernels["CPU"])
reader_restore_state = register_op(
    "ReaderRestoreState",
    f"{_READER}, state: string ->",
    shape=_first_scalars,
    devices=("CPU",),
)(reader_restore_state_v2.kernels["CPU"])

_op: Any
for _op in (
    text_line_reader_v2, tf_record_reader_v2, whole_file_reader_v2, identity_reader_v2,
    fixed_length_record_reader_v2, reader_read_v2, reader_read_up_to_v2,
    reader_num_records_produced_v2, reader_num_work_units_completed_v2, reader_reset_v2,
    reader_serialize_state_v2, reader_restore_state_v2, text_line_reader, tf_record_reader,
    whole_file_reader, identity_reader, fixed_length_record_reader, reader_read, reader_read_up_to,
    reader_num_records_produced, reader_num_work_units_completed, reader_reset,
    reader_serialize_state, reader_restore_state,
):  # fmt: skip
    _op.not_differentiable()
