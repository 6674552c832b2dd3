"""Answer random calls: read pickled samples from standard input, write pickled answers.

python scripts/oracle/random_calls.py        needs TensorFlow; tests/random_calls starts it
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO

import ops_samples


def main() -> None:
    """Answer until the input ends; a call that kills TensorFlow is answered with None."""
    # TensorFlow's own messages must not appear among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # A forked child answers, because a replacement is available at once: loading TensorFlow takes
    # seconds.
    while child := os.fork():
        if os.waitpid(child, 0)[1] == 0:
            return
        pickle.dump(None, answers)
        answers.flush()
    answer_all(answers)


def answer_all(answers: BinaryIO) -> None:
    """Answer the requests on standard input."""
    while True:
        try:
            sample = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: dict[str, Any] = {}
        ops_samples.run(sample, answer)
        if "no_kernel" not in answer:
            ops_samples.build(sample, answer, "known")
            ops_samples.build(sample, answer, "const")
            if sample.gradient and "values" in answer and "shapes_known" in answer:
                ops_samples.gradients(sample, answer)
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
