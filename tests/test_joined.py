"""A joined test reports as much as separate tests."""

from __future__ import annotations

import inspect

import pytest

from tests.joined import check_each, in_one_test


def test_every_failing_row_is_told() -> None:
    """Each failed row is reported with its name, and later rows run."""

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
    """Other arguments are passed to every row; two arguments can be joined."""
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
    """The failed combination of arguments is reported."""

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
