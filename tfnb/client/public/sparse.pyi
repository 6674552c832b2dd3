# The names of tf.sparse; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.sparse_tensor import SparseTensor as SparseTensor
from tfnb.ops.segment_ops import sparse_segment_mean as segment_mean
from tfnb.ops.segment_ops import sparse_segment_sqrt_n as segment_sqrt_n
from tfnb.ops.segment_ops import sparse_segment_sum as segment_sum
