# The names of tf.sparse; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.sparse_tensor import SparseTensor as SparseTensor
from tfnb.ops.segment_ops import sparse_segment_mean as segment_mean
from tfnb.ops.segment_ops import sparse_segment_sqrt_n as segment_sqrt_n
from tfnb.ops.segment_ops import sparse_segment_sum as segment_sum
from tfnb.ops.sparse_ops import sparse_fill_empty_rows as fill_empty_rows
from tfnb.ops.sparse_ops import sparse_placeholder as placeholder
from tfnb.ops.sparse_ops import sparse_reorder as reorder
from tfnb.ops.sparse_ops import sparse_slice as slice
from tfnb.ops.sparse_ops import sparse_tensor_dense_matmul as matmul
from tfnb.ops.sparse_ops import sparse_tensor_dense_matmul as sparse_dense_matmul
from tfnb.ops.sparse_ops import sparse_tensor_to_dense as to_dense
