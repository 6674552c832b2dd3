"""What the tests of this folder share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tests.distributed_runtime.clusters import Cluster, cluster_of
from tfnb.distributed_runtime import in_process_channel

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for all tests of a file; its ``JOBS`` says how many tasks each job has."""
    with cluster_of(**request.module.JOBS) as made:
        yield made


@pytest.fixture
def own_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A cluster for one test, which may stop its tasks; they are those of ``JOBS``."""
    with cluster_of(**request.module.JOBS) as made:
        yield made


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """A default graph for each test."""
    with tf.Graph().as_default() as made:
        yield made


@pytest.fixture(autouse=True)
def _speaks_grpc(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach servers of the test's process by gRPC, as those of other processes."""
    if "in_process" not in request.fixturenames:
        monkeypatch.setattr(in_process_channel, "find", lambda address: None)


@pytest.fixture
def in_process() -> None:
    """Reach servers of the test's process without gRPC."""
