"""docs/behaviours.md names existing tests; docs/compatibility.md explains rows without a test."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from tests.client.bad_input.all_cases import CASES
from tests.client.behaviours.all_behaviours import BEHAVIOURS
from tests.client.behaviours.table import ROOT, reasons, rows
from tests.joined import in_batches

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEST = re.compile(r"`(?P<file>tests/[\w/]+\.py)::(?P<name>\w+)(?:\[(?P<case>\w+)\])?`")
NONE = "none: [compatibility.md](compatibility.md)"
_TABLES: dict[str, Mapping[str, object]] = {
    "tests/client/test_bad_input.py": CASES,
    "tests/client/test_behaviours.py": BEHAVIOURS,
}


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
