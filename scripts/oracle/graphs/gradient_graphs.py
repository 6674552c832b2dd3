"""Store the nodes TensorFlow makes for gradients: tests/golden/gradient_graphs.json.xz.

python scripts/oracle/graphs/gradient_graphs.py        needs TensorFlow
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import tensorflow.compat.v1 as tf

from tests.library.gradients.gradient_graph_scenarios import SCENARIOS, nodes

OUT = Path(__file__).resolve().parents[3] / "tests/golden/gradient_graphs.json.xz"

tf.disable_v2_behavior()


def main() -> None:
    """Build every scenario and write the file."""
    found = {name: nodes(tf, name) for name in SCENARIOS}
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    OUT.write_bytes(lzma.compress(text.encode()))


if __name__ == "__main__":
    main()
