"""Answers cases for another process: JSON in, JSON out, a line each.

    python -m tests.random_graphs.worker         with a python that has TensorFlow

A line in is ``{"case": ..., "optimize": ...}``, a line out the answer of ``answers.py``.
"""

from __future__ import annotations

import json
import os
import sys

from tests.random_graphs.answers import answer_of, quiet_tensorflow
from tests.random_graphs.case import Case


def main() -> None:
    """Serves until there is no more input."""
    # What kernels print goes elsewhere than the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tf = quiet_tensorflow()
    for line in sys.stdin:
        asked = json.loads(line)
        answer = answer_of(tf, Case.from_json(asked["case"]), asked["optimize"])
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
