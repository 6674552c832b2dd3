"""The nodes that gradients add to a graph are TensorFlow's, name for name."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tfnb
from tests.ops.gradient_graph_scenarios import SCENARIOS, nodes

_PATH = Path(__file__).parents[1] / "golden/gradient_graphs.json.xz"


@cache
def _wanted() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lzma.decompress(_PATH.read_bytes()))
    return found


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_gradients_make_tensorflows_nodes(name: str) -> None:
    """Names, ops, inputs (control inputs too) and keep_dims of all nodes are the same."""
    assert nodes(tfnb, name) == _wanted()[name]
