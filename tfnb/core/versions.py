"""Which graphs can be read: the version numbers a GraphDef carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tfnb.core import errors

# TensorFlow 2.21's numbers: what this runtime writes, and the oldest versions it knows.
GRAPH_DEF_VERSION: Final = 2474
GRAPH_DEF_VERSION_MIN_CONSUMER: Final = 0
GRAPH_DEF_VERSION_MIN_PRODUCER: Final = 0


@dataclass(frozen=True, slots=True)
class VersionDef:
    """TensorFlow's VersionDef as a plain object."""

    producer: int = 0
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


def check_graph_versions(versions: VersionDef) -> None:
    """Refuses a graph that was written for other readers than this one.

    Raises:
      InvalidArgumentError: the graph is too new, too old, or names this version as a bad reader.
    """
    if versions.min_consumer > GRAPH_DEF_VERSION:
        raise errors.invalid_argument(
            f"GraphDef min consumer version {versions.min_consumer} above current version "
            f"{GRAPH_DEF_VERSION} of tfnb.  Please upgrade tfnb to read this graph."
        )
    if versions.producer < GRAPH_DEF_VERSION_MIN_PRODUCER:
        raise errors.invalid_argument(
            f"GraphDef producer version {versions.producer} below min producer "
            f"{GRAPH_DEF_VERSION_MIN_PRODUCER} supported by tfnb.  Please regenerate your graph."
        )
    if GRAPH_DEF_VERSION in versions.bad_consumers:
        raise errors.invalid_argument(
            f"GraphDef disallows consumer version {GRAPH_DEF_VERSION}.  "
            "Please upgrade tfnb: this version is likely buggy."
        )
