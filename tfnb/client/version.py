"""``tf.version``: the TensorFlow that tfnb replaces, and the graphs that it reads."""

from __future__ import annotations

from tfnb.core.versions import (
    GRAPH_DEF_VERSION as GRAPH_DEF_VERSION,
)
from tfnb.core.versions import (
    GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER,
)
from tfnb.core.versions import (
    GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
)

# The last TensorFlow 1, for programs that check it; ``tf.__version__`` is this package's own.
VERSION = "1.15.5"
GIT_VERSION = "tfnb"
COMPILER_VERSION = "none"
