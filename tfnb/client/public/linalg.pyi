# The names of tf.linalg; written by scripts/generate_public_names.py.
# ruff: noqa
from tfnb.library.linear_operators.composed import (
    LinearOperatorBlockDiag as LinearOperatorBlockDiag,
)
from tfnb.library.linear_operators.composed import (
    LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular,
)
from tfnb.library.linear_operators.composed import (
    LinearOperatorComposition as LinearOperatorComposition,
)
from tfnb.library.linear_operators.composed import (
    LinearOperatorInversion as LinearOperatorInversion,
)
from tfnb.library.linear_operators.composed import (
    LinearOperatorKronecker as LinearOperatorKronecker,
)
from tfnb.library.linear_operators.composed import (
    LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate,
)
from tfnb.library.linear_operators.composed import LinearOperatorAdjoint as LinearOperatorAdjoint
from tfnb.library.linear_operators.operator import LinearOperator as LinearOperator
from tfnb.library.linear_operators.simple import (
    LinearOperatorFullMatrix as LinearOperatorFullMatrix,
)
from tfnb.library.linear_operators.simple import (
    LinearOperatorHouseholder as LinearOperatorHouseholder,
)
from tfnb.library.linear_operators.simple import (
    LinearOperatorLowerTriangular as LinearOperatorLowerTriangular,
)
from tfnb.library.linear_operators.simple import (
    LinearOperatorPermutation as LinearOperatorPermutation,
)
from tfnb.library.linear_operators.simple import (
    LinearOperatorScaledIdentity as LinearOperatorScaledIdentity,
)
from tfnb.library.linear_operators.simple import LinearOperatorDiag as LinearOperatorDiag
from tfnb.library.linear_operators.simple import LinearOperatorIdentity as LinearOperatorIdentity
from tfnb.library.linear_operators.simple import LinearOperatorToeplitz as LinearOperatorToeplitz
from tfnb.library.linear_operators.simple import LinearOperatorTridiag as LinearOperatorTridiag
from tfnb.library.linear_operators.simple import LinearOperatorZeros as LinearOperatorZeros
from tfnb.library.math.clip_ops import global_norm as global_norm
from tfnb.library.math.linalg_ops import eigh_tridiagonal as eigh_tridiagonal
from tfnb.library.math.linalg_ops import logdet as logdet
from tfnb.library.math.linalg_ops import lu_matrix_inverse as lu_matrix_inverse
from tfnb.library.math.linalg_ops import lu_reconstruct as lu_reconstruct
from tfnb.library.math.linalg_ops import lu_solve as lu_solve
from tfnb.library.math.linalg_ops import matrix_exponential as expm
from tfnb.library.math.linalg_ops import matrix_rank as matrix_rank
from tfnb.library.math.linalg_ops import matrix_solve_ls as lstsq
from tfnb.library.math.linalg_ops import norm as norm
from tfnb.library.math.linalg_ops import normalize as normalize
from tfnb.library.math.linalg_ops import pinv as pinv
from tfnb.library.math.linalg_ops import self_adjoint_eig as eigh
from tfnb.library.math.linalg_ops import self_adjoint_eigvals as eigvalsh
from tfnb.library.math.linalg_ops import svd as svd
from tfnb.library.math.linalg_ops import tridiagonal_matmul as tridiagonal_matmul
from tfnb.library.math.linalg_ops import tridiagonal_solve as tridiagonal_solve
from tfnb.library.nn.nn_ops import l2_normalize as l2_normalize
from tfnb.ops.array.matrix_diag_ops import diag as tensor_diag
from tfnb.ops.array.matrix_diag_ops import diag_part as tensor_diag_part
from tfnb.ops.array.matrix_diag_ops import matrix_band_part as band_part
from tfnb.ops.array.matrix_diag_ops import matrix_diag as diag
from tfnb.ops.array.matrix_diag_ops import matrix_diag_part as diag_part
from tfnb.ops.array.matrix_diag_ops import matrix_set_diag as set_diag
from tfnb.ops.array.transpose_ops import matrix_transpose as matrix_transpose
from tfnb.ops.array.transpose_ops import matrix_transpose as transpose
from tfnb.ops.linalg.einsum_ops import einsum as einsum
from tfnb.ops.linalg.matrix_decomposition_ops import cholesky as cholesky
from tfnb.ops.linalg.matrix_decomposition_ops import lu as lu
from tfnb.ops.linalg.matrix_decomposition_ops import matrix_logarithm as logm
from tfnb.ops.linalg.matrix_decomposition_ops import matrix_square_root as sqrtm
from tfnb.ops.linalg.matrix_decomposition_ops import qr as qr
from tfnb.ops.linalg.matrix_functions import adjoint as adjoint
from tfnb.ops.linalg.matrix_functions import cholesky_solve as cholesky_solve
from tfnb.ops.linalg.matrix_functions import eye as eye
from tfnb.ops.linalg.matrix_functions import matrix_triangular_solve as triangular_solve
from tfnb.ops.linalg.matrix_solve_ops import log_matrix_determinant as slogdet
from tfnb.ops.linalg.matrix_solve_ops import matrix_determinant as det
from tfnb.ops.linalg.matrix_solve_ops import matrix_inverse as inv
from tfnb.ops.linalg.matrix_solve_ops import matrix_solve as solve
from tfnb.ops.math.math_ops import tensordot as tensordot
from tfnb.ops.math.math_ops import trace as trace
from tfnb.ops.math.matmul_ops import matmul as matmul
from tfnb.ops.math.matmul_ops import matvec as matvec
from tfnb.ops.math.sequence_ops import cross as cross

__all__ = [
    "LinearOperator",
    "LinearOperatorAdjoint",
    "LinearOperatorBlockDiag",
    "LinearOperatorBlockLowerTriangular",
    "LinearOperatorComposition",
    "LinearOperatorDiag",
    "LinearOperatorFullMatrix",
    "LinearOperatorHouseholder",
    "LinearOperatorIdentity",
    "LinearOperatorInversion",
    "LinearOperatorKronecker",
    "LinearOperatorLowRankUpdate",
    "LinearOperatorLowerTriangular",
    "LinearOperatorPermutation",
    "LinearOperatorScaledIdentity",
    "LinearOperatorToeplitz",
    "LinearOperatorTridiag",
    "LinearOperatorZeros",
    "adjoint",
    "band_part",
    "cholesky",
    "cholesky_solve",
    "cross",
    "det",
    "diag",
    "diag_part",
    "eigh",
    "eigh_tridiagonal",
    "eigvalsh",
    "einsum",
    "experimental",
    "expm",
    "eye",
    "global_norm",
    "inv",
    "l2_normalize",
    "logdet",
    "logm",
    "lstsq",
    "lu",
    "lu_matrix_inverse",
    "lu_reconstruct",
    "lu_solve",
    "matmul",
    "matrix_rank",
    "matrix_transpose",
    "matvec",
    "norm",
    "normalize",
    "pinv",
    "qr",
    "set_diag",
    "slogdet",
    "solve",
    "sqrtm",
    "svd",
    "tensor_diag",
    "tensor_diag_part",
    "tensordot",
    "trace",
    "transpose",
    "triangular_solve",
    "tridiagonal_matmul",
    "tridiagonal_solve",
]
