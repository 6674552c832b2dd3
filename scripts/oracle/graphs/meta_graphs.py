"""Write tests/golden/meta_graphs.json: MetaGraphDefs and SavedModels as TensorFlow makes them.

Run with a Python that has TensorFlow: python scripts/oracle/graphs/meta_graphs.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the answers."""
    import tensorflow.compat.v1 as tf

    from tests.library.training.meta_graph_scenarios import RUNS
    from tests.library.training.saver_scenarios import answer_of_run

    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    answers = {name: answer_of_run(tf, program) for name, program in RUNS.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    target = ROOT / "tests" / "golden" / "meta_graphs.json"
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(answers)} scenarios -> {target}\n")


if __name__ == "__main__":
    main()
