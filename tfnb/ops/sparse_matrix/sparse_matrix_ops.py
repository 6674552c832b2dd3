"""Compressed sparse rows: conversion from and to tensors, transposition, scaling, sums.

Corresponds to TensorFlow's ``sparse_csr_matrix_ops.cc`` and ``kernels/sparse``. Sums, products with
numbers, zeros and softmax have kernels here, although TensorFlow has them only for GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.host_memory import check_fits
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    InferenceContext,
    merge_dims,
    merge_shapes,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.ops.array import gather_ops, where_ops
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.math import math_ops, searchsorted_ops
from tfnb.ops.sparse_matrix.sparse_matrix import (
    CSRSparseMatrix,
    check_known_rank,
    check_type,
    empty_matrix,
    holds_matrix,
    indices_of,
    matrix_input,
    matrix_of_indices,
    rows_of,
    static_dims,
    static_matrix,
    transposed,
    weighted_sum,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_T = "T: {float, double, complex64, complex128}"
_TYPE = "type: {float, double, complex64, complex128}"
_REAL = "type: {float, double}"

# ----------------------------------------------------------------------- sparse tensors to matrices


def _from_sparse_shape(c: InferenceContext) -> TensorShape:
    indices = c.with_rank(0, 2).dim_values or (None, None)
    values = c.with_rank(1, 1).dim_values or (None,)
    given = c.with_rank(2, 1).dim_values or (None,)
    merge_dims(indices[0], values[0])
    if indices[1] is not None and given[0] is not None and indices[1] != given[0]:
        raise ValueError(f"Index rank ({indices[1]}) and shape rank ({given[0]}) do not match.")
    shape = c.constant_value_as_shape(2)
    check_known_rank(shape.ndims)
    if indices[1] != shape.ndims:
        raise ValueError(
            f"Shape must be rank {-1 if indices[1] is None else indices[1]} but is rank "
            f"{shape.ndims}"
        )
    return holds_matrix(c, c.attr("T"), shape)


def _check_inside(indices: Array, sizes: list[int]) -> None:
    outside = ((indices < 0) | (indices >= np.array(sizes, np.int64))).any(axis=1)
    if outside.any():
        row = int(outside.argmax())
        raise errors.invalid_argument(
            f"Sparse index tuple indices[{row}, :] = {indices[row].tolist()} is out of bounds"
        )


@register_op(
    "SparseTensorToCSRSparseMatrix",
    "indices: int64, values: T, dense_shape: int64 -> sparse_matrix: variant",
    _T,
    shape=_from_sparse_shape,
    **_CPU,
)
def sparse_tensor_to_csr_sparse_matrix(
    xp: Xp, indices: Array, values: Array, dense_shape: Array
) -> Variant:
    """Return the matrix of a sparse tensor, whose indices must be sorted."""
    if indices.ndim != 2 or values.ndim != 1 or dense_shape.ndim != 1:
        raise errors.invalid_argument(
            "indices must be a matrix, values and dense_shape vectors: found ranks "
            f"{indices.ndim}, {values.ndim} and {dense_shape.ndim}"
        )
    if len(indices) != len(values):
        raise errors.invalid_argument(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not "
            "match"
        )
    if indices.shape[1] != len(dense_shape):
        raise errors.invalid_argument(
            f"Index rank ({indices.shape[1]}) and shape rank ({len(dense_shape)}) do not match."
        )
    # The sizes are checked before the elements.
    sizes = dense_shape.tolist()
    empty_matrix(tuple(sizes), values.dtype)
    _check_inside(indices, sizes)
    return matrix_of_indices(indices, values, tuple(sizes))


@sparse_tensor_to_csr_sparse_matrix.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    values = csr_sparse_matrix_to_sparse_tensor(grad, type=op.get_attr("T"))[1]
    return None, values, None


def _to_sparse_shape(c: InferenceContext) -> list[TensorShape]:
    rank = len(static_dims(c, 0))
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


@register_op(
    "CSRSparseMatrixToSparseTensor",
    "sparse_matrix: variant -> indices: int64, values: type, dense_shape: int64",
    _TYPE,
    shape=_to_sparse_shape,
    **_CPU,
)
def csr_sparse_matrix_to_sparse_tensor(xp: Xp, sparse_matrix: Variant, *, type: DType) -> Outputs:
    """Return the parts of an equal sparse tensor."""
    matrix = matrix_input(sparse_matrix)
    if matrix.dtype is not type:
        raise errors.invalid_argument(
            f"Expected a CSRSparseMatrix of type {type_word(type)} but saw type: "
            f"{type_word(matrix.dtype)}"
        )
    return indices_of(matrix), matrix.values, np.array(matrix.shape, np.int64)


@csr_sparse_matrix_to_sparse_tensor.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    return sparse_tensor_to_csr_sparse_matrix(op.outputs[0], grads[1], op.outputs[2])


# ------------------------------------------------------------------------ dense tensors to matrices


def _from_dense_shape(c: InferenceContext) -> TensorShape:
    rank = c.inputs[0].ndims
    check_known_rank(rank, "rank of dense")
    indices = c.inputs[1].dim_values
    if indices is None or len(indices) != 2:
        found = -1 if indices is None else len(indices)
        raise ValueError(f"indices must be a matrix; but its rank is not 2: {found}")
    if indices[1] != rank:
        found = -1 if indices[1] is None else indices[1]
        raise ValueError(f"indices.shape[1] must match rank of dense; saw: {found} vs. {rank}")
    return holds_matrix(c, c.attr("T"), c.inputs[0])


@register_op(
    "DenseToCSRSparseMatrix",
    "dense_input: T, indices: int64 -> sparse_output: variant",
    _T,
    shape=_from_dense_shape,
    **_CPU,
)
def dense_to_csr_sparse_matrix(xp: Xp, dense_input: Array, indices: Array) -> Variant:
    """Return the matrix of selected elements of a dense one."""
    empty_matrix(dense_input.shape, dense_input.dtype)
    if indices.ndim != 2 or indices.shape[1] != dense_input.ndim:
        raise errors.invalid_argument(
            "indices must be a matrix with a column for each dimension of dense; found "
            f"{list(indices.shape)} for {list(dense_input.shape)}"
        )
    outside = ((indices < 0) | (indices >= np.array(dense_input.shape, np.int64))).any(axis=1)
    if outside.any():
        row = int(outside.argmax())
        sizes = ",".join(map(str, dense_input.shape))
        raise errors.invalid_argument(
            f"indices[{row}] = {indices[row].tolist()} does not index into param shape [{sizes}]"
        )
    values = dense_input[tuple(indices.T)]
    return matrix_of_indices(indices, values, dense_input.shape)


@dense_to_csr_sparse_matrix.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return csr_sparse_matrix_to_dense(grad, type=op.get_attr("T")), None


@register_op(
    "CSRSparseMatrixToDense",
    "sparse_input: variant -> dense_output: type",
    _TYPE,
    shape=lambda c: static_matrix(c, 0),
    **_CPU,
)
def csr_sparse_matrix_to_dense(xp: Xp, sparse_input: Variant, *, type: DType) -> Array:
    """Return the dense tensor, with 0 at missing elements.

    Of several elements at one position, the last one counts.
    """
    matrix = matrix_input(sparse_input)
    if matrix.dtype is not type:
        raise errors.invalid_argument(
            f"Asked for a CSRSparseMatrix of type {type_word(type)} but saw dtype: "
            f"{type_word(matrix.dtype)}"
        )
    check_fits(np, matrix.shape, matrix.values.dtype)
    dense = np.zeros(matrix.shape, matrix.values.dtype)
    dense[tuple(indices_of(matrix).T)] = matrix.values
    return dense


@csr_sparse_matrix_to_dense.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    indices = csr_sparse_matrix_to_sparse_tensor(op.inputs[0], type=grad.dtype)[0]
    values = gather_ops.gather_nd(grad, indices)
    return sparse_tensor_to_csr_sparse_matrix(indices, values, grad.shape)


# ---------------------------------------------------------------------------------- about a matrix


def _components_shape(c: InferenceContext) -> list[TensorShape]:
    static_matrix(c, 0)
    if c.inputs[1].ndims != 0:
        raise ValueError("index must be a scalar.")
    dims = static_dims(c, 0)
    rows = dims[-2]
    return [
        TensorShape([None if rows is None or len(dims) == 3 else rows + 1]),
        TensorShape([None]),
        TensorShape([None]),
    ]


@register_op(
    "CSRSparseMatrixComponents",
    "csr_sparse_matrix: variant, index: int32 -> row_ptrs: int32, col_inds: int32, values: type",
    _TYPE,
    shape=_components_shape,
    **_CPU,
)
def csr_sparse_matrix_components(
    xp: Xp, csr_sparse_matrix: Variant, index: Array, *, type: DType
) -> Outputs:
    """Return row starts, columns and values of one matrix of a batch."""
    matrix = matrix_input(csr_sparse_matrix)
    check_type(matrix, type)
    if index.ndim:
        raise errors.invalid_argument("index must be a scalar.")
    if not 0 <= index < matrix.num_matrices:
        raise errors.invalid_argument(f"index ({index}) not in [0, {matrix.num_matrices})")
    return matrix.parts(int(index))


@register_op(
    "SparseMatrixNNZ",
    "sparse_matrix: variant -> nnz: int32",
    shape=lambda c: TensorShape(static_dims(c, 0)[:-2]),
    **_CPU,
)
def sparse_matrix_nnz(xp: Xp, sparse_matrix: Variant) -> Array:
    """Return the number of elements of each matrix."""
    matrix = matrix_input(sparse_matrix)
    counts = np.diff(matrix.batch_starts)
    return counts if len(matrix.shape) == 3 else counts[0]


sparse_matrix_nnz.not_differentiable()


def _zeros_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 1)
    shape = c.constant_value_as_shape(0)
    check_known_rank(shape.ndims)
    return holds_matrix(c, c.attr("type"), shape)


@register_op(
    "SparseMatrixZeros",
    "dense_shape: int64 -> sparse_matrix: variant",
    _TYPE,
    shape=_zeros_shape,
    **_CPU,
)
def sparse_matrix_zeros(xp: Xp, dense_shape: Array, *, type: DType) -> Variant:
    """Return a matrix without elements."""
    return empty_matrix(tuple(dense_shape.tolist()), type.numpy_dtype)


sparse_matrix_zeros.not_differentiable()

# ---------------------------------------------------------------------- matrices made of matrices


def _transpose_shape(c: InferenceContext) -> TensorShape:
    *batch, rows, columns = static_dims(c, 0)
    return holds_matrix(c, c.attr("type"), TensorShape([*batch, columns, rows]))


@register_op(
    "SparseMatrixTranspose",
    "input: variant -> output: variant",
    "conjugate: bool = false",
    _TYPE,
    shape=_transpose_shape,
    **_CPU,
)
def sparse_matrix_transpose(xp: Xp, input: Variant, *, conjugate: bool, type: DType) -> Variant:
    """Return matrices with rows and columns exchanged."""
    matrix = matrix_input(input)
    check_type(matrix, type)
    return transposed(matrix, conjugate=conjugate)


@sparse_matrix_transpose.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return sparse_matrix_transpose(
        grad, type=op.get_attr("type"), conjugate=op.get_attr("conjugate")
    )


def _mul_shape(c: InferenceContext) -> TensorShape:
    a = static_matrix(c, 0)
    b = c.with_rank_at_most(1, 3).dim_values
    if b is None:
        return holds_matrix(c, c.attr("T"), a)
    if len(b) not in (0, 3) or (len(b) == 3 and b[1:] != (1, 1)):
        raise errors.unimplemented("b must be a scalar or shaped [batch_size, 1, 1]")
    if len(b) == 3:
        dims = static_dims(c, 0)
        if len(dims) != 3:
            raise errors.unimplemented("rank of b is 3 but rank of a is not.")
        a = TensorShape([merge_dims(dims[0], b[0]), *dims[1:]])
    return holds_matrix(c, c.attr("T"), a)


@register_op(
    "SparseMatrixMul",
    "a: variant, b: T -> output: variant",
    "T: type",
    shape=_mul_shape,
    **_CPU,
)
def sparse_matrix_mul(xp: Xp, a: Variant, b: Array) -> Variant:
    """Return a matrix times a number, or a batch times a number for each matrix."""
    matrix = matrix_input(a)
    if matrix.values.dtype != b.dtype:
        raise errors.invalid_argument(
            f"Input types don't match.  a.dtype == {type_word(matrix.dtype)} vs. b.dtype == "
            f"{b.dtype}"
        )
    if b.ndim == 0:
        return matrix.with_values(matrix.values * b)
    if b.ndim != 3 or b.shape[1:] != (1, 1):
        raise errors.unimplemented("b must be a scalar or shaped [batch_size, 1, 1]")
    if len(matrix.shape) != 3:
        raise errors.unimplemented("rank of b is 3 but rank of a is not.")
    if len(b) != matrix.num_matrices:
        raise errors.invalid_argument(
            f"Batch sizes of a and b must match, saw: {matrix.num_matrices} vs. {len(b)}."
        )
    return matrix.with_values(matrix.values * b.reshape(-1)[matrix.matrix_numbers()])


@sparse_matrix_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    raise NotImplementedError(
        "SparseMatrixMul has no gradient, as in TensorFlow: multiply the values before they become "
        "a matrix"
    )


def _add_shape(c: InferenceContext) -> TensorShape:
    a, b = static_matrix(c, 0), static_matrix(c, 1)
    c.with_rank(2, 0)
    c.with_rank(3, 0)
    return holds_matrix(c, c.attr("T"), merge_shapes(a, b))


@register_op(
    "SparseMatrixAdd",
    "a: variant, b: variant, alpha: T, beta: T -> c: variant",
    _T,
    shape=_add_shape,
    **_CPU,
)
def sparse_matrix_add(xp: Xp, a: Variant, b: Variant, alpha: Array, beta: Array) -> Variant:
    """Return alpha a + beta b; it has the elements of both."""
    for name, number in (("alpha", alpha), ("beta", beta)):
        if number.ndim:
            raise errors.invalid_argument(
                f"Expected {name} to be a scalar, saw shape: {list(number.shape)}"
            )
    return weighted_sum(matrix_input(a), matrix_input(b), alpha, beta)


@sparse_matrix_add.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    a, b, alpha, beta = op.inputs
    return (
        sparse_matrix_mul(pruned(grad, a), alpha),
        sparse_matrix_mul(pruned(grad, b), beta),
        None,
        None,
    )


def pruned(matrix: TensorLike, pattern: TensorLike) -> TensorResult:
    """Return the elements of a matrix at whose positions another matrix has elements, too."""
    dtype = pattern._handle_data[0][0]
    whole = SparseTensor(*csr_sparse_matrix_to_sparse_tensor(matrix, type=dtype))
    kept = SparseTensor(*csr_sparse_matrix_to_sparse_tensor(pattern, type=dtype))
    wanted = provided.sparse_reshape(kept, shape=(-1,)).indices[..., 0]
    there = provided.sparse_reshape(whole, shape=(-1,)).indices[..., 0]
    found = searchsorted_ops.searchsorted(there, wanted)
    chosen = gather_ops.gather(
        found, where_ops.where(math_ops.equal(gather_ops.gather(there, found), wanted))
    )
    return sparse_tensor_to_csr_sparse_matrix(
        gather_ops.gather_nd(whole.indices, chosen),
        gather_ops.gather_nd(whole.values, chosen),
        kept.dense_shape,
    )


# ------------------------------------------------------------------------------------------ softmax


def _row_starts(matrix: CSRSparseMatrix) -> tuple[Array, Array]:
    """Return (starts of the rows that have elements, numbers of these elements)."""
    lengths = np.diff(matrix.row_starts, axis=1).reshape(-1)
    lengths = lengths[lengths > 0]
    return np.cumsum(lengths) - lengths, lengths


@register_op(
    "SparseMatrixSoftmax",
    "logits: variant -> softmax: variant",
    _REAL,
    shape=lambda c: holds_matrix(c, c.attr("type"), static_matrix(c, 0)),
    **_CPU,
)
def sparse_matrix_softmax(xp: Xp, logits: Variant, *, type: DType) -> Variant:
    """Return the softmax of each row; missing elements count as minus infinity."""
    matrix = matrix_input(logits)
    check_type(matrix, type, "logits")
    firsts, lengths = _row_starts(matrix)
    if not len(firsts):
        return matrix
    largest = np.maximum.reduceat(matrix.values, firsts)
    powers = np.exp(matrix.values - np.repeat(largest, lengths))
    return matrix.with_values(powers / np.repeat(np.add.reduceat(powers, firsts), lengths))


@sparse_matrix_softmax.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return sparse_matrix_softmax_grad(op.outputs[0], grad, type=op.get_attr("type"))


@register_op(
    "SparseMatrixSoftmaxGrad",
    "softmax: variant, grad_softmax: variant -> gradient: variant",
    _REAL,
    shape=lambda c: holds_matrix(
        c, c.attr("type"), merge_shapes(static_matrix(c, 0), static_matrix(c, 1))
    ),
    **_CPU,
)
def sparse_matrix_softmax_grad(
    xp: Xp, softmax: Variant, grad_softmax: Variant, *, type: DType
) -> Variant:
    """Return softmax (grad - the sum of softmax grad over the row), at the elements of softmax."""
    result, grad = matrix_input(softmax), matrix_input(grad_softmax)
    check_type(result, type, "softmax")
    check_type(grad, type, "grad_softmax")
    if result.shape != grad.shape:
        raise errors.invalid_argument(
            f"Shapes of softmax and grad_softmax must be the same: {list(result.shape)} vs. "
            f"{list(grad.shape)}"
        )
    firsts, lengths = _row_starts(result)
    if not len(firsts):
        return result
    found = _values_at(grad, result)
    sums = np.add.reduceat(found * result.values, firsts)
    return result.with_values(result.values * (found - np.repeat(sums, lengths)))


def _values_at(matrix: CSRSparseMatrix, pattern: CSRSparseMatrix) -> Array:
    """Return the values of a matrix at another one's elements, 0 if it has none there."""
    found = np.zeros(len(pattern.values), matrix.values.dtype)
    for index in range(pattern.num_matrices):
        first, end = pattern.batch_starts[index : index + 2].tolist()
        keys, wanted = (_keys(one, index) for one in (matrix, pattern))
        order = np.argsort(keys, kind="stable")
        places = np.searchsorted(keys, wanted, sorter=order)
        inside = places < len(keys)
        inside[inside] = keys[order[places[inside]]] == wanted[inside]
        values = matrix.parts(index)[2]
        found[first:end][inside] = values[order[places[inside]]]
    return found


def _keys(matrix: CSRSparseMatrix, index: int) -> Any:
    starts, columns, _ = matrix.parts(index)
    return rows_of(starts) * np.int64(matrix.shape[-1]) + columns
