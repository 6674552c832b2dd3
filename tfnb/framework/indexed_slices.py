"""Slices of a tensor at some indices of its first dimension: the gradient of ``gather``."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tfnb.core import dtypes
from tfnb.core.op_registry import get as op_definition
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import functions_above as above
from tfnb.framework.constant_value import constant_value, constant_value_as_shape
from tfnb.framework.convert import (
    convert_to_tensor,
    is_tensor,
    register_tensor_conversion_function,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.type_spec import TypeSpec

EXPORTS = {"tf": ["IndexedSlices", "convert_to_tensor_or_indexed_slices"]}

_LARGE_NUM_ELEMENTS = 100_000_000


class IndexedSlicesValue(NamedTuple):
    """The value of a fetched :class:`IndexedSlices`."""

    values: Any
    indices: Any
    dense_shape: Any


class IndexedSlices:
    """A tensor with ``dense[indices[i]] = values[i]`` and zeros elsewhere; equal indices add up."""

    is_tensor_like = True
    _is_indexed_slices = True

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        """Store the parts.

        Args:
          values: the slices.
          indices: a vector with the position of each slice.
          dense_shape: the shape of the dense tensor, if it is known.
        """
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def _type_spec(self) -> TypeSpec:
        """The spec of its values, TensorFlow's name."""
        found: TypeSpec = above.type_spec_from_value(self)
        return found

    @property
    def values(self) -> Tensor:
        """The slices."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The position of each slice in the first dimension."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the dense tensor as a tensor, if it is known."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor."""
        if self._dense_shape is None:
            return TensorShape(None)
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        """Return the static shape of the dense tensor."""
        return self.shape

    @property
    def name(self) -> str:
        """The name of ``values``."""
        return self._values.name

    @property
    def device(self) -> str:
        """The device of ``values``."""
        return self._values.device

    @property
    def op(self) -> Operation:
        """The operation that produces ``values``."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        """The dtype of ``values``."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of ``values``."""
        return self._values.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that take any of the parts."""
        parts = [
            part for part in (self._values, self._indices, self._dense_shape) if part is not None
        ]
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __str__(self) -> str:
        dense = f", dense_shape={self._dense_shape}" if self._dense_shape is not None else ""
        return f"IndexedSlices(indices={self._indices}, values={self._values}{dense})"


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None, *, as_ref: bool = False
) -> Any:
    """Convert like ``convert_to_tensor``, but leave tensors of any kind unchanged.

    Raises:
      ValueError: a tensor does not have the requested dtype.
    """
    if not is_tensor(value) or not hasattr(value, "op"):
        return convert_to_tensor(value, dtype, name, as_ref=as_ref)
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            "Incompatible tensor conversion requested to `dtype` "
            f"{dtypes.as_dtype(dtype).name} for `value` ({value}) with dtype {value.dtype.name}."
        )
    if isinstance(value, IndexedSlices) or not hasattr(value, "_as_graph_element"):
        return value
    return convert_to_tensor(value, dtype, name, as_ref=as_ref)


internal_convert_to_tensor_or_indexed_slices = convert_to_tensor_or_indexed_slices


def internal_convert_n_to_tensor_or_indexed_slices(
    values: Iterable[Any], dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> list[Any]:
    """Call :func:`convert_to_tensor_or_indexed_slices` for each value; None stays None."""
    if not isinstance(values, Iterable):
        raise TypeError("Argument `values` must be iterable.")
    return [
        None
        if value is None
        else convert_to_tensor_or_indexed_slices(
            value, dtype, None if name is None else f"{name}_{index}", as_ref=as_ref
        )
        for index, value in enumerate(values)
    ]


convert_n_to_tensor_or_indexed_slices = internal_convert_n_to_tensor_or_indexed_slices


def _to_tensor(
    value: IndexedSlices, dtype: DType | None = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """Return the dense tensor, which may be large."""
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise ValueError(
            f"Incompatible tensor conversion requested to `dtype` {dtype.name} for IndexedSlices "
            f"({value}) with dtype {value.dtype.name}"
        )
    if value.dense_shape is None:
        raise ValueError(
            "Tensor conversion requested for IndexedSlices for argument `value` without "
            f"dense_shape: {value}"
        )
    shape = constant_value(value.dense_shape)
    if shape is not None and np.prod(shape) >= _LARGE_NUM_ELEMENTS:
        warnings.warn(
            f"Converting sparse IndexedSlices to a dense Tensor with {np.prod(shape)} elements. "
            "This may consume a large amount of memory.",
            stacklevel=2,
        )
    num_rows = value.dense_shape[0]
    tensor: Tensor = op_definition("UnsortedSegmentSum")(
        value.values, value.indices, num_rows, name=name
    )
    return tensor


register_tensor_conversion_function(IndexedSlices, _to_tensor)
