"""Store what TensorFlow's training sessions build and write in ``tests/golden``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tensorflow.compat.v1 as tf

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.client.training.session_scenarios import SESSIONS, files_of, graph_of  # noqa: E402


def main() -> None:
    """Open every session; train once."""
    tf.disable_v2_behavior()
    found = {
        "graphs": {name: graph_of(tf, name) for name in (*SESSIONS, "supervisor")},
        "files": files_of(tf),
    }
    text = json.dumps(found, indent=1, sort_keys=True)
    (ROOT / "tests" / "golden" / "training_sessions.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
