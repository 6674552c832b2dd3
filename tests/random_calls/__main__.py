"""Runs fresh random calls of ops in TensorFlow and in tfnb and prints disagreements.

    python -m tests.random_calls PYTHON [OP ...] [--count N] [--seed S] [--store]

PYTHON is the interpreter of an environment with TensorFlow. Without OP all ops with a maker are
called, N times each. With ``--store`` the calls and TensorFlow's answers become
tests/golden/random_calls.bin, which test_random_calls.py checks.
"""

from __future__ import annotations

import argparse
import pickle
import re
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops.golden import Golden, GoldenWriter
from tests.ops.oracle import Oracle, described
from tests.ops.stored_calls import PATH, encode
from tests.random_calls.checks import differences
from tests.random_calls.draws import Draw
from tests.random_calls.makers import makers

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.ops.samples import Sample


def kept(paths: list[Path]) -> dict[str, list[Sample]]:
    """The calls in files of ``--found`` by op."""
    found: dict[str, list[Sample]] = {}
    for path in paths:
        with path.open("rb") as file:
            while True:
                try:
                    row = pickle.load(file)
                except EOFError:
                    break
                found.setdefault(row.op, []).append(row)
    return found


def is_small(answer: dict[str, Any]) -> bool:
    """Return whether the answer is small enough for the repository."""
    return sum(np.size(v) for v in answer.get("values", ()) if v is not None) <= 150


def is_finite(row: Sample, answer: dict[str, Any]) -> bool:
    """Whether neither the call nor the answer has NaN or infinities."""
    entries = [item for e in row.inputs for item in (e if isinstance(e, list) else [e])]
    arrays = [np.asarray(getattr(e, "value", e)) for e in (*entries, *answer.get("values", ()))]
    return all(np.isfinite(a).all() for a in arrays if a.dtype.kind in "fcV")


def is_missing(answer: dict[str, Any]) -> bool:
    """Return whether TensorFlow's kernel is one that never answers."""
    return bool(re.search(r"Missing \d+-th output", answer.get("error", ["", ""])[1]))


def brief(line: str) -> str:
    """The disagreement in one line."""
    return " ".join(line.replace("Not equal to tolerance", "").split())[:420]


def options_of(module: str, words: str, show: int) -> argparse.ArgumentParser:
    """Add the options that random calls and calls at edges have in common."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}")
    parser.add_argument("python", help="an interpreter with TensorFlow")
    parser.add_argument("words", nargs="*", metavar=words)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=show, help="shown per op and kind")
    parser.add_argument("--found", type=Path, help="a file to add calls that disagree to")
    parser.add_argument("--store", action="store_true")
    return parser


def writer_to(path: Path, stays: Callable[[str], bool]) -> GoldenWriter:
    """Return a writer to a file that keeps existing calls with the given keys."""
    writer = GoldenWriter(path)
    if path.exists():
        before = Golden(path)
        for key in filter(stays, before.index):
            writer.add(key, before.get(key) or {})
    return writer


class Tally:
    """Counts agreements and disagreements: of one op in ``shown``, of all in ``sums``."""

    def __init__(self, show: int, found: Path | None) -> None:
        self.show = show
        self.found = found
        self.sums: Counter[str] = Counter()
        self.shown: Counter[str] = Counter()

    def add(
        self, row: Sample, answer: dict[str, Any], lines: list[str], label: str, group: str = ""
    ) -> None:
        """Count a call; print and keep it if it disagrees.

        Args:
          row: the call.
          answer: TensorFlow's answer.
          lines: the differences.
          label: a prefix of each line.
          group: what is counted separately, besides the kind of difference.
        """
        self.sums["disagree" if lines else "agree"] += 1
        self.sums["no kernel"] += "no_kernel" in answer
        self.sums["failed alike"] += not lines and "error" in answer
        for line in lines:
            kind = group + line.split(":")[0]
            self.shown[kind] += 1
            if self.shown[kind] <= self.show:
                print(f"{described(row)[:300]}\n    {label} {brief(line)}", flush=True)
        if lines and self.found is not None:
            with self.found.open("ab") as file:
                pickle.dump(row, file)

    def end_op(self, name: str) -> None:
        """Print the results of an op."""
        if self.shown:
            print(f"== {name}: {dict(self.shown)}", flush=True)
            self.shown.clear()

    def end(self) -> int:
        """Print the results of all ops; return the exit status."""
        print(dict(self.sums))
        return int(bool(self.sums["disagree"]))


def main(arguments: list[str]) -> int:
    """Compare; the exit status says whether all agree."""
    from tests.random_calls.edge_calls import is_undefined  # which imports this

    parser = options_of("tests.random_calls", "OP", show=3)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="such files, to store too")
    options = parser.parse_args(arguments)
    table = makers()
    names = [n for n in options.words if n in table]
    for word in options.words:
        names += [n for n, maker in table.items() if maker.__module__.endswith(f"calls_{word}")]
    tally = Tally(options.show, options.found)
    oracle = Oracle(options.python)
    writer: GoldenWriter | None = None
    if options.store:
        writer = writer_to(PATH, lambda key: bool(names) and key.rsplit("-", 1)[0] not in names)
    again = kept(options.also)
    for name in names or sorted(table):
        rows = [
            (seed, table[name](Draw(zlib.crc32(name.encode()) + 7919 * seed), name))
            for seed in range(options.seed, options.seed + options.count)
        ]
        rows += [(-1 - index, row) for index, row in enumerate(again.get(name, ())[:6])]
        for seed, row in rows:
            answer = oracle.answer(row)
            if answer is None:
                tally.sums["crashed"] += 1
                print(f"TensorFlow crashes: {described(row)[:300]}", flush=True)
                continue
            if is_missing(answer):
                continue
            lines = differences(row, answer)
            if lines and is_undefined("" if is_finite(row, answer) else "nan", row):
                continue
            tally.add(row, answer, lines, str(seed))
            if writer and not lines and is_small(answer):
                writer.add(
                    f"{name}-{seed}".replace("--", "-found"),
                    {"call": encode(row), "answer": answer},
                )
        tally.end_op(name)
    oracle.close()
    if writer:
        writer.close()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
