"""Heads, keys and optimizers of canned estimators, which programs of their own models use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.canned.optimizers import optimizer_instance
from tfnb.client.estimator.heads.binary_class_head import BinaryClassHead
from tfnb.client.estimator.heads.head import Head as _Head
from tfnb.client.estimator.heads.head import LossSpec as LossSpec
from tfnb.client.estimator.heads.keys import MetricKeys as MetricKeys
from tfnb.client.estimator.heads.keys import PredictionKeys as PredictionKeys
from tfnb.client.estimator.heads.multi_class_head import (
    MultiClassHead,
)
from tfnb.client.estimator.heads.multi_class_head import (
    binary_or_multi_class_head as _binary_logistic_or_multi_class_head,
)
from tfnb.client.estimator.heads.regression_head import RegressionHead
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["_Head", "_binary_logistic_or_multi_class_head"]

_SUM = tf.losses.Reduction.SUM


def _regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Any], Any] | None = None,
    name: str | None = None,
) -> _Head:
    return RegressionHead(
        label_dimension, weight_column, loss_reduction, loss_fn, inverse_link_fn, name
    )


def _binary_logistic_head_with_sigmoid_cross_entropy_loss(
    weight_column: Any = None,
    thresholds: Sequence[float] | None = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> _Head:
    return BinaryClassHead(
        weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name
    )


def _multi_class_head_with_softmax_cross_entropy_loss(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = _SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> _Head:
    return MultiClassHead(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def get_optimizer_instance(opt: Any, learning_rate: float | None = None) -> Any:
    """Return an optimizer that is given as such, by a function or by name.

    Raises:
      ValueError: it is no optimizer, or given by name without a learning rate.
    """
    if isinstance(opt, str) and not learning_rate:
        raise ValueError("learning_rate must be specified when opt is string.")
    return optimizer_instance(opt, learning_rate or 0.0)
