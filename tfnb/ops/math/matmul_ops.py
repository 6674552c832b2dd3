"""Matrix products: MatMul, BatchMatMul and SparseMatMul.

float16 and bfloat16 are multiplied in float32 and rounded once. Small integers are multiplied in
float64, where every partial sum is exact, because NumPy's integer product does not use BLAS.
Corresponds to TensorFlow's ``matmul_op*.cc``, ``batch_matmul_op*.cc`` and ``sparse_matmul_op.cc``.
"""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.process.work_sharder import shard
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    broadcast_shapes,
    merge_dims,
    merge_shapes,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base import compiled_products, piecewise_products
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.large_arrays import is_large
from tfnb.ops.base.products import HAS_BLAS, scipy_matmul

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.array import cast_ops
    from tfnb.ops.math import cwise_unary_ops, reduction_ops
else:
    cast_ops = later("tfnb.ops.array.cast_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")
    reduction_ops = later("tfnb.ops.math.reduction_ops")

EXPORTS = {
    "tf": ["matmul", "sparse_matmul:sparse_mat_mul"],
    "linalg": ["matmul", "matvec"],
}


def matmul_shape(c: InferenceContext) -> TensorShape:
    """Infer the shape (rows of a, columns of b); the inner sizes must agree."""
    a, b = c.with_rank(0, 2).dim_values, c.with_rank(1, 2).dim_values
    assert a is not None
    assert b is not None
    rows, inner_a = a[::-1] if c.attr("transpose_a") else a
    inner_b, columns = b[::-1] if c.attr("transpose_b") else b
    merge_dims(inner_a, inner_b)
    return TensorShape([rows, columns])


def _product(xp: Xp, a: Array, b: Array) -> Array:
    """Compute `a @ b` over the last two axes, in the dtype of a."""
    kind = a.dtype.kind
    if kind in "fc" and a.itemsize > 2:
        return _float_product(xp, a, b)
    if kind in "iu":
        return _integer_product(xp, a, b)
    return _float_product(xp, a.astype(np.float32), b.astype(np.float32)).astype(a.dtype)


# Minimum number of multiplications per thread.
_LEAST_PRODUCTS = 1 << 22
# Block size of BLAS in rows or columns; a partial block takes as long as a full one.
_UNIT = 16
# For few rows times a transposed matrix, BLAS takes longer to transpose the matrix than to
# multiply, unless the matrix is the first operand.  From _LEAST_TURNED multiplications on, and up
# to MOST_TURNED rows, it is faster to compute (b.T @ a.T).T.
_LEAST_TURNED = 1 << 19
# Below that, too, for results of more elements than BLAS computes without rearranging matrices, up
# to this number of rows; the first matrix is copied while that takes no time.
_SMALL_RESULT, _FEW_TURNED = 1 << 10, 32
_MOST_COPIED = 1 << 20


def _float_product(xp: Xp, a: Array, b: Array) -> Array:
    """Compute `a @ b`; large products are divided among threads."""
    if xp is not np:
        return xp.matmul(a, b)
    if not HAS_BLAS:
        return scipy_matmul(a, b)
    if a.ndim == b.ndim == 2:
        rows, inner = a.shape
        columns = b.shape[1]
        products = rows * inner * columns
        if products < _LEAST_TURNED or rows == 1 or columns == 1:
            # `dot` has less overhead than `matmul`.
            return a.dot(b)
        found = compiled_products.matmul(a, b)
        if found is not None:
            return found
        if products < 2 * _LEAST_PRODUCTS and _suits_rows(a, b):
            return _by_rows(a, b)
        is_turned = _is_better_turned(a, b)
        if products >= 2 * _LEAST_PRODUCTS:
            return _divided_product(a, b, is_turned)
        return _turned(a, b) if is_turned else piecewise_products.multiply(a, b)
    if a.shape[:-2] == b.shape[:-2]:
        return _batched_product(a, b)
    return np.matmul(a, b)


# Up to this number of rows, separate products of the rows with a matrix of at least this size take
# half as long as one product, for which BLAS rearranges the matrix.
_FEW_ROWS = 3
_LEAST_BY_ROWS = 1 << 15


def _suits_rows(a: Array, b: Array) -> bool:
    # BLAS takes zero times a single row as zero, NaN included.
    is_matrix = len(b) > 1 and b.flags.forc
    return 1 < len(a) <= _FEW_ROWS and is_matrix and is_large(np, b, _LEAST_BY_ROWS)


def _by_rows(a: Array, b: Array, out: Array | None = None) -> Array:
    """Compute `a @ b` row by row, in `out` if that is given."""
    if out is None:
        out = np.empty((len(a), b.shape[1]), a.dtype)
    for row, target in zip(a, out, strict=True):
        np.dot(row, b, out=target)
    return out


def _is_better_turned(a: Array, b: Array) -> bool:
    return (
        1 < len(a) <= compiled_products.MOST_TURNED
        and b.T.flags.c_contiguous
        and not b.flags.c_contiguous
        and is_large(np, b)
    )


def _turned(a: Array, b: Array) -> Array:
    """Compute `a @ b` for a transposed matrix b as the transpose of a product."""
    is_copied = len(a) <= _FEW_TURNED or len(a) * b.size < _MOST_COPIED
    first = piecewise_products.multiply(b.T, np.ascontiguousarray(a.T) if is_copied else a.T)
    return first.T.copy()


def _divided_product(a: Array, b: Array, is_turned: bool) -> Array:
    (rows, inner), columns = a.shape, b.shape[1]
    out = np.empty((rows, columns), a.dtype)
    suits_rows = _suits_rows(a, b)
    plan = None if suits_rows or is_turned else piecewise_products.plan_of(a, b)
    if plan is not None:
        cut, size = plan
        is_by_rows = cut == "rows" or (cut == "inner" and rows >= columns)

        def work_in_pieces(first: int, last: int) -> None:
            if is_by_rows:
                piecewise_products.multiply_by(plan, a[first:last], b, out[first:last])
            else:
                part = b[:, first:last], out[:, first:last]
                piecewise_products.multiply_by(plan, a, *part)

        side, other = (rows, columns) if is_by_rows else (columns, rows)
        unit = _UNIT if cut == "inner" else size
        shard(side, _LEAST_PRODUCTS // (inner * other) + 1, work_in_pieces, unit)
        return out
    if rows >= columns:
        # `matmul` does not call BLAS for a column times a row.
        multiply = np.dot if inner == 1 else np.matmul
        shard(
            rows,
            _LEAST_PRODUCTS // (inner * columns) + 1,
            lambda first, last: multiply(a[first:last], b, out=out[first:last]),
            _UNIT,
        )
        return out

    def work(first: int, last: int) -> None:
        if suits_rows:
            _by_rows(a, b[:, first:last], out[:, first:last])
        elif is_turned:
            out[:, first:last] = b[:, first:last].T.dot(a.T).T
        else:
            np.matmul(a, b[:, first:last], out=out[:, first:last])

    shard(columns, _LEAST_PRODUCTS // (inner * rows) + 1, work, _UNIT)
    return out


def _batched_product(a: Array, b: Array) -> Array:
    """Compute the products of matrices with the same leading dimensions."""
    products = a.size * b.shape[-1]
    found = compiled_products.matmul_stack(a, b)
    if found is not None:
        return found
    if products < 2 * _LEAST_PRODUCTS:
        return piecewise_products.multiply_stacks(a, b)
    out = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)

    def work(first: int, last: int) -> None:
        some = slice(first, last)
        piecewise_products.multiply_stacks(a[some], b[some], out=out[some])

    shard(len(a), _LEAST_PRODUCTS * len(a) // products + 1, work)
    return out


def _integer_product(xp: Xp, a: Array, b: Array) -> Array:
    inner = a.shape[-1]
    if a.size and b.size and inner > 4:
        bound = max(-float(a.min()), float(a.max())) * max(-float(b.min()), float(b.max())) * inner
        if bound < 2.0**53:
            exact = xp.matmul(a.astype(np.float64), b.astype(np.float64))
            return exact.astype(np.int64).astype(a.dtype)
    return xp.matmul(a, b)


@register_op(
    "MatMul",
    "a: T, b: T -> product: T",
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "T: {bfloat16, half, float, double, int32, int64, uint8, uint16, uint32, uint64, complex64, "
    "complex128}",
    "grad_a: bool = false",
    "grad_b: bool = false",
    shape=matmul_shape,
    traits="c_order product marked_gradient",
)
def mat_mul(xp: Xp, a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """Compute the matrix product of a and b, each optionally transposed."""
    if a.ndim != 2 or b.ndim != 2:
        index, matrix = (0, a) if a.ndim != 2 else (1, b)
        raise errors.invalid_argument(
            f"In[{index}] is not a matrix. Instead it has shape {shape_text(matrix.shape)}"
        )
    left = a.T if transpose_a else a
    right = b.T if transpose_b else b
    (rows, inner), (others, columns) = left.shape, right.shape
    if inner != others:
        raise errors.invalid_argument(
            f"Matrix size-incompatible: In[0]: {shape_text(a.shape)}, In[1]: {shape_text(b.shape)}"
        )
    if rows * inner * columns < _LEAST_TURNED and xp is np and left.dtype.char in "fdFD":
        # Same result as below, with less overhead.
        is_few = transpose_b and 1 < rows <= _FEW_TURNED and rows * columns > _SMALL_RESULT
        if is_few and is_large(np, right, 1):
            return _turned(left, right)
        return _by_rows(left, right) if _suits_rows(left, right) else left.dot(right)
    return _product(xp, left, right)


mat_mul.float_ops(float_ops.product)


# Small products are never divided, and most are not transposed.
for _left, _right in itertools.product(("", ".T"), repeat=2):
    _fits = " and {a}.shape[0] * {b}.shape[0] <= {small}" if (_left, _right) == ("", ".T") else ""
    mat_mul.expression(
        f"{{a}}{_left}.dot({{b}}{_right})"
        f" if {{a}}.ndim == 2 == {{b}}.ndim and {{a}}.size < {{most}} > {{b}}.size{_fits}"
        " else {kernel}",
        types=[dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128],
        attrs={"transpose_a": bool(_left), "transpose_b": bool(_right)},
        is_elementwise=False,
        most=math.isqrt(2 * _LEAST_PRODUCTS),
        small=_SMALL_RESULT,
    )


@mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    a, b = cwise_unary_ops.conj(op.inputs[0]), cwise_unary_ops.conj(op.inputs[1])
    if op.get_attr("transpose_a"):
        if op.get_attr("transpose_b"):
            return (
                mat_mul(b, grad, transpose_a=True, transpose_b=True, grad_a=True),
                mat_mul(grad, a, transpose_a=True, transpose_b=True, grad_b=True),
            )
        return mat_mul(b, grad, transpose_b=True, grad_a=True), mat_mul(a, grad, grad_b=True)
    if op.get_attr("transpose_b"):
        return mat_mul(grad, b, grad_a=True), mat_mul(grad, a, transpose_a=True, grad_b=True)
    return (
        mat_mul(grad, b, transpose_b=True, grad_a=True),
        mat_mul(a, grad, transpose_a=True, grad_b=True),
    )


# ------------------------------------------------------------------------------------------ batches


def _batch_shape(c: InferenceContext, *, broadcasts: bool) -> TensorShape:
    x, y = c.with_rank_at_least(0, 2), c.with_rank_at_least(1, 2)
    dims_x, dims_y = x.dim_values, y.dim_values
    if dims_x is None or dims_y is None:
        if broadcasts or (dims_x is None and dims_y is None):
            return UNKNOWN_SHAPE
        # Without broadcasting both have the same rank.
        known = dims_x if dims_x is not None else dims_y
        assert known is not None
        unknown = (None,) * len(known)
        dims_x = unknown if dims_x is None else dims_x
        dims_y = unknown if dims_y is None else dims_y
    rows, inner_x = dims_x[:-3:-1] if c.attr("adj_x") else dims_x[-2:]
    inner_y, columns = dims_y[:-3:-1] if c.attr("adj_y") else dims_y[-2:]
    batch_x, batch_y = TensorShape(dims_x[:-2]), TensorShape(dims_y[:-2])
    batch = broadcast_shapes(batch_x, batch_y) if broadcasts else merge_shapes(batch_x, batch_y)
    merge_dims(inner_x, inner_y)
    dims = batch.dim_values
    return UNKNOWN_SHAPE if dims is None else TensorShape([*dims, rows, columns])


def _plain_batch_shape(c: InferenceContext) -> TensorShape:
    return _batch_shape(c, broadcasts=False)


def _broadcast_batch_shape(c: InferenceContext) -> TensorShape:
    return _batch_shape(c, broadcasts=True)


def _adjoint(xp: Xp, x: Array) -> Array:
    flipped = x.swapaxes(-1, -2)
    return xp.conj(flipped) if x.dtype.kind == "c" else flipped


def _batch_product(
    xp: Xp, x: Array, y: Array, adj_x: bool, adj_y: bool, *, broadcasts: bool
) -> Array:
    for index, matrices in enumerate((x, y)):
        if matrices.ndim < 2:
            raise errors.invalid_argument(f"In[{index}] ndims must be >= 2: {matrices.ndim}")
    if not broadcasts and x.shape[:-2] != y.shape[:-2]:
        if x.ndim != y.ndim:
            raise errors.invalid_argument(
                f"In[0] and In[1] has different ndims: {shape_text(x.shape)} vs. "
                f"{shape_text(y.shape)}"
            )
        axis = next(i for i in range(x.ndim) if x.shape[i] != y.shape[i])
        raise errors.invalid_argument(
            f"In[0].dim({axis}) and In[1].dim({axis}) must be the same: {shape_text(x.shape)} vs "
            f"{shape_text(y.shape)}"
        )
    left = _adjoint(xp, x) if adj_x else x
    right = _adjoint(xp, y) if adj_y else y
    if left.shape[-1] != right.shape[-2]:
        raise errors.invalid_argument(
            f"Matrix size-incompatible: In[0]: {shape_text(x.shape)}, In[1]: {shape_text(y.shape)}"
        )
    try:
        return _product(xp, left, right)
    except ValueError:
        raise errors.invalid_argument(
            "In[0] and In[1] must have compatible batch dimensions: "
            f"{shape_text(x.shape)} vs. {shape_text(y.shape)}"
        ) from None


_BATCH_ATTRS = (
    "adj_x: bool = false",
    "adj_y: bool = false",
    "grad_x: bool = false",
    "grad_y: bool = false",
)


@register_op(
    "BatchMatMul",
    "x: T, y: T -> output: T",
    "T: {bfloat16, half, float, double, int32, int64, complex64, complex128}",
    *_BATCH_ATTRS,
    shape=_plain_batch_shape,
    traits="c_order product marked_gradient",
)
def batch_mat_mul(xp: Xp, x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Array:
    """Compute matrix products over equal leading dimensions, each side optionally adjoint."""
    return _batch_product(xp, x, y, adj_x, adj_y, broadcasts=False)


batch_mat_mul.float_ops(float_ops.product)


def _batch_gradients(
    product_op: Any, op: Operation, grad: TensorLike
) -> tuple[TensorResult, TensorResult]:
    x, y = op.inputs
    product = partial(product_op, name="MatMul")
    if op.get_attr("adj_x"):
        if op.get_attr("adj_y"):
            return (
                product(y, grad, adj_x=True, adj_y=True, grad_x=True),
                product(grad, x, adj_x=True, adj_y=True, grad_y=True),
            )
        return product(y, grad, adj_y=True, grad_x=True), product(x, grad, grad_y=True)
    if op.get_attr("adj_y"):
        return product(grad, y, grad_x=True), product(grad, x, adj_x=True, grad_y=True)
    return product(grad, y, adj_y=True, grad_x=True), product(x, grad, adj_x=True, grad_y=True)


@batch_mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    def product(
        a: TensorLike, b: TensorLike, *, adj_x: bool = False, adj_y: bool = False, **_: Any
    ) -> Any:
        return matmul(a, b, adjoint_a=adj_x, adjoint_b=adj_y)

    return _batch_gradients(product, op, grad)


def _named_product(
    a: TensorLike,
    b: TensorLike,
    *,
    adj_x: bool = False,
    adj_y: bool = False,
    grad_x: bool = False,
    grad_y: bool = False,
    name: str | None = None,
) -> Any:
    """Build the product with the op that matmul chooses."""
    return matmul(a, b, adjoint_a=adj_x, adjoint_b=adj_y, grad_a=grad_x, grad_b=grad_y, name=name)


def _sum_batches(
    op: Operation, grad_x: Tensor, grad_y: Tensor
) -> tuple[TensorResult, TensorResult]:
    """Sum gradients over the batch axes along which an input was broadcast."""
    x, y = op.inputs
    batch_x, batch_y = x.shape[:-2], y.shape[:-2]
    if batch_x.is_fully_defined() and batch_x == batch_y:
        return grad_x, grad_y
    shape_x, shape_y = array_ops.shape(x), array_ops.shape(y)
    axes_x, axes_y = array_ops.broadcast_gradient_args(shape_x[:-2], shape_y[:-2])
    return (
        array_ops.reshape(reduction_ops.reduce_sum(grad_x, axes_x), shape_x),
        array_ops.reshape(reduction_ops.reduce_sum(grad_y, axes_y), shape_y),
    )


@register_op(
    "BatchMatMulV2",
    "x: T, y: T -> output: T",
    "T: {bfloat16, half, float, double, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "complex64, complex128}",
    *_BATCH_ATTRS,
    shape=_broadcast_batch_shape,
    traits="c_order product marked_gradient",
)
def batch_mat_mul_v2(xp: Xp, x: Array, y: Array, *, adj_x: bool, adj_y: bool) -> Array:
    """Return matrix products over leading dimensions that broadcast."""
    return _batch_product(xp, x, y, adj_x, adj_y, broadcasts=True)


batch_mat_mul_v2.float_ops(float_ops.product)


@batch_mat_mul_v2.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _sum_batches(op, *_batch_gradients(_named_product, op, grad))


@register_op(
    "BatchMatMulV3",
    "x: Ta, y: Tb -> output: Tout",
    "Ta: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}",
    "Tb: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}",
    "Tout: {bfloat16, half, float, double, int16, int32, int64, complex64, complex128}",
    *_BATCH_ATTRS,
    shape=_broadcast_batch_shape,
    traits="product marked_gradient",
)
def batch_mat_mul_v3(xp: Xp, x: Array, y: Array, *, adj_x: bool, adj_y: bool, Tout: DType) -> Array:
    """Return matrix products in the dtype of the output."""
    wide = Tout.as_numpy_dtype
    return _batch_product(xp, x.astype(wide), y.astype(wide), adj_x, adj_y, broadcasts=True)


batch_mat_mul_v3.float_ops(float_ops.product)


@batch_mat_mul_v3.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, y = op.inputs
    if x.dtype == y.dtype == grad.dtype:
        return _sum_batches(op, *_batch_gradients(_named_product, op, grad))

    def product(a: TensorLike, b: TensorLike, **flags: Any) -> TensorResult:
        target = x.dtype if flags.get("grad_x") else y.dtype
        return batch_mat_mul_v3(a, b, Tout=target.base_dtype, **flags)

    return _sum_batches(op, *_batch_gradients(product, op, grad))


# ---------------------------------------------------------------------------------- sparse matrices


@register_op(
    "SparseMatMul",
    "a: Ta, b: Tb -> product: float",
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "a_is_sparse: bool = false",
    "b_is_sparse: bool = false",
    "Ta: {float, bfloat16} = DT_FLOAT",
    "Tb: {float, bfloat16} = DT_FLOAT",
    shape=matmul_shape,
)
def sparse_mat_mul(xp: Xp, a: Array, b: Array, *, transpose_a: bool, transpose_b: bool) -> Array:
    """Compute the product of dense arrays; attributes declare which of them is mostly zero."""
    if a.ndim != 2:
        raise errors.invalid_argument("a is not a matrix")
    if b.ndim != 2:
        raise errors.invalid_argument("b is not a matrix")
    left = (a.T if transpose_a else a).astype(np.float32)
    right = (b.T if transpose_b else b).astype(np.float32)
    if left.shape[1] != right.shape[0]:
        raise errors.invalid_argument(
            f"Matrix size incompatible: a: {shape_text(a.shape)}, b: {shape_text(b.shape)}"
        )
    return xp.matmul(left, right)


@sparse_mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    a, b = op.inputs
    a_sparse, b_sparse = op.get_attr("a_is_sparse"), op.get_attr("b_is_sparse")
    flips_a, flips_b = op.get_attr("transpose_a"), op.get_attr("transpose_b")
    grad_sparse = grad.op.type == "ReluGrad"

    def product(
        left: TensorLike,
        left_sparse: bool,
        right: TensorLike,
        right_sparse: bool,
        dtype: DTypeLike,
        *flips: bool,
    ) -> Any:
        if flips[1]:
            right = array_ops.transpose(right)
        result = matmul(
            left, right, transpose_a=flips[0], a_is_sparse=left_sparse, b_is_sparse=right_sparse
        )
        return cast_ops.cast(result, dtype) if result.dtype != dtype else result

    of_a = (a.dtype.base_dtype,)
    of_b = (b.dtype.base_dtype,)
    if flips_a and flips_b:
        return (
            product(b, b_sparse, grad, grad_sparse, *of_a, True, True),
            product(grad, grad_sparse, a, a_sparse, *of_b, True, True),
        )
    if flips_a:
        return (
            product(b, b_sparse, grad, grad_sparse, *of_a, False, True),
            product(a, a_sparse, grad, grad_sparse, *of_b, False, False),
        )
    if flips_b:
        return (
            product(grad, grad_sparse, b, b_sparse, *of_a, False, False),
            product(grad, grad_sparse, a, a_sparse, *of_b, True, False),
        )
    return (
        product(grad, grad_sparse, b, b_sparse, *of_a, False, True),
        product(a, a_sparse, grad, grad_sparse, *of_b, True, False),
    )


# --------------------------------------------------------------------------------- Python functions


@dispatchable
def matmul(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: DTypeLike | None = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Any:
    """Return the matrix product of the last two dimensions; the others are batches and broadcast.

    Raises:
      ValueError: both transpose and adjoint are set for one matrix.
    """
    with name_scope(name, "MatMul", [a, b]) as scope:
        for letter, transposes, adjoins in (
            ("a", transpose_a, adjoint_a),
            ("b", transpose_b, adjoint_b),
        ):
            if transposes and adjoins:
                raise ValueError(
                    f"Only one of `transpose_{letter}` and `adjoint_{letter}` can be True. "
                    f"Received `transpose_{letter}`={transposes}, `adjoint_{letter}`={adjoins}."
                )
        a = convert_to_tensor(a, name="a")
        b = convert_to_tensor(b, preferred_dtype=a.dtype.base_dtype, name="b")
        flags = {"grad_x": grad_a, "grad_y": grad_b}
        may_be_batch = a.shape.rank is None or a.shape.rank > 2
        may_be_batch = may_be_batch or b.shape.rank is None or b.shape.rank > 2
        if output_type is not None or (may_be_batch and not a_is_sparse and not b_is_sparse):
            # The batched ops support only the adjoint.
            if transpose_a:
                a, adjoint_a = cwise_unary_ops.conj(a), True
            if transpose_b:
                b, adjoint_b = cwise_unary_ops.conj(b), True
            if output_type is not None:
                return batch_mat_mul_v3(
                    a, b, Tout=output_type, adj_x=adjoint_a, adj_y=adjoint_b, **flags, name=scope
                )
            return batch_mat_mul_v2(a, b, adj_x=adjoint_a, adj_y=adjoint_b, **flags, name=scope)
        # MatMul supports only the transpose.
        if adjoint_a:
            a, transpose_a = cwise_unary_ops.conj(a), True
        if adjoint_b:
            b, transpose_b = cwise_unary_ops.conj(b), True
        types = (a.dtype.base_dtype, b.dtype.base_dtype)
        mixed = dtypes.bfloat16 in types and types[0] != types[1]
        fits_sparse = all(t in (dtypes.bfloat16, dtypes.float32) for t in types)
        if mixed or ((a_is_sparse or b_is_sparse) and fits_sparse):
            product = sparse_mat_mul(
                a,
                b,
                transpose_a=transpose_a,
                transpose_b=transpose_b,
                a_is_sparse=a_is_sparse,
                b_is_sparse=b_is_sparse,
                name=scope,
            )
            if types == (dtypes.bfloat16, dtypes.bfloat16):
                product = cast_ops.cast(product, dtypes.bfloat16)
            return product
        return mat_mul(
            a,
            b,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            grad_a=grad_a,
            grad_b=grad_b,
            name=scope,
        )


def matvec(
    a: TensorLike,
    b: TensorLike,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the products of the matrices in ``a`` and the vectors in the last axis of ``b``."""
    with name_scope(name, "MatVec", [a, b]):
        column = array_ops.expand_dims(b, axis=-1)
        product = matmul(
            a,
            column,
            transpose_a=transpose_a,
            adjoint_a=adjoint_a,
            a_is_sparse=a_is_sparse,
            b_is_sparse=b_is_sparse,
        )
        return array_ops.squeeze(product, axis=-1)
