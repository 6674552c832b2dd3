"""Products of compressed sparse rows with dense matrices and with each other.

Corresponds to TensorFlow's ``kernels/sparse/mat_mul_op.h`` and ``sparse_mat_mul_op.cc``, and to the
gradients in ``sparse_csr_matrix_grad.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_dims, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array import concat_ops, gather_ops, transpose_ops
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.compressed_rows import add_product
from tfnb.ops.math import reduction_ops
from tfnb.ops.math.cwise_unary_ops import conj
from tfnb.ops.sparse_matrix.sparse_matrix import (
    CSRSparseMatrix,
    check_type,
    empty_matrix,
    holds_matrix,
    joined,
    matrix_input,
    rows_of,
    static_dims,
    summed,
    transposed,
)
from tfnb.ops.sparse_matrix.sparse_matrix_ops import (
    csr_sparse_matrix_to_sparse_tensor,
    pruned,
    sparse_tensor_to_csr_sparse_matrix,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Variant, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

_CPU: dict[str, Any] = {"devices": ("CPU",)}
_FORM = (
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "adjoint_a: bool = false",
    "adjoint_b: bool = false",
)


def _check_form(c: InferenceContext) -> tuple[bool, bool]:
    """Return whether a and b are transposed; either plainly or as adjoints, not both."""
    for one in "ab":
        if c.attr(f"adjoint_{one}") and c.attr(f"transpose_{one}"):
            raise ValueError(f"Only one of adjoint_{one} and transpose_{one} may be true.")
    return (
        c.attr("adjoint_a") or c.attr("transpose_a"),
        c.attr("adjoint_b") or c.attr("transpose_b"),
    )


def _check_form_of_call(
    transpose_a: bool, adjoint_a: bool, transpose_b: bool, adjoint_b: bool
) -> None:
    for name, both in (("a", transpose_a and adjoint_a), ("b", transpose_b and adjoint_b)):
        if both:
            raise errors.invalid_argument(
                f"Only one of adjoint_{name} and transpose_{name} may be true."
            )


# ------------------------------------------------------------------------------ with dense matrices


def _mat_mul_shape(c: InferenceContext) -> TensorShape:
    a = static_dims(c, 0)
    b = c.with_rank_at_least(1, 2)
    b = c.with_rank_at_most(1, 3)
    turned_a, turned_b = _check_form(c)
    if b.dim_values is None:
        return TensorShape([None] * len(a))
    dims = b.dim_values
    rows = a[-1] if turned_a else a[-2]
    columns = dims[-2] if turned_b else dims[-1]
    batch = merge_shapes(TensorShape(a[:-2]), TensorShape(dims[:-2])).dim_values or ()
    merge_dims(a[-2] if turned_a else a[-1], dims[-1] if turned_b else dims[-2])
    sides = (columns, rows) if c.attr("transpose_output") else (rows, columns)
    return TensorShape([*batch, *sides])


@register_op(
    "SparseMatrixMatMul",
    "a: variant, b: T -> output: T",
    "T: type",
    *_FORM,
    "transpose_output: bool = false",
    "conjugate_output: bool = false",
    shape=_mat_mul_shape,
    **_CPU,
)
def sparse_matrix_mat_mul(
    xp: Xp,
    a: Variant,
    b: Array,
    *,
    transpose_a: bool,
    transpose_b: bool,
    adjoint_a: bool,
    adjoint_b: bool,
    transpose_output: bool,
    conjugate_output: bool,
) -> Array:
    """Return the dense product of a sparse and a dense matrix, or of batches of them."""
    matrix = matrix_input(a)
    _check_form_of_call(transpose_a, adjoint_a, transpose_b, adjoint_b)
    if matrix.values.dtype != b.dtype:
        raise errors.invalid_argument(
            f"Input types don't match.  a.dtype == {type_word(matrix.dtype)} vs. b.dtype == "
            f"{type_word(dtypes.as_dtype(b.dtype))}"
        )
    if b.ndim != len(matrix.shape):
        raise errors.invalid_argument(
            f"Ranks of a and b must match, saw: {len(matrix.shape)} vs. {b.ndim}."
        )
    given = shape_text(matrix.shape), shape_text(b.shape)
    if b.ndim == 3 and len(b) != matrix.num_matrices:
        raise errors.invalid_argument(
            f"Batch sizes of a and b must match, saw: {matrix.num_matrices} vs. {len(b)}."
        )
    if transpose_b or adjoint_b:
        b = np.swapaxes(b, -1, -2)
        b = np.conj(b) if adjoint_b else b
    if transpose_a or adjoint_a:
        matrix = transposed(matrix, conjugate=adjoint_a)
    if matrix.shape[-1] != b.shape[-2]:
        raise errors.invalid_argument(
            f"Inner product dimensions of A and B do not agree. Shapes are: {given[0]} vs. "
            f"{given[1]}"
        )
    out = _dense_product(matrix, b.reshape(-1, *b.shape[-2:]))
    if transpose_output:
        out = np.swapaxes(out, -1, -2)
    if conjugate_output:
        out = np.conj(out)
    return np.ascontiguousarray(out)


def _dense_product(matrix: CSRSparseMatrix, b: Array) -> Array:
    """Return the sums, row by row, of the rows of b that a row's elements select, times these."""
    shape = (*matrix.shape[:-1], b.shape[-1])
    check_fits(np, shape, b.dtype)
    out = np.zeros((matrix.num_matrices, matrix.shape[-2], b.shape[-1]), b.dtype)
    for into, right, (starts, columns, values) in zip(out, b, matrix.matrices(), strict=True):
        add_product(starts, columns, values, right, into)
    return out.reshape(shape)


def _pruned_product(
    a: TensorLike,
    b: TensorLike,
    indices: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    transpose_b: bool = False,
    adjoint_b: bool = False,
) -> TensorResult:
    """Return selected elements of a product of dense matrices, as a sparse matrix."""
    transpose_a, transpose_b = transpose_a or adjoint_a, transpose_b or adjoint_b
    a = conj(a) if adjoint_a else a
    b = conj(b) if adjoint_b else b
    shape = [a.shape[-1 if transpose_a else -2], b.shape[-2 if transpose_b else -1]]
    gather: Any = gather_ops.gather
    turn: Any = transpose_ops.transpose
    if a.shape.ndims == 2:
        rows, columns = indices[:, 0], indices[:, 1]
    else:
        shape = [a.shape[0], *shape]
        rows = indices[:, :2]
        columns = concat_ops.stack([indices[:, 0], indices[:, 2]], axis=1)
        gather, turn = gather_ops.gather_nd, _turned
    a_rows = gather(turn(a) if transpose_a else a, indices=rows)
    b_columns = gather(b if transpose_b else turn(b), indices=columns)
    values = reduction_ops.reduce_sum(a_rows * b_columns, axis=1)
    return sparse_tensor_to_csr_sparse_matrix(indices, values, shape)


def _turned(x: TensorLike) -> TensorResult:
    return transpose_ops.transpose(x, perm=[0, 2, 1])


@sparse_matrix_mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    a, b = op.inputs
    if op.get_attr("conjugate_output"):
        grad = conj(grad)

    def matmul(x: TensorLike, y: TensorLike, **form: bool) -> TensorResult:
        indices = csr_sparse_matrix_to_sparse_tensor(op_a, type=x.dtype)[0]
        return _pruned_product(x, y, indices, **form)

    form = tuple(
        op.get_attr(name) for name in ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")
    )
    op_a = a if form[2] or form[3] else conj(a)
    if not (form[2] or form[3]):
        b = conj(b)
    gradient = _turned_output_grad if op.get_attr("transpose_output") else _plain_output_grad
    return gradient(op_a, b, grad, form, matmul)


def _plain_output_grad(
    a: TensorLike, b: TensorLike, grad: TensorLike, form: tuple[bool, ...], matmul: Any
) -> Any:
    """Return the gradients of C = A B, where A and B may be transposed."""
    t_a, t_b, adj_a, adj_b = form
    product = sparse_matrix_mat_mul
    if not adj_a and not adj_b:
        if t_a:
            grad_a = matmul(b, grad, transpose_a=t_b, transpose_b=True)
        else:
            grad_a = matmul(grad, b, transpose_b=not t_b)
        return grad_a, product(a, grad, transpose_a=not t_a, transpose_output=t_b)
    if not t_a and not t_b:
        if adj_a:
            grad_a = matmul(b, grad, adjoint_a=adj_b, adjoint_b=True)
        else:
            grad_a = matmul(grad, b, adjoint_b=not adj_b)
        turned = {"transpose_output": adj_b, "conjugate_output": adj_b}
        return grad_a, product(a, grad, adjoint_a=not adj_a, **turned)
    if adj_a:
        grad_a = matmul(b, grad, transpose_a=True, adjoint_b=True)
        return grad_a, product(a, grad, transpose_output=True)
    grad_a = matmul(b, grad, transpose_a=True, transpose_b=True)
    return grad_a, product(conj(a), grad, transpose_output=True, conjugate_output=True)


def _turned_output_grad(
    a: TensorLike, b: TensorLike, grad: TensorLike, form: tuple[bool, ...], matmul: Any
) -> Any:
    """Return the gradients of C = (A B)', where A and B may be transposed."""
    t_a, t_b, adj_a, adj_b = form
    product = sparse_matrix_mat_mul
    if not adj_a and not adj_b:
        if t_a:
            grad_a = matmul(b, grad, transpose_a=t_b)
        else:
            grad_a = matmul(grad, b, transpose_a=True, transpose_b=not t_b)
        turned = {"transpose_b": True, "transpose_output": t_b}
        return grad_a, product(a, grad, transpose_a=not t_a, **turned)
    if not t_a and not t_b:
        if adj_a:
            grad_a = matmul(b, conj(grad), adjoint_a=adj_b)
        else:
            grad_a = matmul(grad, b, transpose_a=True, adjoint_b=not adj_b)
        turned = {"transpose_output": adj_b, "conjugate_output": adj_b}
        return grad_a, product(a, grad, adjoint_a=not adj_a, transpose_b=True, **turned)
    if adj_a:
        grad_a = matmul(b, conj(grad), transpose_a=True)
        return grad_a, product(a, grad, transpose_b=True, transpose_output=True)
    grad_a = matmul(b, grad, transpose_a=True)
    return grad_a, product(a, grad, adjoint_b=True, transpose_output=True)


# ----------------------------------------------------------------------------- with sparse matrices


def _sparse_product_shape(c: InferenceContext) -> TensorShape:
    a, b = static_dims(c, 0), static_dims(c, 1)
    turned_a, turned_b = _check_form(c)
    rows = a[-1] if turned_a else a[-2]
    columns = b[-2] if turned_b else b[-1]
    merge_dims(a[-2] if turned_a else a[-1], b[-1] if turned_b else b[-2])
    return holds_matrix(c, c.attr("type"), TensorShape([*a[:-2], rows, columns]))


@register_op(
    "SparseMatrixSparseMatMul",
    "a: variant, b: variant -> c: variant",
    "type: {float, double, complex64, complex128}",
    *_FORM,
    shape=_sparse_product_shape,
    **_CPU,
)
def sparse_matrix_sparse_mat_mul(
    xp: Xp,
    a: Variant,
    b: Variant,
    *,
    type: DType,
    transpose_a: bool,
    transpose_b: bool,
    adjoint_a: bool,
    adjoint_b: bool,
) -> Variant:
    """Return the sparse product; it has an element wherever two elements were multiplied."""
    _check_form_of_call(transpose_a, adjoint_a, transpose_b, adjoint_b)
    left, right = matrix_input(a), matrix_input(b)
    check_type(left, type, "a")
    check_type(right, type, "b")
    given = shape_text(left.shape), shape_text(right.shape)
    if transpose_a or adjoint_a:
        left = transposed(left, conjugate=adjoint_a)
    if transpose_b or adjoint_b:
        right = transposed(right, conjugate=adjoint_b)
    if len(left.shape) != len(right.shape) or left.shape[-1] != right.shape[-2]:
        raise errors.invalid_argument(
            f"Inner product dimensions of A and B do not agree.  Shapes are: {given[0]} vs. "
            f"{given[1]}"
        )
    if left.num_matrices != right.num_matrices:
        raise errors.invalid_argument(
            "Batch sizes of A and B are not compatible.  Batch sizes are: "
            f"{left.num_matrices} vs. {right.num_matrices}"
        )
    shape = (*left.shape[:-1], right.shape[-1])
    if not left.num_matrices:
        return empty_matrix(shape, left.values.dtype)
    sides = left.shape[-2], right.shape[-1]
    pairs = zip(left.matrices(), right.matrices(), strict=True)
    return joined(shape, [_sparse_product(one, other, *sides) for one, other in pairs])


def _sparse_product(a: Array, b: Array, num_rows: int, num_columns: int) -> Array:
    """Return (row starts, columns, values) of the product of two matrices."""
    starts, columns, values = a
    b_starts, b_columns, b_values = b
    # Each element of a is multiplied by the row of b with the number of its column.
    lengths = np.diff(b_starts).astype(np.int64)[columns]
    count = int(lengths.sum())
    check_fits(np, (count, 4), np.dtype(np.int64))
    first_of_each = np.cumsum(lengths) - lengths
    places = np.arange(count) + np.repeat(b_starts[columns] - first_of_each, lengths)
    return summed(
        np.repeat(rows_of(starts), lengths),
        b_columns[places],
        np.repeat(values, lengths) * b_values[places],
        num_rows,
        num_columns,
    )


@sparse_matrix_sparse_mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    a, b = op.inputs
    kind = op.get_attr("type")
    form = tuple(
        op.get_attr(name) for name in ("transpose_a", "transpose_b", "adjoint_a", "adjoint_b")
    )

    def product(x: TensorLike, y: TensorLike, **turned: bool) -> TensorResult:
        return sparse_matrix_sparse_mat_mul(x, y, type=kind, **turned)

    grad_a, grad_b = _sparse_product_grads(a, b, grad, form, product)
    return pruned(grad_a, a), pruned(grad_b, b)


def _sparse_product_grads(
    a: TensorLike, b: TensorLike, grad: TensorLike, form: tuple[bool, ...], product: Any
) -> Any:
    t_a, t_b, adj_a, adj_b = form
    if not t_a and not t_b:
        return _adjoint_grads(a, b, grad, adj_a, adj_b, product)
    if not adj_a and not adj_b:
        if not t_a:
            grad_a = product(grad, conj(b))
            return grad_a, product(grad, conj(a), transpose_a=True)
        if not t_b:
            grad_a = product(conj(b), grad, transpose_b=True)
            return grad_a, product(conj(a), grad)
        grad_a = product(b, grad, adjoint_a=True, transpose_b=True)
        return grad_a, product(grad, a, transpose_a=True, adjoint_b=True)
    if adj_a:
        grad_a = product(b, grad, transpose_a=True, adjoint_b=True)
        return grad_a, product(grad, a, transpose_a=True, transpose_b=True)
    grad_a = product(b, grad, transpose_a=True, transpose_b=True)
    return grad_a, product(grad, a, adjoint_a=True, transpose_b=True)


def _adjoint_grads(
    a: TensorLike, b: TensorLike, grad: TensorLike, adj_a: bool, adj_b: bool, product: Any
) -> Any:
    if not adj_a and not adj_b:
        grad_a = product(grad, b, adjoint_b=True)
        return grad_a, product(a, grad, adjoint_a=True)
    if not adj_a:
        grad_a = product(grad, b)
        return grad_a, product(grad, a, adjoint_a=True)
    if not adj_b:
        grad_a = product(b, grad, adjoint_b=True)
        return grad_a, product(a, grad)
    grad_a = product(b, grad, adjoint_a=True, adjoint_b=True)
    return grad_a, product(grad, a, adjoint_a=True, adjoint_b=True)
