"""Ops on sparse tensors: conversion to dense, reordering, slicing, products, empty rows.

The kernels take a sparse tensor as its three parts: ``indices`` (one row per element), ``values``
and ``shape``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.array_module import as_places
from tfnb.core.host_memory import check_countable, check_fits
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    InferenceContext,
    merge_dims,
    require_rank,
)
from tfnb.core.tensor_shape import TensorShape, dimension_value
from tfnb.framework.constant_value import constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue, is_sparse
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import (
    array_ops,
    cast_ops,
    compiled_scatter,
    concat_ops,
    constant_ops,
    gather_ops,
    transpose_ops,
)
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.compressed_rows import add_product
from tfnb.ops.math import math_ops, reduction_ops, sequence_ops
from tfnb.ops.sparse.sparse_indices import dense_at, sizes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

    HostArray = NDArray[Any]

EXPORTS = {
    "tf": [
        "sparse_placeholder",
        "sparse_to_dense",
        "sparse_tensor_to_dense",
        "sparse_reorder",
        "sparse_slice",
        "sparse_fill_empty_rows",
        "sparse_tensor_dense_matmul",
    ],
    "sparse": [
        "placeholder:sparse_placeholder",
        "to_dense:sparse_tensor_to_dense",
        "reorder:sparse_reorder",
        "slice:sparse_slice",
        "fill_empty_rows:sparse_fill_empty_rows",
        "sparse_dense_matmul:sparse_tensor_dense_matmul",
        "matmul:sparse_tensor_dense_matmul",
    ],
}


def sparse_placeholder(
    dtype: DTypeLike, shape: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a placeholder for a sparse tensor: three placeholders for its parts."""
    dense_shape: TensorLike
    shape_name = None if name is None else f"{name}/shape"
    if shape is None:
        rank = None
        dense_shape = constant_ops.placeholder(dtypes.int64, shape=[None], name=shape_name)
        static = constant_value_as_shape(dense_shape)
    else:
        if isinstance(shape, Tensor):
            rank = dimension_value(shape.get_shape()[0])
            static = constant_value_as_shape(shape)
        else:
            sizes = [dimension_value(size) for size in shape]
            rank = len(sizes)
            static = TensorShape([None if size == -1 else size for size in sizes])
            default_name = None if name is None else f"{name}/shape_default"
            known = [-1 if size is None else size for size in sizes]
            shape = convert_to_tensor(known, dtypes.int64, name=default_name)
        # A placeholder with default can be fed, and is never treated as a constant.
        dense_shape = constant_ops.placeholder_with_default(
            shape, shape=shape.shape, name=shape_name
        )
    values = constant_ops.placeholder(
        dtype, shape=[None], name=None if name is None else f"{name}/values"
    )
    indices = constant_ops.placeholder(
        dtypes.int64, shape=[None, rank], name=None if name is None else f"{name}/indices"
    )
    result = SparseTensor(indices, values, dense_shape)
    result.set_shape(static)
    return result


def _as_sparse(value: TensorLike) -> SparseTensor:
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


# -- making dense


def _check_indices(indices: HostArray, shape: HostArray) -> None:
    """Refuse indices that are out of bounds, repeated or not sorted.

    Raises:
      InvalidArgumentError: an index is invalid; the message names the first one.
    """
    outside = ((indices < 0) | (indices >= shape)).any(axis=1)
    wrong, why = len(indices), ""
    if outside.any():
        wrong = int(outside.argmax())
        why = f"is out of bounds: need 0 <= index < {shape.tolist()}"
    if len(indices) > 1:
        steps = np.diff(indices, axis=0)
        if not steps.size:
            steps = np.zeros((len(steps), 1), np.int64)  # all indices of a scalar are equal
        differs = steps != 0
        first = np.take_along_axis(steps, differs.argmax(axis=1)[:, None], axis=1)[:, 0]
        bad = first <= 0
        if bad.any() and int(bad.argmax()) + 1 < wrong:
            wrong = int(bad.argmax()) + 1
            why = (
                "is out of order. Many sparse ops require sorted indices. Use sparse.reorder to "
                "create a correctly ordered copy."
                if first[wrong - 1] < 0
                else "is repeated"
            )
    if why:
        raise errors.invalid_argument(f"indices[{wrong}] = {indices[wrong].tolist()} {why}")


def _to_dense_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(1, 1)
    return c.constant_value_as_shape(1)


@register_op(
    "SparseToDense",
    "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T -> "
    "dense: T",
    "validate_indices: bool = true",
    "T: type",
    "Tindices: {int32, int64}",
    shape=_to_dense_shape,
    devices=("CPU",),
    traits="rearranges",
)
def sparse_to_dense_op(
    xp: Xp,
    sparse_indices: Array,
    output_shape: Array,
    sparse_values: Array,
    default_value: Array,
    *,
    validate_indices: bool,
) -> Array:
    """Return the dense tensor, with ``default_value`` at missing indices."""
    indices, shape = np.asarray(sparse_indices), np.asarray(output_shape)
    if indices.ndim > 2:
        raise errors.invalid_argument(
            "sparse_indices should be a scalar, vector, or matrix, got shape "
            f"{shape_text(indices.shape)}"
        )
    if shape.ndim != 1:
        raise errors.invalid_argument(
            f"output_shape must be rank 1, got shape {shape_text(shape.shape)}"
        )
    count = indices.shape[0] if indices.ndim else 1
    rank = indices.shape[1] if indices.ndim == 2 else 1
    if shape.size != rank:
        raise errors.invalid_argument(
            f"output_shape has incorrect number of elements: {shape.size} should be: {rank}"
        )
    values = np.asarray(sparse_values)
    if values.ndim > 1 or (values.ndim == 1 and values.shape[0] != count):
        raise errors.invalid_argument(
            f"sparse_values has incorrect shape {shape_text(values.shape)}, should be [] or "
            f"[{count}]"
        )
    if np.ndim(default_value):
        raise errors.invalid_argument("default_value should be a scalar.")
    if (shape < 0).any():
        raise errors.invalid_argument(f"output_shape {shape.tolist()} is not a shape")
    indices = indices.reshape(count, rank)
    if shape.all():
        check_fits(xp, shape.tolist(), values.dtype, is_given=True)
    check_countable(shape.tolist(), is_given=True)
    if validate_indices:
        _check_indices(indices, shape)
    elif ((indices < 0) | (indices >= shape)).any():
        raise errors.invalid_argument(
            f"Indices are not valid (out of bounds).  Shape: {shape_text(shape.tolist())}"
        )
    check_fits(xp, shape.tolist(), values.dtype, is_given=True)
    out = np.empty(tuple(shape.tolist()), values.dtype)
    out[...] = np.asarray(default_value, values.dtype)
    # A repeated index does not accumulate: the last value counts.
    if rank:
        out[tuple(indices.T)] = values
    elif count:
        out[...] = values.flat[-1]
    return out


@sparse_to_dense_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    indices = op.inputs[0]
    values = gather_ops.gather_nd(grad, indices)
    rest = reduction_ops.reduce_sum(grad) - reduction_ops.reduce_sum(values)
    zeros_like = constant_ops.zeros_like
    return [zeros_like(indices), zeros_like(op.inputs[1]), values, rest]


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Return a dense tensor with these elements, and ``default_value`` elsewhere."""
    return sparse_to_dense_op(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value=default_value,
        validate_indices=validate_indices,
        name=name,
    )


def sparse_tensor_to_dense(
    sp_input: TensorLike,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> TensorResult:
    """Convert a sparse tensor to a dense one."""
    sp_input = _as_sparse(sp_input)
    if default_value is None:
        default_value = constant_ops.zeros([], dtype=sp_input.dtype)
    return sparse_to_dense(
        sp_input.indices,
        sp_input.dense_shape,
        sp_input.values,
        default_value,
        validate_indices,
        name,
    )


# -- order


def _reorder_shape(c: InferenceContext) -> list[TensorShape]:
    indices, values = c.with_rank(0, 2), c.with_rank(1, 1)
    c.with_rank(2, 1)
    return [indices, values]


@register_op(
    "SparseReorder",
    "input_indices: int64, input_values: T, input_shape: int64 -> output_indices: int64, "
    "output_values: T",
    "T: type",
    shape=_reorder_shape,
    devices=("CPU",),
)
def sparse_reorder_op(
    xp: Xp, input_indices: Array, input_values: Array, input_shape: Array
) -> Outputs:
    """Return the elements sorted by index; the order of equal indices is preserved."""
    indices = np.asarray(input_indices)
    _check_parts(indices, input_values, input_shape)
    order = np.lexsort(indices.T[::-1]) if indices.shape[1] else np.arange(len(indices))
    return indices[order], np.asarray(input_values)[order]


def _check_parts(indices: Array, values: Array, shape: Array) -> None:
    """Refuse three parts that do not form a sparse tensor.

    Raises:
      InvalidArgumentError: a part does not fit; the message names it.
    """
    for what, array, rank in (("indices", indices, 2), ("values", values, 1), ("shape", shape, 1)):
        if np.ndim(array) != rank:
            kind = "matrix" if rank == 2 else "vector"
            raise errors.invalid_argument(
                f"Input {what} should be a {kind} but received shape {shape_text(np.shape(array))}"
            )
    if len(indices) != len(values):
        raise errors.invalid_argument(
            f"Number of elements in indices ({len(indices)}) and values ({len(values)}) do not "
            "match"
        )
    if np.shape(indices)[1] != np.size(shape):
        raise errors.invalid_argument(
            f"Number of columns of indices ({np.shape(indices)[1]}) and number of dimensions "
            f"({np.size(shape)}) do not match"
        )


@sparse_reorder_op.gradient
def _(op: Operation, unused_indices_grad: Tensor, grad: Tensor) -> Gradients:
    count = array_ops.shape(op.inputs[0])[0]
    entries = SparseTensor(op.inputs[0], sequence_ops.range_(count), op.inputs[2])
    order = transpose_ops.invert_permutation(sparse_reorder(entries).values)
    return [None, gather_ops.gather(grad, order), None]


def sparse_reorder(sp_input: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the sparse tensor with its elements in canonical order."""
    sp_input = _as_sparse(sp_input)
    indices, values = sparse_reorder_op(
        sp_input.indices, sp_input.values, sp_input.dense_shape, name=name
    )
    if sp_input.get_shape().is_fully_defined():
        return SparseTensor(indices, values, sp_input.get_shape().as_list())
    found = SparseTensor(indices, values, array_ops.identity(sp_input.dense_shape))
    found.set_shape(sp_input.shape)
    return found


# -- slices


def _slice_shape(c: InferenceContext) -> list[TensorShape]:
    shape = c.inputs[2]
    return [TensorShape([None, shape.num_elements()]), TensorShape([None]), shape]


@register_op(
    "SparseSlice",
    "indices: int64, values: T, shape: int64, start: int64, size: int64 -> "
    "output_indices: int64, output_values: T, output_shape: int64",
    "T: type",
    shape=_slice_shape,
    devices=("CPU",),
)
def sparse_slice_op(
    xp: Xp, indices: Array, values: Array, shape: Array, start: Array, size: Array
) -> Outputs:
    """Return the elements between ``start`` and ``start + size``."""
    _check_parts(indices, values, shape)
    if np.shape(start) != np.shape(shape) or np.shape(size) != np.shape(shape):
        raise errors.invalid_argument(
            f"Expected start and size to be vectors of {np.size(shape)} elements, but they have "
            f"{np.size(start)} and {np.size(size)}"
        )
    sizes_of(shape)
    sizes = np.where(start < shape - size, size, np.where(start < shape, shape - start, 0))
    if (sizes < 0).any():
        raise errors.invalid_argument(f"Expected a non-negative size, got {sizes.min()}")
    inside = ((indices >= start) & (indices < start + size)).all(axis=1)
    return (indices - start)[inside], np.asarray(values)[inside], sizes


@register_op(
    "SparseSliceGrad",
    "backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64 -> "
    "val_grad: T",
    "T: numbertype",
    shape=lambda c: TensorShape((c.with_rank(1, 2).dim_values or (None,))[:1]),
    devices=("CPU",),
)
def sparse_slice_grad(
    xp: Xp,
    backprop_val_grad: Array,
    input_indices: Array,
    input_start: Array,
    output_indices: Array,
) -> Array:
    """Return the gradient of each element, which is zero outside the slice."""
    grad = np.asarray(backprop_val_grad)
    if (grad.ndim, input_indices.ndim, input_start.ndim, output_indices.ndim) != (1, 2, 1, 2):
        raise errors.invalid_argument(
            "The gradient and the start should be vectors, the indices matrices: received shapes "
            f"{[list(np.shape(a)) for a in (grad, input_start, input_indices, output_indices)]}"
        )
    if not input_indices.shape[1] == output_indices.shape[1] == len(input_start):
        raise errors.invalid_argument(
            "The input and output should have the same ndims: got: "
            f"{input_indices.shape[1]} and {output_indices.shape[1]}"
        )
    if not len(grad) == len(output_indices) <= len(input_indices):
        raise errors.invalid_argument(
            f"# rows of output_indices ({len(output_indices)}) should be that of the gradient "
            f"({len(grad)}) and not greater than of input_indices ({len(input_indices)})"
        )
    out = np.zeros(len(input_indices), grad.dtype)
    wanted = (output_indices + input_start).tolist()
    used = 0
    for position, row in enumerate(input_indices.tolist()):
        if used < len(wanted) and row == wanted[used]:
            out[position] = grad[used]
            used += 1
    if used < len(wanted):
        raise errors.internal(
            "Elements of backprop_val_grad aren't all propagated. Num elements:"
            f"{len(wanted)}, used: {used}"
        )
    return out


@sparse_slice_op.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    found = sparse_slice_grad(grads[1], op.inputs[0], op.inputs[3], op.outputs[0])
    found.set_shape(op.inputs[1].get_shape())
    return [None, found, None, None, None]


def sparse_slice(
    sp_input: TensorLike, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Return a slice of a sparse tensor."""
    sp_input = _as_sparse(sp_input)
    start = convert_to_tensor(start, dtypes.int64)
    size = convert_to_tensor(size, dtypes.int64)
    with name_scope(name, "SparseSlice", [sp_input]) as scope:
        parts = sparse_slice_op(
            sp_input.indices, sp_input.values, sp_input.dense_shape, start, size, name=scope
        )
        return SparseTensor(*parts)


# -- products


def _matmul_shape(c: InferenceContext) -> TensorShape:
    for index, rank in enumerate((2, 1, 1)):
        c.with_rank(index, rank)
    a = require_rank(c.constant_value_as_shape(2), 2)
    b = c.with_rank(3, 2)
    (rows, inner), (b_inner, columns) = a.dim_values or (None,) * 2, b.dim_values or (None,) * 2
    if c.attr("adjoint_a"):
        rows, inner = inner, rows
    if c.attr("adjoint_b"):
        b_inner, columns = columns, b_inner
    merge_dims(inner, b_inner)
    return TensorShape([rows, columns])


@register_op(
    "SparseTensorDenseMatMul",
    "a_indices: Tindices, a_values: T, a_shape: int64, b: T -> product: T",
    "T: type",
    "Tindices: {int32, int64} = DT_INT64",
    "adjoint_a: bool = false",
    "adjoint_b: bool = false",
    shape=_matmul_shape,
    devices=("CPU",),
)
def sparse_tensor_dense_mat_mul(
    xp: Xp,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b: Array,
    *,
    adjoint_a: bool,
    adjoint_b: bool,
) -> Array:
    """Return the matrix product of a sparse and a dense matrix."""
    _check_parts(a_indices, a_values, a_shape)
    if np.size(a_shape) != 2 or np.ndim(b) != 2:
        raise errors.invalid_argument("Tensors 'a' and 'b' must be matrices.")
    outer, inner = np.asarray(a_shape).tolist()
    rows, columns = np.ascontiguousarray(np.asarray(a_indices).T)
    values, dense = np.asarray(a_values), np.asarray(b)
    if adjoint_a:
        outer, inner, rows, columns, values = inner, outer, columns, rows, values.conj()
    if adjoint_b:
        dense = dense.conj().T
    if dense.shape[0] != inner:
        raise errors.invalid_argument(
            f"Cannot multiply A and B because inner dimension does not match: {inner} vs. "
            f"{dense.shape[0]}.  Did you forget a transpose?  Dimensions of A: "
            f"{np.asarray(a_shape).tolist()}).  Dimensions of B: {list(np.shape(b))}"
        )
    if not (outer and dense.size):  # indices are not checked
        rows, columns, values = rows[:0], columns[:0], values[:0]
    places = (("k", columns, inner, int(not adjoint_a)), ("m", rows, outer, int(adjoint_a)))
    for what, found, size, axis in places:
        # A negative number is a large one without a sign.
        outside = found.view(f"u{found.itemsize}") >= size
        if outside.any():
            place = int(outside.argmax())
            raise errors.invalid_argument(
                f"{what} ({found[place]}) from index[{place},{axis}] out of bounds (>={size})"
            )
    # Sums of two-byte floats are rounded only at the end.
    dtype = dense.dtype
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    out = np.zeros((outer, dense.shape[1]), wide)
    if compiled_scatter.add_products(out, rows, columns, values, dense):
        return out
    if bool((rows[1:] < rows[:-1]).any()):
        # NumPy sorts numbers of two bytes in linear time.
        keys = rows.astype(np.uint16) if outer <= 1 << 16 else rows
        order = np.argsort(keys, kind="stable")
        rows, columns, values = rows[order], columns[order], values[order]
    starts = np.searchsorted(rows, np.arange(outer + 1))
    values, dense = (one.astype(wide, copy=False) for one in (values, dense))
    add_product(starts, columns, values, dense, out)
    return out.astype(dtype, copy=False)


@sparse_tensor_dense_mat_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    indices, values, shape, b = op.inputs
    adjoint_a, adjoint_b = op.get_attr("adjoint_a"), op.get_attr("adjoint_b")
    b_grad = sparse_tensor_dense_mat_mul(indices, values, shape, grad, adjoint_a=not adjoint_a)
    if adjoint_b:
        b_grad = transpose_ops.matrix_transpose(b_grad, conjugate=True)
    rows, columns = indices[:, 0], indices[:, 1]
    if adjoint_a:
        rows, columns = columns, rows
    ours = gather_ops.gather(grad, rows)
    theirs = gather_ops.gather(transpose_ops.transpose(b) if adjoint_b else b, columns)
    # An element's gradient is the product of a row of the dense matrix and a row of the gradient.
    mine = array_ops.expand_dims(ours, -1 if adjoint_a else -2)
    other = array_ops.expand_dims(theirs, -1 if adjoint_a != adjoint_b else -2)
    product = math_ops.matmul(mine, other, adjoint_a=adjoint_a, adjoint_b=adjoint_a == adjoint_b)
    return [None, array_ops.squeeze(product, axis=[-2, -1]), None, b_grad]


def sparse_tensor_dense_matmul(
    sp_a: TensorLike,
    b: TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> TensorResult:
    """Return the matrix product of two matrices, one of them sparse."""
    if is_sparse(b):
        same = adjoint_a == adjoint_b
        found = sparse_tensor_dense_matmul(b, sp_a, adjoint_a != same, adjoint_b != same)
        return transpose_ops.transpose(found)
    sp_a = _as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        return sparse_tensor_dense_mat_mul(
            sp_a.indices,
            sp_a.values,
            sp_a.dense_shape,
            convert_to_tensor(b, name="b"),
            adjoint_a=adjoint_a,
            adjoint_b=adjoint_b,
        )


# -- with a dense tensor, element by element


def _elements_shape(c: InferenceContext) -> TensorShape:
    sizes = c.with_rank(0, 2).dim_values
    return TensorShape([None if sizes is None else sizes[0]])


@register_op(
    "SparseDenseCwiseMul",
    "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
    "T: numbertype",
    shape=_elements_shape,
    devices=("CPU",),
)
def sparse_dense_cwise_mul(
    xp: Xp, sp_indices: Array, sp_values: Array, sp_shape: Array, dense: Array
) -> Array:
    """Return each element times the dense tensor's element at the same index."""
    _check_parts(sp_indices, sp_values, sp_shape)
    return np.asarray(sp_values) * dense_at(sp_indices, sp_shape, np.asarray(dense))


@register_op(
    "SparseTensorDenseAdd",
    "a_indices: Tindices, a_values: T, a_shape: Tindices, b: T -> output: T",
    "T: numbertype",
    "Tindices: {int32, int64}",
    shape=lambda c: c.inputs[3],
    devices=("CPU",),
)
def sparse_tensor_dense_add(
    xp: Xp, a_indices: Array, a_values: Array, a_shape: Array, b: Array
) -> Array:
    """Return the dense sum of a sparse and a dense tensor of one shape."""
    _check_parts(a_indices, a_values, a_shape)
    if tuple(np.asarray(a_shape).tolist()) != np.shape(b):
        raise errors.invalid_argument(
            "Dimensions of the operands do not match (no broadcasting is supported): "
            f"{np.asarray(a_shape).tolist()} vs. {list(np.shape(b))}"
        )
    rows = np.asarray(a_indices)
    if ((rows < 0) | (rows >= np.asarray(a_shape))).any():
        raise errors.invalid_argument("Sparse tensor has some invalid index on dimension 0")
    out = np.array(b)
    np.add.at(out, tuple(rows.T), np.asarray(a_values))
    return out


@sparse_tensor_dense_add.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return [None, gather_ops.gather_nd(grad, op.inputs[0]), None, grad]


@sparse_dense_cwise_mul.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    indices, values, shape, dense = op.inputs
    dense_shape = cast_ops.cast(array_ops.shape(dense), dtypes.int64)
    added = array_ops.expand_dims(array_ops.size(shape) - array_ops.size(dense_shape), 0)
    filled = concat_ops.concat([constant_ops.ones(added, dtypes.int64), dense_shape], 0)
    places = indices // (shape // filled)
    places = array_ops.slice(places, concat_ops.concat([[0], added], 0), [-1, -1])
    values_grad = grad * gather_ops.gather_nd(dense, places)
    zeros = constant_ops.zeros_like(dense)
    dense_grad = sparse_tensor_dense_add(places, grad * values, dense_shape, zeros)
    return [None, values_grad, None, dense_grad]


# -- empty rows


def _fill_shape(c: InferenceContext) -> list[TensorShape]:
    indices, values = c.with_rank(0, 2), c.with_rank(1, 1)
    c.with_rank(2, 1)
    c.with_rank(3, 0)
    count, rank = indices.dim_values or (None, None)
    count = merge_dims(count, (values.dim_values or (None,))[0])
    sizes = c.constant_value_as_shape(2).dim_values
    shape_size = (c.inputs[2].dim_values or (None,))[0]
    rows = sizes[0] if sizes else None
    rank = merge_dims(rank, shape_size)
    if shape_size == 0:
        raise ValueError("dense_shape must not be empty")
    found = ([None, rank], [None], [rows], [count])
    return [TensorShape(one) for one in found]


@register_op(
    "SparseFillEmptyRows",
    "indices: int64, values: T, dense_shape: int64, default_value: T -> output_indices: int64, "
    "output_values: T, empty_row_indicator: bool, reverse_index_map: int64",
    "T: type",
    shape=_fill_shape,
    devices=("CPU",),
)
def sparse_fill_empty_rows_op(
    xp: Xp, indices: Array, values: Array, dense_shape: Array, default_value: Array
) -> Outputs:
    """Return the elements, with ``default_value`` at the first column of each empty row."""
    _check_parts(indices, values, dense_shape)
    if np.ndim(default_value):
        raise errors.invalid_argument("default_value must be a scalar")
    if not np.size(dense_shape):
        raise errors.invalid_argument("Dense shape cannot be empty.")
    places, kept = np.asarray(indices), np.asarray(values)
    rows = int(np.asarray(dense_shape)[0])
    outside = (places[:, 0] < 0) | (places[:, 0] >= rows)
    if outside.any():
        first = int(outside.argmax())
        raise errors.invalid_argument(
            f"indices({first}, 0) is invalid: {places[first, 0]} >= {rows}"
        )
    empty = np.bincount(as_places(places[:, 0]), minlength=rows) == 0
    added = np.zeros((int(empty.sum()), places.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    filler = np.empty(len(added), kept.dtype)
    filler[...] = np.asarray(default_value, kept.dtype)
    together = np.concatenate([places, added])
    order = np.argsort(together[:, 0], kind="stable")
    where = np.empty(len(order), np.int64)
    where[order] = np.arange(len(order))
    return together[order], np.concatenate([kept, filler])[order], empty, where[: len(places)]


@register_op(
    "SparseFillEmptyRowsGrad",
    "reverse_index_map: int64, grad_values: T -> d_values: T, d_default_value: T",
    "T: type",
    shape=lambda c: [c.with_rank(0, 1), TensorShape([None] * (c.with_rank(1, 1).ndims - 1))],
    devices=("CPU",),
)
def sparse_fill_empty_rows_grad(xp: Xp, reverse_index_map: Array, grad_values: Array) -> Outputs:
    """Return the gradients of the elements, and of the default value, which is a sum."""
    where, grad = np.asarray(reverse_index_map), np.asarray(grad_values)
    for name, array in (("reverse_index_map", where), ("grad_values", grad)):
        if array.ndim != 1:
            raise errors.invalid_argument(
                f"{name} must be a vector, saw: {shape_text(array.shape)}"
            )
    if ((where < 0) | (where >= len(grad))).any():
        raise errors.invalid_argument(f"Elements in reverse index must be in [0, {len(grad)})")
    filled = np.ones(len(grad), bool)
    filled[where] = False
    return grad[where], grad[filled].sum(dtype=grad.dtype)


@sparse_fill_empty_rows_op.gradient
def _(op: Operation, *grads: Tensor) -> Gradients:
    values, default = sparse_fill_empty_rows_grad(op.outputs[3], grads[1])
    return [None, values, None, default]


def sparse_fill_empty_rows(
    sp_input: TensorLike, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Return the sparse tensor with empty rows filled, and which rows were empty."""
    sp_input = _as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [sp_input]):
        default_value = convert_to_tensor(default_value, dtype=sp_input.values.dtype)
        indices, values, empty, _ = sparse_fill_empty_rows_op(
            sp_input.indices, sp_input.values, sp_input.dense_shape, default_value
        )
        return SparseTensor(indices, values, sp_input.dense_shape), empty
