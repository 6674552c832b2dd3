"""The feature columns of ``tf.contrib.layers``, as columns of ``tf.feature_column``.

Variables have the names of ``tf.feature_column``. A column without a name stands for features that
are one tensor and no dictionary.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.public.api import tf
from tfnb.library.feature_columns.categorical import HashedCategoricalColumn
from tfnb.library.feature_columns.column import CategoricalColumn, FeatureColumn, Features

if TYPE_CHECKING:
    from collections.abc import Sequence

# The key of features that are one tensor.
ONLY_FEATURE = "features"


def named_features(features: Any) -> dict[Any, Any]:
    """Return features as a dictionary; one tensor is the feature of columns without a name."""
    return features if isinstance(features, dict) else {ONLY_FEATURE: features}


def sparse_column_with_keys(
    column_name: str,
    keys: Sequence[Any],
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> Any:
    """Return a column of the categories of a list.

    Args:
      column_name: the feature.
      keys: the categories.
      default_value: the category of others; -1 for none.
      combiner: without effect; models take their own ``sparse_combiner``.
      dtype: of the categories.
    """
    return tf.feature_column.categorical_column_with_vocabulary_list(
        column_name, keys, dtype, default_value
    )


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = tf.string,
) -> Any:
    """Return a column of the categories of a file, one per line.

    Args:
      column_name: the feature.
      vocabulary_file: the file.
      num_oov_buckets: the number of categories for others.
      vocab_size: the number of lines that count.
      default_value: the category of others; -1 for none.
      combiner: without effect.
      dtype: of the categories.
    """
    return tf.feature_column.categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets,
        None if num_oov_buckets else default_value, dtype,
    )  # fmt: skip


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: Any = tf.string
) -> Any:
    """Return a column of categories by their hash.

    Args:
      column_name: the feature.
      hash_bucket_size: the number of categories.
      combiner: without effect.
      dtype: of the feature.
    """
    return tf.feature_column.categorical_column_with_hash_bucket(
        column_name, hash_bucket_size, dtype
    )


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = tf.int64
) -> Any:
    """Return a column whose feature is the number of a category.

    Args:
      column_name: the feature.
      bucket_size: the number of categories.
      combiner: without effect.
      dtype: of the feature.
    """
    return tf.feature_column.categorical_column_with_identity(column_name, bucket_size)


def weighted_sparse_column(
    sparse_id_column: Any, weight_column_name: str, dtype: Any = tf.float32, trainable: bool = False
) -> Any:
    """Return a column of categories with weights.

    Args:
      sparse_id_column: the categories.
      weight_column_name: the feature with the weights.
      dtype: of the weights.
      trainable: must be False.

    Raises:
      NotImplementedError: trainable is True.
    """
    if trainable:
        raise NotImplementedError("Trainable weights of categories: use an embedding_column.")
    return tf.feature_column.weighted_categorical_column(
        sparse_id_column, weight_column_name, dtype
    )


def crossed_column(
    columns: Sequence[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    hash_key: int | None = None,
) -> Any:
    """Return a column of combinations of categories.

    Args:
      columns: columns of categories, or bucketized columns.
      hash_bucket_size: the number of categories of the combinations.
      combiner: without effect.
      ckpt_to_load_from: must be None; see ``tf.train.init_from_checkpoint``.
      tensor_name_in_ckpt: must be None.
      hash_key: of the hash.
    """
    _check_no_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
    # A hashed column is crossed by its feature's own values.
    parts = [one.key if isinstance(one, HashedCategoricalColumn) else one for one in columns]
    return tf.feature_column.crossed_column(parts, hash_bucket_size, hash_key)


def one_hot_column(sparse_id_column: Any) -> Any:
    """Return a dense column with how often an example has each category."""
    return tf.feature_column.indicator_column(sparse_id_column)


def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Return a dense column with a trained vector of each category.

    Args:
      sparse_id_column: the categories.
      dimension: the size of a vector.
      combiner: how the vectors of an example become one.
      initializer: of the vectors.
      ckpt_to_load_from: the checkpoint with their first values.
      tensor_name_in_ckpt: the name of their variable there.
      max_norm: the largest norm of a vector.
      trainable: whether they are trained.
    """
    return tf.feature_column.embedding_column(
        sparse_id_column, dimension, combiner or "mean", initializer, ckpt_to_load_from,
        tensor_name_in_ckpt, max_norm, trainable,
    )  # fmt: skip


def shared_embedding_columns(
    sparse_id_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Return dense columns that have their vectors in common.

    Args:
      sparse_id_columns: the categories of each.
      dimension: the size of a vector.
      combiner: how the vectors of an example become one.
      shared_embedding_name: the name of the variable.
      initializer: of the vectors.
      ckpt_to_load_from: the checkpoint with their first values.
      tensor_name_in_ckpt: the name of their variable there.
      max_norm: the largest norm of a vector.
      trainable: whether they are trained.
    """
    return tf.feature_column.shared_embedding_columns(
        sparse_id_columns, dimension, combiner or "mean", initializer, shared_embedding_name,
        ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable,
    )  # fmt: skip


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer: Any = None,
) -> Any:
    """Return a column of numbers.

    Args:
      column_name: the feature; empty for features that are one tensor.
      dimension: how many numbers an example has.
      default_value: of examples without the feature.
      dtype: of the feature.
      normalizer: a function of the tensor.
    """
    return tf.feature_column.numeric_column(
        column_name or ONLY_FEATURE, (dimension,), default_value, dtype, normalizer
    )


def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> Any:
    """Return a column of the intervals that numbers are in.

    Args:
      source_column: a column of numbers.
      boundaries: of the intervals.
    """
    return tf.feature_column.bucketized_column(source_column, boundaries)


def infer_real_valued_columns(features: Any) -> list[Any]:
    """Return a column of numbers for each feature.

    Args:
      features: a tensor, or key -> tensor.

    Raises:
      ValueError: a feature has no numbers, or not two dimensions.
    """
    found = []
    for key, value in sorted(named_features(features).items()):
        tensor = tf.convert_to_tensor(value)
        if not (tensor.dtype.is_floating or tensor.dtype.is_integer):
            raise ValueError(f"on infer_real_valued_columns: feature {key} has {tensor.dtype}.")
        if tensor.shape.ndims not in (1, 2):
            raise ValueError(f"Expected 2 dimensions of feature {key}, its shape is {tensor.shape}")
        size = 1 if tensor.shape.ndims == 1 else int(tensor.shape[1])
        found.append(real_valued_column(key, size, dtype=tensor.dtype))
    return found


def input_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Sequence[Any],
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Any:
    """Return the values of dense columns, [batch, values].

    Args:
      columns_to_tensors: key -> tensor.
      feature_columns: the columns.
      weight_collections: the collections of variables.
      trainable: whether variables are trained.
      scope: the variable scope.
      cols_to_outs: gets column -> its value.
    """
    with tf.variable_scope(scope, "input_from_feature_columns"):
        return tf.feature_column.input_layer(
            named_features(columns_to_tensors), feature_columns, weight_collections, trainable,
            cols_to_output_tensors=cols_to_outs,
        )  # fmt: skip


def weighted_sum_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Sequence[Any],
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[Any, dict[Any, Any], Any]:
    """Return the sum of the weighted values of columns.

    Args:
      columns_to_tensors: key -> tensor.
      feature_columns: the columns.
      num_outputs: how many sums.
      weight_collections: the collections of variables.
      trainable: whether variables are trained.
      scope: the variable scope.

    Returns:
      The sums, [batch, num_outputs]; column -> variables; the bias.
    """
    variables: dict[Any, Any] = {}
    with tf.variable_scope(scope, "weighted_sum_from_feature_columns"):
        sums = tf.feature_column.linear_model(
            named_features(columns_to_tensors), feature_columns, num_outputs, "sum",
            weight_collections, trainable, variables,
        )  # fmt: skip
    bias = variables.pop("bias")
    return sums, variables, bias[0] if isinstance(bias, list) else bias


# Here weights of a column are in a variable of its own as well.
joint_weighted_sum_from_feature_columns = weighted_sum_from_feature_columns


def create_feature_spec_for_parsing(feature_columns: Sequence[Any]) -> dict[str, Any]:
    """Return the features of ``tf.parse_example`` for columns."""
    found: dict[str, Any] = tf.feature_column.make_parse_example_spec(list(feature_columns))
    return found


def parse_feature_columns_from_examples(
    serialized: Any,
    feature_columns: Sequence[Any],
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """Return key -> tensor of serialized examples.

    Args:
      serialized: [batch], the examples.
      feature_columns: the columns that need them.
      name: of the op.
      example_names: for errors.
    """
    spec = create_feature_spec_for_parsing(feature_columns)
    found: dict[str, Any] = tf.parse_example(serialized, spec, name, example_names)
    return found


def transform_features(features: Any, feature_columns: Sequence[Any]) -> dict[Any, Any]:
    """Return column -> its value; columns of categories give the ids.

    Args:
      features: key -> tensor.
      feature_columns: the columns.
    """
    made = Features(named_features(features))
    return {
        one: one.sparse_tensors(made).ids if isinstance(one, CategoricalColumn) else made.get(one)
        for one in feature_columns
    }


def check_feature_columns(feature_columns: Sequence[Any]) -> None:
    """Check that there are columns, each once.

    Raises:
      ValueError: there are none, or two are equal.
      TypeError: one is no column.
    """
    if not feature_columns:
        raise ValueError("Missing feature_columns.")
    for one in feature_columns:
        if not isinstance(one, FeatureColumn):
            raise TypeError(f"Items of feature_columns must be columns, given: {one!r}")
    if len(set(feature_columns)) < len(feature_columns):
        raise ValueError("Duplicate feature column found.")


def _check_no_checkpoint(*given: Any) -> None:
    if any(one is not None for one in given):
        raise NotImplementedError(
            "Weights of crossed columns from a checkpoint: call tf.train.init_from_checkpoint."
        )
