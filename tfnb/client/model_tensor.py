"""An input or an output of a model, and what code that runs over rows needs of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tfnb.core import dtypes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.tensor_shape import TensorShape


@dataclass(frozen=True, slots=True)
class ModelTensor:
    """An input or an output of a model.

    Attributes:
        key: The name by which it is fed or returned.
        name: The name of the tensor in the graph.
        dtype: Its type.
        shape: Its shape.
    """

    key: str
    name: str
    dtype: DType
    shape: TensorShape

    def __str__(self) -> str:
        return f"{self.dtype.name} {self.shape}"

    def example(self) -> Any:
        """Return an array that can be fed: zeros or empty strings, of size 1 where any is taken."""
        if self.dtype == dtypes.string:
            return np.full(self._example_shape(), b"", object)
        return np.zeros(self._example_shape(), self.dtype.as_numpy_dtype)

    def example_source(self) -> str:
        """Return Python source of :meth:`example`."""
        shape = self._example_shape()
        if self.dtype == dtypes.string:
            return f"np.full({shape!r}, b'', object)"
        return f"np.zeros({shape!r}, {self.dtype.name!r})"

    def _example_shape(self) -> tuple[int, ...]:
        return tuple(1 if dim.value is None else dim.value for dim in self.shape.dims or ())


class ArrayFunction(Protocol):
    """A function of arrays with named inputs and outputs."""

    inputs: dict[str, ModelTensor]
    outputs: dict[str, ModelTensor]

    def run(self, values: Sequence[Any]) -> list[Any]:
        """Return the outputs for values in the order of the inputs."""

    def bound(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Return the values of the inputs in their order."""
