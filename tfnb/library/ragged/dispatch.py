"""Functions of ``tf`` for ragged tensors.

Elementwise functions are applied to the innermost values; reductions, joins and others have
handlers. A new handler is registered with ``@handles("tf's function")``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.op_registry import OpDefinition, python_name
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.library.ragged.gather_rows import ragged_gather_rows
from tfnb.library.ragged.ragged_tensor import (
    RaggedTensor,
    RaggedTensorValue,
    same_rows,
    splits_of_lengths,
)
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.reduction_ops import reduce_min
from tfnb.ops.math.segment_ops import (
    unsorted_segment_max,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sum,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

_HANDLERS: dict[str, Callable[..., Any]] = {}


def handles(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the handler of the functions with these names."""

    def register(function: Callable[..., Nested]) -> Callable[..., Any]:
        for name in names:
            _HANDLERS[name] = function
        return function

    return register


def call(
    function: Callable[..., Nested], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TensorResult:
    """Return the result of a function with ragged arguments.

    Raises:
      TypeError: the function accepts no ragged tensors.
    """
    # The key of an op is its own name, that of a function its name in ``tf``.
    name = function.__name__
    if isinstance(function, OpDefinition):
        name = python_name(function.name)
    if name not in _ELEMENTWISE:
        importlib.import_module("tfnb.library.ragged.shape_functions")  # adds handlers
    if name in _HANDLERS:
        return _HANDLERS[name](*args, **kwargs)
    if name in _ELEMENTWISE:
        return map_flat_values(function, *map(_as_tensor, args), **kwargs)
    raise TypeError(
        f"tf.{name} takes no RaggedTensor: use its values, to_tensor(), or "
        "tf.ragged.map_flat_values"
    )


def with_tensors_for_values(arguments: Any) -> Any:
    """Return arguments with a ragged tensor in place of each ragged value, also in lists."""
    if isinstance(arguments, RaggedTensorValue):
        return arguments.as_tensor()
    if type(arguments) in (list, tuple):
        return type(arguments)(map(with_tensors_for_values, arguments))
    if type(arguments) is dict:
        return {name: with_tensors_for_values(value) for name, value in arguments.items()}
    return arguments


def _as_tensor(value: TensorLike) -> TensorResult:
    """Convert lists of numbers to tensors, so that they can be broadcast over rows."""
    is_list = isinstance(value, (list, np.ndarray))
    has_ragged = is_list and any(isinstance(one, RaggedTensor) for one in value)
    return convert_to_tensor(value) if is_list and not has_ragged else value


_ELEMENTWISE = frozenset((
    "add_n", "bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e", "bessel_j0", "bessel_j1",
    "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e", "bessel_y0", "bessel_y1", "bitwise_and",
    "bitwise_or", "bitwise_xor", "dawsn", "decode_compressed", "dropout", "erfinv", "expint",
    "fresnel_cos", "fresnel_sin", "invert", "left_shift", "multiply_no_nan", "ndtri",
    "right_shift", "saturate_cast", "silu", "spence", "string_join", "xlog1py", "zeta",
    "abs", "absolute", "acos", "acosh", "add", "add_v2", "angle", "asin", "asinh", "as_string",
    "atan", "atan2", "atanh", "bitcast", "cast", "ceil", "check_numerics", "clip_by_value",
    "complex", "conj", "cos", "cosh", "decode_base64", "decode_raw", "digamma", "div",
    "div_no_nan", "divide", "elu", "encode_base64", "equal", "erf", "erfc", "exp", "expm1",
    "floor", "floor_div", "floordiv", "floormod", "greater", "greater_equal", "identity", "imag",
    "is_finite", "is_inf", "is_nan", "leaky_relu", "less", "less_equal", "lgamma", "log", "log1p",
    "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "mul", "multiply", "neg", "negative", "not_equal", "ones_like", "pow", "real",
    "real_div", "realdiv", "reciprocal", "regex_full_match", "regex_replace", "relu", "relu6",
    "static_regex_full_match", "static_regex_replace",
    "rint", "round", "rsqrt", "selu", "sigmoid", "sign", "sin", "sinh", "softplus", "softsign",
    "sqrt", "square", "squared_difference", "stop_gradient", "string_length", "string_lower",
    "string_strip", "string_to_hash_bucket", "string_to_hash_bucket_fast",
    "string_to_hash_bucket_strong", "string_to_number", "string_upper", "sub", "substr",
    "subtract", "tan", "tanh", "to_double", "to_float", "to_int32", "to_int64", "truediv",
    "truncate_div", "truncatediv", "truncate_mod", "truncatemod", "unicode_script",
    "unicode_transcode", "xdivy", "xlogy", "zeros_like",
))  # fmt: skip


# ------------------------------------------------------------------------------- single elements


def map_flat_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> TensorResult:
    """Apply a function to the innermost values of ragged tensors and keep their rows.

    Dense arguments with one value per row are broadcast over the rows.

    Args:
      op: the function of the innermost values.
      *args: its arguments; ragged ones must have rows of the same lengths.
      **kwargs: its keyword arguments.

    Raises:
      ValueError: no argument is ragged, or the result has another number of values.
    """
    args, kwargs = with_tensors_for_values(args), with_tensors_for_values(kwargs)
    ragged = [one for one in _leaves((args, kwargs)) if isinstance(one, RaggedTensor)]
    if not ragged:
        return op(*args, **kwargs)
    model = max(ragged, key=lambda one: one.ragged_rank)
    checked = model
    for one in ragged:
        if one is not model:
            checked = same_rows(checked, one)

    def flat(value: TensorLike) -> TensorResult:
        if value is model:
            return checked.flat_values
        if isinstance(value, RaggedTensor):
            return value.flat_values
        if isinstance(value, Tensor):
            return _spread(value, model)
        if isinstance(value, (list, tuple)) and any(
            isinstance(member, RaggedTensor) for member in value
        ):
            return type(value)([flat(member) for member in value])
        return value

    made = op(*map(flat, args), **{name: flat(value) for name, value in kwargs.items()})
    if isinstance(made, Tensor):
        first, wanted = made.shape.dim_values, model.flat_values.shape.dim_values
        if first is not None and wanted is not None:
            sizes = (first[0] if first else 0, wanted[0])
            if None not in sizes and sizes[0] != sizes[1]:
                raise ValueError(
                    "tf.ragged.map_flat_values requires that the output of `op` have the same "
                    "outer-dimension size as flat_values of any ragged inputs. (output shape: "
                    f"{made.shape}; expected outer dimension size: {wanted[0]})"
                )
    return checked.with_flat_values(made)


def _leaves(value: TensorLike) -> list[Nested]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for member in value for leaf in _leaves(member)]
    return [value]


def _spread(value: Tensor, model: RaggedTensor) -> TensorResult:
    """Return a dense tensor broadcast to match the innermost values."""
    rank, wanted = value.shape.ndims, model.shape.ndims
    if rank is None or wanted is None or rank == 0:
        return value
    if rank < wanted - model.ragged_rank + 1 and rank <= (model.flat_values.shape.ndims or 1) - 1:
        return value
    if rank == wanted:
        sizes = value.shape.as_list()
        if any(size != 1 for size in sizes[1 : model.ragged_rank + 1]):
            raise ValueError(
                f"A tensor of shape {value.shape} does not spread over rows of different lengths: "
                "its ragged dimensions must be 1, or use tf.RaggedTensor.from_tensor"
            )
        found: TensorResult = array_ops.squeeze(value, list(range(1, model.ragged_rank + 1)))
        if sizes[0] == 1:
            return found[0] if model.flat_values.shape.ndims == 1 else found
        inner: TensorLike = model
        while isinstance(inner, RaggedTensor):
            found = array_ops.gather(found, inner.value_rowids())
            inner = inner.values
        return found
    return value


# --------------------------------------------------------------------------------------- reductions


def _axis_of(value: RaggedTensor, axis: Any) -> int:
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int for ragged tensors, not {axis}")
    if axis < 0:
        rank = value.shape.ndims
        if rank is None:
            raise ValueError("a negative axis needs a ragged tensor of known rank")
        return int(axis + rank)
    return axis


def _aggregate(
    value: TensorLike,
    axis: Any,
    dense: Callable[..., Nested],
    segments: Callable[..., Nested],
    keepdims: bool,
) -> TensorResult:
    if not isinstance(value, RaggedTensor):
        return dense(value, axis, keepdims=keepdims)
    if axis is None:
        return dense(value.flat_values, None)
    if isinstance(axis, (list, tuple)):
        if len(axis) == 0:
            return value
        axes = sorted((_axis_of(value, one) for one in axis), reverse=True)
        found: TensorResult = value
        for one in axes:
            found = _aggregate(found, one, dense, segments, keepdims)
        return found
    axis = _axis_of(value, axis)
    if axis == 0:
        places = math_ops.range_(_nvals(value)) - array_ops.gather(
            value.row_starts(), value.value_rowids()
        )
        longest = value.bounding_shape(axis=1)
        found = by_segments(value.values, places, longest, segments)
        return expand_dims(found, 0) if keepdims else found
    if axis == 1:
        found = by_segments(value.values, value.value_rowids(), value.nrows(), segments)
        return expand_dims(found, 1) if keepdims else found
    return value.with_values(_aggregate(value.values, axis - 1, dense, segments, keepdims))


def _nvals(value: RaggedTensor) -> TensorResult:
    return value.row_splits[-1]


def by_segments(
    values: TensorLike, ids: TensorLike, count: TensorLike, segments: Callable[..., Nested]
) -> Any:
    """Reduce the values of each segment to one; ragged values are reduced position by position."""
    if not isinstance(values, RaggedTensor):
        return segments(values, ids, count)
    lengths = unsorted_segment_max(values.row_lengths(), ids, count)
    lengths = math_ops.maximum(lengths, array_ops.zeros_like(lengths))
    splits = splits_of_lengths(lengths)
    rows = values.value_rowids()
    places = math_ops.range_(_nvals(values)) - array_ops.gather(values.row_starts(), rows)
    goes_to = array_ops.gather(splits, array_ops.gather(ids, rows)) + places
    inner = by_segments(values.values, goes_to, splits[-1], segments)
    return RaggedTensor(inner, splits, internal=True)


def _segment_mean(values: TensorLike, ids: TensorLike, count: TensorLike) -> TensorResult:
    total = unsorted_segment_sum(values, ids, count)
    numbers = unsorted_segment_sum(array_ops.ones_like(values), ids, count)
    return total / numbers if values.dtype.is_floating else total // numbers


def _segment_all(values: TensorLike, ids: TensorLike, count: TensorLike) -> TensorResult:
    return math_ops.cast(
        unsorted_segment_prod(math_ops.cast(values, dtypes.int32), ids, count), dtypes.bool
    )


def _segment_any(values: TensorLike, ids: TensorLike, count: TensorLike) -> TensorResult:
    return math_ops.greater(
        unsorted_segment_sum(math_ops.cast(values, dtypes.int32), ids, count), 0
    )


def _reduction(name: str, dense: Callable[..., Nested], segments: Callable[..., Nested]) -> None:
    def reduce(
        input_tensor: TensorLike,
        axis: Any = None,
        keepdims: bool | None = None,
        name: str | None = None,
        reduction_indices: TensorLike | None = None,
        keep_dims: bool | None = None,
    ) -> TensorResult:
        axis = reduction_indices if axis is None else axis
        with name_scope(name, "RaggedReduce", [input_tensor]):
            return _aggregate(input_tensor, axis, dense, segments, bool(keepdims or keep_dims))

    handles(name)(reduce)


for _name, _dense, _segments in (
    ("reduce_sum", math_ops.reduce_sum, unsorted_segment_sum),
    ("reduce_prod", math_ops.reduce_prod, unsorted_segment_prod),
    ("reduce_max", math_ops.reduce_max, unsorted_segment_max),
    ("reduce_min", reduce_min, unsorted_segment_min),
    ("reduce_mean", math_ops.reduce_mean, _segment_mean),
    ("reduce_all", math_ops.reduce_all, _segment_all),
    ("reduce_any", math_ops.reduce_any, _segment_any),
):
    _reduction(_name, _dense, _segments)


# ------------------------------------------------------------------------------------ concatenation


def _as_ragged(value: TensorLike, ragged_rank: int, dtype: DTypeLike) -> RaggedTensor:
    if isinstance(value, RaggedTensor):
        return value.with_row_splits_dtype(dtype)
    tensor = convert_to_tensor(value)
    return RaggedTensor.from_tensor(tensor, ragged_rank=ragged_rank, row_splits_dtype=dtype)


@handles("concat")
def concat(values: TensorLike, axis: Any, name: str | None = None) -> TensorResult:
    """Concatenate ragged tensors."""
    if not isinstance(values, (list, tuple)):
        values = [values]
    with name_scope(name, "RaggedConcat", list(values)):
        return _joined(list(values), axis, stacks=False)


@handles("stack")
def stack(values: TensorLike, axis: int = 0, name: str | None = None) -> TensorResult:
    """Stack ragged tensors along a new axis.

    Args:
      values: the tensors.
      axis: the index of the new axis.
      name: the name of the scope.
    """
    if not isinstance(values, (list, tuple)):
        values = [values]
    with name_scope(name, "RaggedConcat", list(values)):
        return _joined(list(values), axis, stacks=True)


def _joined(values: list[TensorLike], axis: Any, stacks: bool) -> TensorResult:
    ranks = [one.shape.ndims if hasattr(one, "shape") else None for one in values]
    values = [v if isinstance(v, RaggedTensor) else convert_to_tensor(v) for v in values]
    if axis < 0:
        known = [rank for rank in ranks if rank is not None]
        if not known:
            raise ValueError("axis may only be negative if the rank is known")
        axis += known[0] + int(stacks)
    if not stacks and len(values) == 1:
        return values[0]
    ragged = [one for one in values if isinstance(one, RaggedTensor)]
    if not ragged:
        return array_ops.stack(values, axis) if stacks else array_ops.concat(values, axis)
    rank = max(one.ragged_rank for one in ragged)
    dtype = (
        dtypes.int64
        if any(one.row_splits.dtype is dtypes.int64 for one in ragged)
        else dtypes.int32
    )
    parts = [_as_ragged(one, rank, dtype) for one in values]
    if axis == 0:
        return _stacked_rows(parts) if stacks else _one_after_another(parts)
    if axis == 1:
        return _row_by_row(parts, stacks)
    inner = _joined([one.values for one in parts], axis - 1, stacks)
    return parts[0].with_values(inner)


def _one_after_another(parts: Sequence[RaggedTensor]) -> RaggedTensor:
    """Concatenate the rows of all tensors."""
    values = [one.values for one in parts]
    splits, offset = [parts[0].row_splits], parts[0].row_splits[-1]
    for one in parts[1:]:
        splits.append(one.row_splits[1:] + offset)
        offset = offset + one.row_splits[-1]
    return RaggedTensor(_values_joined(values), array_ops.concat(splits, 0), internal=True)


def _values_joined(values: list[TensorLike]) -> TensorResult:
    if any(isinstance(one, RaggedTensor) for one in values):
        return _joined(values, 0, stacks=False)
    return array_ops.concat(values, 0)


def _stacked_rows(parts: Sequence[RaggedTensor]) -> RaggedTensor:
    """Stack all tensors as rows of a new dimension."""
    rows = _one_after_another(parts)
    lengths = array_ops.stack([one.nrows() for one in parts])
    return RaggedTensor(rows, splits_of_lengths(lengths), internal=True)


def _row_by_row(parts: Sequence[RaggedTensor], stacks: bool) -> RaggedTensor:
    """Join row by row: row i of the first tensor, row i of the second, ..."""
    count = len(parts)
    rows = parts[0].nrows()
    all_rows = _one_after_another(parts)
    order = math_ops.range_(rows)[:, None] + rows * math_ops.range_(
        array_ops.constant(count, rows.dtype)
    )
    mixed = ragged_gather_rows(all_rows, array_ops.reshape(order, [-1]))
    if stacks:
        every = math_ops.range_(rows + 1) * count
        return RaggedTensor(mixed, every, internal=True)
    splits = mixed.row_splits[::count]
    splits.set_shape(parts[0].row_splits.shape)
    return RaggedTensor(mixed.values, splits, internal=True)


# ------------------------------------------------------------------------------------------ others


@handles("expand_dims")
def expand_dims(
    input: TensorLike, axis: Any = None, name: str | None = None, dim: TensorLike | None = None
) -> Any:
    """Add a dimension of size 1."""
    axis = dim if axis is None else axis
    if not isinstance(input, RaggedTensor):
        return array_ops.expand_dims(input, axis, name=name)
    with name_scope(name, "RaggedExpandDims", [input]):
        if axis < 0:
            if input.shape.ndims is None:
                raise ValueError("a negative axis needs a ragged tensor of known rank")
            axis += input.shape.ndims + 1
        dtype = input.row_splits.dtype
        if axis == 0:
            splits = array_ops.stack([array_ops.constant(0, dtype), input.nrows()])
            found = RaggedTensor(input, splits, internal=True)
            count = input.shape.dim_values
            if count is not None and count[0] is not None:
                found.known_row_length = array_ops.constant(count[0], dtype)
            return found
        if axis == 1:
            return RaggedTensor.from_uniform_row_length(
                input, array_ops.constant(1, dtype), nrows=input.nrows(), validate=False
            )
        return input.with_values(expand_dims(input.values, axis - 1))


@handles("embedding_lookup")
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: TensorLike | None = None,
) -> TensorResult:
    """Return rows by id; ragged ids give ragged rows."""
    if isinstance(params, RaggedTensor):
        return gather(params, ids, name=name)
    from tfnb.library.nn.embedding_ops import embedding_lookup as lookup

    with name_scope(name, "embedding_lookup_ragged", [params, ids]):
        rows = lookup(params, ids.flat_values, partition_strategy, max_norm=max_norm)
        return ids.with_flat_values(rows)


@handles("gather", "gather_v2")
def gather(
    params: TensorLike,
    indices: TensorLike,
    validate_indices: TensorLike | None = None,
    name: str | None = None,
    axis: Any = None,
    batch_dims: int = 0,
) -> TensorResult:
    """Gather rows by index; ragged indices give ragged rows."""
    if axis not in (None, 0) or batch_dims:
        raise ValueError("tf.gather takes ragged tensors with axis=0 and batch_dims=0 only")
    with name_scope(name, "RaggedGather", [params, indices]):
        if isinstance(indices, RaggedTensor):
            if isinstance(params, RaggedTensor):
                return ragged_gather_rows(params, indices)
            return indices.with_flat_values(array_ops.gather(params, indices.flat_values))
        indices = convert_to_tensor(indices, preferred_dtype=dtypes.int64, name="indices")
        if indices.shape.ndims == 0:
            return params[indices]
        return ragged_gather_rows(params, indices)


@handles("size")
def size(
    input: RaggedTensor, name: str | None = None, out_type: DTypeLike | None = None
) -> TensorResult:
    """Return the number of values."""
    return array_ops.size(input.flat_values, name=name, out_type=out_type)


@handles("rank")
def rank(input: RaggedTensor, name: str | None = None) -> TensorResult:
    """Return the number of dimensions."""
    with name_scope(name, "RaggedRank", [input]):
        return input.ragged_rank + array_ops.rank(input.flat_values)


@handles("boolean_mask")
def boolean_mask(
    data: TensorLike, mask: TensorLike, name: str | None = None, axis: Any = None
) -> Any:
    """Return the values where a mask of the same rows is true.

    Args:
      data: a tensor, dense or ragged.
      mask: True for the values to keep.
      name: the name of the scope.
      axis: must be None.
    """
    if axis is not None:
        raise ValueError("axis must be None for a ragged mask")
    data, mask = with_tensors_for_values((data, mask))
    from tfnb.ops.array.where_ops import boolean_mask as dense_mask

    with name_scope(name, "RaggedMask", [data, mask]):
        if not isinstance(mask, RaggedTensor):
            mask = convert_to_tensor(mask, dtypes.bool, name="mask")
            if mask.shape.ndims is None:
                raise ValueError("mask.shape.ndims must be known statically.")
            if mask.shape.ndims == 0:
                raise ValueError("mask cannot be scalar.")
        if not isinstance(data, RaggedTensor):
            data = convert_to_tensor(data, name="data")
        if not isinstance(mask, RaggedTensor) and mask.shape.ndims == 1:
            if not isinstance(data, RaggedTensor):
                return dense_mask(data, mask)
            kept = array_ops.where(mask)[:, 0]
            return ragged_gather_rows(data, math_ops.cast(kept, data.row_splits.dtype))
        if not isinstance(mask, RaggedTensor):
            rank = len(mask.shape.as_list()) - 1
            mask = RaggedTensor.from_tensor(mask, ragged_rank=rank, row_splits_dtype=dtypes.int64)
        elif mask.flat_values.shape.ndims not in (None, 1):
            flat = mask.flat_values
            rows = RaggedTensor.from_tensor(
                flat,
                ragged_rank=len(flat.shape.as_list()) - 1,
                row_splits_dtype=mask.row_splits.dtype,
            )
            mask = mask.with_flat_values(rows)
        if not isinstance(data, RaggedTensor):
            data = RaggedTensor.from_tensor(data, row_splits_dtype=mask.row_splits.dtype)
        inner = boolean_mask(data.values, mask.values)
        if isinstance(mask.values, RaggedTensor):
            return data.with_values(inner)
        counts = by_segments(
            math_ops.cast(mask.values, mask.row_splits.dtype),
            *(mask.value_rowids(), mask.nrows(), unsorted_segment_sum),
        )
        return RaggedTensor(inner, splits_of_lengths(counts), internal=True)
