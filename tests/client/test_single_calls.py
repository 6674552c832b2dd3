"""Single calls of the public API, valid and invalid, give TensorFlow's answers.

The calls and TensorFlow's answers are in tests/golden/single_calls. Add calls there and run
``scripts/oracle/reproductions.py FILE --tensorflow PYTHON --write`` to store the answers.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tfnb as tf
from tests.client.replay import Program, difference, programs, run_here

_FILES = sorted((Path(__file__).parents[1] / "golden/single_calls").glob("*.md"))
_PROGRAMS = [one for path in _FILES for one in programs(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("program", _PROGRAMS, ids=[one.name for one in _PROGRAMS])
def test_answers_are_tensorflows(program: Program) -> None:
    """Printed values and raised errors equal TensorFlow's."""
    with tf.Graph().as_default():
        found = run_here(program, tf).split("\n")
    assert not difference(found, program.answer), (found, program.answer)
