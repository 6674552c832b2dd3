"""Results of a step: present values, which the caller may keep and write to."""

from __future__ import annotations

from sys import getrefcount
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tfnb.core.resource_mgr import RefCell

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.errors import OpError

    # (position, name) of a result without a value -> the error that explains why it has none.
    type_of_absence = Callable[[int, str], OpError]

_generic, _ndarray = np.generic, np.ndarray


def has_absent(results: Sequence[Any]) -> bool:
    """Return whether a step or call ended without a value for one of its results."""
    for value in results:  # noqa: SIM110 - costs half of any()
        if value is None:
            return True
    return False


def refuse_absent(
    results: Sequence[Any], fetches: Sequence[str], absence: type_of_absence
) -> NoReturn:
    """Raise the error of a step that ended without a value for one of its fetches.

    Args:
      results: the value of each fetch, None where there is none.
      fetches: the names of the fetches.
      absence: makes the error that explains a missing value.

    Raises:
      InvalidArgumentError: a fetched tensor is dead, or never became ready.
    """
    position = next(i for i, value in enumerate(results) if value is None)
    raise absence(position, f"'{fetches[position]}'")


def own_all(results: list[Any]) -> list[Any]:
    """Replace results by values that the caller may keep and write to; return them.

    Raises:
      FailedPreconditionError: a fetched variable has no value.
    """
    # Not enumerate(): its tuple would hold another reference to each value.
    for position in range(len(results)):
        value = results[position]
        if value.__class__ is not _ndarray and isinstance(value, _generic):
            continue
        if isinstance(value, _ndarray):
            # Referenced by: the list, the local name, getrefcount's argument.
            if getrefcount(value) > 3 or value.base is not None or not value.flags.writeable:
                is_number = value.ndim == 0 and value.dtype.kind != "O"
                results[position] = value[()] if is_number else value.copy()
        elif isinstance(value, RefCell):
            found = value.read()
            results[position] = found.copy() if isinstance(found, _ndarray) else found
    return results


def as_numbers(results: list[Any]) -> list[Any]:
    """Return the values, arrays of rank 0 as NumPy scalars, text as bytes."""
    return [
        value[()] if value.__class__ is _ndarray and value.ndim == 0 else value for value in results
    ]
