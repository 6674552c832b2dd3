"""Asserting, printing, and the ops of summaries."""

from __future__ import annotations

from tfnb.core.op_registry import register_op

assert = register_op(
    "Assert",
    "condition: bool, data: T ->",
    "T: list(type) >= 1",
    "summarize: int = 3",
    stateful=True,
)(None)
print = register_op(
    "Print",
    "input: T, data: U -> output: T",
    "T: type",
    "U: list(type) >= 0",
    "message: string = ''",
    "first_n: int = -1",
    "summarize: int = 3",
    stateful=True,
)(None)
print_v2 = register_op(
    "PrintV2",
    "input: string ->",
    "output_stream: string = 'stderr'",
    "end: string = '\n'",
    stateful=True,
)(None)
tensor_summary_v2 = register_op(
    "TensorSummaryV2",
    "tag: string, tensor: T, serialized_summary_metadata: string -> summary: string",
    "T: type",
)(None)
tensor_summary = register_op(
    "TensorSummary",
    "tensor: T -> summary: string",
    "T: type",
    "description: string = ''",
    "labels: list(string) = []",
    "display_name: string = ''",
)(None)
scalar_summary = register_op("ScalarSummary", "tags: string, values: T -> summary: string", "T: realnumbertype")(None)
histogram_summary = register_op(
    "HistogramSummary",
    "tag: string, values: T -> summary: string",
    "T: realnumbertype = DT_FLOAT",
)(None)
image_summary = register_op(
    "ImageSummary",
    "tag: string, tensor: T -> summary: string",
    "max_images: int >= 1 = 3",
    "T: {uint8, float, half, double} = DT_FLOAT",
    "bad_color: tensor = tensor uint8 08041204120208043a06ff010000ff01",
)(None)
audio_summary_v2 = register_op(
    "AudioSummaryV2",
    "tag: string, tensor: float, sample_rate: float -> summary: string",
    "max_outputs: int >= 1 = 3",
)(None)
audio_summary = register_op(
    "AudioSummary",
    "tag: string, tensor: float -> summary: string",
    "sample_rate: float",
    "max_outputs: int >= 1 = 3",
    deprecated=(15, ""),
)(None)
merge_summary = register_op("MergeSummary", "inputs: N * string -> summary: string", "N: int >= 1")(None)
timestamp = register_op("Timestamp", "-> ts: double", stateful=True)(None)
