"""Store TensorFlow's results of the rows of tests/library/distributions/distribution_rows.py."""

from __future__ import annotations

import json
import lzma
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write tests/golden/distributions.json.xz."""
    import tensorflow.compat.v1 as tf

    from tests.library.distributions import distribution_rows

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    found = {row: distribution_rows.describe(tf, row) for row in distribution_rows.rows()}
    target = ROOT / "tests" / "golden" / "distributions.json.xz"
    target.write_bytes(lzma.compress(json.dumps(found, indent=0).encode(), preset=9))
    sys.stdout.write(f"{len(found)} rows -> {target}\n")


if __name__ == "__main__":
    main()
