"""Runs fresh random programs in TensorFlow and in tfnb and prints disagreements.

    python -m tests.random_programs PYTHON [FAMILY ...] [--count N] [--seed S] [--store]

PYTHON is the interpreter of an environment with TensorFlow. With ``--store`` the programs and
TensorFlow's answers replace those of the families in tests/golden/random_programs.json.xz.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.random_programs.checks import answer, difference
from tests.random_programs.programs import drawn, load
from tests.random_programs.stored import PATH, write

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts/oracle/random_programs.py"


class Oracle:
    """A process with TensorFlow, restarted when a program kills it.

    Some kernels exist only in oneDNN, others are more exact without it.
    """

    def __init__(self, python: str, faster: bool = False) -> None:
        self.python = python
        self.environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": str(int(faster))}
        self.process: subprocess.Popen[bytes] | None = None

    def answer(self, program: dict[str, Any]) -> list[Any] | None:
        """Return TensorFlow's answers; None if it crashes."""
        if self.process is None:
            command = [self.python, str(_SCRIPT)]
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environment,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(program, self.process.stdin)
            self.process.stdin.flush()
            found: list[Any] = pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            return None
        return found

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.stdin.close()  # type: ignore[union-attr]
            self.process.wait()
            self.process = None


def main(arguments: list[str]) -> int:
    """Compare; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_programs")
    parser.add_argument("python", help="an interpreter with TensorFlow")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=4)
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args(arguments)
    sums, stored = Counter[str](), []
    families = options.families or sorted(load())
    for name in families:
        oracle = Oracle(options.python, faster=name == "quantized")
        shown = 0
        for seed in range(options.seed, options.seed + options.count):
            program = drawn(name, seed)
            wanted = oracle.answer(program)
            if wanted is None:
                sums["crashed"] += 1
                print(f"TensorFlow crashes: {name} {seed}", flush=True)
                continue
            line = difference(answer(program), wanted, program["steps"])
            sums["disagree" if line else "agree"] += 1
            sums["runs"] += len(wanted)
            sums["failed alike"] += sum(isinstance(one, str) for one in wanted) if not line else 0
            if line and shown < options.show:
                shown += 1
                print(f"{name} {seed}: {line[:400]}", flush=True)
            if not line:
                stored.append((name, seed, program, wanted))
        oracle.close()
    if options.store:
        write(stored, families)
        print(PATH, PATH.stat().st_size)
    print(dict(sums))
    return int(bool(sums["disagree"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
