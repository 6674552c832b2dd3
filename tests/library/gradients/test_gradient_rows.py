"""Gradients of every op make TensorFlow's nodes, name for name."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import tfnb
from tests.joined import in_batches
from tests.library.gradients import gradient_rows

_PATH = Path(__file__).parents[2] / "golden/gradient_rows.json.xz"


@cache
def _wanted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(_PATH.read_bytes()))
    return found


@in_batches("row", gradient_rows.rows())
def test_gradients_make_tensorflows_nodes(row: str) -> None:
    """Names, ops, inputs (control inputs too) and plain attrs of all nodes are the same."""
    assert gradient_rows.nodes(tfnb, row) == _wanted()[row]
