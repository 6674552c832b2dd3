"""The spec of tensors in the elements of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core import dtypes
from tfnb.core.tensor_proto import shape_from_proto
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.structures.structure_protos import TENSOR
from tfnb.framework.tensor import Tensor
from tfnb.framework.type_spec import TypeSpec
from tfnb.ops.array.constant_ops import placeholder
from tfnb.proto import struct_pb2

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType

EXPORTS = {"tf": ["TensorSpec"]}


def common_shape(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the most specific static shape that is compatible with both."""
    if one.rank is None or one.rank != other.rank:
        return TensorShape(None)
    pairs = zip(one.as_list(), other.as_list())
    return TensorShape([size if size == another else None for size, another in pairs])


@dataclass(frozen=True)
class TensorSpec(TypeSpec):
    """The dtype and static shape of a tensor.

    Args:
      shape: the static shape, as far as it is known.
      dtype: the dtype.
      name: of the tensor.
    """

    proto_class: ClassVar[str] = TENSOR

    shape: Any
    dtype: Any = dtypes.float32
    name: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_shape(self.shape))
        object.__setattr__(self, "dtype", dtypes.as_dtype(self.dtype))

    @classmethod
    def from_tensor(cls, tensor: Tensor, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor."""
        return cls(tensor.shape, tensor.dtype.base_dtype, name or tensor.op.name)

    @classmethod
    def from_spec(cls, spec: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor with the shape and dtype of another spec."""
        return cls(spec.shape, spec.dtype, name or getattr(spec, "name", None))

    def most_specific_compatible_type(self, other: Any) -> TensorSpec:
        """Return the most specific spec that covers both, without a name.

        Raises:
          ValueError: there is none.
        """
        if not isinstance(other, TensorSpec) or self.dtype != other.dtype:
            raise ValueError(f"No TypeSpec is compatible with both {self} and {other}")
        return TensorSpec(self.shape.most_specific_common_supertype([other.shape]), self.dtype)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return whether a tensor or spec is of this dtype and may be of this shape."""
        if isinstance(spec_or_tensor, TypeSpec) and not isinstance(spec_or_tensor, TensorSpec):
            return False
        return bool(
            self.dtype.is_compatible_with(spec_or_tensor.dtype)
            and self.shape.is_compatible_with(spec_or_tensor.shape)
        )

    def placeholder_value(self, placeholder_context: Any) -> Tensor:
        """Return a placeholder of this dtype and shape."""
        return placeholder(self.dtype, self.shape, self.name)

    def cast(self, value: Any, casting_context: Any) -> Any:
        """Return a value as a tensor of this type.

        Raises:
          TypeError: it has another dtype or shape.
        """
        if isinstance(value, TypeSpec) and getattr(casting_context, "allow_specs", False):
            assert value.is_subtype_of(self), f"Can not cast {value!r} to {self!r}"
            return self
        tensor = convert_to_tensor(value, None if isinstance(value, Tensor) else self.dtype)
        found = TensorSpec(tensor.shape, tensor.dtype, self.name)
        if not found.is_subtype_of(self):
            raise TypeError(f"Can not cast {found!r} to {self!r}")
        return tensor

    def experimental_as_proto(self) -> Any:
        """Return the spec as a TensorSpecProto."""
        return struct_pb2.TensorSpecProto(
            name=self.name or "",
            shape=self.shape.as_proto(),
            dtype=self.dtype.as_datatype_enum,
        )

    @classmethod
    def experimental_from_proto(cls, proto: Any) -> TensorSpec:
        """Return the spec in a TensorSpecProto."""
        return cls(shape_from_proto(proto.shape), proto.dtype, proto.name or None)

    @classmethod
    def experimental_type_proto(cls) -> Any:
        """Return the class of the message."""
        return struct_pb2.TensorSpecProto

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return Tensor

    @property
    def flat_type(self) -> DType:
        """Its dtype among the types of a dataset op."""
        found: DType = self.dtype
        return found

    @property
    def flat_shape(self) -> TensorShape:
        """Its shape among the shapes of a dataset op."""
        found: TensorShape = self.shape
        return found

    def to_component(self, value: Any) -> Tensor:
        """Return the tensor that stands for a value in an element."""
        tensor: Tensor = convert_to_tensor(value, self.dtype)
        return tensor

    def to_rows(self, value: Any) -> Tensor:
        """Return the tensor whose slices stand for those of a value."""
        return self.to_component(value)

    def from_component(self, tensor: Tensor) -> Any:
        """Return the value that a tensor of an element stands for."""
        tensor.set_shape(self.shape)
        return tensor

    def batched(self, size: int | None) -> TensorSpec:
        """Return the spec of a batch."""
        return TensorSpec(TensorShape([size]).concatenate(self.shape), self.dtype)

    def unbatched(self) -> TensorSpec:
        """Return the spec of one row of a batch.

        Raises:
          ValueError: the spec is that of a scalar.
        """
        if self.shape.rank == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return TensorSpec(self.shape[1:], self.dtype)

    def most_general(self, other: Any) -> TensorSpec:
        """Return the most specific spec that covers both.

        Raises:
          TypeError: dtypes differ.
        """
        if not isinstance(other, TensorSpec) or other.dtype is not self.dtype:
            raise TypeError(f"{self} and {other} have no common spec.")
        return TensorSpec(common_shape(self.shape, other.shape), self.dtype)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"
