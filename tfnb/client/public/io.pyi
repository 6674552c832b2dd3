# The names of tf.io; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.io_ops import matching_files as matching_files
from tfnb.ops.io_ops import read_file as read_file
from tfnb.ops.io_ops import write_file as write_file
