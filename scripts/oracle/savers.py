"""Write tests/golden/savers.json: savers and checkpoints as TensorFlow builds and runs them.

Run with a Python that has TensorFlow: python scripts/oracle/savers.py
"""

from __future__ import annotations

from stored_answers import tensorflow, write_lines


def main() -> None:
    """Write the answers."""
    from tests.library.training.saver_scenarios import GRAPHS, RUNS, answer_of_run
    from tests.ops.waiting.pipeline_scenarios import answer_of_graph

    tf = tensorflow()
    answers = {name: answer_of_graph(tf, program) for name, program in GRAPHS.items()}
    answers |= {f"run:{name}": answer_of_run(tf, program) for name, program in RUNS.items()}
    write_lines("savers.json", answers)


if __name__ == "__main__":
    main()
