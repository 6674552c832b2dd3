"""Conversion of Example messages to columns, the base of ParseExample and related ops.

A column is dense (a fixed number of values per example, or runs padded to the longest), sparse, or
ragged. :class:`FeatureSource` identifies the example for error messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import type_word
from tfnb.core.process.records import record
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.base.string_arrays import strings
from tfnb.proto import example_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Attr
    from tfnb.core.tensor_shape import TensorShape

_KINDS = {
    "bytes_list": dtypes.string,
    "float_list": dtypes.float32,
    "int64_list": dtypes.int64,
}
_WORDS = {dtypes.string: "bytes", dtypes.float32: "float", dtypes.int64: "int64"}


@record(frozen=True, slots=True)
class Dense:
    """A column with as many values per example as its shape has elements.

    Attributes:
      key: the name of the feature.
      dtype: the type of its values.
      dims: its shape; a first dimension of None stands for runs of any length.
      default: the value where the feature is missing; empty if it is required. For runs, the one
        element that pads them.
    """

    key: str
    dtype: DType
    dims: tuple[int | None, ...]
    default: Array

    @property
    def is_run(self) -> bool:
        """Whether examples have values of different lengths."""
        return bool(self.dims) and self.dims[0] is None

    @property
    def stride(self) -> int:
        """The number of values per example, or per element of a run."""
        count = 1
        for size in self.dims[1:] if self.is_run else self.dims:
            count *= size or 0
        return count


@record(frozen=True, slots=True)
class Sparse:
    """A column of any number of values per example."""

    key: str
    dtype: DType


@record(frozen=True, slots=True)
class Ragged:
    """A column of any number of values per example, kept as values and row splits."""

    key: str
    dtype: DType
    split_dtype: DType


@record(frozen=True, slots=True)
class FeatureSource:
    """The example of an error message; without a name, messages mention only the feature."""

    index: int
    name: str | None

    def of_key(self, key: str) -> str:
        """Return the first words of an error message about a feature."""
        if self.name is None:
            return f"Key: {key}.  "
        return f"Name: {self.name}, Key: {key}, Index: {self.index}.  "

    def missing(self, key: str, dtype: DType) -> errors.InvalidArgumentError:
        """Return the error for a missing feature."""
        name = "" if self.name is None else f"Name: {self.name}, "
        return errors.invalid_argument(
            f"{name}Feature: {key} (data type: {type_word(dtype)}) is required but could not be "
            "found."
        )


def text_of_key(key: Array) -> str:
    """Return the name of a feature from an input tensor or an attribute."""
    value = key.item() if hasattr(key, "item") else key
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def array_of(values: Array, dtype: DType) -> Array:
    """Return values as a vector of a dtype."""
    if dtype is dtypes.string:
        return strings(list(values), (len(values),))
    return np.array(values, dtype.as_numpy_dtype)


def make_dense(
    keys: Sequence[Array],
    types: Sequence[DType],
    shapes: Sequence[TensorShape],
    defaults: Sequence[Array],
) -> list[Dense]:
    """Return the dense columns of an op, after a check of their defaults.

    Raises:
      InvalidArgumentError: a default does not have its column's shape.
    """
    columns = []
    for index, (key, dtype, shape, default) in enumerate(
        zip(keys, types, shapes, defaults, strict=True)
    ):
        dims = shape.dim_values or ()
        column = Dense(text_of_key(key), dtype, dims, default)
        shown = "[" + ",".join("?" if size is None else str(size) for size in dims) + "]"
        if column.is_run:
            if default.size != 1:
                raise errors.invalid_argument(
                    f"dense_shape[{index}] is a variable length shape: {shown}, therefore "
                    f"def_value[{index}] must contain a single element (the padding element).  "
                    f"But its shape is: {shape_text(default.shape)}"
                )
        elif default.size and default.shape != dims:
            raise errors.invalid_argument(
                f"def_value[{index}].shape() == {shape_text(default.shape)} is not compatible "
                f"with dense_shapes_[{index}] == {shown}"
            )
        columns.append(column)
    return columns


def parse_features(data: bytes) -> Mapping[str, Attr]:
    """Return the features of a serialized Example by name.

    Raises:
      InvalidArgumentError: the bytes are not an Example.
    """
    example = example_pb2.Example()
    try:
        example.ParseFromString(data)
    except Exception:
        raise bad_example(data) from None
    return example.features.feature


def bad_example(data: bytes) -> errors.InvalidArgumentError:
    """Return the error for bytes that are not an Example."""
    shown = data.decode("utf-8", "backslashreplace")
    return errors.invalid_argument(f"Could not parse example input, value: '{shown}'")


def values_of(feature: Array) -> tuple[DType | None, Array]:
    """Return the type and the values of a feature; no type if it has no kind."""
    kind = None if feature is None else feature.WhichOneof("kind")
    if kind is None:
        return None, ()
    return _KINDS[kind], getattr(feature, kind).value


def read_dense(feature: Any, column: Dense, source: FeatureSource) -> Any:
    """Return one example's values of a dense column.

    Raises:
      InvalidArgumentError: the feature is missing, of another type, or of another length.
    """
    dtype, values = values_of(feature)
    if dtype is None:
        if column.is_run:
            return array_of((), column.dtype)
        if not column.default.size and column.stride:
            raise source.missing(column.key, column.dtype)
        return column.default.reshape(-1)
    if dtype is not column.dtype:
        raise errors.invalid_argument(
            f"{source.of_key(column.key)}Data types don't match. Data type: {type_word(dtype)} but "
            f"expected type: {type_word(column.dtype)}"
        )
    shown = "[" + ",".join("?" if size is None else str(size) for size in column.dims) + "]"
    if column.is_run:
        if column.stride == 0 or len(values) % column.stride:
            raise errors.invalid_argument(
                f"{source.of_key(column.key)}Number of {_WORDS[dtype]} values is not a multiple of "
                f"stride length. Saw {len(values)} values but output shape is: {shown}"
            )
    elif len(values) != column.stride:
        raise errors.invalid_argument(
            f"{source.of_key(column.key)}Number of {_WORDS[dtype]} values != expected.  Values "
            f"size: {len(values)} but output shape: {shown}"
        )
    return array_of(values, dtype)


def read_free(feature: Any, column: Sparse | Ragged, source: FeatureSource) -> Any:
    """Return one example's values of a sparse or ragged column.

    Raises:
      InvalidArgumentError: the feature is of another type.
    """
    dtype, values = values_of(feature)
    if dtype is None:
        return array_of((), column.dtype)
    if dtype is not column.dtype:
        raise errors.invalid_argument(
            f"{source.of_key(column.key)}Data types don't match. Expected type: "
            f"{type_word(column.dtype)}, Actual type: {type_word(dtype)}"
        )
    return array_of(values, dtype)


def joined(rows: Sequence[Array], dtype: DType) -> Array:
    """Return rows of values, concatenated."""
    return np.concatenate(rows) if rows else array_of((), dtype)


def dense_batch(rows: Sequence[Array], column: Dense) -> Array:
    """Return a dense column of a batch."""
    if not column.is_run:
        flat = joined(rows, column.dtype)
        return flat.reshape(len(rows), *[size or 0 for size in column.dims])
    longest = max((len(row) for row in rows), default=0)
    inner = [size or 0 for size in column.dims[1:]]
    padding = column.default.reshape(-1)[0]
    batch = np.empty((len(rows), longest), column.default.dtype)
    batch[...] = padding
    for index, row in enumerate(rows):
        batch[index, : len(row)] = row
    return batch.reshape(len(rows), longest // column.stride if column.stride else 0, *inner)


def sparse_batch(rows: Sequence[Array], dtype: DType) -> tuple[Array, Array, Array]:
    """Return a sparse column of a batch: indices, values and shape."""
    lengths = [len(row) for row in rows]
    indices = np.empty((sum(lengths), 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), lengths)
    indices[:, 1] = positions(lengths)
    shape = np.array([len(rows), max(lengths, default=0)], np.int64)
    return indices, joined(rows, dtype), shape


def positions(lengths: Sequence[int]) -> Array:
    """Return 0, 1, ... for each length, concatenated."""
    if not lengths:
        return np.empty(0, np.int64)
    return np.concatenate([np.arange(length, dtype=np.int64) for length in lengths])


def splits_of(lengths: Sequence[int], dtype: DType) -> Array:
    """Return the start of each row, and the end of the last, from the rows' lengths."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype.as_numpy_dtype)
