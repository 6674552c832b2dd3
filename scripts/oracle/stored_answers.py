"""What scripts share that store TensorFlow's answers in tests/golden.

They run with a Python that has TensorFlow, and import the rows or programs from ``tests``.
"""

from __future__ import annotations

import json
import lzma
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
sys.path.insert(0, str(ROOT))


def tensorflow() -> Any:
    """Return TensorFlow with the API and the behaviour of version 1, without its log."""
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    return tf


def write_lines(name: str, answers: Mapping[str, Any]) -> None:
    """Write answers as JSON with a line for each, in the order of their names."""
    lines = [f"{json.dumps(one)}: {json.dumps(answers[one])}" for one in sorted(answers)]
    (GOLDEN / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    _report(name, answers)


def write_compressed(name: str, answers: Mapping[str, Any]) -> None:
    """Write answers as compressed JSON."""
    text = json.dumps(answers, indent=0)
    (GOLDEN / name).write_bytes(lzma.compress(text.encode(), preset=9))
    _report(name, answers)


def write_arrays(name: str, arrays: Mapping[str, Any]) -> None:
    """Write arrays as a compressed file of NumPy's."""
    import numpy as np

    np.savez_compressed(GOLDEN / name, **arrays)
    _report(name, arrays)


def _report(name: str, answers: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{len(answers)} answers -> {GOLDEN / name}\n")
