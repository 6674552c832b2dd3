"""``tensorflow.python.ops.array_ops``: forms of public functions that constants may replace."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf


def shape_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None
) -> Any:
    """Return the shape of a tensor; see ``tf.shape``."""
    return tf.shape(input, name=name, out_type=out_type or tf.int32)


def size_internal(
    input: Any, name: str | None = None, optimize: bool = True, out_type: Any = None
) -> Any:
    """Return the number of a tensor's elements; see ``tf.size``."""
    return tf.size(input, name=name, out_type=out_type or tf.int32)


def rank_internal(input: Any, name: str | None = None, optimize: bool = True) -> Any:
    """Return the number of a tensor's dimensions; see ``tf.rank``."""
    return tf.rank(input, name=name)
