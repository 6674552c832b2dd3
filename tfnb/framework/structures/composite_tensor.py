"""Values that consist of several tensors, as SparseTensor and IndexedSlices, apart and together.

``nest`` with ``expand_composites``, and the loops and branches that carry these values, use the
functions of this module. The order of the parts is TensorFlow's.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from tfnb.core.tensor_shape import TensorShape, unknown_shape
from tfnb.framework.dispatch import CompositeTensor
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.type_spec import TypeSpec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor import Tensor


def is_composite(value: Any) -> bool:
    """Return whether a value consists of several tensors, or is the spec of one that does."""
    return isinstance(value, (SparseTensor, IndexedSlices, CompositeTensor)) or (
        isinstance(value, TypeSpec) and value.has_parts
    )


def components(value: Any) -> list[Tensor]:
    """Return the tensors that a composite value consists of; of a spec, their specs."""
    if isinstance(value, TypeSpec):
        return value.flatten()
    if isinstance(value, SparseTensor):
        return [value.indices, value.values, value.dense_shape]
    if isinstance(value, CompositeTensor):
        return value.parts()
    assert isinstance(value, IndexedSlices)
    parts = [value.values, value.indices]
    return parts if value.dense_shape is None else [*parts, value.dense_shape]


def with_components(like: Any, parts: Sequence[Any]) -> Any:
    """Return a composite value of the kind and shape of ``like`` made of other tensors.

    Args:
      like: a SparseTensor or IndexedSlices, or the spec of one.
      parts: its tensors, in the order of :func:`components`.
    """
    if isinstance(like, TypeSpec):
        return like.from_tensors(iter(parts))
    if isinstance(like, IndexedSlices):
        return IndexedSlices(*parts)
    if isinstance(like, CompositeTensor):
        return like.with_parts(parts)
    sparse = SparseTensor(*parts)
    sparse.set_shape(like.shape)
    return sparse


def are_compatible(first: Any, second: Any) -> bool:
    """Return whether two composite values are of one kind and have parts of the same types."""
    return type(first) is type(second) and _part_types(first) == _part_types(second)


def spec_text(value: Any) -> str:
    """Return a composite value's kind, shape and types, for messages."""
    if isinstance(value, SparseTensor):
        return f"SparseTensorSpec({value.shape!r}, tf.{value.dtype.name})"
    if isinstance(value, CompositeTensor):
        return f"{type(value).__name__}Spec({', '.join(str(t.shape) for t in value.parts())})"
    dense = "None" if value.dense_shape is None else f"tf.{value.dense_shape.dtype.name}"
    return (
        f"IndexedSlicesSpec({_whole_shape(value)!r}, tf.{value.dtype.name}, "
        f"tf.{value.indices.dtype.name}, {dense}, {value.indices.get_shape()!r})"
    )


def component_shapes(value: Any, invariant: TensorShape | None = None) -> list[TensorShape]:
    """Return the invariant shapes of a composite loop variable's parts.

    Args:
      value: a SparseTensor or IndexedSlices.
      invariant: for a SparseTensor the shape of its ``dense_shape``, for IndexedSlices that of its
        ``values``; by default the shape that ``value`` has.

    Raises:
      ValueError: the invariant has a rank that this shape cannot have.
    """
    if isinstance(value, CompositeTensor):
        return value.part_shapes()
    if isinstance(value, SparseTensor):
        return _sparse_shapes(value.shape.rank if invariant is None else _rank_of(invariant))
    if invariant is None:
        whole, indices = _whole_shape(value), value.indices.get_shape()
    else:
        whole = TensorShape([None]).concatenate(invariant[1:])
        indices = TensorShape(invariant[:1])
    indices = indices.with_rank(1)
    rest = TensorShape(whole[1:]) if whole.rank is not None else TensorShape(None)
    shapes = [indices.concatenate(rest), indices]
    return shapes if value.dense_shape is None else [*shapes, TensorShape([whole.rank])]


def _whole_shape(value: IndexedSlices) -> TensorShape:
    rest = TensorShape(value.values.get_shape()[1:])
    return value.shape.merge_with(TensorShape([None]).concatenate(rest))


def _rank_of(invariant: TensorShape) -> int | None:
    dims = invariant.dim_values
    if dims is None:
        return None
    if len(dims) != 1:
        raise ValueError(
            f"Expected a shape with 1 dimension. Obtained: {invariant} which has {len(dims)} "
            "dimensions."
        )
    return dims[0]


def _sparse_shapes(rank: int | None) -> list[TensorShape]:
    return [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]


def under_invariant(value: Any, invariant: TensorShape) -> Any:
    """Return the same parts, with a static shape that is not more specific than an invariant."""
    if not isinstance(value, SparseTensor):
        return value
    relaxed = copy.copy(value)
    relaxed._shape = unknown_shape(_rank_of(invariant))
    return relaxed


def _part_types(value: Any) -> list[Any]:
    return [part.dtype.base_dtype for part in components(value)]
