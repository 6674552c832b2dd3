"""The rows of docs/behaviours.md, and the reasons for rows without a test."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
_ROW = re.compile(r"\| (?P<number>\d+) \| (?P<what>.+?) \| (?P<test>[^|]+) \|$")
_REASON = re.compile(r"\| (?P<number>\d+) \| (?P<why>\S.+?) \|$")


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
