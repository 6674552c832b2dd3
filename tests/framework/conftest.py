"""A graph of its own for every test of this room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    """The default graph of the test."""
    with tf.Graph().as_default() as graph:
        yield graph
