"""Whole programs in the style of TensorFlow 1, with only the import changed.

Each file beside this one is a program that asserts its results. ``scripts/oracle/programs.py`` runs
them with TensorFlow; numbers that are determined by seeds agree.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import tfnb as tf

_GOLDEN = Path(__file__).parents[1] / "golden" / "programs.json"
_ANSWERS: dict[str, dict[str, float]] = json.loads(_GOLDEN.read_text())
_PROGRAMS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if not path.stem.startswith(("test_", "_"))
)


@pytest.mark.slow
@pytest.mark.parametrize("name", _PROGRAMS)
def test_program_reaches_what_it_reaches_in_tensorflow(name: str) -> None:
    """The program's own assertions hold, and its numbers are TensorFlow's."""
    program = importlib.import_module(f"tests.programs.{name}")
    with tf.Graph().as_default():
        found = program.main()
    assert pytest.approx(_ANSWERS[name], rel=2e-2, abs=2e-3) == found


def test_every_program_was_run_with_tensorflow() -> None:
    """Each program has stored numbers, and all stored numbers have a program."""
    assert sorted(_ANSWERS) == _PROGRAMS
