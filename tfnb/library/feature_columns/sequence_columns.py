"""Columns of sequences: one value, or one set of ids, for each step of an example."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import name_scope
from tfnb.library.feature_columns.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from tfnb.library.feature_columns.column import (
    CategoricalColumn,
    FeatureColumn,
    Features,
    IdsAndWeights,
)
from tfnb.library.sparse.sparse_functions import sparse_reshape
from tfnb.library.tables.parsing_features import VarLenFeature
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.math.segment_ops import segment_max
from tfnb.ops.sparse.sparse_ops import sparse_tensor_to_dense

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.sparse_tensor import SparseTensor
    from tfnb.framework.tensor_types import CollectionNames, TensorLike, TensorResult

EXPORTS = {
    "feature_column": [
        "sequence_categorical_column_with_hash_bucket",
        "sequence_categorical_column_with_identity",
        "sequence_categorical_column_with_vocabulary_file",
        "sequence_categorical_column_with_vocabulary_list",
        "sequence_numeric_column",
    ]
}


class SequenceCategoricalColumn(CategoricalColumn):
    """Ids of categories in steps: those of a step are not joined with those of another.

    Args:
      categorical_column: the column of ids.
    """

    _fields = ("categorical_column",)

    def __init__(self, categorical_column: CategoricalColumn) -> None:
        super().__init__(categorical_column.name, categorical_column)
        self.categorical_column = categorical_column

    @property
    def num_buckets(self) -> int:
        """The number of categories."""
        return self.categorical_column.num_buckets

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features of the column of ids."""
        return self.categorical_column.parse_example_spec

    def transform(self, features: Features) -> TensorResult:
        """Return the ids."""
        return self.categorical_column.transform(features)

    def sparse_tensors(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> IdsAndWeights:
        """Return ids and weights, [batch, steps, ids of a step]."""
        ids, weights = self.categorical_column.sparse_tensors(
            features, weight_collections, trainable
        )
        shape = array_ops.shape(ids)
        by_step = [shape[0], shape[1], -1]
        return IdsAndWeights(
            sparse_reshape(ids, by_step),
            None if weights is None else sparse_reshape(weights, by_step),
        )


class SequenceNumericColumn(FeatureColumn):
    """Numbers in steps, perhaps normalized by a function."""

    _fields = ("key", "shape", "default_value", "dtype", "normalizer_fn")

    def __init__(
        self,
        key: str,
        shape: tuple[int, ...],
        default_value: float,
        dtype: DType,
        normalizer_fn: Callable[..., Any] | None,
    ) -> None:
        super().__init__(key, shape, default_value, dtype, normalizer_fn)
        self.key = key
        self.shape = shape
        self.default_value = default_value
        self.dtype = dtype
        self.normalizer_fn = normalizer_fn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of the value of one step."""
        return TensorShape(self.shape)

    def transform(self, features: Features) -> TensorResult:
        """Return the numbers, a sparse tensor."""
        found = features.get(self.key)
        return found if self.normalizer_fn is None else self.normalizer_fn(found)

    def sequence_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> tuple[TensorResult, TensorResult]:
        """Return the numbers, [batch, steps, ...], and the number of steps of each example."""
        given = features.get(self)
        dense = sparse_tensor_to_dense(given, default_value=self.default_value)
        size = array_ops.shape(dense)
        steps = array_ops.reshape(dense, [size[0], -1, *self.shape])
        count = self.variable_shape.num_elements() if given.shape.ndims == 2 else 1
        return steps, sequence_length(given, count or 1)


def sequence_length(given: SparseTensor, elements_of_a_step: int = 1) -> TensorResult:
    """Return the number of steps of each example, int64.

    Args:
      given: values, [batch, elements] or [batch, steps, ...].
      elements_of_a_step: how many elements make a step.
    """
    with name_scope(None, "sequence_length"):
        last = segment_max(given.indices[:, 1] + 1, segment_ids=given.indices[:, 0])
        steps = math_ops.cast(math_ops.ceil(last / elements_of_a_step), dtypes.int64)
        rows = given.dense_shape[0]
        # Examples at the end without a value have no segment.
        missing = rows - array_ops.size(steps, out_type=dtypes.int64)
        return array_ops.concat([steps, array_ops.zeros(array_ops.expand_dims(missing, 0),
                                                        dtypes.int64)], 0)  # fmt: skip


def check_is_sequence(kind: str, column: Any, wanted: bool) -> None:
    """Refuse a column of steps where none belongs, and one without where steps are wanted.

    Args:
      kind: of the column around, for the error.
      column: the column around it.
      wanted: whether it has to be one of steps.

    Raises:
      ValueError: it is the other kind.
    """
    inner = column.categorical_column
    if isinstance(inner, SequenceCategoricalColumn) is wanted:
        return
    what = (
        "must be of type SequenceCategoricalColumn to use SequenceFeatures. Suggested fix: Use one "
        "of sequence_categorical_column_with_*."
        if wanted
        else "must not be of type _SequenceCategoricalColumn. Suggested fix A: If you wish to use "
        "DenseFeatures, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish "
        "to create sequence input, use SequenceFeatures instead of DenseFeatures."
    )
    raise ValueError(
        f"In {kind}: {column.name}. categorical_column {what} Given (type {type(inner)}): {inner}"
    )


def sequence_categorical_column_with_identity(
    key: TensorLike, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Return a column of steps; arguments as of ``categorical_column_with_identity``."""
    return SequenceCategoricalColumn(
        categorical_column_with_identity(key, num_buckets, default_value)
    )


def sequence_categorical_column_with_hash_bucket(
    key: TensorLike, hash_bucket_size: int, dtype: DTypeLike | None = dtypes.string
) -> SequenceCategoricalColumn:
    """Return a column of steps; arguments as of ``categorical_column_with_hash_bucket``."""
    return SequenceCategoricalColumn(
        categorical_column_with_hash_bucket(key, hash_bucket_size, dtype)
    )


def sequence_categorical_column_with_vocabulary_file(
    key: TensorLike,
    vocabulary_file: Any,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: DTypeLike | None = dtypes.string,
) -> SequenceCategoricalColumn:
    """Return a column of steps; arguments as of ``categorical_column_with_vocabulary_file``."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key,
            vocabulary_file,
            vocabulary_size,
            num_oov_buckets=num_oov_buckets,
            default_value=default_value,
            dtype=dtype,
        )
    )


def sequence_categorical_column_with_vocabulary_list(
    key: TensorLike,
    vocabulary_list: Any,
    dtype: DTypeLike | None = None,
    default_value: int = -1,
    num_oov_buckets: int = 0,
) -> SequenceCategoricalColumn:
    """Return a column of steps; arguments as of ``categorical_column_with_vocabulary_list``."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(
            key, vocabulary_list, dtype, default_value, num_oov_buckets
        )
    )


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[..., Any] | None = None,
) -> SequenceNumericColumn:
    """Return a column of numbers in steps.

    Args:
      key: of the raw feature, which is sparse.
      shape: of the numbers of one step.
      default_value: where an example has no more steps.
      dtype: of the feature.
      normalizer_fn: a function of the sparse tensor.

    Raises:
      TypeError: ``normalizer_fn`` cannot be called.
      ValueError: a dimension is not greater than 0, or values are no numbers.
    """
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for size in sizes:
        if not isinstance(size, int):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}, key: {key}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}, key: {key}")
    kind = dtypes.as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {kind}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return SequenceNumericColumn(key, sizes, default_value, kind, normalizer_fn)
