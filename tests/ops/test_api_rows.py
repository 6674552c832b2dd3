"""Functions of the public API build the nodes that TensorFlow builds, under the same names."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import tfnb as tf
from tests.joined import in_batches
from tests.ops import api_rows


@cache
def _golden() -> dict[str, Any]:
    path = Path(__file__).parents[1] / "golden" / "api.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@in_batches("row", api_rows.rows())
def test_builds_what_tensorflow_builds(row: str) -> None:
    """Nodes (name, op, inputs), result and errors are TensorFlow's."""
    wanted = _golden()[row]
    found = json.loads(json.dumps(api_rows.describe(tf, row)))
    if "error" in wanted:
        assert wanted["error"] == found.get("error"), found
        return
    assert "error" not in found, found
    assert wanted["result"] == found["result"]
    assert wanted["nodes"] == found["nodes"]
