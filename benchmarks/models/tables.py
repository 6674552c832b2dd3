"""The figures of models as text and as a section of ``docs/benchmarks.md``."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

from benchmarks.report import pretty

# Written by hand: what misses the goals, and why.
_LEFT = Path(__file__).parent / "left.md"

KINDS = ("small graph", "CNN", "RNN", "transformer", "other")
_NAMES = {
    "small graph": "a small graph", "CNN": "a CNN", "RNN": "an RNN",
    "transformer": "a transformer", "other": "another model",
}  # fmt: skip

Pair = list[dict[str, float]]


def ratio(pair: Pair | None, of: str = "median") -> float | None:
    """Return tfnb's figure over TensorFlow's; None where one is missing."""
    if pair is None or not pair[0].get(of) or of not in pair[1]:
        return None
    return pair[1][of] / pair[0][of]


def mean(ratios: list[float | None]) -> float | None:
    """Return the geometric mean of the existing ratios.

    >>> mean([0.5, None, 2.0]), mean([None])
    (1.0, None)
    """
    there = [each for each in ratios if each]
    return math.exp(statistics.fmean(math.log(each) for each in there)) if there else None


def number(value: float | None) -> str:
    """Return a ratio in a table.

    >>> number(0.0123), number(1.234), number(None)
    ('0.012', '1.23', '')
    """
    if value is None:
        return ""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def line(found: dict[str, Any]) -> str:
    """Return a model in one line of a terminal."""
    if "errors" in found:
        return f"{found['name']:28} {found['errors']}"
    parts = []
    for step in ("run", "train"):
        for threads, pair in found["steps"].get(step, {}).items():
            times = " -> ".join(pretty(side["median"], "s") for side in pair)
            label = {"default": step, "plain": "plain"}.get(threads, f"{threads} thr")
            parts.append(
                f"{label} {number(ratio(pair))} (cpu {number(ratio(pair, 'cpu'))}, {times})"
            )
    cold = found.get("cold")
    if cold:
        times = " -> ".join(pretty(side["answer"], "s") for side in cold)
        parts.append(f"cold {number(ratio(cold, 'answer'))} ({times})")
    return f"{found['name']:28} {'; '.join(parts)}"


def _of(found: dict[str, Any], step: str, threads: str = "default") -> Pair | None:
    pair: Pair | None = found["steps"].get(step, {}).get(threads)
    return pair


def summary(results: list[dict[str, Any]]) -> list[tuple[str, int, dict[str, float | None]]]:
    """Return kind, number of models, and geometric means of ratios; the last row is of all."""
    rows = []
    for kind in (*KINDS, ""):
        members = [found for found in results if kind in ("", found["kind"])]
        if members:
            means = {
                "run": mean([ratio(_of(found, "run")) for found in members]),
                "plain": mean([ratio(_of(found, "run", "plain")) for found in members]),
                "train": mean([ratio(_of(found, "train")) for found in members]),
                "plain training": mean([ratio(_of(found, "train", "plain")) for found in members]),
                "answer": mean([ratio(found.get("cold"), "answer") for found in members]),
                "peak": mean([ratio(found.get("cold"), "peak") for found in members]),
            }
            rows.append((_NAMES.get(kind, "all"), len(members), means))
    return rows


def section(results: list[dict[str, Any]], about: dict[str, Any]) -> str:
    """Return the section of the document."""
    measured = [found for found in results if "errors" not in found]
    failed = [found for found in results if "errors" in found]
    rows = "".join(
        f"| {name} | {count} | {' | '.join(number(value) for value in means.values())} |\n"
        for name, count, means in summary(measured)
    )
    text = f"""## Models

What a user of TensorFlow can expect: time (or memory) of tfnb divided by TensorFlow's, geometric
means over models, both with default settings. Steps are warm, with compiled kernels and without; a
start is that of a process, to its first answer, and memory its peak. Answers of both were compared.

| | models | run, `tfnb[fast]` | without | training, `tfnb[fast]` | without | start | memory |
|---|--:|--:|--:|--:|--:|--:|--:|
{rows}
Written by `python -m benchmarks.models --write` on {about["date"]}: {about["cpu"]},
{about["cores"]} cores, load average {about["load"][0]} when it began;
TensorFlow {about["sides"][0]["version"]}. Graphs of public repositories have their names; the other
models are programs in `benchmarks/models`, run by both from the same source. Times are medians of
blocks in turns.

### Warm steps

| | TensorFlow | `tfnb[fast]` | ratio | without | ratio | of cpu | 1 thread |
|---|--:|--:|--:|--:|--:|--:|--:|
{"".join(map(_warm, measured))}
### Starting

A fresh process imports the module and the graph from a file and runs it for the first time.

| | to first answer | | ratio | import of the graph | | first run | | peak memory | |
|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|
{"".join(_starting(found) for found in measured if found.get("cold"))}"""
    if failed:
        text += "\n### Models without figures\n\n"
        text += "".join(f"* `{found['name']}`: {found['errors']}\n" for found in failed)
    return f"{text}\n{_LEFT.read_text()}"


def _warm(found: dict[str, Any]) -> str:
    rows = ""
    for step, threads in found["steps"].items():
        pair, plain = threads["default"], threads.get("plain")
        label = f"`{found['name']}`" + (", training" if step == "train" else "")
        cells = [
            label,
            *(pretty(side["median"], "s") for side in pair),
            f"**{number(ratio(pair))}**",
            pretty(plain[1]["median"], "s") if plain else "",
            number(ratio(plain)),
            number(ratio(pair, "cpu")),
            number(ratio(threads.get("1"))),
        ]
        rows += f"| {' | '.join(cells)} |\n"
    return rows


def _starting(found: dict[str, Any]) -> str:
    cold = found["cold"]
    cells = [f"`{found['name']}`", *(pretty(side["answer"], "s") for side in cold)]
    cells.append(f"**{number(ratio(cold, 'answer'))}**")
    for of, unit in (("graph", "s"), ("first", "s"), ("peak", "B")):
        cells += [pretty(side[of], unit) for side in cold]
    return f"| {' | '.join(cells)} |\n"


def breakdown(name: str, step: str, sides: list[dict[str, Any]]) -> str:
    """Return the ops of both sides, those first that cost tfnb more than TensorFlow."""
    ops = {op for side in sides for op in side["ops"]}
    costs = [{op: side["ops"].get(op, [0, 0.0]) for op in ops} for side in sides]
    lines = [
        f"{name}, {step}: a step takes {pretty(sides[0]['step'], 's')} in TensorFlow, "
        f"{pretty(sides[1]['step'], 's')} in tfnb, without a trace.",
        f"{'':32} {'TensorFlow':>11} {'calls':>6} {'tfnb':>11} {'calls':>6} {'difference':>11}",
    ]

    def row(label: str, first: list[float], second: list[float]) -> str:
        difference = second[1] - first[1]
        return (
            f"{label:32} {first[1] * 1e6:8.0f} µs {first[0]:6} {second[1] * 1e6:8.0f} µs "
            f"{second[0]:6} {difference * 1e6:8.0f} µs"
        )

    totals = [
        [sum(c[0] for c in cost.values()), sum(c[1] for c in cost.values())] for cost in costs
    ]
    lines.append(row("all", *totals))
    by_difference = sorted(ops, key=lambda op: costs[0][op][1] - costs[1][op][1])
    lines += [row(op, costs[0][op], costs[1][op]) for op in by_difference]
    return "\n".join(lines) + "\n"
