"""Sparse tensors: the positions of elements, their values, and the shape of the dense tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import functions_above as above
from tfnb.framework.constant_value import constant_value_as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_session import SessionLike, session_for_eval
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor, import_at_first_use, override_operator

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.type_spec import TypeSpec

EXPORTS = {
    "tf": ["SparseTensor", "SparseTensorValue", "convert_to_tensor_or_sparse_tensor"],
    "sparse": ["SparseTensor"],
}


class SparseTensorValue(NamedTuple):
    """The value of a fetched :class:`SparseTensor`, which may also be fed for one."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor:
    """A tensor of shape ``dense_shape`` with ``dense[indices[i]] = values[i]``, zeros elsewhere."""

    is_tensor_like = True

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        """Convert and check the parts.

        Args:
          indices: int64, shape (number of elements, rank).
          values: the elements, a vector.
          dense_shape: int64, the shape of the dense tensor.

        Raises:
          ValueError: the shapes of the parts do not fit.
        """
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, dtypes.int64, "indices")
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(dense_shape, dtypes.int64, "dense_shape")
            self._shape = constant_value_as_shape(self._dense_shape)
        indices_shape = self._indices.get_shape().with_rank(2)
        values_shape = self._values.get_shape().with_rank(1)
        dense_shape_shape = self._dense_shape.get_shape().with_rank(1)
        indices_shape[0].assert_is_compatible_with(values_shape[0])
        indices_shape[1].assert_is_compatible_with(dense_shape_shape[0])

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return the sparse tensor for a sparse tensor or for the value of one.

        Raises:
          TypeError: it is neither.
        """
        if not is_sparse(sparse_tensor_value):
            raise TypeError(
                f"Argument sparse_tensor_value={sparse_tensor_value} is neither a SparseTensor nor "
                "SparseTensorValue."
            )
        value = sparse_tensor_value
        return SparseTensor(value.indices, value.values, value.dense_shape)

    @property
    def indices(self) -> Tensor:
        """The positions of the elements, one row of indices for each."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The elements."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the dense tensor as a tensor."""
        return self._dense_shape

    def with_values(self, new_values: Any) -> SparseTensor:
        """Return a sparse tensor with the same positions and other elements."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    @property
    def shape(self) -> TensorShape:
        """The static shape of the dense tensor."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the static shape of the dense tensor."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Merge a shape that the caller knows into the static shape.

        Raises:
          ValueError: it contradicts the static shape.
        """
        self._shape = self._shape.merge_with(TensorShape(shape))

    @property
    def op(self) -> Operation:
        """The operation that produces ``values``."""
        return self._values.op

    @property
    def name(self) -> str:
        """The name of ``values``."""
        return self._values.name

    @property
    def dtype(self) -> DType:
        """The dtype of ``values``."""
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        """The graph of the parts."""
        return self._indices.graph

    @property
    def _type_spec(self) -> TypeSpec:
        """The spec of its values, TensorFlow's name."""
        found: TypeSpec = above.type_spec_from_value(self)
        return found

    def consumers(self) -> list[Operation]:
        """Return the operations that take any of the parts."""
        parts = (self._indices, self._values, self._dense_shape)
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def eval(self, feed_dict: Any = None, session: SessionLike | None = None) -> SparseTensorValue:
        """Run the operations that it needs and return its value; see ``Tensor.eval``."""
        parts = [self._indices, self._values, self._dense_shape]
        found = session_for_eval(self.graph, session).run(parts, feed_dict)
        return SparseTensorValue(*found)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices}, values={self._values}, "
            f"dense_shape={self._dense_shape})"
        )

    __repr__ = __str__

    @staticmethod
    def _override_operator(operator: str, function: Callable[..., Any]) -> None:
        """Make ``function`` the implementation of an operator of all sparse tensors."""
        override_operator(SparseTensor, operator, function)


import_at_first_use(SparseTensor, ("__mul__", "__truediv__"))


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse tensor or the value of one."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | SparseTensor:
    """Convert like ``convert_to_tensor``, but make sparse tensors from sparse tensors or values.

    Raises:
      RuntimeError: a sparse tensor does not have the requested dtype.
    """
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype, name)
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise RuntimeError(
            f"Sparse dtype mismatch. Requested: {dtype.name},  Actual: {value.dtype.name}"
        )
    return value
