"""Measure tfnb against TensorFlow in another environment, in alternating blocks.

    python -m benchmarks --tensorflow ~/tf/bin/python --suite ../shared/bench --write

``--tensorflow`` is a Python with TensorFlow. ``--suite`` is the folder of a suite outside the
project, a ``bench.py`` that serves the protocol of :mod:`benchmarks.server`; without it only the
project's own workloads run. Both processes stay alive; blocks of both alternate, and the first of a
round changes from round to round, so that a busy minute affects both.

The figures of every workload go to ``build/benchmarks.json`` at once. ``--resume`` continues an
interrupted run; ``--only`` takes parts of names, or whole groups, and keeps the other figures.
``--write`` puts them into ``benchmarks/results.json``, beside those of workloads that did not run,
and writes ``docs/benchmarks.md``, its picture and ``benchmarks/ratios.json`` from all of them.
``--check`` compares with these ratios instead, with a wide margin, and measures worse ones again
before it reports them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.sides import OWN, ROOT, TENSORFLOW, Side

RESULTS = ROOT / "build" / "benchmarks.json"
RATIOS = ROOT / "benchmarks" / "ratios.json"
PUBLISHED = ROOT / "benchmarks" / "results.json"
# A ratio that is worse than the stored one by this factor, and by this difference, is reported.
FACTOR, MARGIN = 1.6, 0.03


class Suite:
    """One server script with a process for each side."""

    def __init__(self, server: Path, options: argparse.Namespace, name: str) -> None:
        self.name = name
        extra = ["--threads", str(options.threads)]
        if options.only:
            extra += ["--only", options.only]
        self.sides = [
            Side(options.tensorflow, server, TENSORFLOW, extra),
            Side(sys.executable, server, OWN, extra),
        ]

    def metas(self) -> list[dict[str, Any]]:
        """Return the metadata of both sides."""
        return [side.ask("meta") for side in self.sides]

    def workloads(self) -> list[str]:
        """Return the names of the workloads."""
        answer = self.sides[1].ask("list")
        if "error" in answer:
            raise SystemExit(f"{self.name}: {answer['error']}")
        names: list[str] = answer["names"]
        return names

    def measure(self, name: str, budget_s: float) -> dict[str, Any]:
        """Return a workload's spec and figures, {variant: [TensorFlow's, tfnb's]}, or errors."""
        opened = [side.ask("open", name=name) for side in self.sides]
        try:
            if any("error" in answer for answer in opened):
                return {"errors": [answer.get("error") for answer in opened]}
            spec = opened[1]["spec"]
            both = [v for v in opened[1]["variants"] if v in opened[0]["variants"]]
            variants = both if spec["group"] == "curve" else ["default"]
            turns = [(side, variant) for variant in variants for side in (0, 1)]
            if "numpy" in opened[1]["variants"]:
                turns.append((1, "numpy"))
            blocks: dict[tuple[int, str], list[dict[str, float]]] = {turn: [] for turn in turns}
            deadline = time.monotonic() + budget_s
            for done in range(opened[1]["blocks"]):
                for side, variant in turns:
                    block = self.sides[side].ask("block", variant=variant)
                    if "error" in block:
                        return {"errors": [block["error"] if side == k else None for k in (0, 1)]}
                    blocks[side, variant].append(block)
                turns.reverse()
                if time.monotonic() > deadline and done >= 2:
                    break
            figures = {v: [report.summary(blocks[side, v]) for side in (0, 1)] for v in variants}
            found = {"spec": spec, "figures": figures}
            if (1, "numpy") in blocks:
                found["numpy"] = report.summary(blocks[1, "numpy"])
            return found
        finally:
            for side in self.sides:
                side.ask("close")

    def close(self) -> None:
        """End both processes."""
        for side in self.sides:
            side.close()


def main() -> int:
    """Measure what the command line requests."""
    options = _arguments()
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results: dict[str, Any] = stored.get("results", {})
    servers = [(ROOT / "benchmarks" / "server.py", "own")]
    if options.suite:
        servers.insert(0, (Path(options.suite) / "bench.py", "suite"))
    suites = [Suite(server, options, name) for server, name in servers]
    try:
        metas = suites[-1].metas()
        for meta in metas:
            if "error" in meta:
                raise SystemExit(meta["error"])
        about = report.about(metas, options.threads)
        todo = [(suite, name) for suite in suites for name in suite.workloads()]
        unfinished = stored.get("unfinished") if options.resume else None
        if unfinished is not None:
            todo = [(suite, name) for suite, name in todo if f"{suite.name}/{name}" in unfinished]
        if options.check:
            return _check(todo, options)
        start = time.monotonic()
        for position, (suite, name) in enumerate(todo):
            left = [f"{suite.name}/{name}" for suite, name in todo[position:]]
            _store(results, left, about)
            found = suite.measure(name, options.budget)
            now = datetime.datetime.now(datetime.UTC)
            found |= {"name": name, "measured": now.isoformat(timespec="minutes")}
            results[f"{suite.name}/{name}"] = found
            spent = time.monotonic() - start
            to_go = spent / (position + 1) * (len(todo) - position - 1)
            sys.stdout.write(
                f"[{position + 1}/{len(todo)}] {report.line(found)}  "
                f"({spent:.0f} s, {to_go / 60:.0f} min to go)\n"
            )
            sys.stdout.flush()
        _store(results, [], about)
    finally:
        for suite in suites:
            suite.close()
    if options.write:
        # Published figures of workloads that did not run are kept.
        published = json.loads(PUBLISHED.read_text()) if PUBLISHED.exists() else {}
        there = {f"{suite.name}/{name}" for suite, name in todo}
        published |= {key: results[key] for key in results if key in there or key not in published}
        PUBLISHED.write_text(
            "{\n" + ",\n".join(_entry(key, published[key]) for key in published) + "\n}\n"
        )
        report.write(ROOT, published, about)
        RATIOS.write_text(json.dumps(report.ratios(published), indent=1) + "\n")
    return 0


def _entry(key: str, found: dict[str, Any]) -> str:
    """Return a workload as one line."""
    return f"{json.dumps(key)}: {json.dumps(report.shortened(found))}"


def _store(results: dict[str, Any], unfinished: list[str], about: dict[str, Any]) -> None:
    """Write the results so that an interruption leaves the old file or the new one."""
    RESULTS.parent.mkdir(exist_ok=True)
    new = RESULTS.with_suffix(".new")
    new.write_text(
        json.dumps({"about": about, "unfinished": unfinished, "results": results}, indent=1)
    )
    new.replace(RESULTS)


def _check(todo: list[tuple[Suite, str]], options: argparse.Namespace) -> int:
    """Compare with the stored ratios; return the exit status."""
    wanted: dict[str, dict[str, float]] = json.loads(RATIOS.read_text())
    worse = []
    for suite, name in todo:
        key = f"{suite.name}/{name}"
        if key not in wanted:
            continue
        # First a quick pass; worse ratios are measured again for longer.
        for budget_s in (options.budget / 3, options.budget * 2):
            found = suite.measure(name, budget_s)
            problems = report.worse_than(found, wanted[key], FACTOR, MARGIN)
            if not problems:
                break
        sys.stdout.write(f"{'worse' if problems else 'ok':6} {name}\n")
        sys.stdout.flush()
        worse += [f"{name}: {problem}" for problem in problems]
    sys.stdout.write("".join(f"{line}\n" for line in ["", *worse]))
    return 1 if worse else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tensorflow", required=True, help="a Python with TensorFlow")
    parser.add_argument("--suite", help="the folder of a suite's bench.py")
    parser.add_argument("--only", default="", help="comma-separated: parts of names, or groups")
    parser.add_argument("--resume", action="store_true", help="continue an interrupted run")
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    parser.add_argument("--check", action="store_true", help="compare with the stored ratios")
    parser.add_argument("--budget", type=float, default=3.0, help="seconds per workload")
    parser.add_argument(
        "--threads", type=int, default=0, help="threads per library; 0: its default"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
