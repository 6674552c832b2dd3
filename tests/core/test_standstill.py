"""What a step waits for, as text of a bounded length."""

from __future__ import annotations

from tfnb.core.process.standstill import MOST_LINES, Finding, Standstill


def test_a_finding_names_its_place_and_its_reasons() -> None:
    """Each reason has a line, indented below its finding."""
    found = Standstill("Why:", (Finding("a waits", "a", (Finding("b has not run", "b"),)),))
    places = {"a": "cell 3, line 2", "b": ""}
    assert found.render(places.__getitem__).splitlines() == [
        "Why:",
        "  a waits, made at cell 3, line 2",
        "    b has not run",
    ]


def test_without_places_only_the_text_is_left() -> None:
    """The text without places is the runtime's."""
    assert Standstill("Why:", (Finding("a waits", "a"),)).render() == "Why:\n  a waits"


def test_a_long_text_is_cut_between_two_findings() -> None:
    """The number of omitted findings is stated, and no reason is separated from its finding."""
    rows = tuple(Finding(f"{i} waits", "", (Finding(f"reason {i}"),)) for i in range(20))
    lines = Standstill("Why:", rows).render().splitlines()
    assert len(lines) <= MOST_LINES
    kept = sum("waits" in line for line in lines)
    assert sum("reason" in line for line in lines) == kept
    assert lines[-1] == f"  ... and {20 - kept} more"
