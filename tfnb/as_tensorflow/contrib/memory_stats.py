"""``tf.contrib.memory_stats``: the memory of a device, and that of the process."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from tfnb.client.public.api import tf

_PAGES = "/proc/self/statm"
_SEEN = [0]


def BytesLimit() -> Any:
    """Return a scalar of int64, the bytes that the first device of a session may use."""

    def limit() -> int:
        with tf.Graph().as_default(), tf.Session() as session:
            return int(session.list_devices()[0].memory_limit_bytes)

    return tf.constant(limit(), tf.int64, name="BytesLimit")


def BytesInUse() -> Any:
    """Return a scalar of int64, the bytes that the process has in memory when it is fetched."""
    return _measured(_bytes_in_use, "BytesInUse")


def MaxBytesInUse() -> Any:
    """Return a scalar of int64, the most bytes that the process has had in memory."""
    return _measured(_most_bytes_in_use, "MaxBytesInUse")


def _measured(measure: Any, name: str) -> Any:
    with tf.device("/cpu:0"):
        found = tf.py_func(lambda: np.int64(measure()), [], tf.int64, name=name)
    found.set_shape([])
    return found


def _bytes_in_use() -> int:
    import resource

    try:
        with open(_PAGES) as file:
            found = int(file.read().split()[1]) * resource.getpagesize()
    except OSError:  # no Linux
        return _most_bytes_in_use()
    # The kernel's own maximum lags behind.
    _SEEN[0] = max(found, _SEEN[0])
    return found


def _most_bytes_in_use() -> int:
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    return max(most, _SEEN[0])
