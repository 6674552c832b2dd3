# The names of tf.linalg; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.ops.clip_ops import global_norm as global_norm
from tfnb.ops.math_ops import tensordot as tensordot
from tfnb.ops.math_ops import trace as trace
from tfnb.ops.matmul_ops import matmul as matmul
from tfnb.ops.matrix_diag_ops import diag as tensor_diag
from tfnb.ops.matrix_diag_ops import diag_part as tensor_diag_part
from tfnb.ops.matrix_diag_ops import matrix_band_part as band_part
from tfnb.ops.matrix_diag_ops import matrix_diag as diag
from tfnb.ops.matrix_diag_ops import matrix_diag_part as diag_part
from tfnb.ops.matrix_diag_ops import matrix_set_diag as set_diag
from tfnb.ops.nn_ops import l2_normalize as l2_normalize
from tfnb.ops.sequence_ops import cross as cross
from tfnb.ops.transpose_ops import matrix_transpose as matrix_transpose
from tfnb.ops.transpose_ops import matrix_transpose as transpose
