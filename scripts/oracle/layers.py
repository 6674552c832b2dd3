"""Write tests/golden/layers.json.xz: layers and recurrent networks as TensorFlow builds them.

Run with a Python that has TensorFlow, and tf-keras of the same version, from which TensorFlow takes
``tf.layers``: python scripts/oracle/layers.py
"""

from __future__ import annotations

import json
import lzma
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the answers."""
    os.environ["TF_USE_LEGACY_KERAS"] = "1"
    import tensorflow.compat.v1 as tf

    from tests.library.layers import (
        lookup_scenarios,  # noqa: F401  # adds programs
        rnn_scenarios,  # noqa: F401  # adds programs
    )
    from tests.library.layers.layer_scenarios import PROGRAMS, answer

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    answers = {name: answer(tf, build) for name, build in PROGRAMS.items()}
    target = ROOT / "tests" / "golden" / "layers.json.xz"
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    target.write_bytes(lzma.compress(("{\n" + ",\n".join(lines) + "\n}\n").encode(), preset=9))
    for name, found in answers.items():
        if ("error" in found) is not name.endswith("is_an_error"):
            sys.stdout.write(f"{name}: {found.get('error', 'no error')}\n")
    sys.stdout.write(f"{len(answers)} programs -> {target}\n")


if __name__ == "__main__":
    main()
