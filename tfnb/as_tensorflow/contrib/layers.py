"""``tf.contrib.layers``: tf-slim's layers, feature columns, and embeddings of ids."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib import feature_columns
from tfnb.as_tensorflow.contrib.feature_columns import bucketized_column as bucketized_column
from tfnb.as_tensorflow.contrib.feature_columns import (
    check_feature_columns as check_feature_columns,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    create_feature_spec_for_parsing as create_feature_spec_for_parsing,
)
from tfnb.as_tensorflow.contrib.feature_columns import crossed_column as crossed_column
from tfnb.as_tensorflow.contrib.feature_columns import embedding_column as embedding_column
from tfnb.as_tensorflow.contrib.feature_columns import (
    infer_real_valued_columns as infer_real_valued_columns,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    input_from_feature_columns as input_from_feature_columns,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    joint_weighted_sum_from_feature_columns as joint_weighted_sum_from_feature_columns,
)
from tfnb.as_tensorflow.contrib.feature_columns import one_hot_column as one_hot_column
from tfnb.as_tensorflow.contrib.feature_columns import (
    parse_feature_columns_from_examples as parse_feature_columns_from_examples,
)
from tfnb.as_tensorflow.contrib.feature_columns import real_valued_column as real_valued_column
from tfnb.as_tensorflow.contrib.feature_columns import (
    shared_embedding_columns as shared_embedding_columns,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    sparse_column_with_hash_bucket as sparse_column_with_hash_bucket,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    sparse_column_with_integerized_feature as sparse_column_with_integerized_feature,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    sparse_column_with_keys as sparse_column_with_keys,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file,
)
from tfnb.as_tensorflow.contrib.feature_columns import transform_features as transform_features
from tfnb.as_tensorflow.contrib.feature_columns import (
    weighted_sparse_column as weighted_sparse_column,
)
from tfnb.as_tensorflow.contrib.feature_columns import (
    weighted_sum_from_feature_columns as weighted_sum_from_feature_columns,
)
from tfnb.as_tensorflow.contrib.slim_modules import name_of_slim
from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf

_PLACES = (
    "tf_slim.layers",
    "tf_slim.layers.layers",
    "tf_slim.layers.initializers",
    "tf_slim.layers.regularizers",
    "tf_slim.layers.optimizers",
    "tf_slim.layers.summaries",
    "tf_slim.layers.utils",
    "tf_slim.layers.normalization",
    "tf_slim.layers.rev_block_lib",
    "tf_slim.layers.sparse_ops",
)
_MISSING = {
    "scattered_embedding_column": "use embedding_column",
    "sequence_input_from_feature_columns": "use embedding_lookup on dense ids",
    "parse_feature_columns_from_sequence_examples": "use tf.parse_sequence_example",
    "make_place_holder_tensors_for_base_features": "use tf.parse_example on a placeholder",
}


def embed_sequence(
    ids: Any,
    vocab_size: int | None = None,
    embed_dim: int | None = None,
    unique: bool = False,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Return the rows of a table "embeddings" that belong to ids, [batch, time, dimensions].

    Args:
      ids: [batch, time].
      vocab_size: the number of ids.
      embed_dim: the size of a row.
      unique: without effect on the result.
      initializer: of the table.
      regularizer: of the table.
      trainable: whether the table is trained.
      scope: the variable scope.
      reuse: whether the table exists already.

    Raises:
      ValueError: a size is missing, and the table is not reused.
    """
    if not (reuse or (vocab_size and embed_dim)):
        raise ValueError(
            "Must specify vocab size and embedding dimension when not reusing. Got vocab_size="
            f"{vocab_size} and embed_dim={embed_dim}"
        )
    with tf.variable_scope(scope, "EmbedSequence", [ids], reuse=reuse):
        shape = [vocab_size, embed_dim] if vocab_size and embed_dim else None
        table = tf.get_variable(
            "embeddings", shape, initializer=initializer, regularizer=regularizer,
            trainable=trainable,
        )  # fmt: skip
        return embedding_lookup_unique(table, ids) if unique else tf.nn.embedding_lookup(table, ids)


def bow_encoder(
    ids: Any,
    vocab_size: int,
    embed_dim: int,
    sparse_lookup: bool = True,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    scope: Any = None,
    reuse: bool | None = None,
) -> Any:
    """Return the means of the embeddings of sets of ids, [batch, dimensions].

    Args:
      ids: [batch, time], dense or sparse; 0 is no id if they are dense and looked up as sparse.
      vocab_size: the number of ids.
      embed_dim: the size of a row.
      sparse_lookup: whether ids are looked up as a sparse tensor.
      initializer: of the table.
      regularizer: of the table.
      trainable: whether the table is trained.
      scope: the variable scope.
      reuse: whether the table exists already.

    Raises:
      TypeError: ids are sparse, and ``sparse_lookup`` is not.
    """
    is_sparse = isinstance(ids, tf.SparseTensor)
    with tf.variable_scope(scope, "bow_encoder", reuse=reuse):
        table = tf.get_variable(
            "embeddings", [vocab_size, embed_dim], initializer=initializer,
            regularizer=regularizer, trainable=trainable,
        )  # fmt: skip
        if sparse_lookup:
            given = ids if is_sparse else _without_zeros(ids)
            return tf.nn.embedding_lookup_sparse(table, given, None, combiner="mean")
        if is_sparse:
            raise TypeError(f"ids are expected to be dense Tensor, got: {ids}")
        return tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)


def _without_zeros(ids: Any) -> Any:
    places = tf.where(tf.not_equal(ids, tf.zeros_like(ids)))
    return tf.SparseTensor(places, tf.gather_nd(ids, places), tf.shape(ids, out_type=tf.int64))


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> Any:
    """Return rows of a table, where an id that occurs often is looked up once.

    Args:
      params: the table, or its parts.
      ids: of any shape.
      partition_strategy: how ids are divided among the parts.
      name: the name of the scope.
    """
    with tf.name_scope(name, "EmbeddingLookupUnique", [params, ids]):
        ids = tf.convert_to_tensor(ids)
        single, places = tf.unique(tf.reshape(ids, [-1]))
        rows = tf.nn.embedding_lookup(params, single, partition_strategy=partition_strategy)
        found = tf.gather(rows, places)
        shaped = tf.reshape(found, tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0))
        shaped.set_shape(ids.shape.concatenate(rows.shape[1:]))
        return shaped


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = None,
    default_id: Any = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
) -> Any:
    """Return combined rows of a table for rows of ids, zeros or a default's for empty rows.

    Args:
      embedding_weights: the table, or its parts.
      sparse_ids: the ids; negative ones do not count.
      sparse_weights: a weight for each.
      combiner: "mean", "sqrtn" or "sum"; the mean by default.
      default_id: the id of empty rows.
      name: the name of the scope.
      partition_strategy: how ids are divided among the parts.
      max_norm: the largest norm of a row.
    """
    return tf.nn.safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner or "mean", default_id, name,
        partition_strategy, max_norm,
    )  # fmt: skip


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name in _MISSING:
        return missing_name("tf.contrib.layers", name, _MISSING[name])
    if name == "feature_column":
        return feature_columns
    return name_of_slim("layers", name, _PLACES)
