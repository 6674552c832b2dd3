"""Summaries: ops that return a serialized Summary message, and ``tf.summary``, which adds them.

A summary's tag is the name of its node, so that names are unique. Images are stored as PNG, audio
as WAV with 16 bits.
"""

from __future__ import annotations

import contextlib
import re
import struct
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from google.protobuf.message import DecodeError

from tfnb.core import dtypes, errors, scalar_events, tensor_util
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, InferenceContext
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import add_to_collection, get_collection, name_scope
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.image import png_files
from tfnb.proto import summary_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_kernel import OpKernelContext
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import CollectionNames, TensorLike, TensorResult

EXPORTS = {
    "summary": [
        "audio", "get_summary_description", "histogram", "image", "merge", "merge_all",
        "scalar", "tensor_summary", "text",
    ],
}  # fmt: skip


def _scalar_summary_shape(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


def _serialized(summary: summary_pb2.Summary) -> Array:
    result = np.empty((), object)
    result[()] = summary.SerializeToString()
    return result


def _tag_text(tag: Array) -> str:
    text: str = tag.decode("utf-8", "replace")
    return text


def _only_tag(tag: Array, word: str = "tags must be scalar") -> str:
    if tag.size != 1:
        raise errors.invalid_argument(word)
    return _tag_text(tag.reshape(-1)[0])


# ---------------------------------------------------------------------------------------------- ops


@register_op(
    "ScalarSummary",
    "tags: string, values: T -> summary: string",
    "T: realnumbertype",
    shape=_scalar_summary_shape,
    devices=("CPU",),
)
def scalar_summary(xp: Xp, tags: Array, values: Array) -> Array:
    """Return a summary of one number per tag."""
    if tags.shape != values.shape:
        first = f" (tag '{_tag_text(tags.reshape(-1)[0])}')" if tags.size == 1 else ""
        raise errors.invalid_argument(
            f"tags and values are not the same shape: {shape_text(tags.shape)} != "
            f"{shape_text(values.shape)}{first}"
        )
    summary = summary_pb2.Summary()
    for tag, value in zip(tags.reshape(-1), values.reshape(-1), strict=True):
        summary.value.add(tag=_tag_text(tag), simple_value=float(np.float32(value)))
    if scalar_events.are_scalars_heard():
        for one in summary.value:
            scalar_events.scalar_made(one.tag, one.simple_value)
    return _serialized(summary)


scalar_summary.not_differentiable()


def _bucket_limits() -> Any:
    """Return limits that grow by a tenth from 1e-12 to 1e20, on both sides of 0."""
    positive = []
    limit = 1.0e-12
    while limit < 1.0e20:
        positive.append(limit)
        limit *= 1.1
    positive.append(sys.float_info.max)
    return np.array([-one for one in reversed(positive)] + [0.0] + positive)


_BUCKET_LIMITS = _bucket_limits()


def histogram_proto(values: Array) -> summary_pb2.HistogramProto:
    """Return the counts of numbers per range; consecutive empty ranges are merged."""
    numbers = np.asarray(values, np.float64).reshape(-1)
    largest = sys.float_info.max
    histogram = summary_pb2.HistogramProto(
        min=float(numbers.min(initial=largest)),
        max=float(numbers.max(initial=-largest)),
        num=float(len(numbers)),
        # 0.0 is added first, so that the sum of zeros is never -0.0.
        sum=float(np.cumsum(numbers)[-1]) + 0.0 if len(numbers) else 0.0,
        sum_squares=float(np.cumsum(numbers * numbers)[-1]) if len(numbers) else 0.0,
    )
    places = np.searchsorted(_BUCKET_LIMITS, numbers, side="right")
    places = np.minimum(places, len(_BUCKET_LIMITS) - 1)
    counts = np.bincount(places, minlength=len(_BUCKET_LIMITS))
    filled = counts > 0
    # Of several empty ranges in a row only the last is kept, and only before another range or at
    # the end.
    kept = filled.copy()
    kept[:-1] |= ~filled[:-1] & filled[1:]
    kept[-1] = True
    histogram.bucket_limit.extend(_BUCKET_LIMITS[kept].tolist())
    histogram.bucket.extend(counts[kept].astype(np.float64).tolist())
    return histogram


@register_op(
    "HistogramSummary",
    "tag: string, values: T -> summary: string",
    "T: realnumbertype = DT_FLOAT",
    shape=_scalar_summary_shape,
    devices=("CPU",),
)
def histogram_summary(ctx: OpKernelContext, tag: Array, values: Array) -> Array:
    """Return a summary of the distribution of a tensor's numbers."""
    if tag.ndim:
        raise errors.invalid_argument("tags must be scalar")
    numbers = values.astype(np.float64)
    for word, bad in (("Nan", np.isnan), ("Infinity", np.isinf)):
        if bad(numbers).any():
            raise errors.invalid_argument(f"{word} in summary histogram for: {ctx.node_name}")
    summary = summary_pb2.Summary()
    summary.value.add(tag=_only_tag(tag), histo=histogram_proto(numbers))
    return _serialized(summary)


histogram_summary.not_differentiable()


def _image_shape(c: InferenceContext) -> TensorShape:
    return SCALAR_SHAPE


@register_op(
    "ImageSummary",
    "tag: string, tensor: T -> summary: string",
    "max_images: int >= 1 = 3",
    "T: {uint8, float, half, double} = DT_FLOAT",
    "bad_color: tensor = { dtype: DT_UINT8, tensor_shape: { dim { size: 4 } }, "
    "int_val: [255, 0, 0, 255] }",
    shape=_image_shape,
    devices=("CPU",),
)
def image_summary(
    ctx: OpKernelContext, tag: Array, tensor: Array, *, max_images: int, bad_color: Array
) -> Array:
    """Return a summary of [batch, height, width, channels] images; floats are scaled."""
    if tag.ndim:
        raise errors.invalid_argument("Tags must be a scalar")
    if tensor.ndim != 4 or tensor.shape[3] not in (1, 3, 4):
        raise errors.invalid_argument(
            "Tensor must be 4-D with last dim 1, 3, or 4, not " + shape_text(tensor.shape)
        )
    if 0 in tensor.shape[1:]:
        sizes = ", ".join(map(str, tensor.shape))
        raise errors.invalid_argument(f"input tensor must have non-zero dims. Found: [{sizes}].")
    _, height, width, depth = tensor.shape
    if bad_color.ndim != 1 or len(bad_color) < depth:
        raise errors.invalid_argument(
            f"expected depth <= bad_color.size, got depth = {depth}, bad_color.size = "
            f"{bad_color.size}"
        )
    base = _only_tag(tag)
    shown = tensor[:max_images]
    summary = summary_pb2.Summary()
    for index, image in enumerate(shown):
        pixels = image if image.dtype == np.uint8 else _normalized(image, bad_color[:depth])
        name = f"{base}/image" if max_images == 1 else f"{base}/image/{index}"
        picture = summary_pb2.Summary.Image(
            height=height,
            width=width,
            colorspace=depth,
            encoded_image_string=png_files.write(pixels),
        )
        summary.value.add(tag=name, image=picture)
    return _serialized(summary)


image_summary.not_differentiable()

# An image whose numbers are all smaller than this is black.
_DARK = 1e-6


def _normalized(image: Array, bad_color: Array) -> Array:
    """Return floating-point pixels as bytes: with negative ones, around 128, else from 0 to 255."""
    values = image.astype(np.float32)
    good = np.isfinite(values).all(axis=2)
    finite = values[good]
    low = float(finite.min(initial=np.inf))
    high = float(finite.max(initial=-np.inf))
    if low < 0:
        largest = max(abs(low), abs(high))
        scale, offset = (0.0 if largest < _DARK else 127.0 / largest), 128.0
    else:
        scale, offset = (0.0 if high < _DARK else 255.0 / high), 0.0
    pixels = np.empty(values.shape, np.uint8)
    pixels[good] = (finite * np.float32(scale) + np.float32(offset)).astype(np.uint8)
    pixels[~good] = bad_color
    return pixels


def _audio_summary(tag: Array, tensor: Array, sample_rate: float, max_outputs: int) -> Array:
    if tag.ndim:
        raise errors.invalid_argument("Tag must be a scalar")
    if tensor.ndim not in (2, 3):
        raise errors.invalid_argument(f"Tensor must be 3-D or 2-D, got: {shape_text(tensor.shape)}")
    if not sample_rate > 0:
        raise errors.invalid_argument("sample_rate must be > 0")
    if tensor.ndim == 3 and not tensor.shape[2] and len(tensor):
        raise errors.invalid_argument("audio is null")
    if len(tensor) and sample_rate >= 1 << 32:
        raise errors.invalid_argument(f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    base = _only_tag(tag)
    sounds = tensor if tensor.ndim == 3 else tensor[:, :, None]
    summary = summary_pb2.Summary()
    for index, frames in enumerate(sounds[:max_outputs]):
        name = f"{base}/audio" if max_outputs == 1 else f"{base}/audio/{index}"
        sound = summary_pb2.Summary.Audio(
            sample_rate=sample_rate,
            num_channels=frames.shape[1],
            length_frames=frames.shape[0],
            encoded_audio_string=wav_of(frames, int(sample_rate)),
            content_type="audio/wav",
        )
        summary.value.add(tag=name, audio=sound)
    return _serialized(summary)


def wav_of(frames: Array, sample_rate: int) -> bytes:
    """Return audio between -1 and 1, [frames, channels], as a WAV file of 16 bits."""
    # Halves are rounded away from zero.
    scaled = frames.astype(np.float64) * 32768
    samples = np.clip(np.trunc(scaled + np.copysign(0.5, scaled)), -32768, 32767).astype("<i2")
    data: bytes = samples.tobytes()
    channels = frames.shape[1]
    # The file is written here because the module wave refuses a rate of 0, which any rate below 1
    # becomes.
    size = channels * 2
    kind = struct.pack("<IHHIIHH", 16, 1, channels, sample_rate, sample_rate * size, size, 16)
    begin = b"RIFF" + struct.pack("<I", 36 + len(data)) + b"WAVEfmt "
    return begin + kind + b"data" + struct.pack("<I", len(data)) + data


@register_op(
    "AudioSummaryV2",
    "tag: string, tensor: float, sample_rate: float -> summary: string",
    "max_outputs: int >= 1 = 3",
    shape=_scalar_summary_shape,
    devices=("CPU",),
)
def audio_summary_v2(
    xp: Xp, tag: Array, tensor: Array, sample_rate: Array, *, max_outputs: int
) -> Array:
    """Return a summary of audio of shape [batch, frames, channels] or [batch, frames]."""
    if sample_rate.size != 1:
        raise errors.invalid_argument("sample_rate must be scalar")
    return _audio_summary(tag, tensor, sample_rate.item(), max_outputs)


audio_summary_v2.not_differentiable()


@register_op(
    "AudioSummary",
    "tag: string, tensor: float -> summary: string",
    "sample_rate: float",
    "max_outputs: int >= 1 = 3",
    shape=_scalar_summary_shape,
    devices=("CPU",),
    deprecated=(15, "Use AudioSummaryV2."),
)
def audio_summary(
    xp: Xp, tag: Array, tensor: Array, *, sample_rate: float, max_outputs: int
) -> Array:
    """Return a summary of audio of shape [batch, frames, channels] or [batch, frames]."""
    return _audio_summary(tag, tensor, sample_rate, max_outputs)


audio_summary.not_differentiable()


@register_op(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string",
    "T: type",
    shape=_scalar_summary_shape,
    devices=("CPU",),
)
def tensor_summary_v2(
    xp: Xp, tag: Array, tensor: Array, serialized_summary_metadata: Array, *, T: DType
) -> Array:
    """Return a summary of an unchanged tensor, with the metadata for the viewer."""
    if tag.ndim:
        raise errors.invalid_argument("tag must be scalar")
    if serialized_summary_metadata.ndim:
        raise errors.invalid_argument("serialized_summary_metadata must be scalar")
    summary = summary_pb2.Summary()
    value = summary.value.add(tag=_only_tag(tag))
    value.tensor.CopyFrom(tensor_util.encode_tensor_content(np.asarray(tensor), T))
    value.metadata.SetInParent()
    with contextlib.suppress(DecodeError):  # TensorFlow keeps what it could parse
        value.metadata.ParseFromString(serialized_summary_metadata.item())
    return _serialized(summary)


tensor_summary_v2.not_differentiable()


@register_op(
    "TensorSummary",
    "tensor: T -> summary: string",
    "T: type",
    "description: string = ''",
    "labels: list(string) = []",
    "display_name: string = ''",
    shape=_scalar_summary_shape,
    devices=("CPU",),
)
def tensor_summary_v1(ctx: OpKernelContext, tensor: Array, *, T: DType) -> Array:
    """Return a summary of an unchanged tensor, under the name of its node."""
    summary = summary_pb2.Summary()
    value = summary.value.add(node_name=ctx.node_name)
    value.tensor.CopyFrom(tensor_util.encode_tensor_content(np.asarray(tensor), T))
    return _serialized(summary)


tensor_summary_v1.not_differentiable()


@register_op(
    "MergeSummary",
    "inputs: N * string -> summary: string",
    "N: int >= 1",
    shape=_scalar_summary_shape,
    devices=("CPU",),
)
def merge_summary(xp: Xp, inputs: list[Array]) -> Array:
    """Return one summary with all values of several."""
    merged = summary_pb2.Summary()
    tags: set[str] = set()
    for serialized in inputs:
        for data in serialized.reshape(-1):
            summary = summary_pb2.Summary()
            try:
                summary.ParseFromString(data)
            except Exception as error:
                raise errors.invalid_argument(
                    "Could not parse one of the summary inputs"
                ) from error
            for value in summary.value:
                # TensorSummary's values have no tag; the name of their node serves as one.
                tag = value.tag or value.node_name
                if tag and tag in tags:
                    raise errors.invalid_argument(f"Duplicate tag {tag} found in summary inputs")
                tags.add(tag)
                merged.value.add().CopyFrom(value)
    return _serialized(merged)


merge_summary.not_differentiable()

# --------------------------------------------------------------------------------- public functions

_NOT_IN_TAGS = re.compile(r"[^-/\w\.]")


def clean_tag(name: str | None) -> str | None:
    """Return a name in which all characters that a tag cannot have are replaced."""
    return None if name is None else _NOT_IN_TAGS.sub("_", name).lstrip("/")


@contextlib.contextmanager
def summary_scope(
    name: str | None,
    family: str | None = None,
    default_name: str | None = None,
    values: TensorLike | None = None,
) -> Iterator[tuple[str, str]]:
    """Yield the tag and the name scope of one summary."""
    name, family = clean_tag(name), clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with name_scope(base, default_name, values) as scope:
        tag = scope.rstrip("/")
        yield (tag if family is None else f"{family}/{tag}"), scope


def _collect(summary: Any, collections: CollectionNames, default: tuple[str, ...]) -> None:
    for key in default if collections is None else collections:
        add_to_collection(key, summary)


_SUMMARIES = (GraphKeys.SUMMARIES,)


def scalar(
    name: str,
    tensor: TensorLike,
    collections: CollectionNames | None = None,
    family: str | None = None,
) -> TensorResult:
    """Return a summary of one number."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = scalar_summary(tag, tensor, name=scope)
        _collect(summary, collections, _SUMMARIES)
        return summary


def image(
    name: str,
    tensor: TensorLike,
    max_outputs: int = 3,
    collections: CollectionNames | None = None,
    family: str | None = None,
) -> TensorResult:
    """Return a summary of the first images of a batch."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = image_summary(tag, tensor, max_images=max_outputs, name=scope)
        _collect(summary, collections, _SUMMARIES)
        return summary


def histogram(
    name: str,
    values: TensorLike,
    collections: CollectionNames | None = None,
    family: str | None = None,
) -> TensorResult:
    """Return a summary of the distribution of a tensor's numbers."""
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        summary = histogram_summary(tag, values, name=scope)
        _collect(summary, collections, _SUMMARIES)
        return summary


def audio(
    name: str,
    tensor: TensorLike,
    sample_rate: TensorLike,
    max_outputs: int = 3,
    collections: CollectionNames | None = None,
    family: str | None = None,
) -> TensorResult:
    """Return a summary of the first audio clips of a batch."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        sample_rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        summary = audio_summary_v2(tag, tensor, sample_rate, max_outputs=max_outputs, name=scope)
        _collect(summary, collections, _SUMMARIES)
        return summary


def text(name: str, tensor: TensorLike, collections: CollectionNames | None = None) -> TensorResult:
    """Return a summary of strings.

    Raises:
      ValueError: the tensor has another type.
    """
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    metadata = summary_pb2.SummaryMetadata(plugin_data=plugin)
    return tensor_summary(name, tensor, summary_metadata=metadata, collections=collections)


def tensor_summary(
    name: str,
    tensor: TensorLike,
    summary_description: str | None = None,
    collections: CollectionNames | None = None,
    summary_metadata: summary_pb2.SummaryMetadata | None = None,
    family: str | None = None,
    display_name: str | None = None,
) -> TensorResult:
    """Return a summary that contains an unchanged tensor."""
    metadata = summary_metadata or summary_pb2.SummaryMetadata()
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = tensor_summary_v2(tag, tensor, metadata.SerializeToString(), name=scope)
        _collect(summary, collections, _SUMMARIES)
        return summary


def merge(
    inputs: TensorLike, collections: CollectionNames | None = None, name: str | None = None
) -> TensorResult:
    """Return one summary with the values of several."""
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        summary = merge_summary(inputs, name=name)
        _collect(summary, collections, ())
        return summary


def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Any:
    """Return one summary with the values of all in a collection, or None if it is empty."""
    summaries = get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


def get_summary_description(node_def: Any) -> summary_pb2.SummaryDescription:
    """Return the description of a TensorSummary node.

    Raises:
      ValueError: the node is not a TensorSummary.
    """
    from google.protobuf import json_format

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    description = summary_pb2.SummaryDescription()
    json_format.Parse(node_def.attr["description"].s.decode(), description)
    return description
