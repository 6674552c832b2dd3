"""Every test of the graph room may use the test ops."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.graph.small_graphs import test_vocabulary


@pytest.fixture(autouse=True)
def _test_ops() -> Iterator[None]:
    with test_vocabulary():
        yield
