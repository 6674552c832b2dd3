"""The version of the GraphDef format, and which versions may read a graph.

A graph says which version produced it (``producer``), from which version on it can be read
(``min_consumer``), and which versions must not read it (``bad_consumers``). We write what
TensorFlow 2.21 writes and read what it reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from tfnb.core import errors
from tfnb.core.process.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = "2.21.0"  # the TensorFlow whose behaviour tfnb reproduces
GRAPH_DEF_VERSION: Final = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER: Final = 0
GRAPH_DEF_VERSION_MIN_PRODUCER: Final = 0


@record(frozen=True, slots=True)
class VersionDef:
    """TensorFlow's VersionDef as a plain object."""

    producer: int = 0
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


class Versions(Protocol):
    """A VersionDef message, or any object with its fields."""

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
        versions: The versions in the data.
        consumer: The version of the code that wants to read it.
        min_producer: The oldest producer it can read.
        name: The name of the data in the messages.
        upper_name: The name of the object to regenerate, in the message's advice.

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


def check_graph_versions(versions: Versions) -> None:
    """Refuse a graph that this version may not read.

    >>> check_graph_versions(VersionDef(producer=21))

    Raises:
        InvalidArgumentError: The graph is too old, too new, or excludes this version.
    """
    check_versions(versions)
