# The names of tf.manip; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.array.concat_ops import tile as tile
from tfnb.ops.array.gather_ops import gather_nd as gather_nd
from tfnb.ops.array.scatter_nd_ops import scatter_nd as scatter_nd
from tfnb.ops.array.shape_ops import reshape as reshape
from tfnb.ops.array.space_ops import batch_to_space_nd as batch_to_space_nd
from tfnb.ops.array.space_ops import space_to_batch_nd as space_to_batch_nd
from tfnb.ops.array.transpose_ops import reverse as reverse
from tfnb.ops.array.transpose_ops import roll as roll
