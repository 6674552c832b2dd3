"""``tf.contrib.linalg``: what became ``tf.linalg``."""

from __future__ import annotations

from typing import Any

from tfnb.client.public.api import tf


def __getattr__(name: str) -> Any:
    return getattr(tf.linalg, name)
