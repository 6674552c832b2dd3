"""``tf.contrib.nn``: losses whose logits are given first, sampled losses, scaled functions."""

from __future__ import annotations

import math
from typing import Any

from tfnb.as_tensorflow.internal_names import internal_name
from tfnb.client.public.api import tf

conv1d_transpose = tf.nn.conv1d_transpose
nth_element: Any = internal_name("tensorflow.python.ops.gen_nn_ops", "nth_element")

# The limit of SELU at minus infinity: its scale times its alpha.
_SELU_AT_MINUS_INFINITY = -1.0507009873554804934193349852946 * 1.6732632423543772848170429916717


def deprecated_flipped_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, dim: int = -1, name: str | None = None
) -> Any:
    """Return the softmax loss of each row; the logits are given first.

    Args:
      logits: […, classes, …], of a floating point type.
      labels: probabilities of the same shape and type.
      dim: the dimension of classes.
      name: of the op.
    """
    return tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits, dim=dim, name=name)


def deprecated_flipped_sparse_softmax_cross_entropy_with_logits(
    logits: Any, labels: Any, name: str | None = None
) -> Any:
    """Return the softmax loss of each row; the logits are given first.

    Args:
      logits: [batch, …, classes], of a floating point type.
      labels: [batch, …], the number of a class in each.
      name: of the op.
    """
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name=name)


def deprecated_flipped_sigmoid_cross_entropy_with_logits(
    logits: Any, targets: Any, name: str | None = None
) -> Any:
    """Return the loss of each logit as one of two classes; the logits are given first.

    Args:
      logits: of a floating point type.
      targets: probabilities of the same shape and type.
      name: of the op.
    """
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name=name)


def sampled_sparse_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_sparse_softmax_loss",
) -> Any:
    """Return the softmax loss of each row over its class and drawn classes; for training only.

    Args:
      weights: [classes, width], or a list of its parts.
      biases: [classes].
      labels: [batch, 1] integers, the class of each row.
      inputs: [batch, width].
      num_sampled: how many classes are drawn for a batch.
      num_classes: how many there are.
      sampled_values: what a candidate sampler returned; by default log-uniform ones are drawn.
      remove_accidental_hits: leave out drawn classes that are a row's own.
      partition_strategy: "mod" or "div", how the weights are divided.
      name: of the scope.

    Returns:
      [batch] losses.
    """
    return tf.nn.sampled_softmax_loss(
        weights=weights, biases=biases, labels=labels, inputs=inputs, num_sampled=num_sampled,
        num_classes=num_classes, num_true=1, sampled_values=sampled_values,
        remove_accidental_hits=remove_accidental_hits, partition_strategy=partition_strategy,
        name=name,
    )  # fmt: skip


def rank_sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_resampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    resampling_temperature: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None = None,
) -> Any:
    """Return the softmax loss of each row over its classes and the most probable of drawn ones.

    The method is that of "TAPAS: Two-pass Approximate Adaptive Sampling for Softmax"
    (arXiv 1707.03073); for training only.

    Args:
      weights: [classes, width], or a list of its parts.
      biases: [classes], or a list of its parts.
      labels: [batch, num_true] integers, the classes of each row.
      inputs: [batch, width].
      num_sampled: how many classes are drawn for a batch.
      num_resampled: how many of them are kept.
      num_classes: how many there are.
      num_true: how many classes a row has.
      sampled_values: what a candidate sampler returned; by default classes are drawn as often as
        they were labels.
      resampling_temperature: a scalar; the lower it is, the more the largest logits count.
      remove_accidental_hits: leave out drawn classes that are a row's own.
      partition_strategy: "mod" or "div", how the weights are divided.
      name: of the scope.

    Returns:
      [batch] losses.

    Raises:
      ValueError: as many classes are kept as drawn, or the strategy is another.
    """
    if num_sampled <= num_resampled:
        raise ValueError(
            f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})"
        )
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"unsupported partition_strategy ({partition_strategy})")
    with tf.name_scope(name, "rank_sampled_softmax_loss", [labels, inputs]):
        if sampled_values is None:
            sampled_values = tf.nn.learned_unigram_candidate_sampler(
                labels, num_true, num_sampled, unique=True, range_max=num_classes
            )
        drawn, true_count, drawn_count = sampled_values
        drawn = tf.stop_gradient(tf.convert_to_tensor(drawn, tf.int64))
        rows = tf.nn.embedding_lookup(weights, drawn, partition_strategy)
        logits = tf.matmul(inputs, rows, transpose_b=True)
        logits += tf.nn.embedding_lookup(biases, drawn, partition_strategy)
        if remove_accidental_hits:
            row, place, change = tf.nn.compute_accidental_hits(labels, drawn, num_true)
            hits = tf.stack([tf.cast(row, tf.int64), place], axis=1)
            shape = tf.shape(logits, out_type=tf.int64)
            logits += tf.scatter_nd(hits, tf.cast(change, logits.dtype), shape)
        scores = tf.reduce_logsumexp(logits / resampling_temperature, axis=0)
        _, best = tf.nn.top_k(scores, num_resampled)
        kept = (
            tf.stop_gradient(tf.gather(drawn, best)),
            true_count,
            tf.stop_gradient(tf.gather(drawn_count, best)),
        )
        return tf.nn.sampled_softmax_loss(
            weights=weights, biases=biases, labels=labels, inputs=inputs,
            num_sampled=num_resampled, num_classes=num_classes, num_true=num_true,
            sampled_values=kept, remove_accidental_hits=remove_accidental_hits,
            partition_strategy=partition_strategy,
        )  # fmt: skip


def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Any:
    """Return ``alpha * softplus(x / alpha)``, a smooth ``relu``.

    Args:
      x: of a floating point type.
      alpha: a scalar or a tensor to broadcast: how smooth.
      clip: the largest value, or None.
      name: of the scope.
    """
    with tf.name_scope(name, "scaled_softplus", [x, alpha]):
        x = tf.convert_to_tensor(x, name="x")
        alpha = tf.convert_to_tensor(alpha, dtype=x.dtype, name="alpha")
        found = alpha * tf.nn.softplus(x / alpha)
        return found if clip is None else tf.minimum(found, tf.cast(clip, x.dtype))


def alpha_dropout(
    x: Any, keep_prob: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None
) -> Any:
    """Return elements, some of them replaced so that mean and variance after SELU stay.

    Args:
      x: of a floating point type.
      keep_prob: the share of elements that stay: a number or a scalar of the type of `x`.
      noise_shape: of the random choice, an int32 vector; by default that of `x`.
      seed: of the random numbers.
      name: of the scope.

    Raises:
      ValueError: `keep_prob` is not in (0, 1].
    """
    with tf.name_scope(name, "alpha_dropout", [x]):
        x = tf.convert_to_tensor(x, name="x")
        if isinstance(keep_prob, int | float) and not 0.0 < keep_prob <= 1.0:
            raise ValueError(
                f"keep_prob must be a scalar tensor or a float in the range (0, 1], got {keep_prob}"
            )
        keep = tf.convert_to_tensor(keep_prob, dtype=x.dtype, name="keep_prob")
        keep.shape.assert_is_compatible_with(tf.TensorShape([]))
        known = tf.get_static_value(keep)
        if known is not None and known == 1:
            return x
        shape = tf.shape(x) if noise_shape is None else noise_shape
        kept = tf.floor(keep + tf.random_uniform(shape, seed=seed, dtype=x.dtype))
        low = _SELU_AT_MINUS_INFINITY
        mixed = x * kept + low * (1 - kept)
        scale = tf.rsqrt(keep + math.pow(low, 2) * keep * (1 - keep))
        return scale * mixed - scale * low * (1 - keep)
