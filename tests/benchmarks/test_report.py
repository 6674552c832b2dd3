"""From blocks to figures, tables and verdicts."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from benchmarks import reasons, report


def figures(figure: float, minimum: float | None = None) -> dict[str, float]:
    """A summary with this lower quartile and minimum, for a test."""
    return {"figure": figure, "median": figure, "min": minimum or figure, "blocks": 3}


def found(name: str, group: str, **pairs: list[dict[str, float]]) -> dict[str, Any]:
    """A workload's results."""
    spec = {"group": group, "unit": "s", "what": f"What {name} does."}
    return {"name": name, "spec": spec, "figures": pairs}


SIDE = {"version": "1", "python": "3.11", "numpy": "2.4", "pools": []}
ABOUT = report.about([SIDE, SIDE], 0)
RESULTS = {
    "suite/run": found("run", "session", default=[figures(8e-5), figures(2e-6)]),
    "own/nodes": found(
        "nodes",
        "curve",
        **{"10": [figures(1e-4), figures(1e-5)], "1000": [figures(3e-4), figures(6e-4)]},
    ),
    "suite/broken": {"name": "broken", "errors": [None, "ValueError: no"]},
}


def test_the_lower_quartile_is_a_measured_value() -> None:
    """The quartile of five blocks is the second.

    Processor time is included if the blocks have it.
    """
    blocks = [{"value": float(v), "cpu": 1.0} for v in (5, 3, 1, 4, 2)]
    assert report.summary(blocks) == {
        "figure": 2.0,
        "median": 3.0,
        "min": 1.0,
        "blocks": 5,
        "cpu": 1.0,
    }


def test_ratios_are_of_each_variant() -> None:
    """A workload that failed has no ratio."""
    assert report.ratios(RESULTS) == {
        "own/nodes": {"10": 0.1, "1000": 2.0},
        "suite/run": {"default": 0.025},
    }


@pytest.mark.parametrize(
    ("before", "problems"),
    [
        ({"default": 0.025}, []),
        ({"default": 0.001}, []),
        ({"default": -0.1}, ["default: 0.025 of TensorFlow's, was -0.100"]),
        ({"off": 1.0}, ["off: is gone"]),
    ],
)
def test_what_is_worse_is_named(before: dict[str, float], problems: list[str]) -> None:
    """A slightly worse ratio is not reported: small ratios are mostly noise."""
    assert report.worse_than(RESULTS["suite/run"], before, 1.5, 0.03) == problems


def test_the_better_of_two_ratios_counts() -> None:
    """The better of both ratios counts.

    A busy minute raises the quartile, a lucky block the minimum.
    """
    pair = found("run", "session", default=[figures(1.0, 0.1), figures(2.0, 0.1)])
    assert report.worse_than(pair, {"default": 1.0}, 1.5, 0.0) == []


def test_a_failure_is_worse_than_anything() -> None:
    """A failure is reported, whichever side failed."""
    assert report.worse_than(RESULTS["suite/broken"], {"default": 9.0}, 2.0, 0.0) == [
        "failed: ValueError: no"
    ]


def test_all_results_are_in_the_document(tmp_path: Path) -> None:
    """The document has tables by group, failures, and each curve as text and as a picture."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    report.write(tmp_path, RESULTS, ABOUT)
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    assert "| `run` | 80 µs | 2 µs | **0.025** | 0.025 |" in text
    assert "* broken: None / ValueError: no" in text
    assert "     1,000      300 µs     600 µs   2.00" in text
    picture = ET.fromstring((tmp_path / "docs" / "images" / "benchmarks.svg").read_text())
    assert len(list(picture.iter("{http://www.w3.org/2000/svg}g"))) == 1


def test_processor_time_counts_too() -> None:
    """Processor time counts too, because other processes cannot stretch it."""
    pair = [figures(1.0) | {"cpu": 1.0}, figures(3.0) | {"cpu": 0.9}]
    run = found("run", "session", default=pair)
    assert report.worse_than(run, {"default": 0.8}, 1.5, 0.0) == []


def test_what_is_above_tensorflow_has_a_reason_and_a_distance(tmp_path: Path) -> None:
    """A workload above 1 by any of the three ratios has a reason; a missing reason is stated."""
    (tmp_path / "docs" / "images").mkdir(parents=True)
    slow = found("matmul_1024", "kernels", default=[figures(1.0), figures(1.5)])
    unknown = found("new", "training", default=[figures(1.0, 0.5), figures(0.9, 0.7)])
    fast = found("quick", "kernels", default=[figures(1.0), figures(0.5)])
    results = {"a": slow | {"numpy": figures(1.2)}, "b": unknown, "c": fast}
    results["d"] = RESULTS["suite/run"]
    report.write(tmp_path, results, ABOUT)
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    section = text[text.index("## Above TensorFlow") :]
    assert "| `matmul_1024` | 1.50 | 1.50 |  | 1.25 | The product" in section
    assert "| `new` | 0.90 | 1.40 |  |  | Not analysed. |" in section
    assert "`quick`" not in section
    assert "`run`" not in section


def test_reasons_are_of_workloads_that_are_published() -> None:
    """Every stored reason belongs to a published workload, also after a rename."""
    published = json.loads((Path(report.__file__).parent / "results.json").read_text())
    names = {result["name"] for result in published.values()}
    assert set(reasons.REASONS) <= names
