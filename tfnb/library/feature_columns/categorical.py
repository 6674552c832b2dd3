"""Columns of categories: hashed, numbered, from a vocabulary, crossed, weighted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.files import file_system
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.framework.tensor import Tensor
from tfnb.library.feature_columns.column import (
    CategoricalColumn,
    Features,
    IdsAndWeights,
    to_sparse,
)
from tfnb.library.feature_columns.vocabulary import table_of_lines, table_of_words
from tfnb.library.tables.parsing_features import VarLenFeature
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.sparse.sparse_cross_ops import cross_hashed
from tfnb.ops.strings.string_hash_ops import string_to_hash_bucket_fast
from tfnb.ops.strings.string_number_ops import as_string

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import CollectionNames, Nested, TensorLike

EXPORTS = {
    "feature_column": [
        "categorical_column_with_hash_bucket", "categorical_column_with_identity",
        "categorical_column_with_vocabulary_file", "categorical_column_with_vocabulary_list",
        "crossed_column", "weighted_categorical_column",
    ]
}  # fmt: skip


def _check_string_or_integer(dtype: DType, prefix: str) -> None:
    if dtype is not dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def _check_kind(key: str, dtype: DType, given: Any) -> None:
    if (dtype is dtypes.string) != (given is dtypes.string):
        raise ValueError(
            f"Column dtype and SparseTensors dtype must be compatible. key: {key}, column "
            f"dtype: {dtype}, tensor dtype: {given}"
        )


def _check_key(key: TensorLike) -> str:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
    return key


class _OfOneFeature(CategoricalColumn):
    """Ids that are computed from one raw feature.

    Attributes:
      key: of the feature.
      dtype: of the feature.
    """

    def __init__(self, key: TensorLike, dtype: DType, *parameters: Any) -> None:
        super().__init__(_check_key(key), dtype, *parameters)
        self.key = key
        self.dtype = dtype

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    def transform(self, features: Features) -> SparseTensor:
        """Return the ids."""
        return self.ids(to_sparse(features.get(self.key)))

    def ids(self, values: SparseTensor) -> SparseTensor:
        """Return the ids of values."""
        raise NotImplementedError


class HashedCategoricalColumn(_OfOneFeature):
    """Ids that are the hashes of values."""

    _fields = ("key", "hash_bucket_size", "dtype")

    def __init__(self, key: TensorLike, hash_bucket_size: int, dtype: DType) -> None:
        super().__init__(key, dtype, hash_bucket_size)
        self.hash_bucket_size = self._size = hash_bucket_size

    @property
    def num_buckets(self) -> int:
        """The number of different hashes."""
        return self._size

    def ids(self, values: SparseTensor) -> SparseTensor:
        """Return the hashes of values."""
        _check_string_or_integer(values.dtype, f"column_name: {self.key} input_tensor")
        _check_kind(self.key, self.dtype, values.dtype)
        texts = values.values if self.dtype is dtypes.string else as_string(values.values)
        hashed = string_to_hash_bucket_fast(texts, self._size, name="lookup")
        return SparseTensor(values.indices, hashed, values.dense_shape)


def categorical_column_with_hash_bucket(
    key: TensorLike, hash_bucket_size: int, dtype: DTypeLike | None = dtypes.string
) -> HashedCategoricalColumn:
    """Return a column of categories whose ids are the hashes of values.

    Args:
      key: of the feature.
      hash_bucket_size: the number of ids.
      dtype: of the feature: string or an integer type.

    Raises:
      ValueError: the number of ids is missing or less than 1, or the dtype is another one.
    """
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(
            f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}"
        )
    dtype = dtypes.as_dtype(dtype)
    _check_string_or_integer(dtype, f"column_name: {key}")
    return HashedCategoricalColumn(key, hash_bucket_size, dtype)


class IdentityCategoricalColumn(_OfOneFeature):
    """Ids that are the values themselves."""

    _fields = ("key", "number_buckets", "default_value")

    def __init__(self, key: TensorLike, number_buckets: int, default_value: int | None) -> None:
        super().__init__(key, dtypes.int64, number_buckets, default_value)
        self.number_buckets = self._size = number_buckets
        self.default_value = self._default = default_value

    @property
    def num_buckets(self) -> int:
        """The number of values."""
        return self._size

    def ids(self, values: SparseTensor) -> SparseTensor:
        """Return the values; ``default_value``, if given, replaces those out of range."""
        if not values.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {values.dtype}")
        numbers = values.values
        if numbers.dtype is not dtypes.int64:
            numbers = math_ops.cast(numbers, dtypes.int64, name="values")
        if self._default is not None:
            count = math_ops.cast(self._size, dtypes.int64, name="num_buckets")
            zero = math_ops.cast(0, dtypes.int64, name="zero")
            is_outside = math_ops.logical_or(
                math_ops.less(numbers, zero),
                math_ops.greater_equal(numbers, count),
                name="out_of_range",
            )
            default = array_ops.fill(
                array_ops.shape(numbers),
                math_ops.cast(self._default, dtypes.int64),
                name="default_values",
            )
            numbers = array_ops.where_v2(is_outside, default, numbers)
        return SparseTensor(values.indices, numbers, values.dense_shape)


def categorical_column_with_identity(
    key: TensorLike, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Return a column of categories whose values are ids.

    Args:
      key: of the feature.
      num_buckets: the number of ids.
      default_value: the replacement of values out of range.

    Raises:
      ValueError: a number is out of range.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(
            f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}"
        )
    return IdentityCategoricalColumn(key, num_buckets, default_value)


class VocabularyColumn(_OfOneFeature):
    """Ids that are the positions of values in a vocabulary."""

    def __init__(
        self,
        key: TensorLike,
        dtype: DType,
        words: tuple[Any, ...] | None,
        path: str | None,
        size: int,
        default_value: int,
        num_oov_buckets: int,
    ) -> None:
        super().__init__(key, dtype, words, path, size, default_value, num_oov_buckets)
        self._words = words
        self._path = path
        self._size = size
        self.default_value = self._default = default_value
        self.num_oov_buckets = self._others = num_oov_buckets

    @property
    def num_buckets(self) -> int:
        """The number of words and of ids for other values."""
        return self._size + self._others

    def ids(self, values: SparseTensor) -> SparseTensor:
        """Return the positions of values."""
        _check_kind(self.key, self.dtype, values.dtype)
        _check_string_or_integer(values.dtype, f"column_name: {self.key} input_tensor")
        key_dtype = self.dtype
        if values.dtype.is_integer:
            key_dtype = dtypes.int64
            numbers = math_ops.cast(values.values, dtypes.int64)
            values = SparseTensor(values.indices, numbers, values.dense_shape)
        rest = (self._others, self._default, key_dtype, f"{self.key}_lookup")
        if self._words is not None:
            table = table_of_words(self._words, *rest)
        else:
            table = table_of_lines(str(self._path), self._size, *rest)
        found: SparseTensor = table.lookup(values)
        return found


class VocabularyListCategoricalColumn(VocabularyColumn):
    """A vocabulary in a list."""

    _fields = ("key", "vocabulary_list", "dtype", "default_value", "num_oov_buckets")

    def __init__(
        self,
        key: TensorLike,
        vocabulary_list: tuple[Any, ...],
        dtype: DType,
        default_value: int,
        num_oov_buckets: int,
    ) -> None:
        size = len(vocabulary_list)
        super().__init__(key, dtype, vocabulary_list, None, size, default_value, num_oov_buckets)
        self.vocabulary_list = vocabulary_list


class VocabularyFileCategoricalColumn(VocabularyColumn):
    """A vocabulary in a file."""

    _fields = (
        "key", "vocabulary_file", "vocabulary_size", "num_oov_buckets", "dtype", "default_value",
        "file_format",
    )  # fmt: skip

    def __init__(
        self,
        key: TensorLike,
        vocabulary_file: str,
        vocabulary_size: int,
        num_oov_buckets: int,
        dtype: DType,
        default_value: int,
        file_format: str | None = None,
    ) -> None:
        rest = (vocabulary_size, default_value, num_oov_buckets)
        super().__init__(key, dtype, None, vocabulary_file, *rest)
        self.vocabulary_file, self.vocabulary_size = vocabulary_file, vocabulary_size
        self.file_format = file_format


def _check_others(num_oov_buckets: int, default_value: int | None, key: TensorLike) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
    if num_oov_buckets and default_value not in (None, -1):
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")


def categorical_column_with_vocabulary_list(
    key: TensorLike,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> VocabularyColumn:
    """Return a column of categories whose ids are positions in a list.

    Args:
      key: of the feature.
      vocabulary_list: the values, without repetitions.
      dtype: of the feature; that of the list if None.
      default_value: the id of other values; those with -1 are left out.
      num_oov_buckets: the number of ids that other values get by their hashes.

    Raises:
      ValueError: the list is empty or repeats a value, the dtype is another one, or arguments
        contradict each other.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(vocabulary_list)) != len(vocabulary_list):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    of_list = dtypes.as_dtype(np.array(vocabulary_list).dtype)
    _check_others(num_oov_buckets, default_value, key)
    _check_string_or_integer(of_list, f"column_name: {key} vocabulary")
    dtype = of_list if dtype is None else dtypes.as_dtype(dtype)
    _check_string_or_integer(dtype, f"column_name: {key}")
    if dtype.is_integer != of_list.is_integer:
        raise ValueError(
            f"dtype {dtype} and vocabulary dtype {of_list} do not match, column_name: {key}"
        )
    words = tuple(vocabulary_list)
    return VocabularyListCategoricalColumn(key, words, dtype, default_value, num_oov_buckets)


def categorical_column_with_vocabulary_file(
    key: TensorLike,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike | None = dtypes.string,
) -> VocabularyColumn:
    """Return a column of categories whose ids are the numbers of lines in a file.

    Args:
      key: of the feature.
      vocabulary_file: the file, one value in a line.
      vocabulary_size: the number of lines to use; all if None.
      num_oov_buckets: the number of ids that other values get by their hashes.
      default_value: the id of other values; those with -1 are left out.
      dtype: of the feature: string or an integer type.

    Raises:
      ValueError: the file is missing, the size is less than 1, or arguments contradict each other.
      NotFoundError: the file does not exist.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        vocabulary_size = len(file_system.read_file(str(vocabulary_file)).splitlines())
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_others(num_oov_buckets, default_value, key)
    dtype = dtypes.as_dtype(dtype)
    _check_string_or_integer(dtype, f"column_name: {key}")
    default = -1 if default_value is None else default_value
    path = str(vocabulary_file)
    return VocabularyFileCategoricalColumn(
        key, path, vocabulary_size, num_oov_buckets, dtype, default
    )


class WeightedCategoricalColumn(CategoricalColumn):
    """Ids of another column, with a weight for each."""

    _fields = ("categorical_column", "weight_feature_key", "dtype")

    def __init__(self, column: CategoricalColumn, weight_feature_key: str, dtype: DType) -> None:
        super().__init__(
            f"{column.name}_weighted_by_{weight_feature_key}", column, weight_feature_key, dtype
        )
        self.categorical_column = self._column = column
        self.weight_feature_key = self._key = weight_feature_key
        self.dtype = self._dtype = dtype

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features of the other column, and the weights."""
        spec = self._column.parse_example_spec
        if self._key in spec:
            raise ValueError(f"Parse config {spec[self._key]} already exists for {self._key}.")
        return {**spec, self._key: VarLenFeature(self._dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of ids of the other column."""
        return self._column.num_buckets

    def transform(self, features: Features) -> Nested:
        """Return ids and weights."""
        weights = features.get(self._key)
        if not isinstance(weights, SparseTensor) and not isinstance(weights, Tensor):
            raise ValueError(f"Bad type {type(weights)} for weights of {self.name}.")
        if self._dtype is not weights.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self._dtype}, but got {weights.dtype}.")
        if not isinstance(weights, SparseTensor):
            # Weights of 0 are kept, so that each id keeps its weight.
            weights = to_sparse(weights, ignored=0.0)
        if not weights.dtype.is_floating:
            numbers = math_ops.cast(weights.values, dtypes.float32)
            weights = SparseTensor(weights.indices, numbers, weights.dense_shape)
        return features.get(self._column), weights

    def sparse_tensors(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> IdsAndWeights:
        """Return ids and weights of each example."""
        return IdsAndWeights(*features.get(self))


def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: DType = dtypes.float32
) -> WeightedCategoricalColumn:
    """Return the categories of another column, with a weight for each.

    Args:
      categorical_column: the other column.
      weight_feature_key: the key of the weights.
      dtype: of the weights.

    Raises:
      ValueError: the weights are not numbers.
    """
    dtype = None if dtype is None else dtypes.as_dtype(dtype)
    if dtype is None or not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, dtype)


class CrossedColumn(CategoricalColumn):
    """Ids that are hashes of the values of several columns."""

    _fields = ("keys", "hash_bucket_size", "hash_key")

    def __init__(
        self, keys: tuple[TensorLike, ...], hash_bucket_size: int, hash_key: int | None
    ) -> None:
        names = sorted(self._leaf_names(keys))
        super().__init__("_X_".join(names), keys, hash_bucket_size, hash_key)
        self.keys = keys
        self.hash_bucket_size = self._size = hash_bucket_size
        self.hash_key = self._hash_key = hash_key

    @staticmethod
    def _leaf_names(keys: tuple[TensorLike, ...]) -> list[str]:
        found: list[str] = []
        for key in keys:
            if isinstance(key, CrossedColumn):
                found += CrossedColumn._leaf_names(key.keys)
            else:
                found.append(key if isinstance(key, str) else key.name)
        return found

    def _leaves(self) -> list[Any]:
        found: list[Any] = []
        for key in self.keys:
            found += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return found

    @property
    def num_buckets(self) -> int:
        """The number of different hashes."""
        return self._size

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features of the columns; keys are texts of any length."""
        spec: dict[str, Any] = {}
        for key in self.keys:
            if isinstance(key, str):
                spec[key] = VarLenFeature(dtypes.string)
            else:
                spec.update(key.parse_example_spec)
        return spec

    def transform(self, features: Features) -> SparseTensor:
        """Return the hashes."""
        inputs: list[TensorLike] = []
        for key in self._leaves():
            if isinstance(key, str):
                inputs.append(features.get(key))
                continue
            found = key.sparse_tensors(features)
            if found.weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column "
                    f"populates weight_tensor. Given column: {key.name}"
                )
            inputs.append(found.ids)
        crossed: SparseTensor = cross_hashed(inputs, self._size, self._hash_key)
        return crossed


def crossed_column(
    keys: TensorLike, hash_bucket_size: int, hash_key: int | None = None
) -> CrossedColumn:
    """Return a column of combinations of categories, by their hashes.

    Args:
      keys: columns of categories, and keys of features of texts; at least two.
      hash_bucket_size: the number of ids.
      hash_key: a number that is mixed into the hashes.

    Raises:
      ValueError: there are fewer than two keys, a key of another kind, or a hashed column.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except _HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name as "
                f"a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
