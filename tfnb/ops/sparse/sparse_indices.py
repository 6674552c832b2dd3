"""Checks and sorting of the indices of sparse tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.shape_inference import merge_dims, shape_of_rank
from tfnb.ops.base.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array
    from tfnb.core.shape_inference import InferenceContext
    from tfnb.core.tensor_shape import TensorShape


def check_form(indices: Array, values: Array, shape: Array) -> None:
    """Refuse components that do not fit together."""
    if indices.ndim != 2:
        raise errors.invalid_argument(f"Sparse indices must be rank 2 but is rank {indices.ndim}")
    if values.ndim != 1:
        raise errors.invalid_argument(f"Sparse values must be rank 1 but is rank {values.ndim}")
    if shape.ndim != 1:
        raise errors.invalid_argument(f"Sparse shape must be rank 1 but is rank {shape.ndim}")
    if indices.shape[0] != values.shape[0]:
        raise errors.invalid_argument(
            f"Number of elements in indices ({indices.shape[0]}) and values ({values.shape[0]}) do "
            "not match"
        )
    if indices.shape[1] != shape.shape[0]:
        raise errors.invalid_argument(
            f"Index rank ({indices.shape[1]}) and shape rank ({shape.shape[0]}) do not match"
        )


def sizes_of(shape: Array) -> list[int]:
    """Return the sizes in a vector, if a tensor can have them.

    Raises:
      InvalidArgumentError: one is negative, or there are more than 2**63 - 1 elements.
    """
    sizes: list[int] = shape.tolist()
    count = 1
    for size in sizes:
        if size < 0:
            raise errors.invalid_argument(f"Expected a non-negative size, got {size}")
        if count * size >> 63:
            raise errors.invalid_argument(
                f"Encountered overflow when multiplying {count} with {size}, result: -1"
            )
        count *= size
    return sizes


def sparse_rank(c: InferenceContext, first: int) -> int | None:
    """Return the static rank of the sparse tensor whose parts begin at input ``first``.

    Raises:
      ValueError: the parts do not fit together.
    """
    indices = c.with_rank(first, 2).dim_values or (None, None)
    merge_dims(indices[0], (c.with_rank(first + 1, 1).dim_values or (None,))[0])
    return merge_dims(indices[1], (c.with_rank(first + 2, 1).dim_values or (None,))[0])


def dense_at(indices: Array, shape: Array, dense: Array) -> Array:
    """Return the dense tensor, broadcast to the sparse one's shape, at the sparse one's elements.

    Raises:
      InvalidArgumentError: the dense tensor does not broadcast, or an element is outside.
    """
    sizes = sizes_of(shape)
    added = len(sizes) - dense.ndim
    pairs = list(zip(dense.shape, sizes[max(added, 0) :]))
    if added < 0 or any(a != b and (a, b) != (0, 1) and not a == 1 < b for a, b in pairs):
        raise errors.invalid_argument(
            "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: "
            f"{sizes} vs. {list(dense.shape)}"
        )
    if not 1 <= len(sizes) <= 5:
        raise errors.invalid_argument(
            "Only tensors with ranks between 1 and 5 are currently supported.  Tensor rank: "
            f"{len(sizes)}"
        )
    limits = sizes[:added] + [a and b for a, b in pairs]
    if ((indices < 0) | (indices >= np.array(limits))).any():
        raise errors.invalid_argument(
            "Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape"
        )
    places = tuple(
        indices[:, added + axis] if size != 1 else np.zeros(len(indices), np.int64)
        for axis, size in enumerate(dense.shape)
    )
    return dense[places] if places else np.broadcast_to(dense, (len(indices),))


def check_bounds(indices: Array, shape: Array) -> None:
    """Refuse indices outside the shape."""
    if ((indices < 0) | (indices >= shape)).any():
        row = int(np.flatnonzero(((indices < 0) | (indices >= shape)).any(axis=1))[0])
        raise errors.invalid_argument(
            f"indices[{row}] = {shape_text(indices[row].tolist())} is out of bounds: need 0 <= "
            f"index < {shape_text(shape.tolist())}"
        )


def check_valid(indices: Array, sizes: Array, prefix: str = "") -> None:
    """Refuse indices that are out of bounds, out of order or repeated, naming the first."""
    sizes = np.asarray(sizes, np.int64)
    bad = ((indices < 0) | (indices >= sizes)).any(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise errors.invalid_argument(
            f"{prefix}indices[{row}] = {shape_text(indices[row].tolist())} is out of bounds: need "
            f"0 <= index < {shape_text(sizes.tolist())}"
        )
    if len(indices) < 2:
        return
    order = comparisons(indices)
    if (order > 0).all():
        return
    row = int(np.flatnonzero(order <= 0)[0]) + 1
    place = f"{prefix}indices[{row}] = {shape_text(indices[row].tolist())}"
    if order[row - 1] == 0:
        raise errors.invalid_argument(f"{place} is repeated")
    raise errors.invalid_argument(
        f"{place} is out of order. Many sparse ops require sorted indices.\n"
        "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
    )


def comparisons(indices: Array) -> Array:
    """Return the signs of comparing each row with the previous one: 1 if it is greater."""
    after, before = indices[1:], indices[:-1]
    steps = (after > before).astype(np.int64) - (after < before)
    out = np.zeros(len(steps), np.int64)
    for axis in range(steps.shape[1]):
        out = np.where(out == 0, steps[:, axis], out)
    return out


def order_of(indices: Array) -> Array:
    """Return the positions of the rows in lexicographic order; the order of equal rows is kept."""
    if indices.shape[1] == 0:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def flat_places(indices: Array, sizes: Array) -> Array:
    """Return coordinates as positions in the flattened tensor."""
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return indices.astype(np.int64) @ np.asarray(steps, np.int64)


def group_starts(keys: Array) -> Array:
    """Return the start of each run of equal rows."""
    if len(keys) == 0:
        return np.zeros(0, np.int64)
    changed = (keys[1:] != keys[:-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def static_size(c: InferenceContext, index: int) -> TensorShape:
    """Return the static shape whose sizes an int64 input holds."""
    return c.constant_value_as_shape(index)


def unknown_of_rank(rank: int | None) -> TensorShape:
    """Return a shape of which at most the rank is known."""
    return shape_of_rank(rank)
