"""Ops that write summaries to event files, at the step given by a tensor.

A writer buffers at most ``max_queue`` events, for at most ``flush_millis``; it opens its file with
the first event. Corresponds to TensorFlow's ``summary_kernels.cc``.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tfnb.core import effects, errors, tensor_util
from tfnb.core.files import file_system
from tfnb.core.files.events_writer import EventsWriter
from tfnb.core.op_registry import register_op
from tfnb.core.scalar_events import summary_written
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.ops.base.named_resources import find_resource, own_resource
from tfnb.ops.io.summary_ops import (
    audio_summary_v2,
    histogram_summary,
    image_summary,
    tensor_summary_v2,
)
from tfnb.proto import event_pb2, summary_pb2

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Handle
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.resource_mgr import ResourceHandle

_TYPE = "SummaryWriterInterface"
_IN = "writer: resource, step: int64"


class SummaryWriter:
    """An event file, opened with the first event."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._events: EventsWriter | None = None  # guarded by self._lock, like the rest
        self._guard: effects.Guard | None = None  # guard of the node that set the folder
        self.logdir = ""
        self._max_queue = self._pending = 0
        self._flush_seconds = self._flushed_at = 0.0

    def create(self, logdir: str, max_queue: int, flush_millis: int, suffix: str) -> None:
        """Set the folder of the file; only the first call has an effect."""
        with self._lock:
            if self._events is None:
                file_system.create_directories(logdir)
                self._guard = effects.current_guard()
                self.logdir = logdir
                self._events = EventsWriter(os.path.join(logdir, "events"), suffix)
                self._max_queue, self._flush_seconds = max_queue, flush_millis / 1000
                self._flushed_at = time.monotonic()

    def write(self, event: event_pb2.Event) -> None:
        """Add an event.

        Raises:
          FailedPreconditionError: no folder was set, or the writer was closed.
        """
        with self._lock:
            if self._events is None:
                raise errors.failed_precondition(
                    "The summary writer has no file: run CreateSummaryFileWriter first."
                )
            if not event.wall_time:
                event.wall_time = time.time()
            with effects.watched_by(self._guard):
                self._events.write_event(event)
            self._pending += 1
            late = time.monotonic() - self._flushed_at > self._flush_seconds
            if self._pending > self._max_queue or late:
                self._flush()

    def _flush(self) -> None:
        if self._events is not None:
            self._events.flush()
        self._pending, self._flushed_at = 0, time.monotonic()

    def flush(self) -> None:
        """Flush the buffered events to the file."""
        with self._lock:
            self._flush()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._events is not None:
                self._events.close()
            self._events = None

    def __del__(self) -> None:
        """Close the file of a writer that is garbage collected."""
        if self._events is not None:
            self._events.close()


def _nothing(c: InferenceContext) -> list[Any]:
    return []


_OP: dict[str, Any] = {"stateful": True, "devices": ("CPU",), "shape": _nothing}
_WRITE = {**_OP, "effects": "write"}


def _writer(ctx: OpKernelContext, handle: Handle) -> SummaryWriter:
    found: SummaryWriter = find_resource(ctx, handle, _TYPE, SummaryWriter)
    return found


def _text(value: Array) -> str:
    found: str = np.asarray(value).item().decode("utf-8", "replace")
    return found


def _scalar(value: Array, name: str) -> Array:
    if np.ndim(value):
        raise errors.invalid_argument(f"{name} must be a scalar")
    return value


@register_op(
    "SummaryWriter", "-> writer: resource", "shared_name: string = ''", "container: string = ''",
    stateful=True, devices=("CPU",), shape=lambda c: SCALAR_SHAPE,
)  # fmt: skip
def summary_writer(ctx: OpKernelContext, *, shared_name: str, container: str) -> ResourceHandle:
    """Return a writer of event files."""
    return own_resource(ctx, _TYPE, container, shared_name, lambda _: SummaryWriter())


@register_op(
    "CreateSummaryFileWriter",
    "writer: resource, logdir: string, max_queue: int32, flush_millis: int32, "
    "filename_suffix: string ->",
    **{**_OP, "effects": "write logdir"},
)
def create_summary_file_writer(
    ctx: OpKernelContext,
    writer: Handle,
    logdir: Array,
    max_queue: Array,
    flush_millis: Array,
    filename_suffix: Array,
) -> None:
    """Set the folder of a writer's file."""
    ctx.resource_manager.lookup_or_create(
        writer.container, _TYPE, writer.name, SummaryWriter
    ).create(_text(logdir), int(max_queue), int(flush_millis), _text(filename_suffix))


@register_op("FlushSummaryWriter", "writer: resource ->", **_OP)
def flush_summary_writer(ctx: OpKernelContext, writer: Handle) -> None:
    """Flush the buffered events to the file."""
    _writer(ctx, writer).flush()


@register_op("CloseSummaryWriter", "writer: resource ->", **_OP)
def close_summary_writer(ctx: OpKernelContext, writer: Handle) -> None:
    """Close a writer's file and delete the writer."""
    _writer(ctx, writer).close()
    ctx.resource_manager.delete(writer)


def _write(ctx: OpKernelContext, writer: Handle, step: Array, summary: Array) -> None:
    """Add an event with a summary, given as a message or serialized."""
    event = event_pb2.Event(step=int(_scalar(step, "step")))
    if isinstance(summary, summary_pb2.Summary):
        event.summary.CopyFrom(summary)
    else:
        event.summary.ParseFromString(summary.item())
    target = _writer(ctx, writer)
    target.write(event)
    summary_written(event.summary, event.step, target.logdir)


def _merged(message: Array, data: bytes, what: str) -> None:
    try:
        message.MergeFromString(data)
    except DecodeError:
        raise errors.data_loss(f"Bad {what}: the bytes are not a valid message") from None


@register_op(
    "WriteSummary", f"{_IN}, tensor: T, tag: string, summary_metadata: string ->", "T: type",
    **_WRITE,
)  # fmt: skip
def write_summary(
    ctx: OpKernelContext,
    writer: Handle,
    step: Array,
    tensor: Array,
    tag: Array,
    summary_metadata: Array,
    *,
    T: DType,
) -> None:
    """Write a tensor unchanged."""
    if T.name == "string":
        summary = summary_pb2.Summary()
        value = summary.value.add(tag=_text(_scalar(tag, "tag")))
        value.tensor.CopyFrom(tensor_util.make_tensor_proto(tensor, T))
        _merged(value.metadata, np.asarray(summary_metadata).item(), "summary metadata")
        _write(ctx, writer, step, summary)
        return
    kernel = tensor_summary_v2.kernels["CPU"]
    _write(ctx, writer, step, kernel(np, tag, tensor, summary_metadata, T=T))


@register_op("WriteRawProtoSummary", f"{_IN}, tensor: string ->", **_WRITE)
def write_raw_proto_summary(
    ctx: OpKernelContext, writer: Handle, step: Array, tensor: Array
) -> None:
    """Write serialized Summary messages, merged into one."""
    summary = summary_pb2.Summary()
    for data in np.asarray(tensor).reshape(-1).tolist():
        _merged(summary, data, "summary")
    _write(ctx, writer, step, summary)


@register_op(
    "WriteScalarSummary", f"{_IN}, tag: string, value: T ->", "T: realnumbertype", **_WRITE
)
def write_scalar_summary(
    ctx: OpKernelContext, writer: Handle, step: Array, tag: Array, value: Array
) -> None:
    """Write a scalar."""
    summary = summary_pb2.Summary()
    number = float(np.float32(_scalar(value, "value")))
    summary.value.add(tag=_text(_scalar(tag, "tag")), simple_value=number)
    _write(ctx, writer, step, summary)


@register_op(
    "WriteHistogramSummary", f"{_IN}, tag: string, values: T ->",
    "T: {realnumbertype, bool} = DT_FLOAT", **_WRITE,
)  # fmt: skip
def write_histogram_summary(
    ctx: OpKernelContext, writer: Handle, step: Array, tag: Array, values: Array
) -> None:
    """Write a histogram of a tensor's numbers."""
    _write(ctx, writer, step, histogram_summary.kernels["CPU"](ctx, tag, values))


@register_op(
    "WriteImageSummary", f"{_IN}, tag: string, tensor: T, bad_color: uint8 ->",
    "max_images: int >= 1 = 3", "T: {uint8, double, float, half} = DT_FLOAT", **_WRITE,
)  # fmt: skip
def write_image_summary(
    ctx: OpKernelContext,
    writer: Handle,
    step: Array,
    tag: Array,
    tensor: Array,
    bad_color: Array,
    *,
    max_images: int,
) -> None:
    """Write images."""
    kernel = image_summary.kernels["CPU"]
    found = kernel(ctx, tag, tensor, max_images=max_images, bad_color=bad_color)
    _write(ctx, writer, step, found)


@register_op(
    "WriteAudioSummary", f"{_IN}, tag: string, tensor: float, sample_rate: float ->",
    "max_outputs: int >= 1 = 3", **_WRITE,
)  # fmt: skip
def write_audio_summary(
    ctx: OpKernelContext,
    writer: Handle,
    step: Array,
    tag: Array,
    tensor: Array,
    sample_rate: Array,
    *,
    max_outputs: int,
) -> None:
    """Write audio clips."""
    kernel = audio_summary_v2.kernels["CPU"]
    _write(ctx, writer, step, kernel(np, tag, tensor, sample_rate, max_outputs=max_outputs))


@register_op("WriteGraphSummary", f"{_IN}, tensor: string ->", **_WRITE)
def write_graph_summary(ctx: OpKernelContext, writer: Handle, step: Array, tensor: Array) -> None:
    """Write a serialized GraphDef."""
    event = event_pb2.Event(step=int(step), graph_def=np.asarray(tensor).item())
    _writer(ctx, writer).write(event)


@register_op("ImportEvent", "writer: resource, event: string ->", **_WRITE)
def import_event(ctx: OpKernelContext, writer: Handle, event: Array) -> None:
    """Write a serialized event."""
    message = event_pb2.Event()
    _merged(message, np.asarray(_scalar(event, "event")).item(), "event")
    _writer(ctx, writer).write(message)
