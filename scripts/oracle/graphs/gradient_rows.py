"""Store the nodes TensorFlow makes for tests/library/gradients/gradient_rows.txt.

    python scripts/oracle/graphs/gradient_rows.py        needs TensorFlow

Writes tests/golden/gradient_rows.json.xz.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import tensorflow.compat.v1 as tf

from tests.library.gradients import gradient_rows

OUT = Path(__file__).resolve().parents[3] / "tests/golden/gradient_rows.json.xz"

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


def main() -> None:
    """Build every row and write the file."""
    found = {row: gradient_rows.nodes(tf, row) for row in gradient_rows.rows()}
    for row, nodes in found.items():
        if "error" in nodes:
            sys.stdout.write(f"{row}: {nodes['error']}\n")
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    OUT.write_bytes(lzma.compress(text.encode()))


if __name__ == "__main__":
    main()
