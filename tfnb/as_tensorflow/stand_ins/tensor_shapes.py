"""``tensorflow.python.framework.tensor_shape``: functions that make shapes."""

from __future__ import annotations

from typing import Any

from tfnb.core.tensor_shape import TensorShape
from tfnb.core.tensor_shape import as_dimension as as_dimension
from tfnb.core.tensor_shape import as_shape as as_shape
from tfnb.core.tensor_shape import dimension_at_index as dimension_at_index
from tfnb.core.tensor_shape import dimension_value as dimension_value
from tfnb.core.tensor_shape import unknown_shape as unknown_shape


def scalar() -> TensorShape:
    """Return the shape of a scalar."""
    return TensorShape([])


def vector(length: Any) -> TensorShape:
    """Return the shape of a vector; the length is None if it is unknown."""
    return TensorShape([length])


def matrix(rows: Any, cols: Any) -> TensorShape:
    """Return the shape of a matrix; a size is None if it is unknown."""
    return TensorShape([rows, cols])
