"""Run random programs: read pickled ones from standard input, write pickled answers.

python scripts/oracle/random_programs.py      needs TensorFlow; tests/random_programs starts it
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()


def answer(program: dict[str, Any]) -> list[Any]:
    """Return the result of each run: the fetched values, or the class of the error."""
    definition = tf.GraphDef.FromString(program["graph"])
    with tf.Graph().as_default() as graph:
        try:
            tf.import_graph_def(definition, name="")
        except (ValueError, tf.errors.OpError) as error:
            return [f"import: {error}"]
    config = tf.ConfigProto()
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    results: list[Any] = []
    options = tf.RunOptions(timeout_in_ms=5_000)
    with tf.Session(graph=graph, config=config) as session:
        for fetches in program["runs"]:
            try:
                results.append(session.run(fetches, options=options))
            except tf.errors.OpError as error:
                results.append(type(error).__name__)
    return results


def main() -> None:
    """Answer until the input ends."""
    # TensorFlow's own messages must not appear among the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            program = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            pickle.dump(answer(program), answers)
        answers.flush()


if __name__ == "__main__":
    main()
