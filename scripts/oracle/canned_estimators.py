"""Store what TensorFlow's canned estimators train, write and export in ``tests/golden``.

TensorFlow 2.15 is the last version with ``tf.estimator``.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import tensorflow.compat.v1 as tf

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.client.estimator.canned_scenarios import MODELS, outcome  # noqa: E402


def main() -> None:
    """Run every model once."""
    found = {}
    for name in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = outcome(tf, name, folder)
    text = json.dumps(found, indent=1, sort_keys=True)
    (ROOT / "tests" / "golden" / "canned_estimators.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
