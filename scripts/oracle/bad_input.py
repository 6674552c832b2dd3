"""Write tests/golden/bad_input.json.

TensorFlow's answers to the cases in tests/client/bad_input.

Every case runs in a separate process, because some cases end it.
Run with a Python that has TensorFlow: python scripts/oracle/bad_input.py [case ...]
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "tests" / "golden" / "bad_input.json"
sys.path.insert(0, str(ROOT))
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
LIMIT_S = 40


def answer(tf: Any, case: Any) -> list[str]:
    """Return the class and the first line of the error, or "value" and the result."""
    with tf.Graph().as_default(), tf.Session() as sess:
        good = tf.constant(7.0, name="good")
        sess.run(good)
        try:
            found = case.do(tf, sess)
        except Exception as error:
            return [type(error).__name__, first_line(error)]
        return ["value", repr(found)[:100]]


def first_line(error: Exception) -> str:
    """Return the message of an error, without the wrapping around errors of a step."""
    text = str(error)
    if text.startswith("Graph execution error:"):
        text = text.partition("\n\nOriginal stack trace")[0]
        lines = [line for line in text.splitlines()[1:] if line.strip()]
        lines = [
            line for line in lines if not line.startswith(("Detected at", "  ", "\t", "Node:"))
        ]
        text = next((line for line in lines if line != "Graph execution error:"), "")
    return text.partition("\n")[0][:160]


def in_own_process(tf: Any, case: Any) -> list[str]:
    """Return the answer of a case, also if it kills the process or never ends."""
    with tempfile.TemporaryFile("w+") as file:
        child = os.fork()
        if not child:
            json.dump(answer(tf, case), file)
            file.flush()
            os._exit(0)
        deadline = time.monotonic() + LIMIT_S
        while True:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(child, 9)
                os.waitpid(child, 0)
                return ["no end", f"not within {LIMIT_S} s"]
            time.sleep(0.01)
        if status:
            return ["killed", f"signal {os.WTERMSIG(status)}"]
        file.seek(0)
        return list(json.load(file))


def main() -> None:
    """Write the stored answers, of all cases or of the named ones."""
    import tensorflow.compat.v1 as tf

    from tests.client.bad_input.all_cases import CASES

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.FATAL)
    answers = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for name in sys.argv[1:] or CASES:
        answers[name] = in_own_process(tf, CASES[name])
        sys.stdout.write(f"{name}: {answers[name]}\n")
    ordered = {name: answers[name] for name in CASES if name in answers}
    TARGET.write_text(json.dumps(ordered, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
