"""``tf.contrib.distributions``: what became ``tf.distributions``."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf


def __getattr__(name: str) -> Any:
    return getattr(tf.distributions, name)
