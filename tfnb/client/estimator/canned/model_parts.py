"""Common parts of the models of canned estimators."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf

# Slices of the first layer on parameter servers have at least this many bytes.
_INPUT_SLICE_BYTES = 64 << 20


def check_features(features: Any) -> None:
    """Check that the features are a dictionary.

    Raises:
        ValueError: They are something else.
    """
    if not isinstance(features, dict):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
        )


def input_partitioner(config: Any) -> Any:
    """Return the partitioner of the variables of columns: one part per parameter server."""
    return tf.min_max_variable_partitioner(
        max_partitions=config.num_ps_replicas if config else 0, min_slice_size=_INPUT_SLICE_BYTES
    )


def hidden_partitioner(config: Any) -> Any:
    """Return the partitioner of the variables of layers."""
    return tf.min_max_variable_partitioner(max_partitions=config.num_ps_replicas if config else 0)


def add_layer_summary(value: Any, tag: str) -> None:
    """Add summaries of the values of a layer: a histogram and the fraction of zeros."""
    tf.summary.scalar(f"{tag}/fraction_of_zero_values", tf.nn.zero_fraction(value))
    tf.summary.histogram(f"{tag}/activation", value)
