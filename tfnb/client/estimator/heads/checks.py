"""Checks of the tensors that a head gets, in the graph and before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.arguments import accepted, argument_names
from tfnb.client.public.api import tf
from tfnb.framework.sparse_tensor import SparseTensor
from tfnb.library.feature_columns.column import Features
from tfnb.library.feature_columns.dense import NumericColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def check_labels(labels: Any, logits: Any, dimension: int) -> Any:
    """Return labels with the rank of the logits.

    Args:
        labels: The labels, [D0, ..., DN] or [D0, ..., DN, dimension].
        logits: The logits.
        dimension: The size of the last dimension of the labels.

    Raises:
        ValueError: They are missing, sparse, or have another shape.
    """
    if labels is None:
        raise ValueError(
            "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check "
            "that your data contain your label feature. Check that your input_fn properly parses "
            "and returns labels."
        )
    with tf.name_scope(None, "labels", (labels, logits)) as scope:
        labels = tf.convert_to_tensor_or_sparse_tensor(labels)
        if isinstance(labels, SparseTensor):
            raise ValueError(
                "SparseTensor labels are not supported. labels must be a Tensor of shape "
                f"[D0, D1, ..., DN, {dimension}], e.g. [batch_size, {dimension}]. Use "
                "tf.sparse_tensor_to_dense() in input_fn if each example has that many labels."
            )
        rank, logits_rank = labels.shape.ndims, logits.shape.ndims
        if rank is not None and logits_rank is not None and rank == logits_rank - 1:
            labels = tf.expand_dims(labels, -1)
        labels_shape, logits_shape = tf.shape(labels), tf.shape(logits)
        message = (
            f"labels shape must be [D0, D1, ... DN, {dimension}]. Suggested Fix: check your "
            "n_classes argument to the estimator and/or the shape of your label."
        )
        with tf.control_dependencies([tf.assert_rank_at_least(labels, 2, message=message)]):
            size = labels.shape.as_list()[-1] if labels.shape.ndims is not None else None
            if size is not None and size != dimension:
                raise ValueError(
                    f"Mismatched label shape. Expected labels dimension={dimension}.  Received "
                    f"{size}. Suggested Fix:If your classifier expects one-hot encoding label,"
                    "check your n_classes argument to the estimator and/or the shape of your "
                    "label. Otherwise, check the shape of your label."
                )
            expected = tf.concat([logits_shape[:-1], [dimension]], axis=0)
            assertion = tf.assert_equal(
                expected,
                labels_shape,
                message=message,
                data=["expected_labels_shape: ", expected, "labels_shape: ", labels_shape],
            )
            with tf.control_dependencies([assertion]):
                return tf.identity(labels, name=scope)


def check_logits(logits: Any, dimension: int) -> Any:
    """Return logits as floats.

    Raises:
        ValueError: Their last dimension has another size.
    """
    message = "logits shape must be [D0, D1, ... DN, logits_dimension]"
    with tf.name_scope(None, "logits", (logits,)) as scope:
        logits = tf.to_float(logits)
        shape = tf.shape(logits)
        assertion = tf.assert_rank_at_least(logits, 2, data=[shape], message=message)
        with tf.control_dependencies([assertion]):
            size = logits.shape.as_list()[-1] if logits.shape.ndims else None
            if size is not None:
                if size != dimension:
                    raise ValueError(f"{message}, got {logits.shape}.")
                return logits
            assertion = tf.assert_equal(dimension, shape[-1], data=[shape], message=message)
            with tf.control_dependencies([assertion]):
                return tf.identity(logits, name=scope)


def weights_of(
    features: Any, weight_column: Any, logits: Any, per_logit_allowed: bool = False
) -> Any:
    """Return the weights of the examples, 1.0 without a column.

    Args:
        features: The features.
        weight_column: The key of a feature, or a numeric column.
        logits: The logits.
        per_logit_allowed: Whether there may be a weight for each logit.

    Raises:
        TypeError: The column is neither a string nor a numeric column.
        ValueError: The weights are no numbers.
    """
    shapes = ["[D0, D1, ... DN]", "[D0, D1, ... DN, 1]"]
    if per_logit_allowed:
        shapes.append("[D0, D1, ... DN, logits_dimension]")
    message = f"weights shape must be {', '.join(shapes[:-1])} or {shapes[-1]}"
    with tf.name_scope(None, "weights", (*features.values(), logits)) as scope:
        if weight_column is None:
            return 1.0
        column = numeric_column(weight_column)
        weights = column.dense_tensor(Features(features))
        if not (weights.dtype.is_floating or weights.dtype.is_integer):
            raise ValueError(
                f"Weight column should be castable to float. Given dtype: {weights.dtype}"
            )
        weights = tf.to_float(weights, name="weights")
        shape, logits_shape = tf.shape(weights, name="weights_shape"), tf.shape(logits)
        data = ["logits_shape: ", logits_shape, "weights_shape: ", shape]
        rank, logits_rank = weights.shape.ndims, logits.shape.ndims
        if rank is not None and logits_rank is not None and rank == logits_rank - 1:
            assertion = tf.assert_equal(logits_shape[:-1], shape, message=message, data=data)
            with tf.control_dependencies([assertion]):
                return tf.expand_dims(weights, -1, name=scope)
        supported = tf.concat([logits_shape[:-1], [1]], axis=0)
        if per_logit_allowed:
            condition = tf.reduce_any(
                [
                    tf.reduce_all(tf.equal(logits_shape, shape)),
                    tf.reduce_all(tf.equal(supported, shape)),
                ]
            )
            assertion = tf.Assert(condition, [message, *data])
        else:
            assertion = tf.assert_equal(supported, shape, message=message, data=data)
        with tf.control_dependencies([assertion]):
            return tf.identity(weights, name=scope)


def numeric_column(weight_column: Any) -> Any:
    """Return the column of weights.

    Raises:
        TypeError: It is neither a string nor a numeric column.
    """
    if isinstance(weight_column, str):
        return tf.feature_column.numeric_column(weight_column, shape=(1,))
    if not isinstance(weight_column, NumericColumn):
        raise TypeError(
            "Weight column must be either a string or NumericColumn. Given type: "
            f"{type(weight_column)}."
        )
    return weight_column


def check_range(labels: Any, n_classes: int, message: str | None = None) -> Any:
    """Return labels; running them fails if one is not in [0, n_classes)."""
    with tf.name_scope(None, "assert_range", (labels,)):
        largest = tf.convert_to_tensor(n_classes - 1, dtype=labels.dtype)
        assertions = (
            tf.assert_less_equal(
                labels, largest, message=message or "Labels must <= n_classes - 1"
            ),
            tf.assert_non_negative(labels, message=message or "Labels must >= 0"),
        )
        with tf.control_dependencies(assertions):
            return tf.identity(labels)


def check_loss_fn(loss_fn: Callable[..., Any] | None) -> None:
    """Check the arguments of a loss function.

    Raises:
        ValueError: ``labels`` or ``logits`` is missing, or there is an unknown argument.
    """
    if loss_fn is None:
        return
    names = argument_names(loss_fn)
    for needed in ("labels", "logits"):
        if needed not in names:
            raise ValueError(f"loss_fn must contain argument: {needed}. Given arguments: {names}")
    unknown = sorted(set(names) - {"labels", "logits", "features"})
    if unknown:
        raise ValueError(f"loss_fn has unexpected args: {unknown}")


def call_loss_fn(
    loss_fn: Callable[..., Any], labels: Any, logits: Any, features: Any, dimension: int = 1
) -> Any:
    """Return the loss of each example; running it fails if it has another shape."""
    with tf.name_scope(None, "call_loss_fn", [labels, logits, *features.values()]):
        loss = loss_fn(labels=labels, logits=logits, **accepted(loss_fn, {"features": features}))
        logits_shape = tf.shape(logits, name="logits_shape")
        expected = tf.concat([logits_shape[:-1], [dimension]], 0, name="expected_loss_shape")
        loss_shape = tf.shape(loss, name="loss_shape")
        message = f"loss_fn must return Tensor of shape [D0, D1, ... DN, {dimension}]. "
        assertion = tf.Assert(
            tf.reduce_all(tf.equal(loss_shape, expected)),
            [message, "logits_shape: ", logits_shape, "loss_shape: ", loss_shape],
            name="check_loss_shape",
        )
        with tf.control_dependencies([assertion]):
            return tf.identity(loss)


def check_vocabulary(label_vocabulary: Any, kind: type[Exception] = ValueError) -> None:
    """Check that a vocabulary is a list or a tuple.

    Raises:
        ValueError: It is neither; ``kind`` is another class of the error.
    """
    if label_vocabulary is not None and not isinstance(label_vocabulary, list | tuple):
        raise kind(
            f"label_vocabulary should be a list or a tuple. Given type: {type(label_vocabulary)}"
        )


def ids_of(labels: Any, label_vocabulary: Sequence[str]) -> Any:
    """Return the place of each label in the vocabulary, -1 if it is not there."""
    with tf.name_scope("class_id_lookup"):
        words = tf.constant(list(label_vocabulary))
        ids = tf.range(len(label_vocabulary), dtype=tf.int64)
        initializer = tf.lookup.KeyValueTensorInitializer(words, ids)
        return tf.lookup.StaticHashTable(initializer, -1).lookup(labels)


def words_of(class_ids: Any, label_vocabulary: Sequence[str]) -> Any:
    """Return the label with each number."""
    with tf.name_scope("class_string_lookup"):
        words = tf.constant(list(label_vocabulary))
        ids = tf.range(len(label_vocabulary), dtype=tf.int64)
        initializer = tf.lookup.KeyValueTensorInitializer(ids, words)
        return tf.lookup.StaticHashTable(initializer, "UNK").lookup(class_ids)
