"""Versions of graphs."""

from __future__ import annotations

import pytest

from tfnb.core import errors, versions
from tfnb.core.versions import VersionDef
from tfnb.proto import graph_pb2


@pytest.mark.parametrize(
    "version",
    [
        VersionDef(),
        VersionDef(producer=3000),
        VersionDef(producer=5, min_consumer=27),
        VersionDef(min_consumer=2474),
        VersionDef(bad_consumers=(27, 2473)),
    ],
)
def test_graphs_that_may_be_read(version: VersionDef) -> None:
    """A newer producer is accepted, and so is a minimum consumer up to our version."""
    versions.check_graph_versions(version)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (
            VersionDef(producer=2474, min_consumer=3000),
            r"GraphDef min consumer version 3000 above current version 2474 for TensorFlow 2\.21\.0"
            r"\.  Please upgrade TensorFlow\.",
        ),
        (
            VersionDef(producer=-1),
            r"GraphDef producer version -1 below min producer 0 supported by TensorFlow 2\.21\.0"
            r"\.  Please regenerate your graph\.",
        ),
        (
            VersionDef(producer=27, bad_consumers=(5, 2474)),
            r"GraphDef disallows consumer version 2474\.  Please upgrade TensorFlow: this version "
            r"is likely buggy\.",
        ),
    ],
)
def test_graphs_that_must_not_be_read(version: VersionDef, message: str) -> None:
    """The messages are TensorFlow's, for messages and plain forms."""
    proto = graph_pb2.VersionDef(
        producer=version.producer,
        min_consumer=version.min_consumer,
        bad_consumers=version.bad_consumers,
    )
    for form in (version, proto):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            versions.check_graph_versions(form)


def test_other_data_is_checked_with_its_own_numbers() -> None:
    """The same rules apply to checkpoints and other data with versions."""
    with pytest.raises(errors.InvalidArgumentError, match="Checkpoint producer version 0 below"):
        versions.check_versions(VersionDef(), 1, 1, "Checkpoint", "checkpoint")
