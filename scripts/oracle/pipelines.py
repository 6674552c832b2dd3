"""Write tests/golden/pipelines.json: queues and pipelines as TensorFlow builds and runs them.

Run with a Python that has TensorFlow: python scripts/oracle/pipelines.py
"""

from __future__ import annotations

from stored_answers import tensorflow, write_lines


def main() -> None:
    """Write the answers."""
    from tests.ops.waiting import data_flow_scenarios  # noqa: F401  # adds programs
    from tests.ops.waiting.pipeline_scenarios import GRAPHS, RUNS, answer_of_graph, answer_of_run

    tf = tensorflow()
    answers = {name: answer_of_graph(tf, program) for name, program in GRAPHS.items()}
    answers |= {f"run:{name}": answer_of_run(tf, program) for name, program in RUNS.items()}
    write_lines("pipelines.json", answers)


if __name__ == "__main__":
    main()
