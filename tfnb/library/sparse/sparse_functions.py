"""The public functions on sparse tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.framework.constant_value import constant_value, constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue
from tfnb.framework.tensor import Tensor
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import concat, stack
from tfnb.ops.array.constant_ops import fill, ones_like, zeros, zeros_like
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import expand_dims, reshape
from tfnb.ops.array.shape_ops import shape as shape_of
from tfnb.ops.array.slice_ops import slice as slice_
from tfnb.ops.array.where_ops import where, where_v2
from tfnb.ops.math.math_ops import divisible
from tfnb.ops.sparse import sparse_form_ops as ops
from tfnb.ops.sparse import sparse_math_ops as math
from tfnb.ops.sparse.sparse_ops import (
    _as_sparse,
    sparse_dense_cwise_mul,
    sparse_reorder,
    sparse_tensor_dense_add,
    sparse_tensor_to_dense,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "sparse_add",
        "sparse_concat",
        "sparse_reshape",
        "sparse_split",
        "sparse_to_indicator",
        "sparse_merge",
        "sparse_retain",
        "sparse_reset_shape",
        "sparse_reduce_sum",
        "sparse_reduce_sum_sparse",
        "sparse_reduce_max",
        "sparse_reduce_max_sparse",
        "sparse_softmax",
        "sparse_maximum",
        "sparse_minimum",
        "sparse_transpose",
        "sparse_mask",
        "serialize_sparse",
        "serialize_many_sparse",
        "deserialize_many_sparse",
    ],
    "sparse": [
        "add:sparse_add",
        "concat:sparse_concat",
        "reshape:sparse_reshape",
        "split:sparse_split",
        "to_indicator:sparse_to_indicator",
        "merge:sparse_merge",
        "retain:sparse_retain",
        "reset_shape:sparse_reset_shape",
        "reduce_sum:sparse_reduce_sum",
        "reduce_sum_sparse:sparse_reduce_sum_sparse",
        "reduce_max:sparse_reduce_max",
        "reduce_max_sparse:sparse_reduce_max_sparse",
        "softmax:sparse_softmax",
        "maximum:sparse_maximum",
        "minimum:sparse_minimum",
        "transpose:sparse_transpose",
        "mask:sparse_mask",
        "serialize_sparse",
        "serialize_many_sparse",
        "deserialize_many_sparse",
        "expand_dims:sparse_expand_dims",
        "eye:sparse_eye",
        "from_dense",
        "map_values",
    ],
    "io": ["serialize_sparse", "serialize_many_sparse", "deserialize_many_sparse"],
}


def _parts(value: SparseTensor) -> tuple[Tensor, Tensor, Tensor]:
    return value.indices, value.values, value.dense_shape


# --------------------------------------------------------------------------------- sums and extrema


def sparse_add(a: TensorLike, b: TensorLike, threshold: Any = None, thresh: Any = None) -> Any:
    """Return the sum of two tensors, at least one of them sparse.

    Args:
      a: a dense or sparse tensor.
      b: a dense or sparse tensor of the same shape.
      threshold: elements of a sparse sum that are smaller are left out.
      thresh: the old name of ``threshold``.

    Returns:
      A sparse tensor if both are sparse, else a dense one.

    Raises:
      TypeError: both are dense.
    """
    threshold = thresh if threshold is None else threshold
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(a, kinds) and not isinstance(b, kinds):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(a, kinds) and isinstance(b, kinds):
        a, b = _as_sparse(a), _as_sparse(b)
        limit = convert_to_tensor(
            0 if threshold is None else threshold,
            dtype=a.values.dtype.real_dtype.base_dtype,
            name="threshold",
        )
        found = math.sparse_add_op(*_parts(a), *_parts(b), limit)
        a.get_shape().assert_is_compatible_with(b.get_shape())
        whole = _merged(a.get_shape(), b.get_shape())
        if whole.is_fully_defined():
            return SparseTensor(found[0], found[1], whole.as_list())
        return SparseTensor(*found)
    if isinstance(b, kinds):
        a, b = b, a
    a = _as_sparse(a)
    return sparse_tensor_dense_add(*_parts(a), b)


def _merged(a: TensorShape, b: TensorShape) -> TensorShape:
    return a.merge_with(b)


def sparse_maximum(sp_a: TensorLike, sp_b: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the elementwise maximum of two sparse tensors; a missing element is zero."""
    with name_scope(name, "SparseSparseMaximum", [sp_a.indices, sp_a.values]) as scope:
        found = math.sparse_sparse_maximum(*_parts(sp_a), *_parts(sp_b), name=scope)
    return SparseTensor(found[0], found[1], sp_a.dense_shape)


def sparse_minimum(sp_a: TensorLike, sp_b: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the elementwise minimum of two sparse tensors; a missing element is zero."""
    with name_scope(name, "SparseSparseMinimum", [sp_a.indices, sp_a.values]) as scope:
        found = math.sparse_sparse_minimum(*_parts(sp_a), *_parts(sp_b), name=scope)
    return SparseTensor(found[0], found[1], sp_a.dense_shape)


def sparse_softmax(sp_input: TensorLike, name: str | None = None) -> SparseTensor:
    """Apply softmax to the elements of every innermost row; missing ones do not count."""
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = math.sparse_softmax_op(*_parts(sp_input))
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


# --------------------------------------------------------------------------------------- reductions


def _keep(keep_dims: bool | None, keepdims: bool | None) -> bool:
    if keep_dims is not None and keepdims is not None:
        raise ValueError("Cannot specify both 'keep_dims' and 'keepdims'.")
    return bool(keep_dims if keepdims is None else keepdims)


def _axes(sp_input: SparseTensor, axis: TensorLike, reduction_axes: TensorLike) -> Any:
    if axis is not None and reduction_axes is not None:
        raise ValueError("Cannot specify both 'reduction_axes' and 'axis'.")
    axis = reduction_axes if axis is None else axis
    if axis is None:
        from tfnb.ops.array.shape_ops import size
        from tfnb.ops.math.sequence_ops import range_

        known = sp_input.dense_shape.shape.num_elements()
        axis = (
            convert_to_tensor(np.arange(known, dtype=np.int32), name="Const")
            if known
            else range_(0, size(sp_input.dense_shape, name="Rank"))
        )
    return axis


def _reduce(
    op: Callable[..., TensorResult],
    sp_input: TensorLike,
    axis: TensorLike,
    keepdims: Any,
    reduction_axes: TensorLike,
    keep_dims: Any,
) -> TensorResult:
    sp_input = _as_sparse(sp_input)
    axes = _axes(sp_input, axis, reduction_axes)
    return op(*_parts(sp_input), axes, keep_dims=_keep(keep_dims, keepdims))


def sparse_reduce_sum(
    sp_input: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the sum over some dimensions, dense; over all of them without ``axis``."""
    found: Tensor = _reduce(
        math.sparse_reduce_sum_op, sp_input, axis, keepdims, reduction_axes, keep_dims
    )
    return found


def sparse_reduce_max(
    sp_input: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the maximum over some dimensions, dense; missing elements do not count."""
    found: Tensor = _reduce(
        math.sparse_reduce_max_op, sp_input, axis, keepdims, reduction_axes, keep_dims
    )
    return found


def sparse_reduce_sum_sparse(
    sp_input: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Return the sum over some dimensions, sparse."""
    return SparseTensor(
        *_reduce(
            math.sparse_reduce_sum_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims
        )
    )


def sparse_reduce_max_sparse(
    sp_input: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    reduction_axes: TensorLike | None = None,
    keep_dims: bool | None = None,
) -> SparseTensor:
    """Return the maximum over some dimensions, sparse."""
    return SparseTensor(
        *_reduce(
            math.sparse_reduce_max_sparse_op, sp_input, axis, keepdims, reduction_axes, keep_dims
        )
    )


# --------------------------------------------------------------------------------------------- form


def sparse_reshape(
    sp_input: TensorLike, shape: TensorLike, name: str | None = None
) -> SparseTensor:
    """Return the same elements in another shape; one size may be -1."""
    sp_input = _as_sparse(sp_input)
    shape = cast(shape, dtypes.int64)
    with name_scope(name, "SparseReshape", [sp_input]) as scope:
        indices, whole = ops.sparse_reshape_op(
            sp_input.indices, sp_input.dense_shape, shape, name=scope
        )
        whole = _known_reshaped(sp_input, shape, whole)
        return SparseTensor(indices, identity(sp_input.values), whole)


def _known_reshaped(sp_input: SparseTensor, shape: TensorLike, whole: Any) -> TensorResult:
    """Return the shape after a reshape as a constant, if it is known.

    Raises:
      ValueError: several sizes are -1, or the number of elements differs.
    """
    old, dims = sp_input.get_shape(), constant_value_as_shape(shape).dim_values
    if dims is None or not old.is_fully_defined():
        return whole
    user = constant_value(shape)
    if user is not None and (user == -1).sum() > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {user.tolist()}")
    sizes, count = list(dims), old.num_elements() or 0
    if sizes.count(None) == 1 and 0 not in sizes:
        rest = int(np.prod([one for one in sizes if one is not None]))
        sizes[sizes.index(None)] = count // rest
    if None in sizes:
        return whole
    size = int(np.prod(np.array(sizes, np.int64)))
    if size != count:
        raise ValueError(
            f"Cannot reshape a tensor with {count} elements to shape {dims} ({size} elements)."
        )
    return convert_to_tensor(np.array(sizes, np.int64), name="Const")


def sparse_concat(
    axis: TensorLike,
    sp_inputs: TensorLike,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Concatenate sparse tensors along a dimension.

    Args:
      axis: the dimension (``concat_dim`` is its old name).
      sp_inputs: the tensors.
      name: the name of the op.
      expand_nonconcat_dim: whether the sizes of other dimensions may differ; the result has the
        greatest.
      concat_dim: see ``axis``.
      expand_nonconcat_dims: the newer name of ``expand_nonconcat_dim``.
    """
    axis = concat_dim if concat_dim is not None else axis
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    inputs = [_as_sparse(one) for one in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes: list[Nested] = [one.dense_shape for one in inputs]
    if expand:
        from tfnb.ops.math.reduction_ops import reduce_max

        rows = concat([reshape(shape, [1, -1]) for shape in shapes], 0)
        greatest = reduce_max(rows, 0)
        shapes = [
            concat(
                [
                    greatest[:axis],
                    shape[-1:] if axis == -1 else shape[axis : axis + 1],
                    [] if axis == -1 else greatest[axis + 1 :],
                ],
                0,
            )
            for shape in shapes
        ]
    found = ops.sparse_concat_op(
        [one.indices for one in inputs],
        [one.values for one in inputs],
        shapes,
        concat_dim=axis,
        name=name,
    )
    known_shapes = [one.get_shape() for one in inputs]
    if all(shape.is_fully_defined() for shape in known_shapes):
        columns = zip(*(shape.as_list() for shape in known_shapes), strict=True)
        whole = [max(sizes) for sizes in columns]
        whole[axis] = sum(shape.as_list()[axis] or 0 for shape in known_shapes)
        known = convert_to_tensor(whole, dtype=dtypes.int64)
        return SparseTensor(found[0], found[1], known)
    return SparseTensor(*found)


def sparse_split(
    keyword_required: Any = None,
    sp_input: TensorLike | None = None,
    num_split: int | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """Split a sparse tensor along a dimension; all arguments are passed by name.

    Args:
      keyword_required: must not be passed.
      sp_input: the tensor.
      num_split: the number of pieces.
      axis: the dimension (``split_dim`` is its old name).
      name: the name of the op.
      split_dim: see ``axis``.

    Raises:
      ValueError: an argument is missing.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    for label, value in (("sp_input", sp_input), ("num_split", num_split)):
        if value is None:
            raise ValueError(f"{label} is required")
    axis = split_dim if axis is None else axis
    if axis is None:
        raise ValueError("axis is required")
    sp_input = _as_sparse(sp_input)
    found = ops.sparse_split_op(axis, *_parts(sp_input), num_split=num_split, name=name)
    return [SparseTensor(*one) for one in zip(*found)]


def sparse_transpose(
    sp_input: TensorLike, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return the sparse tensor with its dimensions in another order; reversed without ``perm``."""
    with name_scope(name, "SparseTranspose", [sp_input]):
        if perm is None:
            rank = sp_input.get_shape().ndims
            if rank is not None:
                perm = np.arange(rank - 1, -1, -1)
            else:
                from tfnb.ops.array.shape_ops import rank as rank_of
                from tfnb.ops.math.sequence_ops import range_

                count = rank_of(sp_input)
                perm = (count - 1) - range_(0, count, 1)
        from tfnb.ops.array.transpose_ops import transpose

        indices = transpose(gather(transpose(sp_input.indices), perm))
        static = constant_value(convert_to_tensor(perm))
        shape = sp_input.get_shape()
        if static is not None and shape.is_fully_defined():
            sizes = shape.as_list()
            whole: Any = [sizes[int(axis)] for axis in static]
        else:
            whole = gather(sp_input.dense_shape, perm)
        return sparse_reorder(SparseTensor(indices, sp_input.values, whole))


def sparse_expand_dims(
    sp_input: TensorLike, axis: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return the sparse tensor with a new dimension of size 1.

    Args:
      sp_input: the sparse tensor.
      axis: the position of the dimension, from the end if negative: a number or a scalar tensor.
      name: a name for the scope.

    Raises:
      TypeError: the axis is neither.
    """
    rank: TensorLike = sp_input.dense_shape.shape.dims[0].value
    if rank is None:
        rank = shape_of(sp_input.dense_shape)[0]
    axis = -1 if axis is None else axis
    with name_scope(name, default_name="expand_dims", values=[sp_input]):
        if isinstance(axis, (int, np.integer)):
            axis = convert_to_tensor(axis, dtypes.int32, name="axis")
        elif not isinstance(axis, Tensor):
            raise TypeError(
                "axis must be an integer value in range [-rank(sp_input) - 1, rank(sp_input)]"
            )
        axis = where_v2(axis >= 0, axis, axis + rank + 1)
        column = zeros([shape_of(sp_input.indices)[0], 1], dtypes.int64)
        before = slice_(sp_input.indices, [0, 0], [-1, axis])
        after = slice_(sp_input.indices, [0, axis], [-1, -1])
        indices = concat([before, column, after], 1)
        before = slice_(sp_input.dense_shape, [0], [axis])
        after = slice_(sp_input.dense_shape, [axis], [-1])
        new = convert_to_tensor([1], dtypes.int64, name="new_shape")
        return SparseTensor(indices, sp_input.values, concat([before, new, after], 0))


def _as_int64(value: TensorLike, name: str) -> TensorResult:
    if isinstance(value, (int, np.integer)):
        return convert_to_tensor(value, dtypes.int64, name=name)
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be an integer value")
    return cast(value, dtypes.int64)


def sparse_eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """Return a sparse matrix with ones on its diagonal."""
    from tfnb.ops.array.constant_ops import ones
    from tfnb.ops.math.cwise_binary_ops import minimum
    from tfnb.ops.math.sequence_ops import range_

    with name_scope(name, default_name="eye", values=[num_rows, num_columns]):
        num_rows = _as_int64(num_rows, "num_rows")
        num_columns = num_rows if num_columns is None else _as_int64(num_columns, "num_columns")
        count = minimum(num_rows, num_columns)
        numbers = range_(count, dtype=dtypes.int64)
        indices = stack([numbers, numbers], axis=1)
        return SparseTensor(indices, ones(count, dtype=dtype), [num_rows, num_columns])


# -------------------------------------------------------------------------------- to and from dense


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor of the elements that are not zero."""
    from tfnb.ops.array.gather_ops import gather_nd
    from tfnb.ops.math.comparison_ops import not_equal

    with name_scope(name, "dense_to_sparse"):
        tensor = convert_to_tensor(tensor)
        indices = where(not_equal(tensor, zeros_like(tensor)))
        values = gather_nd(tensor, indices)
        return SparseTensor(indices, values, shape_of(tensor, out_type=dtypes.int64))


def sparse_to_indicator(sp_input: TensorLike, vocab_size: int, name: str | None = None) -> Tensor:
    """Return a dense tensor of bools, True at the ids along the last dimension."""
    sp_input = _as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input]) as scope:
        marks = fill(expand_dims(shape_of(sp_input.indices)[0], 0), True)
        marked = SparseTensor(sp_input.indices, marks, sp_input.dense_shape)
        # The ids become the last coordinates.
        merged = sparse_merge(sp_input, marked, vocab_size, scope)
        found: Tensor = sparse_tensor_to_dense(
            merged, default_value=False, validate_indices=False, name=scope
        )
        return found


def sparse_merge(
    sp_ids: TensorLike,
    sp_values: TensorLike,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Return values whose last coordinate is an id instead of a position.

    Args:
      sp_ids: the ids, or a list of tensors of ids that become several coordinates.
      sp_values: the values, at the same positions.
      vocab_size: the size, or sizes, of the new last dimensions.
      name: the name of the ops.
      already_sorted: whether the result needs no sorting.
    """
    if isinstance(sp_ids, (SparseTensor, SparseTensorValue)):
        sp_ids = [sp_ids]
        if not (isinstance(vocab_size, Tensor) or np.isscalar(vocab_size)):
            raise TypeError(
                f"vocab_size has to be a Tensor or Python int. Found {type(vocab_size)}"
            )
        vocab_size = [vocab_size]
    elif len(sp_ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with name_scope(name, "SparseMerge"):
        sparse_ids = [_as_sparse(one) for one in sp_ids]
        sp_values = _as_sparse(sp_values)
        ids = []
        for one in sparse_ids:
            numbers = one.values
            ids.append(expand_dims(cast(numbers, dtypes.int64), axis=1))
        sizes = [cast(size, dtypes.int64) for size in vocab_size]
        head = sp_ids[0].indices
        indices = concat([head[:, :-1], *ids], axis=1)
        whole = concat([sparse_ids[0].dense_shape[:-1], sizes], axis=0)
        result = SparseTensor(indices, sp_values.values, whole)
        if already_sorted:
            return result
        ordered = sparse_reorder(result)
        return SparseTensor(ordered.indices, ordered.values, whole)


# ------------------------------------------------------------------------------ selection of
# elements


def sparse_retain(sp_input: TensorLike, to_retain: TensorLike) -> SparseTensor:
    """Return the elements where a vector of bools is true."""
    sp_input = _as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain)
    merged = to_retain.shape
    if merged.ndims is not None:
        sp_input.values.shape.dims[0].assert_is_compatible_with(merged.dims[0])
    kept = reshape(where(to_retain), [-1])
    return SparseTensor(
        gather(sp_input.indices, kept),
        gather(sp_input.values, kept),
        identity(sp_input.dense_shape),
    )


def sparse_reset_shape(sp_input: TensorLike, new_shape: TensorLike | None = None) -> SparseTensor:
    """Return the same elements in a larger shape, or in the smallest possible one.

    Raises:
      ValueError: the new shape has another rank, or is known to be smaller.
    """
    from tfnb.library.control_flow.check_ops import assert_equal, assert_less_equal
    from tfnb.library.control_flow.with_dependencies import with_dependencies
    from tfnb.ops.math.cwise_binary_ops import maximum
    from tfnb.ops.math.math_ops import add
    from tfnb.ops.math.reduction_ops import reduce_max

    sp_input = _as_sparse(sp_input)
    indices, values = identity(sp_input.indices), identity(sp_input.values)
    shape = identity(sp_input.dense_shape)
    if new_shape is None:
        # Without elements, the maximum of the indices is the least number of the type.
        least = reduce_max(indices, axis=0)
        low = convert_to_tensor(0, dtypes.int64, name="Const")
        return SparseTensor(indices, values, maximum(low, add(least, ones_like(shape))))
    whole: Any = convert_to_tensor(new_shape)
    whole.shape.assert_has_rank(1)
    whole = cast(whole, dtypes.int64)
    whole.shape.assert_is_compatible_with(shape.shape)
    new, old = constant_value(whole), sp_input.get_shape()
    if new is not None and old.is_fully_defined():
        if (np.asarray(new) < np.array(old.as_list())).any():
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape. "
                f"Found new_shape {new.tolist()}, sp_input.shape {old.as_list()}"
            )
        return SparseTensor(indices, values, new)
    whole = with_dependencies([assert_equal(shape_of(shape), shape_of(whole))], whole)
    whole = with_dependencies([assert_less_equal(shape, whole)], whole)
    return SparseTensor(indices, values, whole)


def sparse_mask(a: TensorLike, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Return the slices of an IndexedSlices whose indices are not in a list."""
    from tfnb.ops.array.unique_ops import setdiff1d

    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        out_indices, places = setdiff1d(a.indices, mask_indices)
        values = gather(a.values, places, name=scope)
        return IndexedSlices(values, out_indices, a.dense_shape)


def map_values(op: Callable[..., TensorResult], *args: Any, **kwargs: Any) -> SparseTensor:
    """Apply a function to the values of sparse tensors of one form."""
    sparse: list[SparseTensor] = []

    def value_of(argument: Any) -> TensorResult:
        if isinstance(argument, SparseTensor):
            sparse.append(argument)
            return argument.values
        return argument

    inner_args = [value_of(argument) for argument in args]
    inner_kwargs = {key: value_of(argument) for key, argument in kwargs.items()}
    if not sparse:
        raise ValueError("No SparseTensor in argument list of map_values")
    return sparse[0].with_values(op(*inner_args, **inner_kwargs))


# ------------------------------------------------------------------------------------------ feeding


# --------------------------------------------------------------------------------------- serialized


def serialize_sparse(
    sp_input: TensorLike, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> TensorResult:
    """Return the three parts of a sparse tensor as a vector of strings or variants."""
    sp_input = _as_sparse(sp_input)
    return ops.serialize_sparse_op(*_parts(sp_input), out_type=out_type, name=name)


def serialize_many_sparse(
    sp_input: TensorLike, name: str | None = None, out_type: DTypeLike = dtypes.string
) -> TensorResult:
    """Serialize each entry of the first dimension as a row of three strings or variants."""
    sp_input = _as_sparse(sp_input)
    return ops.serialize_many_sparse_op(*_parts(sp_input), out_type=out_type, name=name)


def deserialize_many_sparse(
    serialized_sparse: TensorLike,
    dtype: DTypeLike,
    rank: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """Return the sparse tensor that :func:`serialize_many_sparse` serialized."""
    indices, values, whole = ops.deserialize_many_sparse_op(
        serialized_sparse, dtype=dtype, name=name
    )
    # The rank is one more than that of the serialized tensors.
    indices.set_shape([None, rank])
    whole.set_shape([rank])
    return SparseTensor(indices, values, whole)


# ---------------------------------------------------------------------------------------- operators


_OPERATORS = {"truediv": math.sparse_dense_cwise_div, "mul": sparse_dense_cwise_mul}


def apply_operator(name: str, sparse: SparseTensor, dense: Any) -> SparseTensor:
    """Return the product ("mul") or quotient ("truediv") of a sparse tensor and a dense one."""
    with name_scope(None, name, [*_parts(sparse), dense]) as scope:
        dense = convert_to_tensor(dense, dtype=sparse.values.dtype.base_dtype, name="y")
        indices, values, shape = _parts(sparse)
        if name == "truediv":
            values, dense = divisible(values, dense, "__truediv__")
        values = _OPERATORS[name](indices, values, shape, dense, name=scope)
        return SparseTensor(sparse.indices, values, sparse.dense_shape)
