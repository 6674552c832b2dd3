# The names of tf.io; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.client.files.record_io import TFRecordCompressionType as TFRecordCompressionType
from tfnb.client.files.record_io import TFRecordOptions as TFRecordOptions
from tfnb.client.files.record_io import TFRecordWriter as TFRecordWriter
from tfnb.client.files.record_io import tf_record_iterator as tf_record_iterator
from tfnb.library.queues.queues import PaddingFIFOQueue as PaddingFIFOQueue
from tfnb.library.queues.queues import PriorityQueue as PriorityQueue
from tfnb.library.queues.queues import QueueBase as QueueBase
from tfnb.library.queues.queues import RandomShuffleQueue as RandomShuffleQueue
from tfnb.library.sparse.sparse_functions import deserialize_many_sparse as deserialize_many_sparse
from tfnb.library.sparse.sparse_functions import serialize_many_sparse as serialize_many_sparse
from tfnb.library.sparse.sparse_functions import serialize_sparse as serialize_sparse
from tfnb.library.tables.parsing_features import (
    parse_single_sequence_example as parse_single_sequence_example,
)
from tfnb.library.tables.parsing_features import FixedLenFeature as FixedLenFeature
from tfnb.library.tables.parsing_features import FixedLenSequenceFeature as FixedLenSequenceFeature
from tfnb.library.tables.parsing_features import SparseFeature as SparseFeature
from tfnb.library.tables.parsing_features import VarLenFeature as VarLenFeature
from tfnb.library.tables.parsing_features import parse_example as parse_example
from tfnb.library.tables.parsing_features import parse_sequence_example as parse_sequence_example
from tfnb.library.tables.parsing_features import parse_single_example as parse_single_example
from tfnb.library.tables.ragged_features import RaggedFeature as RaggedFeature
from tfnb.library.training.graph_io import write_graph as write_graph
from tfnb.library.training.input import match_filenames_once as match_filenames_once
from tfnb.ops.image.image_codec_ops import decode_and_crop_jpeg_op as decode_and_crop_jpeg
from tfnb.ops.image.image_codec_ops import decode_bmp_op as decode_bmp
from tfnb.ops.image.image_codec_ops import decode_gif_op as decode_gif
from tfnb.ops.image.image_codec_ops import decode_image as decode_image
from tfnb.ops.image.image_codec_ops import decode_jpeg_op as decode_jpeg
from tfnb.ops.image.image_codec_ops import decode_png_op as decode_png
from tfnb.ops.image.image_codec_ops import encode_jpeg_op as encode_jpeg
from tfnb.ops.image.image_codec_ops import encode_png_op as encode_png
from tfnb.ops.image.image_codec_ops import extract_jpeg_shape_op as extract_jpeg_shape
from tfnb.ops.image.image_codec_ops import is_jpeg as is_jpeg
from tfnb.ops.io.io_ops import matching_files as matching_files
from tfnb.ops.io.io_ops import read_file as read_file
from tfnb.ops.io.io_ops import write_file as write_file
from tfnb.ops.io.parsing_ops import decode_compressed as decode_compressed
from tfnb.ops.io.parsing_ops import decode_csv as decode_csv
from tfnb.ops.io.parsing_ops import decode_json_example as decode_json_example
from tfnb.ops.io.parsing_ops import decode_raw as decode_raw
from tfnb.ops.io.parsing_ops import parse_tensor as parse_tensor
from tfnb.ops.io.parsing_ops import serialize_tensor as serialize_tensor
from tfnb.ops.strings.string_ops import decode_base64 as decode_base64
from tfnb.ops.strings.string_ops import encode_base64 as encode_base64

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RaggedFeature",
    "RandomShuffleQueue",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
