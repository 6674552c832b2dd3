"""``tf.estimator.add_metrics``: more metrics for an Estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.arguments import accepted, argument_names, check_known
from tfnb.client.estimator.estimator import Estimator
from tfnb.client.estimator.model_fn import EstimatorSpec, ModeKeys

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {"estimator": ["add_metrics"]}


def add_metrics(estimator: Estimator, metric_fn: Callable[..., dict[str, Any]]) -> Estimator:
    """Return an Estimator with the metrics of a function in addition to those of another one.

    Args:
        estimator: The Estimator.
        metric_fn: ``metric_fn(features, labels, predictions, config)`` returns name -> (value,
            update op); each argument is optional.

    Raises:
        ValueError: The function has other arguments.
    """
    known = ("features", "labels", "predictions", "config")
    check_known(metric_fn, "metric_fn", argument_names(metric_fn), known)

    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        values = (features, labels, spec.predictions, config)
        available = dict(zip(known, values, strict=True))
        added = metric_fn(**accepted(metric_fn, available))
        return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **added})

    return Estimator(
        model_fn,
        model_dir=estimator.model_dir,
        config=estimator.config,
        warm_start_from=estimator.warm_start_settings,
    )
