"""Training sessions build TensorFlow's graphs and write TensorFlow's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfnb as tf
from tests.client.training.session_scenarios import files_of, graph_of

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "training_sessions.json").read_text())


@pytest.mark.parametrize("name", GOLDEN["graphs"])
def test_graphs_are_tensorflows(name: str) -> None:
    """Node for node: what scaffold, saver and hooks add has the same names and inputs."""
    assert graph_of(tf, name) == GOLDEN["graphs"][name]


def test_files_and_events_are_tensorflows() -> None:
    """The same checkpoints, the same events at the same steps."""
    assert files_of(tf) == GOLDEN["files"]
