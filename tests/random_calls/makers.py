"""The makers of random calls by op: the tables of the calls_<family>.py files."""

from __future__ import annotations

import importlib
from pathlib import Path

from tests.random_calls import draws


def makers() -> dict[str, draws.Maker]:
    """Return every op with random calls, with its maker."""
    importlib.import_module("tfnb.ops.all_ops")
    for path in sorted(Path(__file__).parent.glob("calls_*.py")):
        importlib.import_module(f"tests.random_calls.{path.stem}")
    return draws.MAKERS
