# The names of tf.summary; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.files.summary_writer import FileWriter as FileWriter
from tfnb.client.files.summary_writer import FileWriterCache as FileWriterCache
from tfnb.client.files.summary_writer import all_v2_summary_ops as all_v2_summary_ops
from tfnb.client.files.summary_writer import initialize as initialize
from tfnb.ops.io.summary_ops import audio as audio
from tfnb.ops.io.summary_ops import get_summary_description as get_summary_description
from tfnb.ops.io.summary_ops import histogram as histogram
from tfnb.ops.io.summary_ops import image as image
from tfnb.ops.io.summary_ops import merge as merge
from tfnb.ops.io.summary_ops import merge_all as merge_all
from tfnb.ops.io.summary_ops import scalar as scalar
from tfnb.ops.io.summary_ops import tensor_summary as tensor_summary
from tfnb.ops.io.summary_ops import text as text
from tfnb.proto.event_pb2 import Event as Event
from tfnb.proto.event_pb2 import SessionLog as SessionLog
from tfnb.proto.event_pb2 import TaggedRunMetadata as TaggedRunMetadata
from tfnb.proto.summary_pb2 import Summary as Summary
from tfnb.proto.summary_pb2 import SummaryDescription as SummaryDescription
