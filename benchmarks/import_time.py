"""The time of `import tfnb` in a fresh interpreter, compared with NumPy alone.

python benchmarks/import_time.py [rounds]

The statements take turns, so that a busy minute affects all of them. The goal is 0.35 s for
`import tfnb`, including NumPy.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

STATEMENTS = [
    "pass",
    "import numpy",
    "import google.protobuf.internal.builder",
    "from tfnb.proto import config_pb2",
    "import tfnb",
]


def seconds(statement: str) -> float:
    """Return the time of one statement, without the interpreter's own start."""
    script = (
        f"import time; start = time.perf_counter()\n{statement}\nprint(time.perf_counter() - start)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return float(run.stdout)


def main() -> None:
    """Print the best and the median time of each statement."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(rounds):
        for statement in STATEMENTS:
            times[statement].append(seconds(statement))
    for statement, measured in times.items():
        best, middle = min(measured) * 1e3, statistics.median(measured) * 1e3
        sys.stdout.write(f"{best:8.1f} ms best  {middle:8.1f} ms median  {statement}\n")


if __name__ == "__main__":
    main()
