"""A joined test reports as much as separate tests."""

from __future__ import annotations

import inspect

import pytest

from tests.joined import check_each, in_batches, in_one_test


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


def test_a_batch_of_rows_is_one_test() -> None:
    """Batches cover all rows in order, and their ids contain the rows."""
    seen = []

    @in_batches("a", "vwxyz", 2)
    def variant(a: str, b: str) -> None:
        seen.append((a, b))

    (mark,) = variant.pytestmark
    assert list(inspect.signature(variant).parameters) == ["b", mark.args[0]]
    assert mark.kwargs["ids"] == ["v w", "x y", "z"]
    for batch in mark.args[1]:
        variant(batch=batch, b="!")
    assert seen == [(one, "!") for one in "vwxyz"]


def test_marks_stay_on_batches() -> None:
    """A test keeps the marks below and above its batches."""

    @pytest.mark.repeats
    @in_batches("a", "xy", 1)
    @pytest.mark.slow
    def variant(a: str) -> None: ...

    assert {mark.name for mark in variant.pytestmark} == {"slow", "parametrize", "repeats"}


def test_every_failing_row_of_a_batch_is_told() -> None:
    """A batch runs to its end, and names the rows that failed."""

    @in_batches("a", "xyz")
    def variant(a: str) -> None:
        assert a == "y"

    with pytest.raises(BaseExceptionGroup, match="2 rows") as caught:
        variant(batch=["x", "y", "z"])
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["in the row a 'x'"],
        ["in the row a 'z'"],
    ]


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
