# The names of tf.io; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.io_ops import matching_files as matching_files
from tfnb.ops.io_ops import read_file as read_file
from tfnb.ops.io_ops import write_file as write_file
from tfnb.ops.string_ops import decode_base64 as decode_base64
from tfnb.ops.string_ops import encode_base64 as encode_base64
