"""Pipelines of datasets are built, and give elements, as TensorFlow's.

The programs stand in dataset_scenarios.py, TensorFlow's answers in golden/datasets.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.ops.dataset_scenarios import ITERATORS, PIPELINES, answer_of_pipeline
from tests.ops.pipeline_scenarios import answer_of_run

_GOLDEN = Path(__file__).parents[1] / "golden" / "datasets.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(PIPELINES))
def test_pipeline_is_built_and_answers_as_in_tensorflow(name: str) -> None:
    """The same nodes, types, shapes, cardinality and elements, or the same error."""
    actual = json.loads(json.dumps(answer_of_pipeline(tf, PIPELINES[name])))
    assert _ANSWERS[name] == actual


@pytest.mark.parametrize("name", sorted(ITERATORS))
def test_iterator_answers_as_in_tensorflow(name: str) -> None:
    """The same values and errors."""
    actual = json.loads(json.dumps(answer_of_run(tf, ITERATORS[name])))
    assert _ANSWERS[f"run:{name}"] == actual
