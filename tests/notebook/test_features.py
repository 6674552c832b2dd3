"""docs/features.md names existing tests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
NAMED = re.findall(
    r"`((?:\w+/)*test_\w+\.py)(?:::(\w+))?`",
    (TESTS.parent / "docs" / "features.md").read_text(encoding="utf-8"),
)


def test_the_table_names_tests() -> None:
    """The pattern finds the rows of the table."""
    assert len(NAMED) > 25


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED)))
def test_a_named_test_exists(file: str, name: str) -> None:
    """Paths are relative to this folder or to the tests' root."""
    found = [path for path in (TESTS / "notebook" / file, TESTS / file) if path.exists()]
    assert found
    assert not name or f"def {name}(" in found[0].read_text(encoding="utf-8")
