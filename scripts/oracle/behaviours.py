"""Write tests/golden/behaviours.json: TensorFlow's results of tests/client/behaviours.

Run with a Python that has TensorFlow: python scripts/oracle/behaviours.py
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "tests" / "golden" / "behaviours.json"
sys.path.insert(0, str(ROOT))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"


def main() -> None:
    """Write the answers; report errors without the text that their case expects."""
    import tensorflow.compat.v1 as tf

    from tests.client.behaviours.all_behaviours import BEHAVIOURS, answer

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.FATAL)
    answers = {name: answer(tf, one) for name, one in BEHAVIOURS.items()}
    for name, (kind, found) in answers.items():
        if kind != "value" and found != BEHAVIOURS[name].match:
            sys.stdout.write(f"{name}: {kind}: {found}\n")
        elif kind == "value" and BEHAVIOURS[name].match:
            sys.stdout.write(f"{name}: did not fail: {found}\n")
    TARGET.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
