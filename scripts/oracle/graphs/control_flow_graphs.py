"""Write tests/golden/control_flow_graphs.json: TensorFlow's results of the scenarios.

Run with a Python that has TensorFlow: python scripts/oracle/graphs/control_flow_graphs.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT))


def main() -> None:
    """Write the answers."""
    import tensorflow.compat.v1 as tf

    from tests.library.control_flow import gradient_scenarios, nested_scenarios, variable_scenarios  # noqa: F401  # register programs
    from tests.library.control_flow.control_flow_scenarios import FORWARD, GRADIENTS

    tf.disable_v2_behavior()
    answers = {name: _answer(tf, program, False) for name, program in FORWARD.items()}
    answers.update({name: _answer(tf, program, True) for name, program in GRADIENTS.items()})
    target = ROOT / "tests" / "golden" / "control_flow_graphs.json"
    lines = [f"{json.dumps(name)}: {json.dumps(answers[name])}" for name in sorted(answers)]
    target.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    sys.stdout.write(f"{len(answers)} scenarios -> {target}\n")


def _answer(tf: Any, program: Any, only_control: bool) -> dict[str, Any]:
    from tests.library.control_flow.control_flow_scenarios import (
        described,
        nodes_of,
        values_of,
        without_tensors,
    )

    with tf.Graph().as_default() as graph:
        try:
            result = program(tf)
        except Exception as error:
            return {"error": without_tensors(error)}
        return {
            "nodes": nodes_of(graph, only_control),
            "result": described(result),
            "values": values_of(tf, graph, result),
        }


if __name__ == "__main__":
    main()
