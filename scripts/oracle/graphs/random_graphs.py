"""Store TensorFlow's answers to random graphs: tests/golden/random_graphs.json.xz.

    python scripts/oracle/graphs/random_graphs.py [--count N] [--seed S]        needs TensorFlow

The graphs and the format of the answers are those of tests/random_graphs. Every fourth graph runs
with grappler and all passes on, and then without counts of executions. A graph for which TensorFlow
crashes, hangs or gives varying answers is not stored.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.random_graphs.generator import case_of_seed
from tests.random_graphs.oracle import Oracle

OUT = Path(__file__).resolve().parents[3] / "tests/golden/random_graphs.json.xz"
# Larger graphs are left to ``python -m tests.random_graphs``.
MAX_NODES = 150


def main() -> None:
    """Run every seed with TensorFlow and write the file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=100_000)
    options = parser.parse_args()
    stored = []
    sums: Counter[str] = Counter()
    with Oracle(sys.executable) as oracle:
        for seed in range(options.seed, options.seed + options.count):
            case = case_of_seed(seed)
            if len(case.nodes) > MAX_NODES:
                sums["too large"] += 1
                continue
            optimize = seed % 4 == 0
            answer = oracle.answer(case, optimize)
            if isinstance(answer, str):
                sums[answer] += 1
                continue
            sums["stored"] += 1
            if optimize:
                for step in answer:
                    step.pop("counts", None)
            stored.append(
                {"seed": seed, "optimize": optimize, "case": case.to_json(), "answer": answer}
            )
    OUT.write_bytes(lzma.compress(json.dumps(stored, separators=(",", ":")).encode(), preset=9))
    print(dict(sums), f"{OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
