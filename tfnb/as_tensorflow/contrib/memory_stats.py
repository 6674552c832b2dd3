"""``tf.contrib.memory_stats``: the memory of a device."""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.public_api import tf


def BytesLimit() -> Any:
    """Return a scalar of int64, the bytes that the first device of a session may use."""

    def limit() -> int:
        with tf.Graph().as_default(), tf.Session() as session:
            return int(session.list_devices()[0].memory_limit_bytes)

    return tf.constant(limit(), tf.int64, name="BytesLimit")
