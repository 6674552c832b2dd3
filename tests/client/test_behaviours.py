"""What can be seen of a session is what TensorFlow shows: values, types, error classes, words.

The cases are in behaviours/; what TensorFlow did in them is in golden/behaviours.json.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tfnb as tf
from tests.client.behaviours.all_behaviours import BEHAVIOURS, answer

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "behaviours.json").read_text())


def test_every_behaviour_was_put_to_tensorflow() -> None:
    """A new one needs scripts/oracle/behaviours.py."""
    assert sorted(BEHAVIOURS) == sorted(GOLDEN)


@pytest.mark.filterwarnings("ignore:An interactive session is already active")
@pytest.mark.parametrize("name", BEHAVIOURS)
def test_tensorflow_agrees(name: str) -> None:
    """The same value, or the same class of error with the same words."""
    assert answer(tf, BEHAVIOURS[name]) == GOLDEN[name]
