"""``tensorflow.python.ops.metrics_impl``: helpers that metrics of others use."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf
from tfnb.library.metrics.at_k import streaming_average_precision
from tfnb.library.metrics.streaming import matching, metric_variable

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
