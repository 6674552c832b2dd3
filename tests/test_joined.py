"""Checks that are joined in one test tell as much as tests of their own."""

from __future__ import annotations

import inspect

import pytest

from tests.joined import check_each, in_one_test


def test_every_failing_row_is_told() -> None:
    """With its name, whatever failed; the rows after it are checked, too."""

    def check(row: int) -> None:
        if row == 1:
            pytest.fail("not this one")
        assert row < 3

    with pytest.raises(BaseExceptionGroup, match="2 rows") as caught:
        check_each(range(4), check, lambda row: f"number {row}")
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["in the row number 1"],
        ["in the row number 3"],
    ]


def test_a_joined_argument_is_no_fixture() -> None:
    """The others are given to every row; two can be joined."""
    seen = []

    @in_one_test("a", [1, 2])
    @in_one_test("b", "xy")
    def variant(c: str, a: int, b: str) -> None:
        """Its words."""
        seen.append((a, b, c))

    assert list(inspect.signature(variant).parameters) == ["c"]
    assert variant.__doc__ == "Its words."
    variant(c="!")
    assert seen == [(1, "x", "!"), (1, "y", "!"), (2, "x", "!"), (2, "y", "!")]


def test_a_joined_variant_that_fails_is_told() -> None:
    """Each of its arguments."""

    @in_one_test("a", [1, 2])
    @in_one_test("b", "xy")
    def variant(a: int, b: str) -> None:
        assert (a, b) != (2, "y")

    with pytest.raises(BaseExceptionGroup) as caught:
        variant()
    (outer,) = caught.value.exceptions
    assert outer.__notes__ == ["in the row a 2"]
    assert isinstance(outer, BaseExceptionGroup)
    assert outer.exceptions[0].__notes__ == ["in the row b 'y'"]
