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


newaxis = None


def squeeze_v2(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Return a tensor without dimensions of size 1; see ``tf.squeeze``."""
    return tf.squeeze(input, axis, name)


def batch_gather_nd(params: Any, indices: Any, batch_dims: Any, name: str | None = None) -> Any:
    """Return slices of a batch of tensors; see ``tf.gather_nd``."""
    return tf.gather_nd(params, indices, name, batch_dims)
