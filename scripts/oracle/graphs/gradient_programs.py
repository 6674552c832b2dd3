"""Store TensorFlow's gradients of the programs in tests/library/gradients/gradient_programs.py.

python scripts/oracle/graphs/gradient_programs.py      needs TensorFlow
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import tensorflow.compat.v1 as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import map_ops as _gradients_of_maps  # noqa: F401

from tests.library.gradients.gradient_programs import PROGRAMS, values

tf.disable_v2_behavior()

OUT = Path(__file__).resolve().parents[3] / "tests/golden/gradient_programs.json"


def main() -> None:
    """Write the answers."""
    found = {name: values(tf, function, name) for name in PROGRAMS}
    for name, answer in found.items():
        words = [one for one in answer if isinstance(one, str)]
        if words:
            sys.stdout.write(f"{name}: {words}\n")
    text = json.dumps(found, indent=0)
    OUT.write_text(text + "\n")


if __name__ == "__main__":
    main()
