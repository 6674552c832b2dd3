# The names of tf.io; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.io_ops import matching_files as matching_files
from tfnb.ops.io_ops import read_file as read_file
from tfnb.ops.io_ops import write_file as write_file
from tfnb.ops.parsing_features import FixedLenFeature as FixedLenFeature
from tfnb.ops.parsing_features import FixedLenSequenceFeature as FixedLenSequenceFeature
from tfnb.ops.parsing_features import RaggedFeature as RaggedFeature
from tfnb.ops.parsing_features import SparseFeature as SparseFeature
from tfnb.ops.parsing_features import VarLenFeature as VarLenFeature
from tfnb.ops.parsing_features import parse_example as parse_example
from tfnb.ops.parsing_features import parse_sequence_example as parse_sequence_example
from tfnb.ops.parsing_features import parse_single_example as parse_single_example
from tfnb.ops.parsing_features import parse_single_sequence_example as parse_single_sequence_example
from tfnb.ops.parsing_ops import decode_compressed as decode_compressed
from tfnb.ops.parsing_ops import decode_csv as decode_csv
from tfnb.ops.parsing_ops import decode_json_example as decode_json_example
from tfnb.ops.parsing_ops import decode_raw as decode_raw
from tfnb.ops.parsing_ops import parse_tensor as parse_tensor
from tfnb.ops.parsing_ops import serialize_tensor as serialize_tensor
from tfnb.ops.queues import PaddingFIFOQueue as PaddingFIFOQueue
from tfnb.ops.queues import PriorityQueue as PriorityQueue
from tfnb.ops.queues import QueueBase as QueueBase
from tfnb.ops.queues import RandomShuffleQueue as RandomShuffleQueue
from tfnb.ops.string_ops import decode_base64 as decode_base64
from tfnb.ops.string_ops import encode_base64 as encode_base64
from tfnb.ops.training.input import match_filenames_once as match_filenames_once
