"""Write tests/golden/functions.json: TensorFlow's results of the programs with functions.

Run with a Python that has TensorFlow: python scripts/oracle/functions.py [name ...]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the answers of all programs, or of the named ones."""
    import tensorflow.compat.v1 as tf
    from tensorflow.python.framework import function
    from tensorflow.python.ops import functional_ops

    from tests.framework import (  # noqa: F401  # register programs
        cond_v2_scenarios,
        defun_scenarios,
        functional_scenarios,
        mixed_scenarios,
        while_v2_scenarios,
    )
    from tests.framework.function_scenarios import SCENARIOS, Kit, answer_of

    tf.disable_v2_behavior()
    target = ROOT / "tests" / "golden" / "functions.json"
    answers = json.loads(target.read_text()) if sys.argv[1:] else {}
    for name in sys.argv[1:] or SCENARIOS:
        answers[name] = answer_of(tf, Kit(function, functional_ops), name)
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(answers)} programs -> {target}\n")
    for name, answer in answers.items():
        told = answer.get("error") or [v for v in answer["values"] if isinstance(v, str)]
        if told:
            sys.stdout.write(f"{name}: {told}\n")


if __name__ == "__main__":
    main()
