"""What scripts need that run one program with tfnb and with TensorFlow, in processes of each."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]


def library(name: str) -> Any:
    """Return the library of this process: ``tfnb`` or ``tensorflow``, without eager mode."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if name == "tfnb":
        sys.path.insert(0, str(ROOT))
        import tfnb

        return tfnb
    import tensorflow.compat.v1 as tf

    tf.disable_eager_execution()
    return tf


def unused_ports(count: int) -> list[int]:
    """Return ports that nothing used a moment ago, all different."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("localhost", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
