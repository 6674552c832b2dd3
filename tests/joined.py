"""Many variants of a check in one test, if pytest would take longer than the check."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def check_each(
    rows: Iterable[Any], check: Callable[[Any], object], told: Callable[[Any], str] = repr
) -> None:
    """Check all rows, and fail with the messages of all failed rows, by name."""
    failures = []
    for row in rows:
        try:
            check(row)
        except (Exception, pytest.fail.Exception) as error:
            error.add_note(f"in the row {told(row)}")
            failures.append(error)
    if failures:
        raise BaseExceptionGroup(f"{len(failures)} rows", failures)


def in_one_test(name: str, rows: Iterable[Any]) -> Callable[[Callable[..., None]], Any]:
    """Parametrize one argument within one test: all rows run, and failures name their rows."""
    kept = list(rows)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        others = [one for key, one in signature.parameters.items() if key != name]
        assert len(others) == len(signature.parameters) - 1, f"{test.__name__} takes no {name}"

        @functools.wraps(test)
        def every_row(**arguments: Any) -> None:
            check_each(
                kept, lambda row: test(**{name: row}, **arguments), lambda row: f"{name} {row!r}"
            )

        every_row.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return every_row

    return decorate


def in_batches(
    name: str, rows: Iterable[Any], size: int = 12, told: Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Any]:
    """Parametrize one argument, with one test for some consecutive rows.

    All rows of a test run, and failures name their rows. The test's id contains every row, so that
    `-k` finds the test of a row. Rows share the fixtures of their test.

    Args:
      name: the argument.
      rows: its values.
      size: how many rows a test has.
      told: returns the name of a row.
    """
    kept = list(rows)
    batches = [kept[start : start + size] for start in range(0, len(kept), size)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)
        others = [one for key, one in signature.parameters.items() if key != name]
        assert len(others) == len(signature.parameters) - 1, f"{test.__name__} takes no {name}"

        @functools.wraps(test)
        def every_row(batch: list[Any], **arguments: Any) -> None:
            check_each(
                batch,
                lambda row: test(**{name: row}, **arguments),
                lambda row: f"{name} {told(row)!r}",
            )

        batch = inspect.Parameter("batch", inspect.Parameter.KEYWORD_ONLY)
        every_row.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*others, batch]
        )
        names = [" ".join(map(told, rows)) for rows in batches]
        return pytest.mark.parametrize("batch", batches, ids=names)(every_row)

    return decorate
