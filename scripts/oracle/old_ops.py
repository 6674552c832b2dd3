"""Store TensorFlow's results of the rows of tests/ops/old_op_rows.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write tests/golden/old_ops.npz: an array per output, or the name of the error's class."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    from tests.ops import old_op_rows

    tf.disable_v2_behavior()
    found = {}
    for row in old_op_rows.ROWS:
        try:
            for index, value in enumerate(old_op_rows.run(tf, row)):
                found[f"{row.key()}:{index}"] = value
        except tf.OpError as error:
            sys.stdout.write(f"{row.key()}: {error.message[:200]}\n")
            found[f"{row.key()}:error"] = np.array(type(error).__name__)
    np.savez_compressed(ROOT / "tests" / "golden" / "old_ops.npz", **found)
    sys.stdout.write(f"{len(found)} values\n")


if __name__ == "__main__":
    main()
