"""Our messages against TensorFlow's, as recorded."""

from __future__ import annotations

import json
from pathlib import Path

from tests.proto.our_modules import tables

GOLDEN = Path(__file__).parents[1] / "golden" / "proto_fields.json"


def test_every_message_has_the_recorded_fields() -> None:
    """Name, number, type, label, JSON name and oneof of every field are TensorFlow's."""
    recorded = json.loads(GOLDEN.read_text())
    ours = tables()

    assert recorded.keys() == ours.keys()
    assert [name for name in ours if recorded[name] != ours[name]] == []
