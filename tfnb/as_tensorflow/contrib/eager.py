"""``tf.contrib.eager``: what tells programs that there is no eager mode."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.missing_name import missing_name
from tfnb.client.public.api import tf

executing_eagerly = tf.executing_eagerly
py_func = tf.py_func
Iterator = tf.data.Iterator
_ADVICE = "tfnb runs graphs; there is no eager mode"


def in_eager_mode() -> bool:
    """Return False."""
    return False


def num_gpus() -> int:
    """Return the number of GPUs."""
    return len(tf.config.experimental.list_physical_devices("GPU"))


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorflow.contrib.eager' has no attribute {name!r}")
    return missing_name("tensorflow.contrib.eager", name, _ADVICE)
