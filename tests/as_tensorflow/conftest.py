"""`import tensorflow` is tfnb for the tests of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tfnb.as_tensorflow.finder import served

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def as_tensorflow() -> Iterator[None]:
    """Serve `import tensorflow` during a test."""
    with served():
        yield
