# The names of tf.debugging; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.control_flow_assert import assert_ as Assert
from tfnb.ops.cwise_unary_ops import is_finite as is_finite
from tfnb.ops.cwise_unary_ops import is_inf as is_inf
from tfnb.ops.cwise_unary_ops import is_nan as is_nan
