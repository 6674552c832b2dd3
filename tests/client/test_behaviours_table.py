"""docs/behaviours.md names existing tests; docs/compatibility.md explains rows without a test."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tests.client.bad_input.all_cases import CASES
from tests.client.behaviours.all_behaviours import BEHAVIOURS
from tests.joined import in_batches

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[2]
_ROW = re.compile(r"\| (?P<number>\d+) \| (?P<what>.+?) \| (?P<test>[^|]+) \|$")
_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>\w+)(?:\[(?P<case>\w+)\])?`")
NONE = "none: [compatibility.md](compatibility.md)"
_REASON = re.compile(r"\| (?P<number>\d+) \| (?P<why>\S.+?) \|$")
_TABLES: dict[str, Mapping[str, object]] = {
    "tests/client/test_bad_input.py": CASES,
    "tests/client/test_behaviours.py": BEHAVIOURS,
}


def rows() -> dict[int, str]:
    """Return row number -> text of the last column."""
    found: dict[int, str] = {}
    for line in (ROOT / "docs" / "behaviours.md").read_text().splitlines():
        match = _ROW.match(line)
        if match:
            number = int(match["number"])
            assert number not in found, f"row {number} stands there twice"
            found[number] = match["test"].strip()
    return found


def reasons() -> dict[int, str]:
    """Return row number -> the reason why it has no test."""
    text = (ROOT / "docs" / "compatibility.md").read_text()
    found = (_REASON.match(line) for line in text.splitlines())
    return {int(match["number"]): match["why"] for match in found if match}


@cache
def names_in(file: str) -> frozenset[str]:
    """The names of the tests in a file."""
    path = ROOT / file
    if not path.exists():
        return frozenset()
    tree = ast.parse(path.read_text())
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    )


def test_every_behaviour_has_a_row() -> None:
    """The table has two hundred and fifty rows, numbered without gaps."""
    assert list(range(1, 251)) == sorted(rows())


@in_batches("number", range(1, 251), 50)
def test_a_row_names_a_test_or_says_why_there_is_none(number: int) -> None:
    """Each named test exists; a row without a test has a reason."""
    text = rows()[number]
    assert (number in reasons()) == (text == NONE)
    if text == NONE:
        return
    match = _TEST.fullmatch(text)
    assert match is not None, text
    assert match["name"] in names_in(match["file"])
    if match["case"]:
        assert match["case"] in _TABLES[match["file"]]
