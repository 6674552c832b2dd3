"""Switches of ``tf.debugging``, and small functions for errors and versions."""

from __future__ import annotations

import contextlib
import datetime
from typing import TYPE_CHECKING, Any

from tfnb.client import compat

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPORTS = {
    "debugging": [
        "disable_traceback_filtering", "enable_traceback_filtering",
        "is_traceback_filtering_enabled",
    ],
    "errors": ["raise_exception_on_not_ok_status"],
    "compat": ["forward_compatibility_horizon"],
}  # fmt: skip

_state = {"filters": True}


def enable_traceback_filtering() -> None:
    """Store the setting only: errors always name the user's line that made the node."""
    _state["filters"] = True


def disable_traceback_filtering() -> None:
    """Store the setting only; see :func:`enable_traceback_filtering`."""
    _state["filters"] = False


def is_traceback_filtering_enabled() -> bool:
    """Return the last setting; True by default."""
    return _state["filters"]


class raise_exception_on_not_ok_status:
    """A ``with`` block that raises the error that a status holds at its end.

    The status is an object with ``code`` and ``message``; only the program itself sets them.
    """

    def __init__(self) -> None:
        self.status: Any = _Status()

    def __enter__(self) -> Any:
        return self.status

    def __exit__(self, *_: object) -> None:
        from tfnb.core import errors

        if self.status.code != errors.OK:
            kind: Any = errors.exception_type_from_error_code(self.status.code)
            raise kind(None, None, self.status.message)


class _Status:
    code = 0
    message = ""


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Return a context in which ``tf.compat.forward_compatible`` uses another day as today.

    Args:
        year: The year of the day.
        month: The month of the day.
        day: The day of the month.
    """
    before = compat.horizon
    compat.horizon = datetime.date(year, month, day)
    try:
        yield
    finally:
        compat.horizon = before
