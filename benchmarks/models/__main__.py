"""Measure whole models of tfnb against TensorFlow in another environment.

    python -m benchmarks.models --tensorflow ~/tf/bin/python
    python -m benchmarks.models --tensorflow ~/tf/bin/python --only bert,mtcnn --quick
    python -m benchmarks.models --tensorflow ~/tf/bin/python --breakdown bilstm_crf --step train

Models are the programs of this folder, and the graphs of public repositories in ``--cases``, a
folder of cases, where similar graphs are measured once. Processes of both modules stay
alive, a pair with default settings, pairs with one and with two threads (not with as many as
there are cores: these are the default settings), and one of tfnb without compiled kernels, as
without the extra `fast`; blocks of steps alternate, and the first of a
round changes. Before a model is measured, its answers from all
processes are compared: those of an inference step, of three training steps, and of an inference
step after them. Then fresh processes of both import the model from a file and run it once.

Figures go to ``build/models.json`` after each model. ``--write`` puts them into
``benchmarks/models/results.json``, and the section "Models" into ``docs/benchmarks.md``.
``--quick`` takes fewer rounds and default settings only. ``--breakdown`` prints the time of a
traced step by type of op; a trace makes small ops longer, so compare its sums with the times of
whole steps in the first line.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import report
from benchmarks.models import tables
from benchmarks.models.cases import Case, cases
from benchmarks.models.programs import Program, programs
from benchmarks.sides import OWN, ROOT, TENSORFLOW, Side, environment
from tests.cases.replay import difference

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
BUILT = ROOT / "build" / "models.json"
PUBLISHED = HERE / "results.json"
THREADS = {"default": 0, "1": 1, "2": 2}
# Default settings without compiled kernels: of tfnb only, compared with TensorFlow's defaults.
PLAIN = "plain"


@dataclass
class Effort:
    """How long a model is measured.

    Attributes:
      rounds: blocks of each step with default settings; with another number of threads, half.
      cold_rounds: fresh processes of each module.
      threads: keys of `THREADS`.
    """

    rounds: int
    cold_rounds: int
    threads: list[str]


FULL = Effort(
    rounds=5,
    cold_rounds=2,
    threads=[label for label, threads in THREADS.items() if threads != os.cpu_count()],
)
QUICK = Effort(rounds=3, cold_rounds=1, threads=["default"])
# Large models: no further round after this time.
_SECONDS_OF_ROUNDS = 15.0


class Pairs:
    """A process of each module for each number of threads.

    Args:
      pythons: interpreter and module, TensorFlow's and tfnb's.
      threads: keys of `THREADS`.
    """

    def __init__(self, pythons: list[tuple[str, str]], threads: list[str]) -> None:
        self.pythons = pythons
        server = HERE / "server.py"
        self.sides = {
            (label, which): Side(python, server, module, ["--threads", str(THREADS[label])])
            for label in threads
            for which, (python, module) in enumerate(self.pythons)
        }
        if len(threads) > 1:
            python, module = self.pythons[1]
            self.sides[PLAIN, 1] = Side(
                python, server, module, ["--threads", "0"], {"TFNB_COMPILED": "0"}
            )

    def metas(self) -> list[dict[str, Any]]:
        """Return the metadata of both modules."""
        return [self.sides["default", which].ask("meta") for which in (0, 1)]

    def close(self) -> None:
        """End all processes."""
        for side in self.sides.values():
            side.close()


class Measured:
    """One model, open in all processes."""

    def __init__(self, pairs: Pairs, model: Program | Case, scratch: Path) -> None:
        self._pairs, self._model = pairs, model
        self._package = scratch / "package"
        self._answers = {key: scratch / f"{key[0]}-{key[1]}.npy" for key in pairs.sides}
        self.steps: list[str] = []
        self.build: list[float] = []

    def open(self) -> str:
        """Build the model everywhere and compare the answers; return what is wrong, or ""."""
        is_program = isinstance(self._model, Program)
        if isinstance(self._model, Case):
            self._model.write(self._package)
        keys = list(self._pairs.sides)
        # One after the other those whose times are kept, then the others side by side.
        opened = [self._open(key) for key in keys if key[0] == "default"]
        self.build = [answer.get("build", 0.0) for answer in opened]
        with ThreadPoolExecutor(2) as threads:
            opened += threads.map(self._open, [key for key in keys if key[0] != "default"])
        for key, answer in zip(keys, opened, strict=True):
            if "error" in answer:
                return f"{_name(key)}: {answer['error']}"
            self.steps = answer["steps"]
        if is_program:
            answer = self._pairs.sides["default", 1].ask("export", folder=str(self._package))
            if "error" in answer:
                return f"export: {answer['error']}"
        return self._compare()

    def _open(self, key: tuple[str, int]) -> dict[str, Any]:
        return self._pairs.sides[key].ask(
            "open",
            name=self._model.name if isinstance(self._model, Program) else "",
            folder=str(self._package),
            answers=str(self._answers[key]),
        )

    def _compare(self) -> str:
        rtol, atol = self._model.rtol, self._model.atol
        wanted = _arrays(self._answers["default", 0])
        for key, path in self._answers.items():
            got = _arrays(path)
            if len(got) != len(wanted):
                return f"{_name(key)}: {len(got)} answers, TensorFlow has {len(wanted)}"
            for i, (one, other) in enumerate(zip(got, wanted, strict=True)):
                wrong = difference(one, other, rtol, atol)
                if wrong:
                    return f"{_name(key)}: answer {i}: {wrong}"
        return ""

    def warm(self, rounds: int) -> dict[str, dict[str, list[dict[str, float]]]]:
        """Return the figures of each step by number of threads, TensorFlow's and tfnb's."""
        turns = [(key, step) for step in self.steps for key in self._pairs.sides]
        blocks: dict[Any, list[dict[str, float]]] = {turn: [] for turn in turns}
        begun = time.monotonic()
        for done in range(rounds):
            if done > 1 and time.monotonic() - begun > _SECONDS_OF_ROUNDS:
                break
            for key, step in turns:
                if key[0] not in ("default", PLAIN) and 2 * done > rounds:
                    continue
                block = self._pairs.sides[key].ask("block", step=step)
                if "error" in block:
                    raise RuntimeError(f"{_name(key)}: {block['error']}")
                blocks[key, step].append(block)
            turns = turns[1:] + turns[:1]
        labels = dict.fromkeys(label for label, _ in self._pairs.sides)
        return {
            step: {
                label: [
                    report.summary(blocks[("default" if label == PLAIN else label, 0), step]),
                    report.summary(blocks[(label, 1), step]),
                ]
                for label in labels
            }
            for step in self.steps
        }

    def cold(self, rounds: int) -> list[dict[str, float]]:
        """Return the medians of fresh processes, TensorFlow's and tfnb's."""
        found: list[list[dict[str, float]]] = [[], []]
        for turn in range(rounds):
            for which in (0, 1) if turn % 2 else (1, 0):
                found[which].append(self._fresh(*self._pairs.pythons[which]))
        return [
            {of: statistics.median(one[of] for one in side) for of in side[0]} for side in found
        ]

    def _fresh(self, python: str, module: str) -> dict[str, float]:
        command = [python, "-P", str(HERE / "cold.py"), module, str(self._package)]
        done = subprocess.run(
            [*command, str(time.monotonic_ns())],
            capture_output=True,
            text=True,
            env=environment(),
        )
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise RuntimeError(f"a fresh process of {module} ended: {last}")
        found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
        return found

    def breakdown(self, step: str) -> str:
        """Return the table of ops of both modules."""
        sides = [
            self._pairs.sides["default", which].ask("breakdown", step=step) for which in (0, 1)
        ]
        for side in sides:
            if "error" in side:
                return f"{side['error']}\n"
        return tables.breakdown(self._model.name, step, sides)

    def close(self) -> None:
        """Close the model everywhere."""
        for side in self._pairs.sides.values():
            side.ask("close")


def _name(key: tuple[str, int]) -> str:
    return f"{(TENSORFLOW, OWN)[key[1]]} with threads: {key[0]}"


def _arrays(path: Path) -> list[Any]:
    found = []
    with path.open("rb") as file:
        while file.tell() < path.stat().st_size:
            found.append(np.load(file, allow_pickle=True))
    return found


def models(folder: Path | None, only: str) -> Iterator[Program | Case]:
    """Yield programs and cases whose names contain one of the words, or whose kind is one."""
    words = [word for word in only.split(",") if word]
    stored = cases(folder) if folder is not None and folder.is_dir() else ()
    for model in (*programs().values(), *stored):
        if not words or any(word in model.name or word == model.kind for word in words):
            yield model


def measure(pairs: Pairs, model: Program | Case, effort: Effort) -> dict[str, Any]:
    """Return the figures of one model, or what went wrong."""
    found: dict[str, Any] = {"name": model.name, "kind": model.kind, "what": model.what}
    with tempfile.TemporaryDirectory() as scratch:
        measured = Measured(pairs, model, Path(scratch))
        try:
            wrong = measured.open()
            if wrong:
                return found | {"errors": wrong}
            steps = measured.warm(effort.rounds)
            # Dozens of stored graphs are small: one cold start each, and the mean of all of them.
            is_one_of_many = isinstance(model, Case) and model.kind == "small graph"
            cold = measured.cold(1 if is_one_of_many else effort.cold_rounds)
            return found | {"build": measured.build, "steps": steps, "cold": cold}
        except RuntimeError as error:
            return found | {"errors": str(error)}
        finally:
            measured.close()


def main() -> int:
    """Measure what the command line requests; the status is 1 if a model has no figures."""
    options = _arguments()
    folder = Path(options.cases) if options.cases else ROOT.parent / "shared" / "cases" / "real"
    only = options.breakdown or options.only
    chosen = list(models(folder, only))
    if not chosen:
        raise SystemExit(f"no model has a name with {only!r}")
    effort = QUICK if options.quick or options.breakdown else FULL
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    pythons = [(options.tensorflow, TENSORFLOW), (sys.executable, OWN)]
    pairs = Pairs(pythons, effort.threads)
    results: list[dict[str, Any]] = []
    try:
        metas = pairs.metas()
        for meta in metas:
            if "error" in meta:
                raise SystemExit(meta["error"])
        about = report.about(metas, 0)
        if options.breakdown:
            return _break_down(pairs, chosen, options.step)
        begun = time.monotonic()
        for position, model in enumerate(chosen):
            results.append(measure(pairs, model, effort))
            BUILT.parent.mkdir(exist_ok=True)
            BUILT.write_text(json.dumps({"about": about, "results": results}, indent=1))
            spent = time.monotonic() - begun
            to_go = spent / (position + 1) * (len(chosen) - position - 1)
            sys.stdout.write(
                f"[{position + 1}/{len(chosen)}] {tables.line(results[-1])}  "
                f"({spent:.0f} s, {to_go / 60:.0f} min to go)\n"
            )
            sys.stdout.flush()
    finally:
        pairs.close()
    _print_summary(results)
    if options.write:
        _write(results, about)
    return int(any("errors" in found for found in results))


def _break_down(pairs: Pairs, chosen: list[Program | Case], step: str) -> int:
    for model in chosen:
        with tempfile.TemporaryDirectory() as scratch:
            measured = Measured(pairs, model, Path(scratch))
            wrong = measured.open()
            if not wrong and step not in measured.steps:
                wrong = f"{model.name} has the steps {measured.steps}, not {step!r}"
            sys.stdout.write(f"{wrong}\n" if wrong else measured.breakdown(step))
            measured.close()
            if wrong:
                return 1
    return 0


def _print_summary(results: list[dict[str, Any]]) -> None:
    measured = [found for found in results if "errors" not in found]
    for name, count, means in tables.summary(measured):
        shown = ", ".join(f"{of} {tables.number(value)}" for of, value in means.items() if value)
        sys.stdout.write(f"{name} ({count}): {shown}\n")


def _write(results: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Publish the figures; those of models that did not run are kept."""
    published = json.loads(PUBLISHED.read_text())["results"] if PUBLISHED.exists() else []
    now = {found["name"]: found for found in results}
    kept = [now.pop(found["name"], found) for found in published] + list(now.values())
    entries = ",\n".join(json.dumps(report.shortened(found)) for found in kept)
    PUBLISHED.write_text(f'{{"about": {json.dumps(about)}, "results": [\n{entries}\n]}}\n')
    report.put_models(ROOT, tables.section(kept, about))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.models",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tensorflow", required=True, help="a Python with TensorFlow")
    parser.add_argument("--cases", help="a folder of cases; default ../shared/cases/real")
    parser.add_argument("--only", default="", help="comma-separated: parts of names, or kinds")
    parser.add_argument("--quick", action="store_true", help="few rounds, default settings only")
    parser.add_argument("--breakdown", metavar="MODEL", help="print the time by type of op")
    parser.add_argument("--step", default="run", help="of --breakdown: run or train")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
