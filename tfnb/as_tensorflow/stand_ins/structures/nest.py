"""``tensorflow.python.util.nest``: the names of ``tf.nest``, and those of before TensorFlow 2."""

from __future__ import annotations

from typing import Any

from tfnb.framework.structures import nest as _nest

is_sequence = _nest.is_nested
is_sequence_or_composite = _nest.is_nested


def __getattr__(name: str) -> Any:
    return getattr(_nest, name)
