"""``tensorflow.python.ops.metrics_impl``: helpers that metrics of others use."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf
from tfnb.library.metrics.at_k import streaming_average_precision
from tfnb.library.metrics.streaming import matching, metric_variable
from tfnb.library.metrics.thresholds import counts_at

metric_variable = metric_variable
_remove_squeezable_dimensions = matching


def _safe_scalar_div(numerator: Any, denominator: Any, name: str) -> Any:
    return tf.div_no_nan(numerator, denominator, name=name)


def _safe_div(numerator: Any, denominator: Any, name: str) -> Any:
    return tf.div_no_nan(numerator, denominator, name=name)


def _aggregate_variable(value: Any, collections: Any) -> Any:
    found = tf.identity(value)
    if collections:
        tf.add_to_collections(collections, found)
    return found


def _streaming_sparse_average_precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    return streaming_average_precision(
        labels,
        predictions_idx,
        weights,
        metrics_collections,
        updates_collections,
        name or "average_precision_at_top_k",
    )


def _confusion_matrix_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Any,
    weights: Any = None,
    includes: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    kinds = ("tp", "fn", "tn", "fp")
    chosen = kinds if includes is None else tuple(includes)
    for one in chosen:
        if one not in kinds:
            raise ValueError(f"Invalid key: {one}.")
    return counts_at(labels, predictions, thresholds, weights, chosen)
