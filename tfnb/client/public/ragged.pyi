# The names of tf.ragged; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.ragged.factory import boolean_mask as boolean_mask
from tfnb.library.ragged.factory import constant as constant
from tfnb.library.ragged.factory import constant_value as constant_value
from tfnb.library.ragged.factory import cross as cross
from tfnb.library.ragged.factory import cross_hashed as cross_hashed
from tfnb.library.ragged.factory import map_flat_values as map_flat_values
from tfnb.library.ragged.factory import placeholder as placeholder
from tfnb.library.ragged.factory import range_ as range
from tfnb.library.ragged.factory import segment_ids_to_row_splits as segment_ids_to_row_splits
from tfnb.library.ragged.factory import stack as stack
from tfnb.library.ragged.factory import stack_dynamic_partitions as stack_dynamic_partitions
from tfnb.library.ragged.ragged_tensor import RaggedTensorValue as RaggedTensorValue
from tfnb.library.ragged.ragged_tensor import row_splits_to_segment_ids as row_splits_to_segment_ids

__all__ = [
    "RaggedTensorValue",
    "boolean_mask",
    "constant",
    "constant_value",
    "cross",
    "cross_hashed",
    "map_flat_values",
    "placeholder",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
    "stack_dynamic_partitions",
]
