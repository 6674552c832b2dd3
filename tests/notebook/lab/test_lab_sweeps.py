"""Groups of trainings in the snapshots of JupyterLab's panel, and its requests to end them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from tfnb.client.live_runs import RunRow, add_run_group
from tfnb.notebook.lab import lab_sweeps
from tfnb.notebook.lab.lab_link import LabLink
from tfnb.notebook.lab.lab_sweeps import MAX_RUNS


class Group:
    """A group that notes what is cancelled."""

    def __init__(self, rows: list[RunRow], key: str = "group") -> None:
        self.key, self.title = key, "train"
        self.cancelled: list[int | None] = []
        self._rows = rows
        add_run_group(self)

    def rows(self) -> list[RunRow]:
        """Return the rows."""
        return self._rows

    def cancel(self, index: int | None = None) -> None:
        """Note the number."""
        if index is not None and index >= len(self._rows):
            raise IndexError(f"There is no training {index}.")
        self.cancelled.append(index)


class Page:
    """A front end that keeps its messages."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.link = LabLink(lambda content, _: self.told.append(json.loads(json.dumps(content))))

    def ask(self, request: str, **words: Any) -> dict[str, Any]:
        """Return the last answer to a request."""
        self.link.carry_out({"request": request, **words})
        return self.told[-1] if self.told else {}


@pytest.fixture
def page() -> Page:
    """A page."""
    return Page()


def _shown(page: Page, key: str) -> dict[str, Any]:
    [found] = [one for one in page.ask("watch")["sweeps"] if one["key"] == key]
    return found


def test_a_snapshot_has_the_trainings_of_each_group(page: Page) -> None:
    """Numbers are texts, so that NaN and infinity pass."""
    group = Group(
        [
            RunRow(0, {"rate": 0.1}, "running", 7, 0.25, {"accuracy": 0.5}, 3.7, 1, "w"),
            RunRow(1, {"rate": 0.2}, "failed", 2, math.nan, {"x": math.inf}, error="No."),
        ],
        "shown",
    )
    found = _shown(page, group.key)

    assert (found["title"], found["isOver"], found["moreRuns"]) == ("train", False, 0)
    first, second = found["runs"]
    assert first == {
        "index": 0,
        "parameters": "rate=0.1",
        "status": "running",
        "step": 7,
        "loss": "0.25",
        "figures": [["accuracy", "0.5"]],
        "seconds": 3,
        "restarts": 1,
        "error": "",
    }
    assert (second["loss"], second["figures"], second["error"]) == ("nan", [["x", "inf"]], "No.")


def test_lists_and_texts_are_limited(page: Page) -> None:
    """A sweep of any size makes a message of limited size."""
    rows = [RunRow(index, {"name": "x" * 10_000}) for index in range(MAX_RUNS + 5)]
    group = Group(rows, "long")
    found = _shown(page, group.key)

    assert (len(found["runs"]), found["moreRuns"]) == (MAX_RUNS, 5)
    assert max(len(run["parameters"]) for run in found["runs"]) <= 200


def test_a_group_that_ends_is_not_shown(page: Page) -> None:
    """Showing a group does not keep it alive."""
    group = Group([RunRow(0, {})], "ended")
    assert _shown(page, "ended")["isOver"] is False
    del group
    assert [one for one in lab_sweeps.sweeps() if one["key"] == "ended"] == []


def test_one_training_or_all_are_cancelled(page: Page) -> None:
    """The page names the group and the number."""
    group = Group([RunRow(0, {}), RunRow(1, {})], "cancelled")
    page.ask("cancelRun", sweep="cancelled", run=1)
    page.ask("cancelRun", sweep="cancelled")

    assert group.cancelled == [1, None]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"sweep": "gone"}, "do not exist any longer"),
        ({"sweep": "there", "run": 9}, "no training 9"),
        ({"sweep": "there", "run": "1"}, "is a number"),
        ({"sweep": 3}, "short text"),
    ],
)
def test_requests_that_do_not_fit_are_answered(
    page: Page, words: dict[str, Any], text: str
) -> None:
    """Nothing is cancelled."""
    group = Group([RunRow(0, {})], "there")
    answer = page.ask("cancelRun", **words)

    assert answer["kind"] == "problem"
    assert text in answer["text"]
    assert group.cancelled == []
