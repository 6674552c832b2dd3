"""Answers cases for another process: JSON in, JSON out, one per line.

    python -m tests.random_graphs.worker         with a python that has TensorFlow

An input line is ``{"case": ..., "optimize": ...}``, an output line the answer of ``answers.py``.
"""

from __future__ import annotations

import json
import os
import sys

from tests.random_graphs.answers import STILL_MS, answer_of, quiet_tensorflow
from tests.random_graphs.case import Case


def main() -> None:
    """Serve until the input ends."""
    # Output of kernels is separated from the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tf = quiet_tensorflow()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = answer_of(tf, Case.from_json(asked["case"]), asked["optimize"], STILL_MS)
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
