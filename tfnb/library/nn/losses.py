"""``tf.losses``: the quantities that training minimizes.

Every function computes an error for each element, weights it, reduces it by ``reduction``, and adds
the loss to a collection, whose losses :func:`get_total_loss` sums.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import (
    add_to_collection,
    control_dependencies,
    get_collection,
    name_scope,
)
from tfnb.library.control_flow.check_ops import (
    assert_greater_equal,
    assert_integer,
    assert_non_negative,
    assert_scalar,
)
from tfnb.library.nn.confusion_matrix import fit_weights, remove_squeezable_dimensions
from tfnb.library.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from tfnb.library.nn.weights_broadcast_ops import assert_broadcastable, broadcast_weights
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.constant_ops import constant, ones_like, zeros_like
from tfnb.ops.array.identity_ops import stop_gradient
from tfnb.ops.array.shape_ops import rank, shape, size
from tfnb.ops.array.where_ops import where
from tfnb.ops.math.cwise_binary_ops import maximum, minimum, squared_difference
from tfnb.ops.math.cwise_unary_ops import log, square
from tfnb.ops.math.math_ops import abs as abs_
from tfnb.ops.math.math_ops import add, add_n, div_no_nan, equal, multiply, subtract
from tfnb.ops.math.reduction_ops import reduce_sum
from tfnb.ops.math.sequence_ops import range_
from tfnb.ops.nn.activation_ops import relu
from tfnb.ops.nn.cross_entropy_ops import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {
    "losses": [
        "Reduction", "absolute_difference", "add_loss", "compute_weighted_loss", "cosine_distance",
        "get_losses", "get_regularization_loss", "get_regularization_losses", "get_total_loss",
        "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error",
        "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy",
        "sparse_softmax_cross_entropy",
    ],
    "nn": ["scale_regularization_loss", "compute_average_loss"],
}  # fmt: skip


class Reduction:
    """How the errors of all elements become one loss."""

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    _ALL: ClassVar = (NONE, SUM, MEAN, SUM_OVER_BATCH_SIZE, SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return every kind of reduction."""
        return cls._ALL

    @classmethod
    def validate(cls, key: str) -> None:
        """Check that a reduction exists.

        Raises:
          ValueError: it is unknown.
        """
        if key not in cls._ALL:
            raise ValueError(f"Invalid Reduction Key {key}. Key should be one of {cls._ALL}.")


_BY_NONZERO = Reduction.SUM_BY_NONZERO_WEIGHTS

# ------------------------------------------------------------------------------------- reductions


def add_loss(loss: TensorLike, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to those of the graph."""
    if loss_collection:
        add_to_collection(loss_collection, loss)


def get_losses(
    scope: str | None = None, loss_collection: str = GraphKeys.LOSSES
) -> list[TensorResult]:
    """Return the losses of the graph, or those whose names begin with ``scope``."""
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[TensorResult]:
    """Return the losses that the regularizers of variables made."""
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> TensorResult:
    """Return the sum of the regularization losses, 0 if there are none."""
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> TensorResult:
    """Return the sum of all losses of the graph.

    Raises:
      ValueError: there are none.
    """
    losses = list(get_losses(scope=scope))
    if add_regularization_losses:
        losses += get_regularization_losses(scope=scope)
    return add_n(losses, name=name)


def compute_weighted_loss(
    losses: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return one loss, computed from many.

    Args:
      losses: [batch, ...], of any number type.
      weights: of rank 0 or that of ``losses``; each dimension is 1 or that of ``losses``.
      scope: of the ops.
      loss_collection: the collection to add the loss to, or None.
      reduction: one of :class:`Reduction`.

    Returns:
      A scalar of the type of ``losses``; with ``Reduction.NONE`` the shape of ``losses``.

    Raises:
      ValueError: the weights do not fit, or the reduction is unknown.
    """
    Reduction.validate(reduction)
    with name_scope(scope, "weighted_loss", (losses, weights)):
        get_default_graph()._last_loss_reduction = reduction
        with control_dependencies((assert_broadcastable(weights, losses),)):
            losses = convert_to_tensor(losses)
            dtype = losses.dtype
            losses = cast(losses, dtypes.float32)
            weights = cast(weights, dtypes.float32)
            loss = cast(_reduced(losses, weights, reduction), dtype)
            add_loss(loss, loss_collection)
            return loss


def _reduced(losses: TensorLike, weights: TensorLike, reduction: str) -> TensorResult:
    weighted = multiply(losses, weights)
    if reduction == Reduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        count = reduce_sum(ones_like(losses) * weights)
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = _num_elements(losses)
    else:
        count = _num_present(losses, weights)
    return div_no_nan(reduce_sum(total), count, name="value")


def _num_elements(losses: TensorLike) -> TensorResult:
    with name_scope(None, "num_elements", values=[losses]) as scope:
        return cast(size(losses, name=scope), losses.dtype)


def _num_present(losses: TensorLike, weights: TensorLike, per_batch: bool = False) -> TensorResult:
    """Return the number of losses with a weight other than 0, perhaps for each example."""
    with name_scope(None, "num_present", (losses, weights)) as scope:
        weights = cast(weights, dtypes.float32)
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, losses)
        if not per_batch:
            return reduce_sum(present, name=scope)
        return reduce_sum(present, axis=range_(1, rank(present)), keepdims=True, name=scope)


# ------------------------------------------------------------------------------------------ losses


@contextmanager
def _loss_scope(
    scope: str | None,
    default_name: str,
    predictions: TensorLike,
    labels: TensorLike,
    weights: TensorLike,
    names: tuple[str, str] = ("labels", "predictions"),
) -> Iterator[str]:
    """Open the name scope of a loss; reject labels and predictions that are None."""
    for value, name in zip((labels, predictions), names, strict=True):
        if value is None:
            raise ValueError(f"Argument `{name}` must not be None.")
    with name_scope(scope, default_name, (predictions, labels, weights)) as found:
        yield found


def _floats(predictions: TensorLike, labels: TensorLike) -> tuple[Nested, Nested]:
    """Return both as float32, after comparing their shapes."""
    predictions, labels = cast(predictions, dtypes.float32), cast(labels, dtypes.float32)
    predictions.get_shape().assert_is_compatible_with(labels.get_shape())
    return predictions, labels


def absolute_difference(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return |predictions - labels|, reduced as in :func:`compute_weighted_loss`."""
    with _loss_scope(scope, "absolute_difference", predictions, labels, weights) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = abs_(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: TensorLike,
    predictions: TensorLike,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
    dim: int | None = None,
) -> TensorResult:
    """Return 1 - sum(predictions * labels) along ``axis``, for vectors of length 1.

    ``dim`` is the old name of ``axis``.
    """
    if axis is not None and dim is not None:
        raise ValueError("Cannot specify both 'axis' and 'dim'.")
    axis = dim if axis is None else axis
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    with _loss_scope(scope, "cosine_distance_loss", predictions, labels, weights) as scope:
        predictions, labels = _floats(predictions, labels)
        product = multiply(predictions, labels)
        losses = 1 - reduce_sum(product, axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def hinge_loss(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return max(0, 1 - y * logits), where y is -1 for labels of 0 and 1 for labels of 1."""
    names = ("labels", "logits")
    with _loss_scope(scope, "hinge_loss", logits, labels, weights, names) as scope:
        logits, labels = _floats(logits, labels)
        ones = ones_like(labels)
        signs = subtract(2 * labels, ones)
        losses = relu(subtract(ones, multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return e**2 / 2 where |e| <= delta, else delta * |e| - delta**2 / 2.

    The error e is predictions - labels.
    """
    with _loss_scope(scope, "huber_loss", predictions, labels, weights) as scope:
        predictions, labels = _floats(predictions, labels)
        error = abs_(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = subtract(error, quadratic)
        half = convert_to_tensor(0.5, dtype=quadratic.dtype)
        square_part = multiply(half, multiply(quadratic, quadratic))
        losses = add(square_part, multiply(delta, linear))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return -labels * log(p + epsilon) - (1 - labels) * log(1 - p + epsilon), p = predictions."""
    with _loss_scope(scope, "log_loss", predictions, labels, weights) as scope:
        predictions, labels = _floats(predictions, labels)
        of_ones = -multiply(labels, log(predictions + epsilon))
        losses = of_ones - multiply(1 - labels, log(1 - predictions + epsilon))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return (predictions - labels)**2, reduced as in :func:`compute_weighted_loss`."""
    with _loss_scope(scope, "mean_squared_error", predictions, labels, weights) as scope:
        predictions, labels = _floats(predictions, labels)
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> TensorResult:
    """Return the mean of (d_i - d_j)**2 over the pairs of one example, d = predictions - labels.

    Args:
      labels: [batch, ...].
      predictions: [batch, ...].
      weights: a scalar, or [batch, 1, ...] with the rank of ``labels``.
      scope: of the ops.
      loss_collection: the collection to add the loss to, or None.

    Returns:
      The sum over the examples.
    """
    name = "mean_pairwise_squared_error"
    with _loss_scope(scope, name, predictions, labels, weights) as scope:
        weights, labels = cast(weights, dtypes.float32), cast(labels, dtypes.float32)
        with control_dependencies((assert_broadcastable(weights, labels),)):
            predictions = cast(predictions, dtypes.float32)
            predictions.get_shape().assert_is_compatible_with(labels.get_shape())
            diffs = subtract(predictions, labels)
            axis = range_(1, rank(diffs))
            sum_of_squares = reduce_sum(square(diffs), axis=axis, keepdims=True)
            count = _num_present(diffs, weights, per_batch=True)
            own = 2.0 * div_no_nan(sum_of_squares, maximum(count - 1, 0), name="value")
            total = reduce_sum(diffs, axis=axis, keepdims=True)
            squared = square(total)
            pairs = maximum(multiply(count, count - 1), 0)
            mixed = 2.0 * div_no_nan(squared, pairs, name="value")
            loss = reduce_sum(multiply(own - mixed, weights))
            mean_loss = where(reduce_sum(count) > 0, loss, zeros_like(loss), name="value")
            add_loss(mean_loss, loss_collection)
            return mean_loss


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return the cross entropy of classes that do not exclude each other.

    Args:
      multi_class_labels: [batch, classes], 0 or 1.
      logits: [batch, classes].
      weights: as in :func:`compute_weighted_loss`.
      label_smoothing: the fraction by which labels are moved to 1/2.
      scope: of the ops.
      loss_collection: the collection to add the loss to, or None.
      reduction: one of :class:`Reduction`.
    """
    labels, names = multi_class_labels, ("multi_class_labels", "logits")
    name = "sigmoid_cross_entropy_loss"
    with _loss_scope(scope, name, logits, labels, weights, names) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(labels, logits.dtype)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            labels = labels * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return the cross entropy of classes that exclude each other.

    Args:
      onehot_labels: [batch, classes], no gradient flows into them.
      logits: [batch, classes].
      weights: a scalar or [batch].
      label_smoothing: the fraction by which labels are moved to 1 / classes.
      scope: of the ops.
      loss_collection: the collection to add the loss to, or None.
      reduction: one of :class:`Reduction`.
    """
    labels, names = onehot_labels, ("onehot_labels", "logits")
    name = "softmax_cross_entropy_loss"
    with _loss_scope(scope, name, logits, labels, weights, names) as scope:
        logits = convert_to_tensor(logits)
        labels = cast(labels, logits.dtype)
        logits.get_shape().assert_is_compatible_with(labels.get_shape())
        if label_smoothing > 0:
            num_classes = cast(shape(labels)[-1], logits.dtype)
            floor = label_smoothing / num_classes
            labels = labels * (1.0 - label_smoothing) + floor
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: TensorLike,
    logits: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = _BY_NONZERO,
) -> TensorResult:
    """Return the cross entropy of classes that exclude each other, for labels as class numbers.

    Args:
      labels: [batch] or [batch, 1], integers from 0.
      logits: [batch, classes].
      weights: a scalar, [batch] or [batch, 1].
      scope: of the ops.
      loss_collection: the collection to add the loss to, or None.
      reduction: one of :class:`Reduction`.
    """
    names, name = ("labels", "logits"), "sparse_softmax_cross_entropy_loss"
    with _loss_scope(scope, name, logits, labels, weights, names) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        if weights is not None:
            weights = fit_weights(weights, labels, expand=False)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


# ------------------------------------------------------------------------------- losses of replicas


def scale_regularization_loss(regularization_loss: TensorLike) -> TensorResult:
    """Return the sum of regularization losses divided by the number of replicas, which is 1."""
    return reduce_sum(regularization_loss) / 1


def compute_average_loss(
    per_example_loss: TensorLike,
    sample_weight: TensorLike | None = None,
    global_batch_size: TensorLike | None = None,
) -> TensorResult:
    """Return the weighted sum of losses, divided by the number of examples.

    Args:
      per_example_loss: at least of rank 1.
      sample_weight: weights in the shape of ``per_example_loss``, perhaps with a last dimension
        more or less.
      global_batch_size: the number of examples; the first dimension if None.

    Raises:
      ValueError: ``per_example_loss`` is a scalar.
    """
    losses = convert_to_tensor(per_example_loss)
    dtype = losses.dtype
    with _at_least_a_vector(losses):
        if sample_weight is not None:
            sample_weight = convert_to_tensor(sample_weight)
            losses, sample_weight = (
                cast(losses, dtypes.float32),
                cast(sample_weight, dtypes.float32),
            )
            losses = multiply(losses, fit_weights(sample_weight, losses))
        losses = cast(losses, dtype)
        if global_batch_size is None:
            global_batch_size = shape(losses)[0] * 1
        assert_scalar(global_batch_size, message="global_batch_size must be scalar.")
        assert_integer(global_batch_size, message="global_batch_size must be an integer.")
        assert_non_negative(global_batch_size, message="global_batch_size must be non-negative.")
        total = reduce_sum(losses)
        return div_no_nan(total, cast(global_batch_size, dtype))


@contextmanager
def _at_least_a_vector(losses: TensorLike) -> Iterator[None]:
    message = "Invalid value passed for `per_example_loss`. Expected a tensor with at least rank 1."
    known = losses.shape.ndims
    if known == 0:
        raise ValueError(f"{message} Received per_example_loss={losses} with rank 0")
    checks = []
    if known is None:
        checks = [assert_greater_equal(rank(losses), cast(1, dtypes.int32), message=message)]
    with control_dependencies(checks):
        yield
