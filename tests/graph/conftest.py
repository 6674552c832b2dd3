"""Every test of the graph room may use the test ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.graph.small_graphs import vocabulary_of_tests

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _test_ops() -> Iterator[None]:
    with vocabulary_of_tests():
        yield
