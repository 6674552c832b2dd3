"""Write tests/golden/datasets.json: pipelines of datasets as TensorFlow builds and runs them.

Run with a Python that has TensorFlow: python scripts/oracle/datasets.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the answers."""
    import tensorflow.compat.v1 as tf

    from tests.library.data.dataset_scenarios import ITERATORS, PIPELINES, answer_of_pipeline
    from tests.ops.waiting.pipeline_scenarios import answer_of_run

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    answers = {name: answer_of_pipeline(tf, program) for name, program in PIPELINES.items()}
    answers |= {f"run:{name}": answer_of_run(tf, program) for name, program in ITERATORS.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    target = ROOT / "tests" / "golden" / "datasets.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(answers)} scenarios -> {target}\n")


if __name__ == "__main__":
    main()
