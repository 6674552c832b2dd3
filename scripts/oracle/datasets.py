"""Write tests/golden/datasets.json: pipelines of datasets as TensorFlow builds and runs them.

Run with a Python that has TensorFlow: python scripts/oracle/datasets.py
"""

from __future__ import annotations

from stored_answers import tensorflow, write_lines


def main() -> None:
    """Write the answers."""
    from tests.library.data.dataset_scenarios import ITERATORS, PIPELINES, answer_of_pipeline
    from tests.ops.waiting.pipeline_scenarios import answer_of_run

    tf = tensorflow()
    answers = {name: answer_of_pipeline(tf, program) for name, program in PIPELINES.items()}
    answers |= {f"run:{name}": answer_of_run(tf, program) for name, program in ITERATORS.items()}
    write_lines("datasets.json", answers)


if __name__ == "__main__":
    main()
