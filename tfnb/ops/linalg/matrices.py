"""Foundations of linear algebra ops: shapes, checks, transposes of matrices in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.shape_inference import UNKNOWN_SHAPE, merge_dims
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.shape_inference import InferenceContext

Dims = tuple[int | None, ...]


def square_dims(c: InferenceContext, index: int = 0) -> tuple[Dims, int | None] | None:
    """Return the leading dimensions and the size of square matrices.

    None if the rank is unknown.
    """
    dims = c.with_rank_at_least(index, 2).dim_values
    if dims is None:
        return None
    return dims[:-2], merge_dims(dims[-2], dims[-1])


def square_shape(c: InferenceContext) -> TensorShape:
    """Return the shape of square matrices, which is also that of the result."""
    found = square_dims(c)
    return UNKNOWN_SHAPE if found is None else TensorShape([*found[0], found[1], found[1]])


def require_matrices(a: Array, index: int = 0) -> None:
    """Raise InvalidArgumentError for an array of fewer than two dimensions."""
    if a.ndim < 2:
        raise errors.invalid_argument(f"Input tensor {index} must have rank >= 2, got {a.ndim}")


def require_square(a: Array) -> None:
    """Raise InvalidArgumentError for matrices that are not square."""
    require_matrices(a)
    if a.shape[-1] != a.shape[-2]:
        raise errors.invalid_argument("Input matrix must be square.")


def adjoint(xp: Xp, a: Array) -> Array:
    """Return the conjugate transposes."""
    flipped = a.swapaxes(-1, -2)
    return xp.conj(flipped) if a.dtype.kind == "c" else flipped


def identity(xp: Xp, like: Array, size: int) -> Array:
    """Return unit matrices for the leading dimensions and the dtype of an array."""
    return xp.broadcast_to(xp.eye(size, dtype=like.dtype), (*like.shape[:-2], size, size))


def in_float32(function: Callable[..., Array], *arrays: Array) -> Array:
    """Return the function's result, computed in float32 if the arrays have 16-bit elements."""
    dtype = arrays[0].dtype
    if dtype.itemsize > 2:
        return function(*arrays)
    result = function(*(array.astype(np.float32) for array in arrays))
    if isinstance(result, tuple):
        return tuple(array.astype(dtype) for array in result)
    return result.astype(dtype)
