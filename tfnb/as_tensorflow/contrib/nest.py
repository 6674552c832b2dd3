"""``tf.contrib.framework.nest``: structures of tensors, with older names."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.stand_ins import nest as older
from tfnb.framework.structures import nest as structures


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(older if hasattr(older, name) else structures, name)
