"""Element specs of a dataset: nested structures of tensor, sparse and dataset specs.

Tuples, named tuples and dicts are structures; a list is one tensor. A dataset op has only flat
lists of types and shapes: a sparse tensor is a variant there, and a dataset is one, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.sparse_tensor import SparseTensor, SparseTensorValue
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.framework.type_spec import TypeSpec
from tfnb.library.data import functions_above as above
from tfnb.library.data.ragged_spec import RaggedTensorSpec, as_ragged, ragged_spec_of
from tfnb.library.data.tensor_spec import TensorSpec, common_shape
from tfnb.library.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {
    "tf": ["SparseTensorSpec"],
    "data": ["DatasetSpec"],
    "data.experimental": ["DatasetStructure:DatasetSpec", "get_structure"],
}


@dataclass(frozen=True)
class SparseTensorSpec(TypeSpec):
    """The dtype and static shape of a sparse tensor."""

    proto_class: ClassVar[str] = "SPARSE_TENSOR_SPEC"

    shape: TensorLike = None
    dtype: Any = dtypes.float32

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", as_shape(self.shape))
        object.__setattr__(self, "dtype", dtypes.as_dtype(self.dtype))

    def is_compatible_with(self, spec_or_value: TensorLike) -> bool:
        """Return whether a sparse tensor or spec is of this dtype and may be of this shape."""
        return isinstance(spec_or_value, (SparseTensor, SparseTensorSpec)) and bool(
            self.dtype is spec_or_value.dtype and self.shape.is_compatible_with(spec_or_value.shape)
        )

    @classmethod
    def from_value(cls, value: TensorLike) -> SparseTensorSpec:
        """Return the spec of a sparse tensor.

        Raises:
          TypeError: ``value`` is not sparse.
        """
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if isinstance(value, SparseTensorValue):
            dtype = np.asarray(value.values).dtype
            return cls(TensorShape([int(size) for size in value.dense_shape]), dtype)
        raise TypeError(
            f"Expected SparseTensor or SparseTensorValue. Received: {value} of type "
            f"{type(value).__name__}."
        )

    def flatten(self) -> list[Nested]:
        """Return the specs of its indices, its values and its shape."""
        rank = self.shape.rank
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self.dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def to_tensors(self, value: TensorLike) -> list[Nested]:
        """Return the indices, the values and the shape."""
        return [value.indices, value.values, value.dense_shape]

    def from_tensors(self, tensors: Iterator[TensorLike]) -> SparseTensor:
        """Return the sparse tensor of indices, values and a shape."""
        found = SparseTensor(next(tensors), next(tensors), next(tensors))
        found.set_shape(self.shape)
        return found

    @property
    def has_parts(self) -> bool:
        """Whether values are containers of tensors: they are."""
        return True

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return SparseTensor

    @property
    def flat_type(self) -> DType:
        """A variant in a dataset op."""
        return dtypes.variant

    @property
    def flat_shape(self) -> TensorShape:
        """The shape of the variant is unknown."""
        return TensorShape(None)

    def to_component(self, value: TensorLike) -> Tensor:
        """Return the sparse tensor as a vector of three variants."""
        from tfnb.library.sparse.sparse_functions import serialize_sparse

        tensor: Tensor = serialize_sparse(value, out_type=dtypes.variant)
        return tensor

    def to_rows(self, value: TensorLike) -> Tensor:
        """Return the rows of the sparse tensor, three variants each."""
        from tfnb.library.sparse.sparse_functions import serialize_many_sparse

        tensor: Tensor = serialize_many_sparse(value, out_type=dtypes.variant)
        return tensor

    def from_component(self, tensor: Tensor) -> SparseTensor:
        """Return the sparse tensor of serialized variants."""
        from tfnb.ops.array.concat_ops import stack, unstack
        from tfnb.ops.sparse.sparse_form_ops import deserialize_sparse_op

        rank = self.shape.rank
        indices, values, dense_shape = deserialize_sparse_op(tensor, dtype=self.dtype)
        indices.set_shape([None, rank])
        dense_shape.set_shape([rank])
        # The known sizes also go into the graph, for shape inference.
        if self.shape.is_fully_defined():
            dense_shape = convert_to_tensor(self.shape.as_list(), dtypes.int64, name="shape")
        elif rank is not None and any(size is not None for size in self.shape.as_list()):
            pieces = unstack(dense_shape, num=rank)
            for index, size in enumerate(self.shape.as_list()):
                if size is not None:
                    pieces[index] = convert_to_tensor(size, dtypes.int64)
            dense_shape = stack(pieces)
        return SparseTensor(indices, values, dense_shape)

    def batched(self, size: int | None) -> SparseTensorSpec:
        """Return the spec of a batch."""
        return SparseTensorSpec(TensorShape([size]).concatenate(self.shape), self.dtype)

    def unbatched(self) -> SparseTensorSpec:
        """Return the spec of one row of a batch."""
        return SparseTensorSpec(self.shape[1:], self.dtype)

    def most_general(self, other: TensorLike) -> SparseTensorSpec:
        """Return the most specific spec that covers both.

        Raises:
          TypeError: dtypes or kinds differ.
        """
        if not isinstance(other, SparseTensorSpec) or other.dtype is not self.dtype:
            raise TypeError(f"{self} and {other} have no common spec.")
        return SparseTensorSpec(common_shape(self.shape, other.shape), self.dtype)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


@dataclass(frozen=True)
class DatasetSpec(TypeSpec):
    """The spec of a dataset that is itself an element."""

    proto_class: ClassVar[str] = "DATA_DATASET_SPEC"

    element_spec: Nested
    dataset_shape: Any = ()

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return above.dataset_class()

    def proto_state(self) -> tuple[Any, ...]:
        """Return the members of the spec's message."""
        return self.element_spec, as_shape(self.dataset_shape)

    def flatten(self) -> list[Nested]:
        """Return the spec of its variant."""
        return [TensorSpec(self.dataset_shape, dtypes.variant)]

    def to_tensors(self, value: TensorLike) -> list[Nested]:
        """Return the variant."""
        return [value._variant_tensor]

    def from_tensors(self, tensors: Iterator[TensorLike]) -> Nested:
        """Return the dataset of a variant."""
        return self.from_component(next(tensors))

    @property
    def flat_type(self) -> DType:
        """A variant in a dataset op."""
        return dtypes.variant

    @property
    def flat_shape(self) -> TensorShape:
        """The shape of the variant: a scalar unless datasets are batched."""
        return as_shape(self.dataset_shape)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a dataset or spec has elements of this spec."""
        try:
            pairs = zip(
                flat_specs(self.element_spec), flat_specs(spec_or_value.element_spec), strict=True
            )
            return all(one.is_compatible_with(another) for one, another in pairs)
        except (ValueError, AttributeError):
            return False

    def to_component(self, value: TensorLike) -> Tensor:
        """Return the dataset's variant."""
        tensor: Tensor = value._variant_tensor
        return tensor

    def to_rows(self, value: TensorLike) -> Tensor:
        """Return the dataset's variant."""
        return self.to_component(value)

    def from_component(self, tensor: Tensor) -> Any:
        """Return the dataset behind a variant."""
        if self.flat_shape.rank != 0:
            return tensor
        return above.variant_dataset(tensor, self.element_spec)

    def batched(self, size: int | None) -> DatasetSpec:
        """Return the spec of a batch."""
        return DatasetSpec(self.element_spec, TensorShape([size]).concatenate(self.flat_shape))

    def unbatched(self) -> DatasetSpec:
        """Return the spec of one row of a batch."""
        return DatasetSpec(self.element_spec, self.flat_shape[1:])

    def most_general(self, other: TensorLike) -> DatasetSpec:
        """Return the most specific spec that covers both.

        Raises:
          TypeError: the other spec is of another kind.
        """
        if not isinstance(other, DatasetSpec):
            raise TypeError(f"{self} and {other} have no common spec.")
        common = map_specs(lambda a, b: a.most_general(b), self.element_spec, other.element_spec)
        return DatasetSpec(common, self.dataset_shape)

    def __repr__(self) -> str:
        return f"DatasetSpec({self.element_spec!r}, {as_shape(self.dataset_shape)!r})"


_SPECS = (TensorSpec, SparseTensorSpec, RaggedTensorSpec, DatasetSpec)

# --------------------------------------------------------------------------------------- structures


def map_values(function: Callable[..., Nested], value: TensorLike) -> Nested:
    """Return a structure with a function applied to each value; a list is one value."""
    if isinstance(value, Mapping):
        made = {key: map_values(function, value[key]) for key in sorted(value)}
        kind: Any = type(value)
        pairs = [(key, made[key]) for key in value]
        return kind(pairs)
    if isinstance(value, tuple) and not isinstance(value, SparseTensorValue):
        members = [map_values(function, member) for member in value]
        return type(value)(*members) if nest.is_namedtuple(value) else tuple(members)
    return function(value)


def flat_specs(spec: Nested) -> list[Any]:
    """Return the specs of a structure in order."""
    return nest.flatten(spec)


def map_specs(function: Callable[..., Nested], *specs: Any) -> Any:
    """Return a structure with a function applied to the specs of one or more structures."""
    return nest.map_structure(function, *specs)


def types_of(spec: Nested) -> list[DType]:
    """Return the types that a dataset op has for elements of a spec."""
    return [one.flat_type for one in flat_specs(spec)]


def shapes_of(spec: Nested) -> list[TensorShape]:
    """Return the shapes that a dataset op has for elements of a spec."""
    return [one.flat_shape for one in flat_specs(spec)]


def spec_of(value: TensorLike) -> Nested:
    """Return the spec of a structure of tensors, sparse tensors and datasets."""
    return map_values(_spec_of_one, value)


def _spec_of_one(value: TensorLike) -> Any:
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype.base_dtype)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(value.shape, value.dtype)
    if isinstance(value, RaggedTensor):
        return ragged_spec_of(value)
    element_spec = getattr(value, "element_spec", None)
    if element_spec is not None and hasattr(value, "_variant_tensor"):
        return DatasetSpec(element_spec)
    raise TypeError(f"Could not build a `TypeSpec` for {value!r} with type {type(value).__name__}.")


def normalized(element: Nested) -> Any:
    """Return an element whose values are tensors, sparse tensors and datasets."""
    number = -1

    def convert(value: TensorLike) -> Any:
        nonlocal number
        number += 1
        if isinstance(value, SparseTensorValue):
            return SparseTensor.from_value(value)
        if isinstance(value, (RaggedTensor, RaggedTensorValue)):
            return as_ragged(value)
        if isinstance(value, (SparseTensor, Tensor)) or hasattr(value, "_variant_tensor"):
            return value
        return convert_to_tensor(value, name=f"component_{number}")

    with name_scope("normalize_element"):
        return map_values(convert, element)


def to_components(spec: Nested, value: TensorLike) -> list[Tensor]:
    """Return the tensors that stand for an element."""
    return [one.to_component(part) for one, part in zip(flat_specs(spec), flat_values(spec, value))]


def flat_values(spec: Nested, value: TensorLike) -> list[Nested]:
    """Return the values of an element in the order of its specs."""
    found: list[Any] = []
    map_values(found.append, value)
    if len(found) != len(flat_specs(spec)):
        raise ValueError(f"The value {value!r} is not compatible with the structure {spec!r}.")
    return found


def from_components(spec: Nested, tensors: Sequence[Tensor]) -> Nested:
    """Return the element that tensors stand for."""
    values = [one.from_component(tensor) for one, tensor in zip(flat_specs(spec), tensors)]
    return nest.pack_sequence_as(spec, values)


# ------------------------------------------------------- types, shapes and classes instead of specs


def legacy_types(spec: Nested) -> Nested:
    """Return a structure of dtypes."""
    return map_specs(lambda one: one if isinstance(one, DatasetSpec) else one.dtype, spec)


def legacy_shapes(spec: Nested) -> Nested:
    """Return a structure of shapes."""
    return map_specs(lambda one: one if isinstance(one, DatasetSpec) else one.shape, spec)


def legacy_classes(spec: Nested) -> Nested:
    """Return a structure of classes."""
    return map_specs(lambda one: one if isinstance(one, DatasetSpec) else one.value_type, spec)


def spec_from_legacy(types: Nested, shapes: Nested | None = None, classes: Any = None) -> Nested:
    """Return the spec of types, shapes and classes.

    Args:
      types: a structure of dtypes.
      shapes: a structure of shapes of the same form; unknown by default.
      classes: a structure of classes of the same form; tensors by default.

    Raises:
      TypeError: a class cannot be a component of a dataset.
      ValueError: the structures differ.
    """
    if isinstance(types, list):
        types = tuple(types)
    flat_types: list[Any] = []
    map_values(flat_types.append, types)
    atoms = iter(
        [TensorShape(None)] * len(flat_types) if shapes is None else _leaves(types, shapes)
    )
    kinds = iter([Tensor] * len(flat_types) if classes is None else _leaves(types, classes))

    def make(dtype: Any) -> Any:
        shape, kind = next(atoms), next(kinds)
        if isinstance(dtype, _SPECS):
            return dtype
        if kind is SparseTensor:
            return SparseTensorSpec(shape, dtype)
        if kind is Tensor:
            return TensorSpec(shape, dtype)
        if isinstance(kind, _SPECS):
            return kind
        raise TypeError(f"Could not build a structure for output class {kind}.")

    return map_values(make, types)


def _leaves(like: TensorLike, structure: Nested) -> list[Nested]:
    """Return the members of a structure at the positions of another structure's values."""
    if isinstance(like, Mapping):
        if not isinstance(structure, Mapping) or set(structure) != set(like):
            raise ValueError(f"The structures {like!r} and {structure!r} differ.")
        return [leaf for key in sorted(like) for leaf in _leaves(like[key], structure[key])]
    if isinstance(like, tuple):
        if not isinstance(structure, (tuple, list)) or len(structure) != len(like):
            raise ValueError(f"The structures {like!r} and {structure!r} differ.")
        return [leaf for one, part in zip(like, structure) for leaf in _leaves(one, part)]
    return [structure]


def get_structure(dataset_or_iterator: Any) -> Nested:
    """Return the spec of the elements of a dataset or an iterator.

    Raises:
      TypeError: the argument is neither.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a `tf.data.Dataset` or tf.data.Iterator object, but "
            f"got {type(dataset_or_iterator)}."
        ) from None
