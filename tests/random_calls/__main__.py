"""Runs fresh random calls of ops in TensorFlow and in tfnb and says where they disagree.

    python -m tests.random_calls PYTHON [OP ...] [--count N] [--seed S] [--store]

PYTHON is the interpreter of an environment with TensorFlow.  Without ops all that have a maker are
called, N times each.  With ``--store`` the calls and TensorFlow's answers become
tests/golden/random_calls.bin, which test_random_calls.py checks.
"""

from __future__ import annotations

import argparse
import os
import pickle
import select
import signal
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tests.ops.golden import Golden, GoldenWriter
from tests.ops.samples import Resource, Sample, Uninitialized
from tests.random_calls.checks import differences
from tests.random_calls.draws import Draw
from tests.random_calls.makers import makers
from tests.random_calls.stored import PATH, encode

_SCRIPT = Path(__file__).resolve().parents[2] / "scripts/oracle/random_calls.py"
# TensorFlow may take so long until it listens.
_START_S = 120


class Oracle:
    """A process with TensorFlow that answers calls; started again when a call kills it."""

    def __init__(self, python: str, script: Path = _SCRIPT, limit_s: float | None = None) -> None:
        self.command = [python, str(script)]
        self.limit_s = limit_s
        self.process: subprocess.Popen[bytes] | None = None

    def answer(self, row: Sample) -> Any:
        """TensorFlow's answer; None where it crashes or takes longer than the limit."""
        limit_s = self.limit_s
        if self.process is None:
            limit_s = None if limit_s is None else limit_s + _START_S
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(row, self.process.stdin)
            self.process.stdin.flush()
            if not select.select([self.process.stdout], [], [], limit_s)[0]:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.close()
                return None
            return pickle.load(self.process.stdout)
        except (EOFError, BrokenPipeError, pickle.UnpicklingError):
            self.close()
            return None

    def close(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.stdin.close()  # type: ignore[union-attr]
            self.process.wait()
            self.process = None


def described(row: Sample) -> str:
    """The call in one line."""

    def one(entry: Any) -> str:
        if isinstance(entry, list):
            return f"[{', '.join(one(item) for item in entry)}]"
        if isinstance(entry, (Resource, Uninitialized)):
            return f"{type(entry).__name__}({one(getattr(entry, 'value', None))})"
        if entry is None:
            return "None"
        entry = np.asarray(entry)
        text = "" if not 0 < entry.size <= 12 else f" {entry.tolist()}"
        return f"{entry.dtype}{list(entry.shape)}{text}"

    return f"{row.op}({'; '.join(one(e) for e in row.inputs)}) {row.attrs}"


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
    """Whether the answer is worth its room in the repository."""
    return sum(np.size(v) for v in answer.get("values", ()) if v is not None) <= 150


def brief(line: str) -> str:
    """The disagreement in one line."""
    return " ".join(line.replace("Not equal to tolerance", "").split())[:420]


def main(arguments: list[str]) -> int:
    """Compares; the exit status says whether all agreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.random_calls")
    parser.add_argument("python", help="an interpreter with TensorFlow")
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3, help="disagreements shown per op and kind")
    parser.add_argument("--found", type=Path, help="a file to add calls that disagree to")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="such files, to store too")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args(arguments)
    table = makers()
    names = [n for n in options.ops if n in table]
    for word in options.ops:
        names += [n for n, maker in table.items() if maker.__module__.endswith(f"calls_{word}")]
    sums: Counter[str] = Counter()
    oracle = Oracle(options.python)
    writer = GoldenWriter(PATH)
    if options.store and names:
        # The others stay as they are.
        before = Golden(PATH)
        for key in before.index:
            answer = before.get(key)
            if answer is not None and key.rsplit("-", 1)[0] not in names:
                writer.add(key, answer)
    again = kept(options.also)
    for name in names or sorted(table):
        shown: Counter[str] = Counter()
        rows = [
            (seed, table[name](Draw(zlib.crc32(name.encode()) + 7919 * seed), name))
            for seed in range(options.seed, options.seed + options.count)
        ]
        rows += [(-1 - index, row) for index, row in enumerate(again.get(name, ())[:6])]
        for seed, row in rows:
            answer = oracle.answer(row)
            if answer is None:
                sums["crashed"] += 1
                print(f"TensorFlow crashes: {described(row)[:300]}", flush=True)
                continue
            lines = differences(row, answer)
            sums["disagree" if lines else "agree"] += 1
            sums["no kernel"] += "no_kernel" in answer
            sums["failed alike"] += not lines and "error" in answer
            if options.store and not lines and is_small(answer):
                writer.add(
                    f"{name}-{seed}".replace("--", "-found"),
                    {"call": encode(row), "answer": answer},
                )
            for line in lines:
                kind = line.split(":")[0]
                shown[kind] += 1
                if shown[kind] <= options.show:
                    print(f"{described(row)[:260]}\n    {seed} {brief(line)}", flush=True)
            if lines and options.found is not None:
                with options.found.open("ab") as file:
                    pickle.dump(row, file)
        if shown:
            print(f"== {name}: {dict(shown)} of {options.count}", flush=True)
    oracle.close()
    if options.store:
        writer.close()
    print(dict(sums))
    return int(bool(sums["disagree"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
