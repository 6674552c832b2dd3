"""``tf.contrib.learn.MetricSpec``: a metric of predictions and labels of a model."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# The names that functions of metrics have for their arguments.
_PREDICTIONS = ("predictions", "prediction", "y_pred", "logits", "values")
_LABELS = ("labels", "label", "targets", "target", "y_true")
_WEIGHTS = ("weights", "weight")


class MetricSpec:
    """A metric, and which predictions and labels it compares.

    Args:
      metric_fn: a function of predictions, and labels and weights if it has arguments of that kind.
      prediction_key: of the prediction; needed where a model has several.
      label_key: of the label; needed where there are several.
      weight_key: of the feature with weights.
    """

    def __init__(
        self,
        metric_fn: Callable[..., Any],
        prediction_key: str | None = None,
        label_key: str | None = None,
        weight_key: str | None = None,
    ) -> None:
        self._metric_fn = metric_fn
        self._prediction_key = prediction_key
        self._label_key = label_key
        self._weight_key = weight_key

    @property
    def prediction_key(self) -> str | None:
        """The key of the prediction."""
        return self._prediction_key

    @property
    def label_key(self) -> str | None:
        """The key of the label."""
        return self._label_key

    @property
    def weight_key(self) -> str | None:
        """The key of the feature with weights."""
        return self._weight_key

    @property
    def metric_fn(self) -> Callable[..., Any]:
        """The function."""
        return self._metric_fn

    def __str__(self) -> str:
        name = getattr(self._metric_fn, "__name__", repr(self._metric_fn))
        return (
            f"MetricSpec(metric_fn={name}, prediction_key={self._prediction_key}, "
            f"label_key={self._label_key}, weight_key={self._weight_key})"
        )

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Return (value, update op).

        Args:
          inputs: the features.
          labels: the labels, one or by key.
          predictions: the predictions, one or by key.

        Raises:
          ValueError: a key is missing, or not known.
        """
        prediction = _chosen(predictions, self._prediction_key, "prediction_key")
        label = None if labels is None else _chosen(labels, self._label_key, "label_key")
        weight = None
        if self._weight_key is not None:
            weight = _chosen(inputs, self._weight_key, "weight_key")
        return _called(self._metric_fn, prediction, label, weight)


def _chosen(given: Any, key: str | None, what: str) -> Any:
    if not isinstance(given, dict):
        return given
    if key is None:
        if len(given) != 1:
            raise ValueError(f"MetricSpec without {what} specified; there are {sorted(given)}.")
        return next(iter(given.values()))
    if key not in given:
        raise ValueError(f"MetricSpec's {what} {key!r} is none of {sorted(given)}.")
    return given[key]


def _called(function: Callable[..., Any], prediction: Any, label: Any, weight: Any) -> Any:
    """Call a function of a metric with the arguments that it has, by their names."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    arguments = {}
    for kinds, value in ((_PREDICTIONS, prediction), (_LABELS, label), (_WEIGHTS, weight)):
        name = next((one for one in kinds if one in names), None)
        if name is not None and value is not None:
            arguments[name] = value
    if any(one in arguments for one in _PREDICTIONS):
        return function(**arguments)
    given = [prediction] if label is None else [prediction, label]
    return function(*given)


def metric_ops(metrics: Any, inputs: Any, labels: Any, predictions: Any) -> dict[str, Any]:
    """Return name -> (value, update op) of metrics.

    Args:
      metrics: name -> ``MetricSpec``, or a function; (name, key) -> a function.
      inputs: the features.
      labels: the labels.
      predictions: the predictions.
    """
    found = {}
    for name, metric in (metrics or {}).items():
        if isinstance(name, tuple):
            made = MetricSpec(metric, name[1])
            found[name[0]] = made.create_metric_ops(inputs, labels, predictions)
        elif hasattr(metric, "create_metric_ops"):
            found[name] = metric.create_metric_ops(inputs, labels, predictions)
        else:
            key = "classes" if isinstance(predictions, dict) and "classes" in predictions else None
            found[name] = MetricSpec(metric, key).create_metric_ops(inputs, labels, predictions)
    return found
