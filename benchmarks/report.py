"""Figures from blocks, and ``docs/benchmarks.md`` and its picture from figures."""

from __future__ import annotations

import datetime
import math
import os
import platform
import statistics
from pathlib import Path
from typing import Any

from benchmarks import reasons

# The suite's groups and the project's, in the order of the tables.
GROUPS = {
    "start": "Starting",
    "build": "Building graphs",
    "session": "Sessions",
    "notebook": "Notebooks",
    "executor": "Small graphs",
    "control": "Control flow",
    "training": "Training",
    "kernels": "Kernels",
    "memory": "Memory",
}
AXES = {
    "nodes": "nodes",
    "first_run": "nodes",
    "sessions": "sessions",
    "iterations": "iterations",
    "tensor_size": "values",
    "feeds": "feeds",
    "partitions": "devices",
    "graph_growth": "nodes",
    "threads": "threads",
}
_BAR = 32


# -- figures ---------------------------------------------------------------------------------------


def summary(blocks: list[dict[str, float]]) -> dict[str, float]:
    """Return lower quartile (``figure``), median, minimum and processor time of some blocks.

    >>> summary([{"value": 3.0}, {"value": 1.0}, {"value": 2.0}])
    {'figure': 1.0, 'median': 2.0, 'min': 1.0, 'blocks': 3}
    """
    values = sorted(block["value"] for block in blocks)
    found: dict[str, float] = {
        "figure": values[(len(values) - 1) // 4],
        "median": statistics.median(values),
        "min": values[0],
        "blocks": len(values),
    }
    if "cpu" in blocks[0]:
        found["cpu"] = statistics.median(block["cpu"] for block in blocks)
    return found


def ratio(pair: list[dict[str, float]], of: str = "figure") -> float | None:
    """Return the second's figure over the first's; None where there is none."""
    first, second = pair[0].get(of), pair[1].get(of)
    return second / first if first and second is not None else None


def ratios(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the ratios that ``--check`` compares: key -> variant -> ratio of lower quartiles."""
    found: dict[str, dict[str, float]] = {}
    for key, result in sorted(results.items()):
        pairs = {v: ratio(pair) for v, pair in result.get("figures", {}).items()}
        if pairs:
            found[key] = {v: round(r, 4) for v, r in pairs.items() if r is not None}
    return found


def worse_than(
    found: dict[str, Any], wanted: dict[str, float], factor: float, margin: float
) -> list[str]:
    """Return which variants of a workload are worse than their stored ratios allow.

    The best of the lower quartiles', the minima's and processor time's ratio counts, because each
    of them may be bad by chance on a busy machine.
    """
    if "errors" in found:
        return [f"failed: {error}" for error in found["errors"] if error]
    problems = []
    for variant, before in wanted.items():
        pair = found["figures"].get(variant)
        if pair is None:
            problems.append(f"{variant}: is gone")
            continue
        kinds = ("figure", "min", "cpu")
        now = min((r for of in kinds if (r := ratio(pair, of)) is not None), default=0)
        if now > before * factor + margin:
            problems.append(f"{variant}: {now:.3f} of TensorFlow's, was {before:.3f}")
    return problems


def about(metas: list[dict[str, Any]], threads: int) -> dict[str, Any]:
    """Return machine, versions and thread settings."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = models[0].split(":")[1].strip() if models else cpu
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    variables = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "cpu": cpu,
        "cores": cores,
        "load": [round(load, 1) for load in os.getloadavg()],
        "threads": threads,
        "environment": {name: os.environ[name] for name in variables if name in os.environ},
        "sides": metas,
    }


def shortened(value: Any) -> Any:
    """Return stored results with figures of four digits.

    >>> shortened({"figure": [0.123456, 3]})
    {'figure': [0.1235, 3]}
    """
    if isinstance(value, dict):
        return {name: shortened(one) for name, one in value.items()}
    if isinstance(value, list):
        return [shortened(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


# -- text ------------------------------------------------------------------------------------------


def pretty(value: float, unit: str) -> str:
    """Return a figure with its unit.

    >>> pretty(0.00123, "s"), pretty(3 * 2**20, "B"), pretty(1.5, "ratio")
    ('1.23 ms', '3.0 MiB', '1.50')
    """
    if unit == "B":
        return f"{value / 2**20:,.1f} MiB"
    if unit != "s":
        return f"{value:.2f}"
    for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def line(found: dict[str, Any]) -> str:
    """Return a workload in one line of a terminal."""
    if "errors" in found:
        return f"{found['name']}: " + " / ".join(str(error) for error in found["errors"])
    parts = []
    for variant, pair in found["figures"].items():
        both = " -> ".join(pretty(side["figure"], found["spec"]["unit"]) for side in pair)
        label = "" if variant == "default" else f"{variant}: "
        parts.append(f"{label}{_number(ratio(pair))} ({both})")
    return f"{found['name']:26} {', '.join(parts)}"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


_GPU = """## On a GPU

Not measured: the machine of these figures has no GPU. `python -m benchmarks.gpu` compares tfnb with
CuPy code, and with PyTorch and JAX if they are installed. Results and order of work on GPUs are
tested on a double of CuPy, and the CUDA source was compiled.
"""


def write(root: Path, results: dict[str, Any], facts: dict[str, Any]) -> None:
    """Write ``docs/benchmarks.md`` and the picture in it."""
    curves = {
        found["name"]: found
        for found in results.values()
        if found.get("spec", {}).get("group") == "curve"
    }
    path = root / "docs" / "benchmarks.md"
    _, models, _ = _divided(path.read_text() if path.exists() else "")
    parts = [_head(facts, results), *([models] if models else [])]
    for group, title in _groups(results):
        parts.append(_group(title, [f for f in results.values() if _is_in(f, group)]))
    above = _above(results)
    if above:
        parts.append(above)
    parts.append(_GPU)
    failed = [found for found in results.values() if "errors" in found]
    if failed:
        parts.append("## Not measured\n\n" + "".join(f"* {line(found)}\n" for found in failed))
    if curves:
        parts.append("## How it grows\n\n![Curves](images/benchmarks.svg)\n")
        parts += [_curve(found) for found in curves.values()]
        (root / "docs" / "images" / "benchmarks.svg").write_text(picture(curves))
    path.write_text("\n".join(parts))


def put_models(root: Path, section: str) -> None:
    """Put the section of whole models into ``docs/benchmarks.md``, before all others."""
    path = root / "docs" / "benchmarks.md"
    before, _, after = _divided(path.read_text())
    path.write_text(f"{before}\n{section}\n{after}")


def _divided(text: str) -> tuple[str, str, str]:
    r"""Return the text before the section of models, the section, and the text after it.

    >>> _divided("# B\n\n## Models\n\nm\n\n## Starting\n")
    ('# B\n', '## Models\n\nm\n', '## Starting\n')
    >>> _divided("# B\n\n## Starting\n")
    ('# B\n', '', '## Starting\n')
    """
    before, heading, after = text.partition("\n## ")
    if not heading:
        return text, "", ""
    after = f"## {after}"
    if not after.startswith("## Models\n"):
        return before, "", after
    section, _, rest = after.partition("\n## ")
    return before, section, f"## {rest}" if rest else ""


def _when(results: dict[str, Any]) -> str:
    known = {str(found.get("measured", "")).replace("+00:00", "") for found in results.values()}
    times = sorted(known - {""})
    if not times:
        return "at an unknown time"
    return times[0] if len(times) == 1 else f"from {times[0]} to {times[-1]} (UTC)"


def _head(facts: dict[str, Any], results: dict[str, Any]) -> str:
    tensorflow, own = facts["sides"]
    begun = f"load average {facts['load'][0]} when the last run began"
    rows = [
        ("measured", f"{_when(results)}; {begun}"),
        ("machine", f"{facts['cpu']}, {facts['cores']} cores"),
    ]
    for side, name in ((tensorflow, "TensorFlow"), (own, "tfnb")):
        versions = f"{side['version']}, Python {side['python']}, NumPy {side['numpy']}"
        rows.append((name, f"{versions}; {_pools(side)}"))
    threads = facts["threads"] or "as each library decides"
    settings = ", ".join(f"{name}={value}" for name, value in facts["environment"].items())
    rows.append(("threads", f"{threads}{'; ' + settings if settings else ''}"))
    table = "".join(f"| {name} | {text} |\n" for name, text in rows)
    return f"""# Benchmarks

Written by `python -m benchmarks --write`; `make bench-check` compares with it. A ratio is tfnb's
time (or memory) divided by TensorFlow's: below 1 tfnb is the faster (or the smaller). Both run in
turns, block by block; figures are medians, ratios those of the lower quartiles, then of the minima
and of processor time. The last column compares with the same arithmetic written by hand in NumPy.
On a busy machine, distrust a single row under 20 %.

| | |
|---|---|
{table}"""


def _pools(side: dict[str, Any]) -> str:
    pools = [
        f"{pool['internal_api']} {pool['version'] or ''} {pool['architecture'] or ''}".strip()
        + f" with {pool['num_threads']} thread{'s' if pool['num_threads'] != 1 else ''}"
        for pool in side["pools"]
    ]
    return ", ".join(pools) or "thread pools unknown"


def _groups(results: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the existing groups, known ones first."""
    there = {found["spec"]["group"] for found in results.values() if "spec" in found} - {"curve"}
    known = [(group, title) for group, title in GROUPS.items() if group in there]
    return known + [(group, group.capitalize()) for group in sorted(there - set(GROUPS))]


def _is_in(found: dict[str, Any], group: str) -> bool:
    return bool(found.get("spec", {}).get("group") == group)


def _group(title: str, members: list[dict[str, Any]]) -> str:
    rows, logs = [], []
    for found in members:
        pair, unit = found["figures"]["default"], found["spec"]["unit"]
        share = ratio(pair)
        if share and unit in ("s", "B", "tensors"):
            logs.append(math.log(share))
        by_hand = ratio([found["numpy"], pair[1]]) if "numpy" in found else None
        cells = [
            f"`{found['name']}`",
            *(pretty(side["median"], unit) for side in pair),
            f"**{_number(share)}**",
            _number(ratio(pair, "min")),
            _number(ratio(pair, "cpu")),
            _number(by_hand),
        ]
        rows.append(f"| {' | '.join(cells)} |\n")
    mean = f"\nGeometric mean of {len(logs)}: {_number(math.exp(sum(logs) / len(logs)))}\n"
    return (
        f"## {title}\n\n| | TensorFlow | tfnb | ratio | of minima | of cpu | tfnb / NumPy |\n"
        f"|---|--:|--:|--:|--:|--:|--:|\n{''.join(rows)}{mean if logs else ''}"
    )


def _above(results: dict[str, Any]) -> str:
    """Return the table of workloads whose kernels take longer than TensorFlow's, with reasons."""
    rows = []
    for found in results.values():
        if found.get("spec", {}).get("group") not in reasons.GROUPS:
            continue
        pair = found["figures"]["default"]
        shares = [ratio(pair, of) for of in ("figure", "min", "cpu")]
        if not any(share is not None and share > 1 for share in shares):
            continue
        by_hand = None
        if "numpy" in found:
            hands = [found["numpy"], pair[1]]
            by_hand = ratio(hands, "min") or ratio(hands)
        why = reasons.REASONS.get(found["name"], "Not analysed.")
        numbers = " | ".join(_number(share) for share in (*shares, by_hand))
        rows.append(f"| `{found['name']}` | {numbers} | {why} |\n")
    if not rows:
        return ""
    return (
        "## Above TensorFlow, and why\n\nWorkloads that kernels dominate. The ratio to NumPy is "
        "that of the minima; below 1 tfnb is faster.\n\n"
        "| | ratio | of minima | of cpu | tfnb / NumPy | why |\n|---|--:|--:|--:|--:|---|\n"
        f"{''.join(rows)}"
    )


def _curve(found: dict[str, Any]) -> str:
    """Return a curve as a table, with bars on a scale of logarithms."""
    unit, name = found["spec"]["unit"], found["name"]
    pairs = found["figures"]
    figures = [side["figure"] for pair in pairs.values() for side in pair]
    low, high = math.log(min(figures)) - 0.5, math.log(max(figures))
    lines = [f"{AXES.get(name, name):>10} {'TensorFlow':>11} {'tfnb':>10} {'ratio':>6}"]
    for size, pair in pairs.items():
        lengths = [round(_BAR * (math.log(side["figure"]) - low) / (high - low)) for side in pair]
        both = [pretty(side["figure"], unit) for side in pair]
        lines.append(
            f"{int(size):>10,} {both[0]:>11} {both[1]:>10} {_number(ratio(pair)):>6}  "
            + _bar(*lengths)
        )
    text = "\n".join(line.rstrip() for line in lines)
    return f"### {found['spec'].get('what', name)}\n\n```\n{text}\n```\n"


def _bar(tensorflow: int, own: int) -> str:
    """Return both bars in one: ``#`` up to tfnb's, ``-`` up to TensorFlow's.

    >>> _bar(5, 2), _bar(2, 3)
    ('##---', '###')
    """
    return "#" * own + "-" * (tensorflow - own)


# -- the picture -----------------------------------------------------------------------------------

_WIDTH, _HEIGHT, _COLUMNS = 260, 190, 3
_LEFT, _TOP, _RIGHT, _BOTTOM = 52, 26, 12, 30
_COLORS = {"TensorFlow": "#e07b00", "tfnb": "#2468c8"}


def picture(curves: dict[str, dict[str, Any]]) -> str:
    """Return all curves as one SVG, both axes logarithmic."""
    panels = []
    for position, found in enumerate(curves.values()):
        x, y = position % _COLUMNS * _WIDTH, position // _COLUMNS * _HEIGHT
        panels.append(f'<g transform="translate({x} {y})">{_panel(found)}</g>')
    rows = -(-len(panels) // _COLUMNS)
    key = "".join(
        f'<text x="{_LEFT + 90 * i}" y="{rows * _HEIGHT + 14}" fill="{color}">— {name}</text>'
        for i, (name, color) in enumerate(_COLORS.items())
    )
    width, height = _COLUMNS * _WIDTH, rows * _HEIGHT + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11" fill="#777">\n'
        + "\n".join(panels)
        + f"\n{key}\n</svg>\n"
    )


def _panel(found: dict[str, Any]) -> str:
    unit, pairs = found["spec"]["unit"], found["figures"]
    sizes = [float(size) for size in pairs]
    figures = [side["figure"] for pair in pairs.values() for side in pair]
    across = _scale(min(sizes), max(sizes), _LEFT, _WIDTH - _RIGHT)
    up = _scale(min(figures), max(figures), _HEIGHT - _BOTTOM, _TOP)
    parts = [f'<text x="{_LEFT}" y="14" font-weight="bold">{found["name"]}</text>']
    for exponent in range(
        math.floor(math.log10(min(figures))) + 1, math.floor(math.log10(max(figures))) + 1
    ):
        y = up(10.0**exponent)
        label = pretty(10.0**exponent, unit)
        parts.append(
            f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ccc"/>'
            f'<text x="{_LEFT - 4}" y="{y + 4:.1f}" text-anchor="end">{label}</text>'
        )
    parts += [
        f'<text x="{across(float(size)):.1f}" y="{_HEIGHT - _BOTTOM + 14}" '
        f'text-anchor="middle">{_short(int(size))}</text>'
        for size in pairs
    ]
    for side, color in enumerate(_COLORS.values()):
        points = [
            f"{across(float(size)):.1f} {up(pair[side]['figure']):.1f}"
            for size, pair in pairs.items()
        ]
        parts.append(
            f'<path d="M{" L".join(points)}" fill="none" stroke="{color}" stroke-width="2"/>'
        )
    return "".join(parts)


def _scale(low: float, high: float, start: float, end: float) -> Any:
    """Return a logarithmic function from values to positions."""
    span = math.log(high / low) or 1.0
    return lambda value: start + (end - start) * math.log(value / low) / span


def _short(number: int) -> str:
    """Return 1000 as 1k."""
    for scale, name in ((10**6, "M"), (10**3, "k")):
        if number >= scale:
            return f"{number // scale}{name}"
    return str(number)
