"""Observable behaviour of sessions equals TensorFlow's: values, types, error classes, texts.

The cases are in behaviours/; TensorFlow's answers are in golden/behaviours.json.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfnb as tf
from tests.client.behaviours.all_behaviours import BEHAVIOURS, answer

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "behaviours.json").read_text())


def test_every_behaviour_was_put_to_tensorflow() -> None:
    """A new case needs an answer stored by scripts/oracle/behaviours.py."""
    assert sorted(BEHAVIOURS) == sorted(GOLDEN)


@pytest.mark.filterwarnings("ignore:An interactive session is already active")
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_tensorflow_agrees(name: str) -> None:
    """The value is equal, or the error has the same class and text."""
    assert answer(tf, BEHAVIOURS[name]) == GOLDEN[name]
