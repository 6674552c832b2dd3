"""Store what TensorFlow builds for the rows of tests/ops/api_rows.py in tests/golden/api.json."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the file."""
    import tensorflow.compat.v1 as tf

    from tests.ops import api_rows

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    found = {row: api_rows.describe(tf, row) for row in api_rows.rows()}
    target = ROOT / "tests" / "golden" / "api.json"
    lines = [f"{json.dumps(row)}: {json.dumps(found[row])}" for row in sorted(found)]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(found)} rows -> {target}\n")


if __name__ == "__main__":
    main()
