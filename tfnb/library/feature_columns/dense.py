"""Columns of numbers: numeric, bucketized, indicators and embeddings of categories."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.scopes import add_to_collection, get_collection, name_scope
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.feature_columns.column import (
    CategoricalColumn,
    DenseColumn,
    FeatureColumn,
    Features,
    IdsAndWeights,
)
from tfnb.library.feature_columns.sequence_columns import check_is_sequence, sequence_length
from tfnb.library.nn.embedding_ops import embedding_lookup_sparse, safe_embedding_lookup_sparse
from tfnb.library.sparse.sparse_functions import sparse_merge
from tfnb.library.tables.parsing_features import FixedLenFeature
from tfnb.library.variables.init_ops import TruncatedNormal
from tfnb.library.variables.variable_scope import get_variable
from tfnb.ops.array import array_ops
from tfnb.ops.array.scatter_nd_ops import scatter_nd
from tfnb.ops.math import math_ops
from tfnb.ops.math.histogram_ops import bucketize
from tfnb.ops.sparse.sparse_ops import sparse_slice, sparse_tensor_to_dense

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import (
        CollectionNames,
        Config,
        Initializer,
        Nested,
        TensorLike,
        TensorResult,
    )

EXPORTS = {
    "feature_column": [
        "bucketized_column", "embedding_column", "indicator_column", "numeric_column",
        "shared_embedding_columns",
    ]
}  # fmt: skip


class NumericColumn(DenseColumn):
    """Numbers, perhaps normalized by a function."""

    _fields = ("key", "shape", "default_value", "dtype", "normalizer_fn")

    def __init__(
        self,
        key: str,
        shape: tuple[int, ...],
        default_value: TensorLike,
        dtype: DTypeLike,
        normalizer_fn: Callable[[Nested], Nested] | None,
    ) -> None:
        super().__init__(key, shape, default_value, dtype, normalizer_fn)
        self.key = key
        self.shape = shape
        self.default_value = default_value
        self.dtype = dtype
        self.normalizer_fn = normalizer_fn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of a fixed shape."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        """The shape for one example."""
        return TensorShape(self.shape)

    def transform(self, features: Features) -> TensorResult:
        """Return the numbers, normalized, as float32."""
        value = features.get(self.key)
        if isinstance(value, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is "
                f"not supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            value = self.normalizer_fn(value)
        return math_ops.cast(value, dtypes.float32)

    def dense_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> TensorResult:
        """Return the numbers of each example."""
        return features.get(self)


def numeric_column(
    key: str,
    shape: TensorLike = (1,),
    default_value: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    normalizer_fn: Callable[[Nested], Nested] | None = None,
) -> NumericColumn:
    """Return a column of numbers.

    Args:
      key: of the feature.
      shape: for one example.
      default_value: the value for an example without the feature: one number, or one for each
        element.
      dtype: of the feature.
      normalizer_fn: a function of the tensor.

    Raises:
      TypeError: the shape is not a shape, or the function cannot be called.
      ValueError: the dtype is not numeric, or the default does not fit.
    """
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
    sizes = tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if not sizes:
        raise TypeError(f"shape must be an iterable of dimensions. Given shape: {shape}")
    for size in sizes:
        if not isinstance(size, (int, np.integer)):
            raise TypeError(f"shape dimensions must be integer. shape: {sizes}")
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {sizes}")
    dtype = dtypes.as_dtype(dtype)
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    default = _default_of_shape(key, sizes, default_value, dtype)
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return NumericColumn(key, sizes, default, dtype, normalizer_fn)


def _default_of_shape(key: str, shape: tuple[int, ...], value: TensorLike, dtype: DType) -> Any:
    """Return a default as nested tuples of a shape; None stays None."""
    if value is None:
        return None
    array = np.asarray(value)
    if array.ndim and array.shape != shape:
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {value}, shape: {shape}, key: {key}"
        )
    if array.dtype.kind not in ("iu" if dtype.is_integer else "iuf"):
        raise TypeError(
            "default_value must be compatible with dtype. "
            f"default_value: {value}, dtype: {dtype}, key: {key}"
        )
    cast = np.broadcast_to(array, shape).astype(dtype.as_numpy_dtype)

    def nested(one: TensorLike) -> TensorResult:
        return tuple(map(nested, one)) if isinstance(one, list) else one

    return nested(cast.tolist())


class BucketizedColumn(DenseColumn, CategoricalColumn):
    """The interval that each number lies in."""

    _fields = ("source_column", "boundaries")

    def __init__(self, source: NumericColumn, boundaries: tuple[float, ...]) -> None:
        super().__init__(f"{source.name}_bucketized", source, boundaries)
        self.source_column = self._source = source
        self.boundaries = self._boundaries = boundaries

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features of the column of numbers."""
        return self._source.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """One element per interval."""
        return TensorShape((*self._source.shape, len(self._boundaries) + 1))

    @property
    def num_buckets(self) -> int:
        """One id per interval and element."""
        return (len(self._boundaries) + 1) * self._source.shape[0]

    def transform(self, features: Features) -> TensorResult:
        """Return the index of the interval of each number."""
        return bucketize(features.get(self._source), boundaries=list(self._boundaries))

    def dense_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> TensorResult:
        """Return 1 for the interval of each number, 0 for the others."""
        return array_ops.one_hot(
            math_ops.cast(features.get(self), dtypes.int64),
            depth=len(self._boundaries) + 1,
            on_value=1.0,
            off_value=0.0,
        )

    def sparse_tensors(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> IdsAndWeights:
        """Return the interval of each number as an id; each element has ids of its own."""
        found = features.get(self)
        batch = array_ops.shape(found)[0]
        places = self._source.shape[0]
        rows = array_ops.reshape(
            array_ops.tile(array_ops.expand_dims(math_ops.range_(0, batch), 1), [1, places]), (-1,)
        )
        columns = array_ops.tile(math_ops.range_(0, places), [batch])
        ids = array_ops.reshape(found, (-1,)) + (len(self._boundaries) + 1) * columns
        indices = math_ops.cast(array_ops.transpose(array_ops.stack((rows, columns))), dtypes.int64)
        shape = math_ops.cast(array_ops.stack([batch, places]), dtypes.int64)
        return IdsAndWeights(SparseTensor(indices, ids, shape), None)


def bucketized_column(source_column: TensorLike, boundaries: TensorLike) -> BucketizedColumn:
    """Return a column that says which interval each number of another column lies in.

    Args:
      source_column: the numbers, of one dimension.
      boundaries: the beginnings of the intervals, ascending.

    Raises:
      ValueError: the column is of another kind, or the boundaries do not ascend.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(
            "source_column must be a column generated with numeric_column(). "
            f"Given: {source_column}"
        )
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    if not isinstance(boundaries, (list, tuple)) or not boundaries:
        raise ValueError("boundaries must not be empty.")
    if any(low >= high for low, high in itertools.pairwise(boundaries)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, tuple(boundaries))


class IndicatorColumn(DenseColumn):
    """The number of occurrences of each category."""

    _fields = ("categorical_column",)

    def __init__(self, column: CategoricalColumn) -> None:
        super().__init__(f"{column.name}_indicator", column)
        self.categorical_column = self._column = column

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features of the column of categories."""
        return self._column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """One element per category."""
        return TensorShape([1, self._column.num_buckets])

    def transform(self, features: Features) -> TensorResult:
        """Return a count, or the sum of weights, per category."""
        ids, weights = self._column.sparse_tensors(features)
        depth = self._column.num_buckets
        if weights is not None:
            merged = sparse_merge(sp_ids=ids, sp_values=weights, vocab_size=depth)
            # Ids of unknown values lie outside and are cut off.
            kept = sparse_slice(merged, [0, 0], merged.dense_shape)
            return scatter_nd(kept.indices, kept.values, kept.dense_shape)
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        one_hot = array_ops.one_hot(dense, depth=depth, on_value=1.0, off_value=0.0)
        return math_ops.reduce_sum(one_hot, axis=[-2])

    def dense_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> TensorResult:
        """Return the counts of each example."""
        check_is_sequence("indicator_column", self, False)
        return features.get(self)

    def sequence_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> tuple[TensorResult, TensorResult]:
        """Return the counts of each step, and the number of steps of each example."""
        check_is_sequence("indicator_column", self, True)
        return features.get(self), sequence_length(self._column.sparse_tensors(features).ids)


def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """Return a column that counts how often each category occurs."""
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            "Unsupported input type. Input must be a CategoricalColumn. "
            f"Given: {categorical_column}"
        )
    return IndicatorColumn(categorical_column)


class EmbeddingColumn(DenseColumn):
    """One vector per category, which is learned; several are combined."""

    _fields = (
        "categorical_column", "dimension", "combiner", "initializer", "ckpt_to_load_from",
        "tensor_name_in_ckpt", "max_norm", "trainable", "use_safe_embedding_lookup",
    )  # fmt: skip

    def __init__(
        self,
        column: CategoricalColumn,
        dimension: int,
        combiner: str,
        initializer: Initializer,
        ckpt_to_load_from: str | None,
        tensor_name_in_ckpt: str | None,
        max_norm: float | None,
        trainable: bool,
        use_safe_embedding_lookup: bool,
        shared_name: str | None = None,
        collection: str | None = None,
    ) -> None:
        super().__init__(
            f"{column.name}_{'shared_' if shared_name else ''}embedding",
            *(column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt),
            *(max_norm, trainable, use_safe_embedding_lookup, shared_name, collection),
        )
        self.categorical_column = column
        self.dimension = dimension
        self.combiner = combiner
        self.initializer = initializer
        self.ckpt_to_load_from = ckpt_to_load_from
        self.tensor_name_in_ckpt = tensor_name_in_ckpt
        self.max_norm = max_norm
        self.trainable = trainable
        self.use_safe_embedding_lookup = use_safe_embedding_lookup
        self._shared_name = shared_name
        self._collection = collection

    def get_config(self) -> Config:
        """Return the fields as plain values.

        Raises:
          NotImplementedError: the column shares its variable.
        """
        if self._shared_name:
            raise NotImplementedError(
                f"{self.name} shares its variable with other columns, which its configuration does "
                "not contain. Call tf.feature_column.shared_embedding_columns again."
            )
        return super().get_config()

    @property
    def var_scope_name(self) -> str:
        """The name of the scope of its variable, which may be shared."""
        return self._shared_name or self.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """The raw features of the column of categories."""
        return self.categorical_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        """The shape of one vector."""
        return TensorShape([self.dimension])

    def transform(self, features: Features) -> TensorResult:
        """Return the ids."""
        return features.get(self.categorical_column)

    def _weights(self, weight_collections: CollectionNames, trainable: bool) -> TensorResult:
        shape = (self.categorical_column.num_buckets, self.dimension)
        shared = get_collection(self._collection) if self._collection else []
        if len(shared) > 1:
            raise ValueError(
                f"Collection {self._collection} can only contain one variable. Suggested fix A: "
                "Choose a unique name for this collection. Suggested fix B: Do not add any "
                "variables to this collection. The feature_column library already adds a variable "
                "under the hood."
            )
        if shared:
            if tuple(shared[0].shape.as_list()) != shape:
                raise ValueError(
                    f"Shared embedding collection {self._collection} contains variable "
                    f"{shared[0].name} of unexpected shape {shared[0].shape}. Expected shape is "
                    f"{shape}. Suggested fix A: Choose a unique name for this collection. "
                    "Suggested fix B: Do not add any variables to this collection."
                )
            return shared[0]
        weights = get_variable(
            "embedding_weights",
            shape=shape,
            dtype=dtypes.float32,
            initializer=self.initializer,
            trainable=self.trainable and trainable,
            collections=weight_collections,
        )
        if self._collection:
            add_to_collection(self._collection, weights)
        if self.ckpt_to_load_from is not None:
            from tfnb.library.training.init_from_checkpoint import init_from_checkpoint

            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: weights})
        return weights

    def dense_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> TensorResult:
        """Return the vector of each example."""
        check_is_sequence("embedding_column", self, False)
        return self._in_own_scope(features, weight_collections, trainable)

    def sequence_tensor(
        self,
        features: Features,
        weight_collections: CollectionNames | None = None,
        trainable: bool = True,
    ) -> tuple[TensorResult, TensorResult]:
        """Return the vector of each step, and the number of steps of each example."""
        check_is_sequence("embedding_column", self, True)
        vectors = self._in_own_scope(features, weight_collections, trainable)
        ids = self.categorical_column.sparse_tensors(features).ids
        return vectors, sequence_length(ids)

    def _in_own_scope(
        self, features: Features, weight_collections: CollectionNames | None, trainable: bool
    ) -> TensorResult:
        if self._collection:
            # The scope for the ops of a shared column has a name of its own.
            with name_scope(None, default_name=self.name):
                return self._vectors(features, weight_collections, trainable)
        return self._vectors(features, weight_collections, trainable)

    def _vectors(
        self, features: Features, weight_collections: CollectionNames, trainable: bool
    ) -> TensorResult:
        ids, id_weights = self.categorical_column.sparse_tensors(
            features, weight_collections=weight_collections, trainable=trainable
        )
        weights = self._weights(weight_collections, trainable)
        lookup = (
            safe_embedding_lookup_sparse
            if self.use_safe_embedding_lookup
            else embedding_lookup_sparse
        )
        return lookup(
            weights,
            ids,
            id_weights,
            combiner=self.combiner,
            name=f"{self.name}_weights",
            max_norm=self.max_norm,
        )


def _check_embedding(
    dimension: TensorLike, initializer: Initializer, ckpt: Any, tensor_name: Any
) -> None:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt is None) != (tensor_name is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )
    if initializer is not None and not callable(initializer):
        raise ValueError("initializer must be callable if specified.")


def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Initializer | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> EmbeddingColumn:
    """Return a column with a learned vector per category.

    Args:
      categorical_column: the categories.
      dimension: the length of the vectors.
      combiner: how several become one: ``mean``, ``sqrtn`` or ``sum``.
      initializer: of the vectors; if None, a truncated normal that is narrower for longer vectors.
      ckpt_to_load_from: a checkpoint that has their first values.
      tensor_name_in_ckpt: their name in the checkpoint.
      max_norm: longer vectors are shortened to this length.
      trainable: whether they are learned.
      use_safe_embedding_lookup: whether examples without a category get zeros.

    Raises:
      ValueError: the dimension is missing, or one of the two checkpoint arguments is.
    """
    if not isinstance(categorical_column, CategoricalColumn):
        raise ValueError(
            f"categorical_column must be a column of categories. Given: {categorical_column}"
        )
    _check_embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = initializer or TruncatedNormal(mean=0.0, stddev=1 / math.sqrt(dimension))
    return EmbeddingColumn(
        *(categorical_column, dimension, combiner, initializer, ckpt_to_load_from),
        *(tensor_name_in_ckpt, max_norm, trainable, use_safe_embedding_lookup),
    )


def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Initializer | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[EmbeddingColumn]:
    """Return columns that share the vectors of their categories.

    Args:
      categorical_columns: the columns, all with the same number of categories.
      dimension: the length of the vectors.
      combiner: see :func:`embedding_column`.
      initializer: see :func:`embedding_column`.
      shared_embedding_collection_name: the collection that has the variable; made of the columns'
        names if None.
      ckpt_to_load_from: see :func:`embedding_column`.
      tensor_name_in_ckpt: see :func:`embedding_column`.
      max_norm: see :func:`embedding_column`.
      trainable: see :func:`embedding_column`.
      use_safe_embedding_lookup: see :func:`embedding_column`.

    Raises:
      ValueError: the columns cannot share vectors.
    """
    _check_embedding(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt)
    initializer = initializer or TruncatedNormal(mean=0.0, stddev=1.0 / math.sqrt(dimension))
    ordered = sorted(categorical_columns, key=lambda column: str(column.name))
    first = _inner(ordered[0])
    for column in ordered[1:]:
        if type(_inner(column)) is not type(first):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, "
                "or be weighted_categorical_column or sequence column of the same type. Given "
                f"column: {first} of type: {type(first)} does not match given column: {column} of "
                f"type: {type(_inner(column))}"
            )
        if column.num_buckets != ordered[0].num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number "
                f"of buckets. Given column: {ordered[0]} with buckets: {ordered[0].num_buckets} "
                f"does not match column: {column} with buckets: {column.num_buckets}"
            )
    if not shared_embedding_collection_name:
        shared_embedding_collection_name = "_".join(column.name for column in ordered)
        shared_embedding_collection_name += "_shared_embedding"
    return [
        EmbeddingColumn(
            *(column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt),
            *(max_norm, trainable, use_safe_embedding_lookup),
            shared_name=shared_embedding_collection_name,
            collection=shared_embedding_collection_name,
        )
        for column in categorical_columns
    ]


def _inner(column: Any) -> FeatureColumn:
    """Return the column of categories inside a column with weights."""
    found: FeatureColumn = getattr(column, "_column", column)
    return found
