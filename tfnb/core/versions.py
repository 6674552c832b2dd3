"""The version of the GraphDef format, and who may read what.

A graph says which version produced it (``producer``), from which version on it can be read
(``min_consumer``), and which versions must not read it (``bad_consumers``). We write what
TensorFlow 2.21 writes and read what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION = "2.21.0"  # the TensorFlow whose behaviour is the model
GRAPH_DEF_VERSION = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER = 0
GRAPH_DEF_VERSION_MIN_PRODUCER = 0

# The version of checkpoint files (TensorBundle).
CHECKPOINT_VERSION = 1
CHECKPOINT_VERSION_MIN_PRODUCER = 0
CHECKPOINT_VERSION_MIN_CONSUMER = 0

# From this producer version on, shapes found while importing must agree with those in the graph.
SHAPE_CHECKED_SINCE = 21


class Versions(Protocol):
    """What a VersionDef message, or anything like it, tells."""

    @property
    def producer(self) -> int:
        """The version of the code that wrote the data."""

    @property
    def min_consumer(self) -> int:
        """The oldest version that may read it."""

    @property
    def bad_consumers(self) -> Iterable[int]:
        """Versions that must not read it."""


def check_versions(
    versions: Versions,
    consumer: int = GRAPH_DEF_VERSION,
    min_producer: int = GRAPH_DEF_VERSION_MIN_PRODUCER,
    name: str = "GraphDef",
    upper_name: str = "graph",
) -> None:
    """Refuse data that this version cannot read.

    Args:
        versions: What the data says.
        consumer: The version of the code that wants to read it.
        min_producer: The oldest producer it can read.
        name: What the data is, as the messages call it.
        upper_name: What the user would have to make anew.

    Raises:
        InvalidArgumentError: The data is too old, too new, or excludes this version.
    """
    if versions.producer < min_producer:
        raise errors.invalid_argument(
            f"{name} producer version {versions.producer} below min producer {min_producer} "
            f"supported by TensorFlow {VERSION}.  Please regenerate your {upper_name}."
        )
    if versions.min_consumer > consumer:
        raise errors.invalid_argument(
            f"{name} min consumer version {versions.min_consumer} above current version "
            f"{consumer} for TensorFlow {VERSION}.  Please upgrade TensorFlow."
        )
    if consumer in versions.bad_consumers:
        raise errors.invalid_argument(
            f"{name} disallows consumer version {consumer}.  Please upgrade TensorFlow: this "
            "version is likely buggy."
        )
