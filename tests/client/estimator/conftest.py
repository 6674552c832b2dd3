"""Fixtures of the tests of estimators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import tfnb as tf

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def closed_event_files(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the event files of a test, which has no `TF_CONFIG` but its own."""
    monkeypatch.delenv("TF_CONFIG", raising=False)
    yield
    tf.summary.FileWriterCache.clear()
