# The names of tf.sets; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.sparse.set_ops import set_difference as difference
from tfnb.ops.sparse.set_ops import set_difference as set_difference
from tfnb.ops.sparse.set_ops import set_intersection as intersection
from tfnb.ops.sparse.set_ops import set_intersection as set_intersection
from tfnb.ops.sparse.set_ops import set_size as set_size
from tfnb.ops.sparse.set_ops import set_size as size
from tfnb.ops.sparse.set_ops import set_union as set_union
from tfnb.ops.sparse.set_ops import set_union as union

__all__ = [
    "difference",
    "intersection",
    "set_difference",
    "set_intersection",
    "set_size",
    "set_union",
    "size",
    "union",
]
