"""``tf.io.RaggedFeature``: features of any number of values, in rows that other features define."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies
from tfnb.library.control_flow.check_ops import assert_equal
from tfnb.library.ragged.ragged_tensor import RaggedTensor
from tfnb.ops.array import array_ops
from tfnb.ops.array.repeat_ops import repeat
from tfnb.ops.math import math_ops
from tfnb.ops.math.reduction_ops import reduce_max

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult


EXPORTS = {"io": ["RaggedFeature"]}


class RowSplits(NamedTuple):
    """Where each row begins, and where the last one ends."""

    key: str


class RowLengths(NamedTuple):
    """The lengths of rows."""

    key: str


class RowStarts(NamedTuple):
    """Where rows begin."""

    key: str


class RowLimits(NamedTuple):
    """Where rows end."""

    key: str


class ValueRowIds(NamedTuple):
    """The row of each value."""

    key: str


class UniformRowLength(NamedTuple):
    """One length for all rows."""

    length: int


_MAKERS: dict[type, Any] = {
    RowSplits: RaggedTensor.from_row_splits,
    RowLengths: RaggedTensor.from_row_lengths,
    RowStarts: RaggedTensor.from_row_starts,
    RowLimits: RaggedTensor.from_row_limits,
    ValueRowIds: RaggedTensor.from_value_rowids,
}
_PARTITIONS = (*_MAKERS, UniformRowLength)


class _RaggedFeature(NamedTuple):
    dtype: DType
    value_key: str | None
    partitions: tuple[Any, ...]
    row_splits_dtype: DType
    validate: bool


class RaggedFeature(_RaggedFeature):
    """Any number of values; a RaggedTensor, or a vector for a single message.

    Args:
      dtype: int64, float32 or string.
      value_key: the key of the values; the feature's own key by default.
      partitions: the partitions of the values into rows, the outermost first.
      row_splits_dtype: int32 or int64.
      validate: whether a step checks that the partitions fit the values.

    Raises:
      ValueError: a type or a key has another value.
      TypeError: a partition or ``validate`` has another type.
    """

    RowSplits = RowSplits
    RowLengths = RowLengths
    RowStarts = RowStarts
    RowLimits = RowLimits
    ValueRowIds = ValueRowIds
    UniformRowLength = UniformRowLength

    def __new__(
        cls,
        dtype: DTypeLike,
        value_key: str | None = None,
        partitions: Sequence[Any] = (),
        row_splits_dtype: DTypeLike = dtypes.int32,
        validate: bool = False,
    ) -> Self:
        """See the class."""
        if value_key is not None and not isinstance(value_key, str):
            raise ValueError(f"Argument `value_key` must be a string; got {value_key}")
        if value_key == "":
            raise ValueError("Argument `value_key` must not be empty")
        dtype, splits_dtype = dtypes.as_dtype(dtype), dtypes.as_dtype(row_splits_dtype)
        if dtype not in (dtypes.int64, dtypes.float32, dtypes.string):
            raise ValueError(f"Argument `dtype` must be int64, float32, or bytes; got {dtype!r}")
        if splits_dtype not in (dtypes.int32, dtypes.int64):
            raise ValueError(
                f"Argument `row_splits_dtype` must be int32 or int64; got {splits_dtype!r}"
            )
        if not isinstance(partitions, (list, tuple)) or not all(
            isinstance(partition, _PARTITIONS) for partition in partitions
        ):
            raise TypeError(
                f"Argument `partitions` must be a list of partition objects; got: {partitions!r}"
            )
        if not isinstance(validate, bool):
            raise TypeError(f"Argument `validate` must be a bool; got {validate!r}")
        return super().__new__(cls, dtype, value_key, tuple(partitions), splits_dtype, validate)

    def columns(self, key: str) -> list[tuple[str, Nested]]:
        """Return the columns to read for it: keys and types, the values first."""
        return [
            (self.value_key or key, self.dtype),
            *((by.key, dtypes.int64) for by in self.partitions if type(by) in _MAKERS),
        ]

    def tensor(self, key: str, found: Mapping[str, Any]) -> TensorResult:
        """Return the values that were read, divided by the partitions that were read."""
        values = found[self.value_key or key]
        if not isinstance(values, RaggedTensor):
            for by in reversed(self.partitions):
                values = self._cut(values, by, found)
            return values
        # A batch of sequences has two outer dimensions: rows are made within the second one.
        outer = values.row_splits if values.ragged_rank > 1 else None
        if outer is not None:
            values = values.values
        for by in reversed(self.partitions):
            values = self._cut_batch(values, by, found, key, outer)
        if outer is not None:
            values = RaggedTensor.from_row_splits(values, outer, validate=self.validate)
        return values

    def _cut(self, values: TensorLike, by: Any, found: Mapping[str, Any]) -> TensorResult:
        """Return the values of one message in rows."""
        if not isinstance(by, UniformRowLength):
            rows = math_ops.cast(found[by.key], self.row_splits_dtype)
            return _MAKERS[type(by)](values, rows, validate=self.validate)
        if not isinstance(values, RaggedTensor):
            return _in_rows(values, by.length)
        length = convert_to_tensor(by.length, self.row_splits_dtype)
        return RaggedTensor.from_uniform_row_length(values, length, validate=self.validate)

    def _cut_batch(
        self, batch: RaggedTensor, by: Any, found: Mapping[str, Any], key: str, outer: TensorLike
    ) -> RaggedTensor:
        """Return the values of each message of a batch, divided into rows."""
        validate = self.validate
        if isinstance(by, UniformRowLength):
            if batch.ragged_rank > 1:
                length: TensorLike = convert_to_tensor(by.length, batch.row_splits.dtype)
                rows: TensorLike = RaggedTensor.from_uniform_row_length(
                    batch.values, length, validate=validate
                )
            else:
                length, rows = by.length, _in_rows(batch.values, by.length)
            splits = batch.row_splits // length
            return RaggedTensor.from_row_splits(rows, splits, validate=validate)
        cuts = found[by.key]
        checks = []
        if outer is not None:
            if validate:
                text = f"Feature {key}: values and partitions are not aligned"
                checks.append(assert_equal(outer, cuts.row_splits, message=text))
            cuts = cuts.values
        cuts = cuts.with_values(math_ops.cast(cuts.values, batch.row_splits.dtype))
        with control_dependencies(checks):
            if isinstance(by, ValueRowIds):
                num_rows = math_ops.maximum(reduce_max(cuts + 1, axis=1), 0)
                before = math_ops.cumsum(num_rows, exclusive=True)
                ids = cuts.values + repeat(before, cuts.row_lengths())
                rows = RaggedTensor.from_value_rowids(batch.values, ids, validate=validate)
                return RaggedTensor.from_row_lengths(rows, num_rows, validate=validate)
            if isinstance(by, RowLengths):
                places = cuts.values
            else:
                # Positions among the values of a message become positions among those of all
                # messages.
                if isinstance(by, RowSplits):
                    cuts = cuts[:, 1:]
                places = cuts.values + repeat(batch.row_starts(), cuts.row_lengths())
            make = _MAKERS[RowLimits if isinstance(by, RowSplits) else type(by)]
            cut: RaggedTensor = cuts.with_values(make(batch.values, places, validate=validate))
            return cut


def _in_rows(values: TensorLike, length: int) -> TensorResult:
    inner = array_ops.shape(values)[1:]
    return array_ops.reshape(values, array_ops.concat([[-1, length], inner], axis=0))


def from_outputs(
    serialized: TensorLike,
    values: Sequence[TensorLike],
    splits: Sequence[TensorLike],
    inner: Sequence[TensorLike] | None = None,
) -> list[TensorResult]:
    """Return ragged tensors of an op's outputs; for a single message, without the outer splits.

    Raises:
      ValueError: it is unknown whether there is a single message.
    """
    rank = serialized.shape.ndims
    if values and rank is None:
        raise ValueError("serialized must have statically-known rank to parse ragged features.")
    found: list[Any] = list(values)
    for parts in [inner] * (inner is not None) + [splits] * (rank != 0):
        found = [
            RaggedTensor.from_row_splits(one, part, validate=False)
            for one, part in zip(found, parts or (), strict=True)
        ]
    return found
