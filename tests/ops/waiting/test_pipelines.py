"""Queues and input pipelines are built, and run, as in TensorFlow.

The programs are in pipeline_scenarios.py and data_flow_scenarios.py, TensorFlow's answers in
golden/pipelines.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.joined import in_batches
from tests.ops.waiting import data_flow_scenarios  # noqa: F401  # adds programs
from tests.ops.waiting.pipeline_scenarios import GRAPHS, RUNS, answer_of_graph, answer_of_run

_GOLDEN = Path(__file__).parents[2] / "golden" / "pipelines.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@in_batches("name", sorted(GRAPHS))
def test_pipeline_is_built_as_in_tensorflow(name: str) -> None:
    """Nodes, attributes, collections, results and errors equal TensorFlow's."""
    actual = json.loads(json.dumps(answer_of_graph(tf, GRAPHS[name])))
    assert _ANSWERS[name] == actual


@pytest.mark.parametrize("name", sorted(RUNS))
def test_pipeline_answers_as_in_tensorflow(name: str) -> None:
    """Values and errors equal TensorFlow's."""
    actual = json.loads(json.dumps(answer_of_run(tf, RUNS[name])))
    assert _ANSWERS[f"run:{name}"] == actual
