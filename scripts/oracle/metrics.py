"""Store TensorFlow's graphs and values of losses and metrics: ``tests/golden/metrics.json.xz``."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import tensorflow.compat.v1 as tf

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.library.metrics.metric_scenarios import SCENARIOS, outline  # noqa: E402


def main() -> None:
    """Build and run every scenario."""
    tf.disable_v2_behavior()
    found = {name: outline(tf, name) for name in SCENARIOS}
    text = json.dumps(found, indent=0, sort_keys=True)
    path = ROOT / "tests" / "golden" / "metrics.json.xz"
    path.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
