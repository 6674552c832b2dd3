"""MetaGraphDefs, SavedModels and frozen graphs equal TensorFlow's.

The programs are in meta_graph_scenarios.py, TensorFlow's answers in golden/meta_graphs.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tfnb as tf
from tests.library.training.meta_graph_scenarios import RUNS
from tests.library.training.saver_scenarios import answer_of_run

_GOLDEN = Path(__file__).parents[2] / "golden" / "meta_graphs.json"
_ANSWERS: dict[str, Any] = json.loads(_GOLDEN.read_text())


@pytest.mark.parametrize("name", sorted(RUNS))
def test_graphs_are_written_and_read_as_in_tensorflow(name: str) -> None:
    """Messages, files, values and errors equal TensorFlow's."""
    assert _ANSWERS[name] == json.loads(json.dumps(answer_of_run(tf, RUNS[name])))
