"""``tf.contrib.lookup``: tables made by functions, and what became ``tf.lookup``."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf
from tfnb.as_tensorflow.stand_ins import tables


def __getattr__(name: str) -> Any:
    return getattr(tables, name) if hasattr(tables, name) else getattr(tf.lookup, name)
