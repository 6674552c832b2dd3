"""Sparse tensors as elements of a queue: stored in a map, while their handles are in the queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.process.records import record
from tfnb.framework.scopes import colocate_with
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.control_flow.smart_cond import smart_cond
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.array.constant_ops import constant, ones
from tfnb.ops.array.gather_ops import gather
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import expand_dims, reshape, shape, squeeze
from tfnb.ops.array.where_ops import where
from tfnb.ops.sparse.sparse_map_ops import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


@record(slots=True, frozen=True)
class SparseElement:
    """The storage of a component: the first op that adds to its map, and the rank of a batch."""

    map_op: Any
    dtype: DTypeLike
    rank: int | None


def store_sparse_tensors(
    lists: Sequence[Sequence[TensorLike]], enqueue_many: bool, keep_input: TensorLike
) -> tuple[list[list[Nested]], list[SparseElement | None]]:
    """Return the lists with a vector of a handle (or rows of them) in place of each sparse tensor.

    Also return, for each position, the information for :func:`restore_sparse_tensors`; None for
    dense tensors.
    """
    elements: list[SparseElement | None] = [None] * len(lists[0])
    stored = []
    for tensors in lists:
        row = []
        for position, tensor in enumerate(tensors):
            if not isinstance(tensor, SparseTensor):
                row.append(tensor)
                continue
            known = elements[position]
            handle, add_op = _store(tensor, enqueue_many, keep_input, known)
            if known is None:
                rank = tensor.dense_shape.shape.with_rank(1).as_list()[0]
                if rank is not None and not enqueue_many:
                    rank += 1
                elements[position] = SparseElement(add_op, tensor.dtype, rank)
            row.append(handle)
        stored.append(row)
    return stored, elements


def _store(
    tensor: SparseTensor, enqueue_many: bool, keep_input: TensorLike, known: SparseElement | None
) -> tuple[Nested, Nested]:
    """Return the handle, and the op that makes it."""
    add = add_many_sparse_to_tensors_map if enqueue_many else add_sparse_to_tensors_map
    shared_name = "" if known is None else known.map_op.name
    made: list[TensorLike] = []

    def put() -> TensorResult:
        found = add(tensor.indices, tensor.values, tensor.dense_shape, shared_name=shared_name)
        made.append(found.op)
        return found

    def put_nothing() -> TensorResult:
        if enqueue_many:
            return -1 * ones(shape(tensor)[0:1], dtype=dtypes.int64)
        return constant(-1, dtype=dtypes.int64)

    if keep_input.shape.ndims == 1:
        tensor = _selected(tensor, keep_input)
        handle = put()
    else:
        handle = smart_cond(keep_input, put, put_nothing)
    # The queue's components keep a shape of their own: a batch of handles has two dimensions.
    return expand_dims(handle, [-1]), made[0]


def _selected(tensor: SparseTensor, keep_input: TensorLike) -> SparseTensor:
    """Return the entries of those rows for which ``keep_input`` is true."""
    rows = tensor.indices[:, 0]
    kept = reshape(where(gather(keep_input, rows)), [-1])
    return SparseTensor(
        gather(tensor.indices, kept), gather(tensor.values, kept), identity(tensor.dense_shape)
    )


def restore_sparse_tensors(
    stored: TensorLike, elements: Sequence[SparseElement | None]
) -> list[TensorResult]:
    """Return a queue's elements, a tensor or a list, with sparse tensors in place of handles."""
    is_list = isinstance(stored, list)
    tensors = [
        tensor if element is None else _take(tensor, element)
        for tensor, element in zip(stored if is_list else [stored], elements)
    ]
    if all(element is None for element in elements):
        return tensors
    # All handles are taken from their maps, also if only some components are fetched.
    taken = [one.op for one in tensors]
    together = [_after(taken, tensor) for tensor in tensors]
    return together if is_list else tensors


def _after(ops: Sequence[Any], tensor: TensorLike) -> Any:
    if not isinstance(tensor, SparseTensor):
        return with_dependencies(ops, tensor)
    parts = (tensor.indices, tensor.values, tensor.dense_shape)
    return SparseTensor(*[with_dependencies(ops, part) for part in parts])


def _take(handles: TensorLike, element: SparseElement) -> SparseTensor:
    handles = squeeze(handles, [1])
    with colocate_with(element.map_op):
        found = take_many_sparse_from_tensors_map(
            handles,
            dtype=element.dtype,
            shared_name=element.map_op.get_attr("shared_name").decode() or element.map_op.name,
        )
    indices, values, dense_shape = found
    indices.set_shape([None, element.rank])
    dense_shape.set_shape([element.rank])
    return SparseTensor(indices, values, dense_shape)
