"""What the tests of this folder share."""

from __future__ import annotations

import pytest

from tfnb.distributed_runtime import in_process_channel


@pytest.fixture(autouse=True)
def _speaks_grpc(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reach servers of the test's process by gRPC, as those of other processes."""
    if "in_process" not in request.fixturenames:
        monkeypatch.setattr(in_process_channel, "find", lambda address: None)


@pytest.fixture
def in_process() -> None:
    """Reach servers of the test's process without gRPC."""
