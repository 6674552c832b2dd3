"""Arithmetic on sparse tensors: sums, extrema, reductions, softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.array_module import as_places
from tfnb.core.host_memory import check_fits
from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.array.scatter_kernels import divide, scatter_rows
from tfnb.ops.base import provided_functions as provided
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.sparse.sparse_indices import (
    check_bounds,
    check_form,
    comparisons,
    dense_at,
    group_starts,
    order_of,
    sizes_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Attr, Outputs, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

_SPARSE_A = "a_indices: int64, a_values: T, a_shape: int64"
_SPARSE_B = "b_indices: int64, b_values: T, b_shape: int64"


def _check_same_shape(a_shape: Array, b_shape: Array) -> None:
    if a_shape.shape != b_shape.shape:
        raise errors.invalid_argument(
            "Operands do not have the same ranks; got shapes: "
            f"{' '.join(map(str, a_shape.tolist()))} and {' '.join(map(str, b_shape.tolist()))}"
        )
    for axis, (a, b) in enumerate(zip(a_shape.tolist(), b_shape.tolist())):
        if a != b:
            raise errors.invalid_argument(
                f"Operands' shapes do not match: got {a} and {b} for dimension {axis}"
            )


def _union(a_indices: Array, b_indices: Array) -> tuple[Array, Array, Array]:
    """Return (sorted distinct rows, the position of each row of a, that of each row of b)."""
    if any((comparisons(rows) <= 0).any() for rows in (a_indices, b_indices)):
        return _merged(a_indices.tolist(), b_indices.tolist())
    joined = np.concatenate([a_indices, b_indices])
    order = order_of(joined)
    ordered = joined[order]
    starts = group_starts(ordered)
    numbers = np.zeros(len(joined), np.int64)
    numbers[starts[1:]] = 1
    places = np.empty(len(joined), np.int64)
    places[order] = np.cumsum(numbers)
    return ordered[starts], places[: len(a_indices)], places[len(a_indices) :]


def _merged(a: list[Array], b: list[Array]) -> tuple[Array, Array, Array]:
    """Return the results of `_union` for unsorted or repeated rows, in one pass over both."""
    rows: list[Array] = []
    places: tuple[list[int], list[int]] = ([], [])
    while len(places[0]) < len(a) or len(places[1]) < len(b):
        x, y = a[len(places[0]) :][:1], b[len(places[1]) :][:1]
        if x and (not y or x <= y):
            places[0].append(len(rows))
        if y and (not x or y <= x):
            places[1].append(len(rows))
        rows += x if x and (not y or x <= y) else y
    return np.array(rows, np.int64), np.array(places[0], int), np.array(places[1], int)


# ---------------------------------------------------------------------------------------- SparseAdd


def _add_shape(c: InferenceContext) -> list[TensorShape]:
    shape = c.with_rank(2, 1)
    rank = (shape.dim_values or (None,))[0]
    return [TensorShape([None, rank]), TensorShape([None]), shape]


@register_op(
    "SparseAdd",
    f"{_SPARSE_A}, {_SPARSE_B}, thresh: Treal -> sum_indices: int64, sum_values: T, "
    "sum_shape: int64",
    "T: numbertype",
    "Treal: realnumbertype",
    shape=_add_shape,
    devices=("CPU",),
)
def sparse_add_op(
    xp: Xp,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
    thresh: Array,
) -> Outputs:
    """Return the sum of two sparse tensors; sums below a threshold are omitted."""
    check_form(a_indices, a_values, a_shape)
    check_form(b_indices, b_values, b_shape)
    if thresh.ndim:
        raise errors.invalid_argument(
            f"The magnitude threshold must be a scalar: got shape {shape_text(thresh.shape)}"
        )
    _check_same_shape(a_shape, b_shape)
    if not len(a_shape):
        raise errors.invalid_argument("Tensors must not be empty")
    rows, a_places, b_places = _union(a_indices, b_indices)
    total = np.zeros(len(rows), a_values.dtype)
    total[a_places] = a_values
    scatter_rows(np, total, b_places, b_values, "add")
    in_both = np.zeros(len(rows), np.int64)
    in_both[a_places] += 1
    in_both[b_places] += 1
    # In C++ the modulus of 8-bit and 16-bit numbers is an int.
    wide = np.int32 if total.dtype.kind == "i" and total.itemsize < 4 else None
    kept = (in_both < 2) | (np.abs(total, dtype=wide) >= thresh)
    return rows[kept], total[kept], a_shape


@sparse_add_op.gradient
def _(op: Operation, _i: Tensor, grad: Tensor, _s: Tensor) -> Gradients:
    a, b = sparse_add_grad(grad, op.inputs[0], op.inputs[3], op.outputs[0])
    a.set_shape(op.inputs[1].shape)
    b.set_shape(op.inputs[4].shape)
    return None, a, None, None, b, None, None


def _add_grad_shape(c: InferenceContext) -> list[TensorShape]:
    return [TensorShape([(c.with_rank(index, 2).dim_values or (None,))[0]]) for index in (1, 2)]


@register_op(
    "SparseAddGrad",
    "backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64 -> "
    "a_val_grad: T, b_val_grad: T",
    "T: numbertype",
    shape=_add_grad_shape,
    devices=("CPU",),
)
def sparse_add_grad(
    xp: Xp, backprop_val_grad: Array, a_indices: Array, b_indices: Array, sum_indices: Array
) -> Outputs:
    """Return the gradients of both operands: zero where the sum has no element."""
    indices = (a_indices, b_indices, sum_indices)
    if any(one.ndim != 2 for one in indices):
        raise errors.invalid_argument(
            "Input indices should be matrices but received shapes: "
            + " and ".join(shape_text(one.shape) for one in indices)
        )
    if backprop_val_grad.ndim != 1:
        raise errors.invalid_argument(
            "Input backprop_val_grad should be a vector but received shape: "
            f"{shape_text(backprop_val_grad.shape)}"
        )
    if len(backprop_val_grad) != len(sum_indices):
        raise errors.invalid_argument(
            "# elements in backprop_val_grad should match # rows of sum_indices: "
            f"{len(backprop_val_grad)} vs. {len(sum_indices)}"
        )
    if not a_indices.shape[1] == b_indices.shape[1] == sum_indices.shape[1]:
        raise errors.invalid_argument(
            "The densified operands should have the same ndims; for A, B, sum got: "
            f"{a_indices.shape[1]}, {b_indices.shape[1]}, {sum_indices.shape[1]}"
        )
    rows = (a_indices.tolist(), b_indices.tolist())
    out = tuple(np.zeros(len(part), backprop_val_grad.dtype) for part in rows)
    places = [0, 0]
    # All are sorted: an element of the sum is finished when neither operand is before it.
    for place, wanted in enumerate(sum_indices.tolist()):
        is_before = True
        while is_before:
            is_before = False
            for operand, part in enumerate(rows):
                at = places[operand]
                if at < len(part) and part[at] <= wanted:
                    if part[at] == wanted:
                        out[operand][at] = backprop_val_grad[place]
                    else:
                        is_before = True
                    places[operand] += 1
    return out


sparse_add_grad.not_differentiable()


# ------------------------------------------------------------------------------------ SparseSoftmax


def _softmax_shape(c: InferenceContext) -> TensorShape:
    c.with_rank(0, 2)
    values = c.with_rank(1, 1)
    c.with_rank(2, 1)
    return values


@register_op(
    "SparseSoftmax",
    "sp_indices: int64, sp_values: T, sp_shape: int64 -> output: T",
    "T: {half, float, double}",
    shape=_softmax_shape,
    devices=("CPU",),
)
def sparse_softmax_op(xp: Xp, sp_indices: Array, sp_values: Array, sp_shape: Array) -> Array:
    """Return softmax over the elements of every innermost row; missing elements do not count."""
    check_form(sp_indices, sp_values, sp_shape)
    sizes_of(sp_shape)
    if sp_shape.shape[0] < 2:
        raise errors.invalid_argument(
            f"Input should have rank >= 2, but received shape: {' '.join(map(str, sp_shape))}"
        )
    if not len(sp_values):
        return sp_values
    if (comparisons(sp_indices) < 0).any():
        # TensorFlow's result has the order of sorted elements.
        order = order_of(sp_indices)
        sp_indices, sp_values = sp_indices[order], sp_values[order]
    starts = group_starts(sp_indices[:, :-1])
    lengths = np.diff([*starts, len(sp_values)])
    highest = np.repeat(np.maximum.reduceat(sp_values, starts), lengths)
    exponents = np.exp(sp_values - highest)
    sums = np.repeat(np.add.reduceat(exponents, starts), lengths)
    return (exponents / sums).astype(sp_values.dtype, copy=False)


@sparse_softmax_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.framework.sparse_tensor import SparseTensor

    indices, _, shape = op.inputs
    output = op.outputs[0]
    product = SparseTensor(indices, output * grad, shape)
    sums = -provided.sparse_reduce_sum(product, [-1], keepdims=True)
    shifted = sparse_dense_cwise_add(indices, grad, shape, sums)
    return None, shifted * output, None


# ------------------------------------------------------------------------------ SparseSparseMaximum


def _extremum_shape(c: InferenceContext) -> list[TensorShape]:
    for index, rank in enumerate((2, 1, 1) * 2):
        c.with_rank(index, rank)
    return [TensorShape([None, None]), TensorShape([None])]


def _extremum(
    combine: Callable[..., Array],
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
) -> Outputs:
    for indices, values, shape in (
        (a_indices, a_values, a_shape),
        (b_indices, b_values, b_shape),
    ):
        check_form(indices, values, shape)
        check_bounds(indices, shape)
    _check_same_shape(a_shape, b_shape)
    if not len(a_shape):
        raise errors.invalid_argument("Tensors must not be empty")
    rows, a_places, b_places = _union(a_indices, b_indices)
    a, b = np.zeros(len(rows), a_values.dtype), np.zeros(len(rows), a_values.dtype)
    a[a_places], b[b_places] = a_values, b_values
    # If both are equal, the first one: zeros have signs.
    return rows, np.where(a == b, a, combine(a, b))


_EXTREMUM = f"{_SPARSE_A}, {_SPARSE_B} -> output_indices: int64, output_values: T"


@register_op(
    "SparseSparseMaximum",
    _EXTREMUM,
    "T: realnumbertype",
    shape=_extremum_shape,
    devices=("CPU",),
)
def sparse_sparse_maximum(
    xp: Xp,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
) -> Outputs:
    """Return the greater of two sparse tensors; missing elements are zero."""
    return _extremum(np.maximum, a_indices, a_values, a_shape, b_indices, b_values, b_shape)


@register_op(
    "SparseSparseMinimum",
    _EXTREMUM,
    "T: numbertype",
    shape=_extremum_shape,
    devices=("CPU",),
)
def sparse_sparse_minimum(
    xp: Xp,
    a_indices: Array,
    a_values: Array,
    a_shape: Array,
    b_indices: Array,
    b_values: Array,
    b_shape: Array,
) -> Outputs:
    """Return the smaller of two sparse tensors; missing elements are zero."""
    return _extremum(np.minimum, a_indices, a_values, a_shape, b_indices, b_values, b_shape)


def _no_gradient(op: Operation, *grads: Tensor) -> Gradients:
    raise NotImplementedError(f"Gradient for {op.type} is currently not implemented yet.")


sparse_sparse_maximum.gradient(_no_gradient)
sparse_sparse_minimum.gradient(_no_gradient)

# --------------------------------------------------------------------------------------- reductions


def _reduced(rank: int, axes: Attr, keep_dims: bool) -> tuple[list[int], list[int]]:
    """Return (the kept dimensions, their positions in the result)."""
    chosen = set()
    for axis in axes.reshape(-1).tolist():
        if not -rank <= axis < rank:
            raise errors.invalid_argument(
                f"Invalid reduction dimension {axis}, for input with {rank} dimensions."
            )
        chosen.add(axis % rank)
    kept = [axis for axis in range(rank) if axis not in chosen]
    return kept, kept if keep_dims else list(range(len(kept)))


def _reduce(
    indices: Array, values: Array, shape: Array, axes: Attr, keep_dims: bool, operation: str
) -> tuple[Array, Array, list[int]]:
    """Return (coordinates that have elements, their reductions, the shape of the result)."""
    check_form(indices, values, shape)
    if axes.ndim > 1:
        raise errors.invalid_argument(
            "Expected reduction_axes to be a scalar or a vector; got shape: "
            f"{shape_text(axes.shape)}"
        )
    sizes = sizes_of(shape)
    kept, places = _reduced(len(sizes), axes, keep_dims)
    out_sizes = [1] * len(sizes) if keep_dims else [0] * len(kept)
    for axis, place in zip(kept, places):
        out_sizes[place] = sizes[axis]
    keys = indices[:, kept]
    order = order_of(keys)
    ordered = keys[order]
    starts = group_starts(ordered) if kept else np.zeros(1 if len(values) else 0, np.int64)
    combine = np.add if operation == "add" else np.maximum
    found = values[order]
    reduced = combine.reduceat(found, as_places(starts)) if len(starts) else found[:0]
    if operation == "add":
        reduced = reduced + values.dtype.type(0)  # sums begin with 0, which -0 does not change
    rows = np.zeros((len(starts), len(out_sizes)), np.int64)
    rows[:, places] = ordered[starts]
    return rows, reduced.astype(values.dtype, copy=False), out_sizes


def _reduce_shape(c: InferenceContext) -> TensorShape:
    shape, axes = c.constant_value(2), c.constant_value(3)
    if shape is None or axes is None:
        return UNKNOWN_SHAPE
    dims = [None if size == -1 else size for size in shape.reshape(-1).tolist()]
    if not dims:
        raise ValueError("Number of dims in shape tensor must not be 0")
    # The kernel refuses an axis out of range.
    chosen = {math.fmod(axis + len(dims), len(dims)) for axis in axes.reshape(-1).tolist()}
    if c.attr("keep_dims"):
        return TensorShape([1 if axis in chosen else n for axis, n in enumerate(dims)])
    return TensorShape([n for axis, n in enumerate(dims) if axis not in chosen])


_REDUCE_INPUTS = "input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32"


def _reduce_op(name: str, operation: str, types: str) -> OpDefinition:
    @register_op(
        name,
        f"{_REDUCE_INPUTS} -> output: T",
        "keep_dims: bool = false",
        f"T: {types}",
        shape=_reduce_shape,
        devices=("CPU",),
    )
    def reduce(
        xp: Xp,
        input_indices: Array,
        input_values: Array,
        input_shape: Array,
        reduction_axes: Array,
        *,
        keep_dims: bool,
    ) -> Array:
        """Return the reduction of a sparse tensor over some dimensions, dense."""
        rows, values, sizes = _reduce(
            input_indices, input_values, input_shape, reduction_axes, keep_dims, operation
        )
        size = math.prod(sizes)
        steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
        places = rows @ np.array(steps, np.int64)
        outside = (places < 0) | (places >= size)
        if outside.any():
            raise errors.internal(
                f"Obtained a write index of {places[outside][0]} which is outside of bounds of "
                f"[0, {size})"
            )
        check_fits(xp, sizes, input_values.dtype)
        out = np.zeros(sizes, input_values.dtype)
        out.reshape(-1)[places] = values
        return out

    return reduce


def _reduce_sparse_op(name: str, operation: str, types: str) -> OpDefinition:
    @register_op(
        name,
        f"{_REDUCE_INPUTS} -> output_indices: int64, output_values: T, output_shape: int64",
        "keep_dims: bool = false",
        f"T: {types}",
        shape=lambda c: [UNKNOWN_SHAPE] * 3,
        devices=("CPU",),
    )
    def reduce(
        xp: Xp,
        input_indices: Array,
        input_values: Array,
        input_shape: Array,
        reduction_axes: Array,
        *,
        keep_dims: bool,
    ) -> Outputs:
        """Return the reduction of a sparse tensor over some dimensions, sparse."""
        rows, values, sizes = _reduce(
            input_indices, input_values, input_shape, reduction_axes, keep_dims, operation
        )
        return rows, values, np.array(sizes_of(np.array(sizes, np.int64)), np.int64)

    return reduce


sparse_reduce_sum_op = _reduce_op("SparseReduceSum", "add", "numbertype")
sparse_reduce_max_op = _reduce_op("SparseReduceMax", "max", "realnumbertype")
sparse_reduce_sum_sparse_op = _reduce_sparse_op("SparseReduceSumSparse", "add", "numbertype")
sparse_reduce_max_sparse_op = _reduce_sparse_op("SparseReduceMaxSparse", "max", "realnumbertype")


@sparse_reduce_sum_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import cast_ops, gather_ops, shape_ops
    from tfnb.ops.math import reduction_ops

    indices, _, shape, axes = op.inputs
    # The reduced dimensions are treated as having size 1.
    kept = reduction_ops.reduced_shape(shape, axes)
    reshaped = shape_ops.reshape(grad, kept)
    scale = shape // cast_ops.cast(kept, shape.dtype)
    return None, gather_ops.gather_nd(reshaped, indices // scale), None, None


# -------------------------------------------------------------------------------- SparseDenseCwise*


def _cwise_op(name: str, operation: str) -> OpDefinition:
    @register_op(
        name,
        "sp_indices: int64, sp_values: T, sp_shape: int64, dense: T -> output: T",
        "T: numbertype",
        shape=lambda c: TensorShape([(c.with_rank(0, 2).dim_values or (None,))[0]]),
        devices=("CPU",),
    )
    def cwise(xp: Xp, sp_indices: Array, sp_values: Array, sp_shape: Array, dense: Array) -> Array:
        """Return each element of a sparse tensor combined with the dense one's at its position."""
        check_form(sp_indices, sp_values, sp_shape)
        other = dense_at(sp_indices, sp_shape, dense)
        if operation == "add":
            return sp_values + other
        if (other == 0).any():
            raise errors.invalid_argument(
                f"{name} cannot divide by zero, but input dense tensor contains zero"
            )
        return divide(np, sp_values, other)

    return cwise


sparse_dense_cwise_add = _cwise_op("SparseDenseCwiseAdd", "add")
sparse_dense_cwise_div = _cwise_op("SparseDenseCwiseDiv", "div")


sparse_dense_cwise_add.gradient(_no_gradient)


def _cwise_gradient(op: Operation, grad: Tensor, *, is_product: bool) -> Any:
    from tfnb.framework.sparse_tensor import SparseTensor
    from tfnb.ops.array import cast_ops, concat_ops, constant_ops, gather_ops, shape_ops, slice_ops
    from tfnb.ops.math import cwise_unary_ops

    indices, values, shape, dense = op.inputs
    dense_shape = cast_ops.cast(shape_ops.shape(dense), "int64")
    # Dimensions that the dense side lacks, and dimensions of size 1 that it repeats.
    added = shape_ops.expand_dims(shape_ops.size(shape) - shape_ops.size(dense_shape), 0)
    augmented = concat_ops.concat([constant_ops.ones(added, "int64"), dense_shape], 0)
    scaled = indices // (shape // augmented)
    scaled = slice_ops.slice(scaled, concat_ops.concat([[0], added], 0), [-1, -1])
    met = gather_ops.gather_nd(dense, scaled)
    if is_product:
        values_grad, elements = grad * met, grad * values
    else:
        values_grad = grad / met
        elements = grad * (-values / cwise_unary_ops.square(met))
    # Scaled indices may repeat; adding to zeros sums their values.
    zeros = constant_ops.zeros_like(dense)
    return (
        None,
        values_grad,
        None,
        provided.sparse_add(zeros, SparseTensor(scaled, elements, dense_shape)),
    )


@sparse_dense_cwise_div.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return _cwise_gradient(op, grad, is_product=False)
