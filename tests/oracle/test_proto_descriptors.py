"""Our messages against the descriptors of an installed TensorFlow."""

from __future__ import annotations

import pytest

from tests.proto.our_modules import tables

pytestmark = [pytest.mark.oracle, pytest.mark.slow]


def test_every_message_has_tensorflows_fields() -> None:
    """Name, number, type, label, JSON name and oneof of every field are TensorFlow's."""
    pytest.importorskip("tensorflow")
    from tests.oracle.tensorflow_tables import tensorflow_tables

    ours = tables()

    assert tensorflow_tables(ours) == ours
