"""``tf.contrib.data``: what became ``tf.data.experimental``."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf

AUTOTUNE = tf.data.experimental.AUTOTUNE


def batch_and_drop_remainder(batch_size: Any) -> Any:
    """Return a transformation that makes whole batches only."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Any:
    """Return a transformation that makes whole padded batches only."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )


def sloppy_interleave(map_func: Any, cycle_length: int, block_length: int = 1) -> Any:
    """Return a transformation that mixes datasets in any order."""
    return tf.data.experimental.parallel_interleave(
        map_func, cycle_length, block_length=block_length, sloppy=True
    )


def __getattr__(name: str) -> Any:
    return getattr(tf.data.experimental, name)
