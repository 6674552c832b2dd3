"""Store TensorFlow's results of the rows of tests/library/image/image_rows.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write tests/golden/image_functions.npz."""
    import numpy as np
    import tensorflow.compat.v1 as tf

    from tests.library.image import image_rows

    tf.disable_v2_behavior()
    found = image_rows.values(tf)
    np.savez_compressed(ROOT / "tests" / "golden" / "image_functions.npz", **found)
    sys.stdout.write(f"{len(found)} values\n")


if __name__ == "__main__":
    main()
