# The names of tf.bitwise; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.math.comparison_ops import bitwise_and as bitwise_and
from tfnb.ops.math.comparison_ops import bitwise_or as bitwise_or
from tfnb.ops.math.comparison_ops import bitwise_xor as bitwise_xor
from tfnb.ops.math.comparison_ops import left_shift as left_shift
from tfnb.ops.math.comparison_ops import right_shift as right_shift
from tfnb.ops.math.cwise_unary_ops import invert as invert
