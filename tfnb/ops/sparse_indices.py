"""Checks and order of the indices of sparse tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import errors
from tfnb.core.shape_inference import UNKNOWN_SHAPE
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.broadcasting import shape_text

if TYPE_CHECKING:
    from tfnb.core.shape_inference import InferenceContext


def check_form(indices: Any, values: Any, shape: Any) -> None:
    """Refuses components that do not belong together."""
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


def check_valid(indices: Any, sizes: Any) -> None:
    """Refuses indices that are out of bounds, out of order or repeated, naming the first."""
    sizes = np.asarray(sizes, np.int64)
    bad = ((indices < 0) | (indices >= sizes)).any(axis=1)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise errors.invalid_argument(
            f"indices[{row}] = {shape_text(indices[row].tolist())} is out of bounds: need 0 <= "
            f"index < {shape_text(sizes.tolist())}"
        )
    if len(indices) < 2:
        return
    order = _comparisons(indices)
    if (order > 0).all():
        return
    row = int(np.flatnonzero(order <= 0)[0]) + 1
    place = f"indices[{row}] = {shape_text(indices[row].tolist())}"
    if order[row - 1] == 0:
        raise errors.invalid_argument(f"{place} is repeated")
    raise errors.invalid_argument(
        f"{place} is out of order. Many sparse ops require sorted indices.\n"
        "    Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n"
    )


def _comparisons(indices: Any) -> Any:
    """For each row but the first: 1 if it is greater than the one before, 0 if equal, else -1."""
    steps = np.sign(indices[1:].astype(np.int64) - indices[:-1].astype(np.int64))
    out = np.zeros(len(steps), np.int64)
    for axis in range(steps.shape[1]):
        out = np.where(out == 0, steps[:, axis], out)
    return out


def order_of(indices: Any) -> Any:
    """The positions of the rows in lexicographic order; equal rows keep theirs."""
    if indices.shape[1] == 0:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def flat_places(indices: Any, sizes: Any) -> Any:
    """Coordinates as positions in the flattened tensor."""
    steps = [math.prod(sizes[axis + 1 :]) for axis in range(len(sizes))]
    return indices.astype(np.int64) @ np.asarray(steps, np.int64)


def group_starts(keys: Any) -> Any:
    """Where runs of equal rows begin."""
    if len(keys) == 0:
        return np.zeros(0, np.int64)
    changed = (keys[1:] != keys[:-1]).any(axis=1)
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def static_size(c: InferenceContext, index: int) -> TensorShape:
    """The static shape whose sizes an input of dtype int64 holds."""
    return c.constant_value_as_shape(index)


def unknown_of_rank(rank: int | None) -> TensorShape:
    """A shape of which at most the rank is known."""
    return UNKNOWN_SHAPE if rank is None else TensorShape([None] * rank)
