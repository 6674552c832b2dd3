"""Store TensorFlow's optimizers by switches: tests/golden/rewriter_switches.json.

    python scripts/oracle/graphs/rewriter_switches.py        needs TensorFlow

The graph and the configurations are in tests/common_runtime/optimizer/rewriter_switches.py.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np
import tensorflow.compat.v1 as tf

from tests.common_runtime.optimizer.rewriter_switches import CONFIGS, build, config, facts

tf.disable_v2_behavior()

OUT = Path(__file__).resolve().parents[3] / "tests/golden/rewriter_switches.json"


def main() -> None:
    """Run every configuration with TensorFlow and write the file."""
    answers = {}
    for name, fields in CONFIGS.items():
        proto = config(tf, fields)
        # The executors' own optimizer would join and fold the remaining nodes.
        proto.graph_options.optimizer_options.opt_level = -1
        metadata = tf.RunMetadata()
        with tf.Graph().as_default(), tf.Session(config=proto) as session:
            fed, fetched = build(tf)
            options = tf.RunOptions(output_partition_graphs=True)
            session.run(fetched, {fed: np.ones((2, 2))}, options=options, run_metadata=metadata)
        graphs = metadata.partition_graphs
        answers[name] = facts({node.name: node.op for graph in graphs for node in graph.node})
    OUT.write_text(json.dumps(answers, indent=1) + "\n")
    print(f"{len(answers)} configurations")


if __name__ == "__main__":
    main()
