"""How the examples of canned estimators are parsed: their columns with label and weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.client.estimator.heads.checks import numeric_column
from tfnb.client.public.api import tf

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPORTS = {"estimator": ["classifier_parse_example_spec", "regressor_parse_example_spec"]}


def classifier_parse_example_spec(
    feature_columns: Sequence[Any],
    label_key: str,
    label_dtype: Any = None,
    label_default: Any = None,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Return the features of ``tf.parse_example`` for a classifier.

    Args:
        feature_columns: The columns of the model.
        label_key: The key of the label.
        label_dtype: Its type, int64 if None.
        label_default: Its value in examples without a label.
        weight_column: The feature that weights the examples.

    Raises:
        ValueError: Label or weight is a feature of the model as well.
    """
    return _spec(
        feature_columns, label_key, 1, label_dtype or tf.int64, label_default, weight_column
    )


def regressor_parse_example_spec(
    feature_columns: Sequence[Any],
    label_key: str,
    label_dtype: Any = None,
    label_default: Any = None,
    label_dimension: int = 1,
    weight_column: Any = None,
) -> dict[str, Any]:
    """Return the features of ``tf.parse_example`` for a regressor.

    Args:
        feature_columns: The columns of the model.
        label_key: The key of the label.
        label_dtype: Its type, float32 if None.
        label_default: Its value in examples without a label.
        label_dimension: The number of values of a label.
        weight_column: The feature that weights the examples.

    Raises:
        ValueError: Label or weight is a feature of the model as well.
    """
    dtype = label_dtype or tf.float32
    return _spec(feature_columns, label_key, label_dimension, dtype, label_default, weight_column)


def _spec(
    columns: Sequence[Any], label_key: str, size: int, dtype: Any, default: Any, weight_column: Any
) -> dict[str, Any]:
    found: dict[str, Any] = tf.feature_column.make_parse_example_spec(columns)
    if label_key in found:
        raise ValueError(
            f"label should not be used as feature. label_key: {label_key}, features: {list(found)}"
        )
    found[label_key] = tf.FixedLenFeature((size,), dtype, default)
    if weight_column is None:
        return found
    weight_column = numeric_column(weight_column)
    if weight_column.key in found:
        raise ValueError(
            "weight_column should not be used as feature. weight_column: "
            f"{weight_column.key}, features: {list(found)}"
        )
    found.update(tf.feature_column.make_parse_example_spec([weight_column]))
    return found
