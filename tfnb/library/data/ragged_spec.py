"""The spec of ragged elements of a dataset; in a dataset op each is a variant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape, as_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import name_scope
from tfnb.framework.tensor import Tensor
from tfnb.framework.type_spec import TypeSpec
from tfnb.library.data.tensor_spec import TensorSpec, common_shape
from tfnb.library.ragged.ragged_tensor import RaggedTensor, RaggedTensorValue
from tfnb.ops.sparse.ragged_variant_ops import ragged_tensor_from_variant, ragged_tensor_to_variant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {"tf": ["RaggedTensorSpec"]}


@dataclass(frozen=True)
class RaggedTensorSpec(TypeSpec):
    """The dtype and static shape of a ragged tensor.

    Attributes:
      shape: the static shape, None where rows differ in length.
      dtype: of the values.
      ragged_rank: how many dimensions have rows of different lengths; all but the first by
        default.
      row_splits_dtype: of the row splits.
      flat_values_spec: must be None.
    """

    proto_class: ClassVar[str] = "RAGGED_TENSOR_SPEC"

    shape: TensorLike = None
    dtype: Any = dtypes.float32
    ragged_rank: Any = None
    row_splits_dtype: Any = dtypes.int64
    flat_values_spec: Any = None

    def __post_init__(self) -> None:
        if self.flat_values_spec is not None:
            raise ValueError("flat_values_spec is not supported: the values are tensors")
        shape = as_shape(self.shape)
        rank = self.ragged_rank
        if rank is None:
            if shape.rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            rank = shape.rank - 1
        elif shape.rank is not None and rank >= max(shape.rank, 1):
            raise ValueError(
                f"Argument `ragged_rank` ({rank}) must be less than rank ({shape.rank})."
            )
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "ragged_rank", int(rank))
        object.__setattr__(self, "dtype", dtypes.as_dtype(self.dtype))
        object.__setattr__(self, "row_splits_dtype", dtypes.as_dtype(self.row_splits_dtype))

    def is_compatible_with(self, spec_or_value: TensorLike) -> bool:
        """Return whether a ragged tensor or spec has these dtypes and may have this shape."""
        if not isinstance(spec_or_value, (RaggedTensorSpec, RaggedTensor)):
            return False
        other = ragged_spec_of(spec_or_value)
        mine = self.dtype, self.ragged_rank, self.row_splits_dtype
        return mine == (other.dtype, other.ragged_rank, other.row_splits_dtype) and bool(
            self.shape.is_compatible_with(other.shape)
        )

    @classmethod
    def from_value(cls, value: TensorLike) -> RaggedTensorSpec:
        """Return the spec of a ragged tensor."""
        return ragged_spec_of(as_ragged(value))

    def proto_state(self) -> tuple[Any, ...]:
        """Return the members of the spec's message."""
        return self.shape, self.dtype, self.ragged_rank, self.row_splits_dtype

    def flatten(self) -> list[Nested]:
        """Return the specs of its values and of its row splits, the outermost first."""
        if self.ragged_rank <= 0:
            return [TensorSpec(self.shape, self.dtype)]
        is_known = self.shape.rank is not None
        inner = TensorShape([None, *self.shape[self.ragged_rank + 1 :]]) if is_known else None
        rows = self.shape[0].value if is_known else None
        ends = [[None if rows is None else rows + 1], *[[None]] * (self.ragged_rank - 1)]
        return [
            TensorSpec(inner, self.dtype),
            *(TensorSpec(shape, self.row_splits_dtype) for shape in ends),
        ]

    def to_tensors(self, value: TensorLike) -> list[Nested]:
        """Return the values and the row splits."""
        splits, values = self._parts(value)
        return [values, *splits]

    def from_tensors(self, tensors: Iterator[TensorLike]) -> Nested:
        """Return the ragged tensor of values and row splits."""
        values, *splits = [next(tensors) for _ in range(max(self.ragged_rank, 0) + 1)]
        if not splits:
            return values
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)

    @property
    def has_parts(self) -> bool:
        """Whether values are containers of tensors: not without ragged dimensions."""
        return bool(self.ragged_rank > 0)

    @property
    def value_type(self) -> Any:
        """The class of the values that it describes."""
        return RaggedTensor if self.ragged_rank > 0 else Tensor

    @property
    def flat_type(self) -> DType:
        """A variant in a dataset op."""
        return dtypes.variant

    @property
    def flat_shape(self) -> TensorShape:
        """An unknown shape: the variant's is not described."""
        return TensorShape(None)

    def _parts(self, value: TensorLike) -> tuple[list[Tensor], Tensor]:
        if isinstance(value, RaggedTensor):
            return list(value.nested_row_splits), value.flat_values
        return [], convert_to_tensor(value, self.dtype)

    def _variant(self, value: TensorLike, batched_input: bool) -> Tensor:
        splits, values = self._parts(value)
        with name_scope("RaggedToVariant"):
            tensor: Tensor = ragged_tensor_to_variant(splits, values, batched_input=batched_input)
        return tensor

    def to_component(self, value: TensorLike) -> Tensor:
        """Return the ragged tensor as a variant."""
        return self._variant(value, False)

    def to_rows(self, value: TensorLike) -> Tensor:
        """Return the rows of the ragged tensor, a variant each."""
        return self._variant(value, True)

    def from_component(self, tensor: Tensor) -> Nested:
        """Return the ragged tensor of these variants."""
        rank = self.ragged_rank
        with name_scope("RaggedFromVariant"):
            found = ragged_tensor_from_variant(
                tensor,
                input_ragged_rank=-1,
                output_ragged_rank=max(rank, 0),
                Tvalues=self.dtype,
                Tsplits=self.row_splits_dtype,
            )
        values = found[-1]
        if self.shape.rank is not None:
            values.set_shape([None, *self.shape[rank + 1 :]] if rank > 0 else self.shape)
        if rank <= 0:
            return values
        splits = list(found[0]) if isinstance(found[0], list | tuple) else list(found[:-1])
        if self.shape.rank is not None and self.shape[0].value is not None:
            splits[0].set_shape([self.shape[0].value + 1])
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)

    def batched(self, size: int | None) -> RaggedTensorSpec:
        """Return the spec of a batch."""
        shape = TensorShape([size]).concatenate(self.shape)
        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank + 1, self.row_splits_dtype)

    def unbatched(self) -> RaggedTensorSpec:
        """Return the spec of one row of a batch."""
        rank = self.ragged_rank - 1
        return RaggedTensorSpec(self.shape[1:], self.dtype, rank, self.row_splits_dtype)

    def most_general(self, other: TensorLike) -> RaggedTensorSpec:
        """Return the most specific spec that covers both.

        Raises:
          TypeError: dtypes, ranks or kinds differ.
        """
        if not isinstance(other, RaggedTensorSpec):
            raise TypeError(f"{self} and {other} have no common spec.")
        mine = self.dtype, self.ragged_rank, self.row_splits_dtype
        if mine != (other.dtype, other.ragged_rank, other.row_splits_dtype):
            raise TypeError(f"{self} and {other} have no common spec.")
        return RaggedTensorSpec(common_shape(self.shape, other.shape), *mine)

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            f"{self.row_splits_dtype!r})"
        )


def ragged_spec_of(value: TensorLike) -> RaggedTensorSpec:
    """Return the spec of a ragged tensor, or a spec itself."""
    if isinstance(value, RaggedTensorSpec):
        return value
    return RaggedTensorSpec(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)


def as_ragged(value: RaggedTensor | RaggedTensorValue) -> Any:
    """Return a value as a ragged tensor if it is a ragged value, else unchanged."""
    return value.as_tensor() if isinstance(value, RaggedTensorValue) else value
