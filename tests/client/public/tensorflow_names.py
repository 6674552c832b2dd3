"""TensorFlow 1's public names, as scripts/oracle/public_names.py found them."""

from __future__ import annotations

from pathlib import Path

STORED = Path(__file__).parents[2] / "golden" / "public_names.txt"


def tensorflow_names() -> frozenset[str]:
    """All of them, ``tf.nn.relu``."""
    found: set[str] = set()
    for line in STORED.read_text(encoding="utf-8").splitlines():
        namespace, _, names = line.partition(": ")
        found.update(f"{namespace}.{name}" for name in names.split())
    return frozenset(found)
