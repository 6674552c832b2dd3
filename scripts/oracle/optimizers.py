"""Store the effects of TensorFlow's optimizers in ``tests/golden/optimizers.json``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import tensorflow.compat.v1 as tf

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.library.training.optimizer_scenarios import OPTIMIZERS, train  # noqa: E402


def main() -> None:
    """Train with every optimizer, on both kinds of variables, with dense and sparse gradients."""
    tf.disable_v2_behavior()
    found = {
        f"{name}-{use_resource}-{is_sparse}": train(tf, name, use_resource, is_sparse)
        for name in OPTIMIZERS
        for use_resource in (False, True)
        for is_sparse in (False, True)
    }
    text = json.dumps(found, indent=1, sort_keys=True)
    (ROOT / "tests" / "golden" / "optimizers.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
