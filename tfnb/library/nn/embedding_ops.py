"""Rows of embedding matrices by id: one matrix or several parts, single ids or lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import colocate_with, device, name_scope
from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue
from tfnb.library.variables.partitioned_variable import PartitionedVariable
from tfnb.library.variables.resource_variable import ResourceVariable
from tfnb.ops.array import gather_ops, shape_ops, where_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.concat_ops import concat, stack
from tfnb.ops.array.constant_ops import constant, ones, zeros_like
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.math.sequence_ops import range_

if TYPE_CHECKING:
    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "nn": ["embedding_lookup", "embedding_lookup_sparse", "safe_embedding_lookup_sparse"],
}


def _clip(params: TensorLike, ids: TensorLike, max_norm: TensorLike) -> TensorResult:
    """Return the rows, scaled to a length of ``max_norm`` if they are longer."""
    if max_norm is None:
        return params
    from tfnb.library.math.clip_ops import clip_by_norm

    ids_rank, params_rank = ids.shape.ndims, params.shape.ndims
    axes: TensorLike
    if ids_rank is not None and params_rank is not None:
        axes = list(range(ids_rank, params_rank))
    else:
        axes = range_(shape_ops.rank(ids), shape_ops.rank(params))
    return clip_by_norm(params, max_norm, axes=axes)


def _as_list(params: TensorLike) -> list[TensorResult]:
    if isinstance(params, PartitionedVariable):
        return list(params)
    return list(params) if isinstance(params, (list, tuple)) else [params]


@dispatchable
def embedding_lookup(
    params: TensorLike,
    ids: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: TensorLike | None = None,
) -> Tensor:
    """Return rows by id.

    Args:
      params: a matrix, or a list of matrices over which the rows are spread.
      ids: the ids.
      partition_strategy: "mod": row i is in part ``i % n``; "div": parts hold consecutive rows.
      name: the name of the ops.
      validate_indices: ignored.
      max_norm: the greatest length of a row; longer ones are scaled.

    Raises:
      ValueError: there are no matrices, or the strategy is unknown.
    """
    if params is None:
        raise ValueError("params must be specified")
    parts = _as_list(params)
    if not parts:
        raise ValueError("Length of params is currently 0. Need at least one parameter.")
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        if not any(isinstance(part, ResourceVariable) for part in parts):
            parts = [convert_to_tensor(part, name=f"params_{i}") for i, part in enumerate(parts)]
        ids = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with colocate_with(parts[0]):
                found = _clip(gather_ops.gather(parts[0], ids, name=scope), ids, max_norm)
            # Outside of the colocation scope, so that consumers of the rows need not be on the
            # matrix's device.
            result: Tensor = identity(found)
            return result
        return _lookup_in_parts(parts, ids, partition_strategy, max_norm, scope)


def _lookup_in_parts(
    parts: list[TensorLike], ids: Tensor, strategy: str, max_norm: TensorLike, scope: str
) -> Tensor:
    from tfnb.ops.array import data_flow_ops

    count = len(parts)
    flat = shape_ops.reshape(ids, [-1])
    positions = range_(shape_ops.size(flat))
    where_, rows = _assign(parts, flat, count, strategy)
    where_ = cast(where_, dtypes.int32)
    ids_of = data_flow_ops.dynamic_partition(rows, where_, count)
    positions_of = data_flow_ops.dynamic_partition(positions, where_, count)
    pieces = []
    for part, wanted in zip(parts, ids_of):
        with device(None), colocate_with(part):
            pieces.append(gather_ops.gather(part, wanted))
    stitched = data_flow_ops.parallel_dynamic_stitch(positions_of, pieces, name=scope)
    static = TensorShape(parts[0].shape[1:])
    for part in parts[1:]:
        static = static.merge_with(part.shape[1:])
    element: Nested
    if static.is_fully_defined():
        element = static.as_list()
    else:
        with colocate_with(parts[0]):
            element = shape_ops.shape(parts[0])[1:]
    whole = shape_ops.reshape(stitched, concat([shape_ops.shape(ids), element], 0))
    whole.set_shape(ids.shape.concatenate(static))
    clipped: Tensor = _clip(whole, ids, max_norm)
    return clipped


def _assign(
    parts: list[TensorLike], flat: Tensor, count: int, strategy: str
) -> tuple[Nested, Nested]:
    """Return (the part that each id is in, its row there)."""
    if strategy == "mod":
        return flat % count, flat // count
    if strategy != "div":
        raise ValueError(
            f"Unrecognized partition strategy: {strategy}.Must be one of either `mod` or `div`."
        )
    from tfnb.ops.math.cwise_binary_ops import maximum
    from tfnb.ops.math.reduction_ops import reduce_sum

    sizes = [None if part.shape.ndims is None else part.shape.as_list()[0] for part in parts]
    total: TensorLike
    if None not in sizes:
        total = constant(sum(size or 0 for size in sizes), flat.dtype)
    else:
        dynamic: list[TensorLike] = []
        for part, size in zip(parts, sizes):
            if size is not None:
                dynamic.append(size)
            else:
                with colocate_with(part):
                    dynamic.append(cast(shape_ops.shape(part)[0], flat.dtype))
        total = reduce_sum(stack(dynamic))
    least, extra = total // count, total % count
    where_ = maximum(flat // (least + 1), (flat - extra) // least)
    rows = where_ops.where(where_ < extra, flat % (least + 1), (flat - extra) % least)
    return where_, rows


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: TensorLike,
    sp_weights: TensorLike,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: TensorLike | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Return, for every row of a sparse matrix of ids, the combination of the rows with these ids.

    Args:
      params: as in :func:`embedding_lookup`.
      sp_ids: the ids, in row-major order.
      sp_weights: a weight for every id, or None for equal ones.
      partition_strategy: as in :func:`embedding_lookup`.
      name: the name of the ops.
      combiner: "mean" (the default), "sum" or "sqrtn".
      max_norm: as in :func:`embedding_lookup`.
      allow_fast_lookup: whether rows of a single matrix may be read without making ids unique
        before; its gradient may then be dense.

    Raises:
      TypeError: ids or weights are not sparse.
      ValueError: the combiner is unknown, or the two have different shapes.
    """
    combiner = combiner or "mean"
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner}")
    kinds = (SparseTensor, SparseTensorValue)
    if not isinstance(sp_ids, kinds):
        raise TypeError(f"sp_ids must be SparseTensor, got {type(sp_ids)}")
    if sp_weights is not None:
        if not isinstance(sp_weights, kinds):
            raise TypeError(
                f"sp_weights must be either None or SparseTensor,got {type(sp_weights)}"
            )
        sp_ids.values.shape.assert_is_compatible_with(sp_weights.values.shape)
        sp_ids.indices.shape.assert_is_compatible_with(sp_weights.indices.shape)
    from tfnb.ops.array.unique_ops import unique_v1
    from tfnb.ops.math import sparse_segment_ops

    parts = _as_list(params)
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids.values]) as scope:
        segments = sp_ids.indices[:, 0]
        parts = [
            part
            if isinstance(part, ResourceVariable)
            else convert_to_tensor(part, name="params" if len(parts) == 1 else f"params_{i}")
            for i, part in enumerate(parts)
        ]
        ids, places = sp_ids.values, None
        is_one_tensor = len(parts) == 1 and not isinstance(parts[0], ResourceVariable)
        may_be_direct = sp_weights is None or allow_fast_lookup
        if not (is_one_tensor and max_norm is None and may_be_direct):
            ids, places = unique_v1(ids)
            rows = embedding_lookup(
                parts, ids, partition_strategy=partition_strategy, max_norm=max_norm
            )
        else:
            # Making ids unique would cost more than it saves.
            rows, places = parts[0], ids
        if sp_weights is None:
            combine = {
                "sum": sparse_segment_ops.sparse_segment_sum,
                "mean": sparse_segment_ops.sparse_segment_mean,
                "sqrtn": sparse_segment_ops.sparse_segment_sqrt_n,
            }[combiner]
            # Rows that were not gathered before get a gradient of IndexedSlices.
            sparse_gradient = places is sp_ids.values and not allow_fast_lookup
            found: Tensor = combine(
                rows, places, segments, name=scope, sparse_gradient=sparse_gradient
            )
            return found
        return _weighted(rows, places, segments, sp_weights.values, combiner, scope)


def _weighted(
    rows: TensorLike,
    places: TensorLike,
    segments: Any,
    weights: TensorLike,
    combiner: str,
    scope: str,
) -> Tensor:
    from tfnb.ops.math import cwise_binary_ops, cwise_unary_ops, segment_ops
    from tfnb.ops.math.math_ops import pow

    segments = cast(segments, dtypes.int32)
    original = rows.dtype
    rows = gather_ops.gather(rows, places)
    if original in (dtypes.float16, dtypes.bfloat16):
        rows = cast(rows, dtypes.float32)
    if weights.dtype is not rows.dtype:
        weights = cast(weights, rows.dtype)
    # One weight per row, for all of its elements.
    tail = shape_ops.expand_dims(shape_ops.rank(rows) - 1, 0)
    form = concat([shape_ops.shape(weights), ones(tail, dtypes.int32)], 0)
    static = weights.shape
    weights = shape_ops.reshape(weights, form)
    if rows.shape.ndims is not None:
        weights.set_shape(static.concatenate([1] * (rows.shape.ndims - 1)))
    products = rows * weights
    found: Tensor
    if combiner == "sum":
        found = segment_ops.segment_sum(products, segments, name=scope)
        return _as(found, original)
    total = segment_ops.segment_sum(products, segments)
    if combiner == "mean":
        divisor = segment_ops.segment_sum(weights, segments)
    else:
        divisor = cwise_unary_ops.sqrt_op(segment_ops.segment_sum(pow(weights, 2), segments))
    found = cwise_binary_ops.div_no_nan_op(total, divisor, name=scope)
    return _as(found, original)


def _as(found: Tensor, dtype: DTypeLike) -> Tensor:
    return found if found.dtype is dtype else cast(found, dtype)


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: TensorLike,
    sparse_weights: TensorLike | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: TensorLike | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """Return :func:`embedding_lookup_sparse` for possibly empty rows and invalid ids.

    Args:
      embedding_weights: a matrix or its parts.
      sparse_ids: the ids, of rank 2 or more; negative ones are ignored.
      sparse_weights: weights; entries that are not positive are ignored.
      combiner: "mean", "sum" or "sqrtn".
      default_id: the id for rows without ids; without it, these rows give zeros.
      name: the name of the ops.
      partition_strategy: as in :func:`embedding_lookup`.
      max_norm: as in :func:`embedding_lookup`.
      allow_fast_lookup: as in :func:`embedding_lookup_sparse`.
    """
    from tfnb.library.sparse.sparse_functions import sparse_reshape, sparse_retain
    from tfnb.ops.array.slice_ops import slice as slice_
    from tfnb.ops.math.reduction_ops import reduce_prod
    from tfnb.ops.sparse.sparse_ops import sparse_fill_empty_rows

    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    parts = _as_list(embedding_weights)
    if not parts:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    dtype = sparse_weights.dtype if sparse_weights is not None else None
    parts = [
        part
        if isinstance(part, ResourceVariable) and dtype in (None, part.dtype)
        else convert_to_tensor(part, dtype=dtype)
        for part in parts
    ]
    with name_scope(name, "embedding_lookup", [sparse_ids.values]) as scope:
        original_shape = sparse_ids.dense_shape
        dims = sparse_ids.dense_shape.shape.as_list()
        rank: TensorLike = dims[0] if dims[0] is not None else shape_ops.size(original_shape)
        rows = reduce_prod(slice_(original_shape, [0], [rank - 1]))
        flat_shape = [rows, gather_ops.gather(original_shape, rank - 1)]
        sparse_ids = sparse_reshape(sparse_ids, flat_shape)
        if sparse_weights is not None:
            sparse_weights = SparseTensor(
                sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape
            )
        valid = sparse_ids.values >= 0
        if sparse_weights is not None:
            from tfnb.ops.array.constant_ops import ones_like
            from tfnb.ops.math.comparison_ops import logical_and

            valid = logical_and(valid, ones_like(sparse_weights.values, dtype=dtypes.bool))
        sparse_ids = sparse_retain(sparse_ids, valid)
        if sparse_weights is not None:
            sparse_weights = sparse_retain(sparse_weights, valid)
            if combiner != "sum":
                positive = sparse_weights.values > 0
                sparse_ids = sparse_retain(sparse_ids, positive)
                sparse_weights = sparse_retain(sparse_weights, positive)
        sparse_ids, is_empty = sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = sparse_fill_empty_rows(sparse_weights, 1.0)
        result = embedding_lookup_sparse(
            parts,
            sparse_ids,
            sparse_weights,
            combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope,
            max_norm=max_norm,
            allow_fast_lookup=allow_fast_lookup,
        )
        if default_id is None:
            from tfnb.ops.array.concat_ops import tile

            mask = shape_ops.reshape(is_empty, [-1, 1])
            mask = tile(mask, stack([1, shape_ops.shape(result)[1]]))
            result = where_ops.where(mask, zeros_like(result), result, name=scope)
        whole = concat(
            [
                slice_(cast(original_shape, dtypes.int32), [0], [rank - 1]),
                slice_(shape_ops.shape(result), [1], [-1]),
            ],
            0,
        )
        final = shape_ops.reshape(result, whole)
        if isinstance(rank, int):
            final.set_shape(TensorShape([None] * (rank - 1)).concatenate(result.shape[1:]))
        return final
