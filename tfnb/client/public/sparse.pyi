# The names of tf.sparse; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.framework.sparse_tensor import SparseTensor as SparseTensor
from tfnb.library.queues.accumulators import (
    SparseConditionalAccumulator as SparseConditionalAccumulator,
)
from tfnb.library.sparse.sparse_bincount import bincount as bincount
from tfnb.library.sparse.sparse_functions import deserialize_many_sparse as deserialize_many_sparse
from tfnb.library.sparse.sparse_functions import from_dense as from_dense
from tfnb.library.sparse.sparse_functions import map_values as map_values
from tfnb.library.sparse.sparse_functions import serialize_many_sparse as serialize_many_sparse
from tfnb.library.sparse.sparse_functions import serialize_sparse as serialize_sparse
from tfnb.library.sparse.sparse_functions import sparse_add as add
from tfnb.library.sparse.sparse_functions import sparse_concat as concat
from tfnb.library.sparse.sparse_functions import sparse_expand_dims as expand_dims
from tfnb.library.sparse.sparse_functions import sparse_eye as eye
from tfnb.library.sparse.sparse_functions import sparse_mask as mask
from tfnb.library.sparse.sparse_functions import sparse_maximum as maximum
from tfnb.library.sparse.sparse_functions import sparse_merge as merge
from tfnb.library.sparse.sparse_functions import sparse_minimum as minimum
from tfnb.library.sparse.sparse_functions import sparse_reduce_max as reduce_max
from tfnb.library.sparse.sparse_functions import sparse_reduce_max_sparse as reduce_max_sparse
from tfnb.library.sparse.sparse_functions import sparse_reduce_sum as reduce_sum
from tfnb.library.sparse.sparse_functions import sparse_reduce_sum_sparse as reduce_sum_sparse
from tfnb.library.sparse.sparse_functions import sparse_reset_shape as reset_shape
from tfnb.library.sparse.sparse_functions import sparse_reshape as reshape
from tfnb.library.sparse.sparse_functions import sparse_retain as retain
from tfnb.library.sparse.sparse_functions import sparse_softmax as softmax
from tfnb.library.sparse.sparse_functions import sparse_split as split
from tfnb.library.sparse.sparse_functions import sparse_to_indicator as to_indicator
from tfnb.library.sparse.sparse_functions import sparse_transpose as transpose
from tfnb.ops.math.sparse_segment_ops import sparse_segment_mean as segment_mean
from tfnb.ops.math.sparse_segment_ops import sparse_segment_sqrt_n as segment_sqrt_n
from tfnb.ops.math.sparse_segment_ops import sparse_segment_sum as segment_sum
from tfnb.ops.sparse.sparse_cross_ops import cross as cross
from tfnb.ops.sparse.sparse_cross_ops import cross_hashed as cross_hashed
from tfnb.ops.sparse.sparse_ops import sparse_fill_empty_rows as fill_empty_rows
from tfnb.ops.sparse.sparse_ops import sparse_placeholder as placeholder
from tfnb.ops.sparse.sparse_ops import sparse_reorder as reorder
from tfnb.ops.sparse.sparse_ops import sparse_slice as slice
from tfnb.ops.sparse.sparse_ops import sparse_tensor_dense_matmul as matmul
from tfnb.ops.sparse.sparse_ops import sparse_tensor_dense_matmul as sparse_dense_matmul
from tfnb.ops.sparse.sparse_ops import sparse_tensor_to_dense as to_dense

__all__ = [
    "SparseConditionalAccumulator",
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "cross",
    "cross_hashed",
    "deserialize_many_sparse",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "mask",
    "matmul",
    "maximum",
    "merge",
    "minimum",
    "placeholder",
    "reduce_max",
    "reduce_max_sparse",
    "reduce_sum",
    "reduce_sum_sparse",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "segment_mean",
    "segment_sqrt_n",
    "segment_sum",
    "serialize_many_sparse",
    "serialize_sparse",
    "slice",
    "softmax",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]
