"""Specs of values that cannot be elements of datasets, and the spec of any value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.structures.structure_protos import decode_type_spec as decode_type_spec
from tfnb.framework.type_spec import TypeSpec
from tfnb.library.control_flow.tensor_array import TensorArray
from tfnb.library.data.optional import Optional
from tfnb.library.data.ragged_spec import RaggedTensorSpec
from tfnb.library.data.structure import SparseTensorSpec, spec_of
from tfnb.library.data.tensor_spec import TensorSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {
    "tf": [
        "IndexedSlicesSpec", "NoneTensorSpec", "OptionalSpec", "TensorArraySpec",
        "type_spec_from_value",
    ],
    "data.experimental": [
        "OptionalStructure:OptionalSpec", "RaggedTensorStructure:ragged_tensor_structure",
        "SparseTensorStructure:sparse_tensor_structure",
        "TensorArrayStructure:tensor_array_structure", "TensorStructure:tensor_structure",
    ],
}  # fmt: skip


@dataclass(frozen=True)
class IndexedSlicesSpec(TypeSpec):
    """The dtypes and static shapes of IndexedSlices.

    Attributes:
      shape: of the whole tensor.
      dtype: of the values.
      indices_dtype: of the indices.
      dense_shape_dtype: of the tensor with the shape of the whole; None if there is none.
      indices_shape: of the indices.
    """

    proto_class: ClassVar[str] = "INDEXED_SLICES_SPEC"

    shape: TensorLike = None
    dtype: Any = dtypes.float32
    indices_dtype: Any = dtypes.int64
    dense_shape_dtype: Any = None
    indices_shape: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_shape(self.shape))
        object.__setattr__(self, "dtype", dtypes.as_dtype(self.dtype))
        object.__setattr__(self, "indices_dtype", dtypes.as_dtype(self.indices_dtype))
        if self.dense_shape_dtype is not None:
            object.__setattr__(self, "dense_shape_dtype", dtypes.as_dtype(self.dense_shape_dtype))
        object.__setattr__(self, "indices_shape", as_shape(self.indices_shape).with_rank(1))

    def flatten(self) -> list[Any]:
        """Return the specs of its values, its indices and, if there is one, its shape."""
        rest = None if self.shape.rank is None else self.shape[1:]
        parts = [
            TensorSpec(self.indices_shape.concatenate(rest), self.dtype),
            TensorSpec(self.indices_shape, self.indices_dtype),
        ]
        if self.dense_shape_dtype is not None:
            parts.append(TensorSpec([self.shape.rank], self.dense_shape_dtype))
        return parts

    def to_tensors(self, value: TensorLike) -> list[Any]:
        """Return the values, the indices and, if there is one, the shape."""
        parts = [value.values, value.indices]
        return parts if value.dense_shape is None else [*parts, value.dense_shape]

    def from_tensors(self, tensors: Iterator[TensorLike]) -> IndexedSlices:
        """Return the slices of values, indices and perhaps a shape."""
        return IndexedSlices(*(next(tensors) for _ in self.flatten()))

    @property
    def has_parts(self) -> bool:
        """Whether values are containers of tensors: they are."""
        return True

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return IndexedSlices

    def __repr__(self) -> str:
        return f"IndexedSlicesSpec({', '.join(map(repr, self._fields()))})"


@dataclass(frozen=True)
class OptionalSpec(TypeSpec):
    """The spec of an optional's element."""

    proto_class: ClassVar[str] = "OPTIONAL_SPEC"

    element_spec: Nested

    def flatten(self) -> list[Nested]:
        """Return the spec of its variant."""
        return [TensorSpec([], dtypes.variant)]

    def to_tensors(self, value: TensorLike) -> list[Nested]:
        """Return the variant."""
        return [value._variant_tensor]

    def from_tensors(self, tensors: Iterator[TensorLike]) -> Optional:
        """Return the optional of a variant."""
        return Optional(next(tensors), self.element_spec)

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return Optional

    @classmethod
    def from_value(cls, value: Optional) -> OptionalSpec:
        """Return the spec of an optional."""
        return cls(value.element_spec)

    def __repr__(self) -> str:
        return f"OptionalSpec({self.element_spec!r},)"


@dataclass(frozen=True)
class TensorArraySpec(TypeSpec):
    """The dtype of the elements of a TensorArray, and their shape as far as it is known."""

    proto_class: ClassVar[str] = "TENSOR_ARRAY_SPEC"

    element_shape: TensorLike = None
    dtype: Any = dtypes.float32
    dynamic_size: bool = False
    infer_shape: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "element_shape", as_shape(self.element_shape))
        object.__setattr__(self, "dtype", dtypes.as_dtype(self.dtype))

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return TensorArray

    def flatten(self) -> list[Nested]:
        """Return the spec of its list of elements, a variant."""
        return [TensorSpec([], dtypes.variant)]

    def is_compatible_with(self, other: TensorLike) -> bool:
        """Return whether a spec may describe the same arrays."""
        return super().is_compatible_with(other)

    @classmethod
    def from_value(cls, value: TensorLike) -> TensorArraySpec:
        """Return the spec of a TensorArray; its elements may get any shape."""
        infers = bool(value._infer_shape)
        return cls(None, value.dtype, bool(value._dynamic_size), infers)

    def __repr__(self) -> str:
        return f"TensorArraySpec({', '.join(map(repr, self._fields()))})"


@dataclass(frozen=True)
class NoneTensorSpec(TypeSpec):
    """The type of None."""

    proto_class: ClassVar[str] = "tf.NoneTensorSpec"

    def flatten(self) -> list[Nested]:
        """Return no parts: None has none."""
        return []

    def to_tensors(self, value: TensorLike) -> list[Nested]:
        """Return no tensors: None has none."""
        return []

    def from_tensors(self, tensors: Iterator[TensorLike]) -> None:
        """Return None."""
        return

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return type(None)

    @classmethod
    def from_value(cls, value: None) -> NoneTensorSpec:
        """Return the spec of None."""
        return cls()

    def __repr__(self) -> str:
        return "NoneTensorSpec()"


def tensor_structure(dtype: DTypeLike, shape: TensorLike) -> TensorSpec:
    """Return a ``TensorSpec``; the name is older than specs."""
    return TensorSpec(shape, dtype)


def sparse_tensor_structure(dtype: DTypeLike, shape: TensorLike) -> SparseTensorSpec:
    """Return a ``SparseTensorSpec``; the name is older than specs."""
    return SparseTensorSpec(shape, dtype)


def tensor_array_structure(
    dtype: DTypeLike, element_shape: TensorLike, dynamic_size: bool, infer_shape: bool
) -> TensorArraySpec:
    """Return a ``TensorArraySpec``; the name is older than specs."""
    return TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


def ragged_tensor_structure(
    dtype: DTypeLike, shape: TensorLike, ragged_rank: Any
) -> RaggedTensorSpec:
    """Return a ``RaggedTensorSpec``; the name is older than specs."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


def type_spec_from_value(value: TensorLike) -> Any:
    """Return the spec of a tensor, of a composite value, or of a value that can become a tensor.

    Raises:
      TypeError: the value is none of these.
    """
    if value is None:
        return NoneTensorSpec()
    if isinstance(value, TypeSpec):
        return value
    if isinstance(value, IndexedSlices):
        whole = value.dense_shape
        shape = TensorShape([None]).concatenate(value.values.shape[1:])
        if whole is not None:
            shape = value.shape
        return IndexedSlicesSpec(
            shape,
            value.values.dtype,
            value.indices.dtype,
            None if whole is None else whole.dtype,
            value.indices.shape,
        )
    if isinstance(value, TensorArray):
        return TensorArraySpec.from_value(value)
    if isinstance(value, Optional):
        return OptionalSpec.from_value(value)
    try:
        return spec_of(value)
    except TypeError:
        pass
    try:
        tensor: Tensor = convert_to_tensor(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"Could not build a TypeSpec for {value} of unsupported type {type(value)}."
        ) from None
    return TensorSpec(tensor.shape, tensor.dtype.base_dtype)
