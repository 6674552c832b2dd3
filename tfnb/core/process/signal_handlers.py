"""Detection of exceptions that come from a signal handler, wherever it interrupted the interpreter.

A handler of Python runs between two lines of the code that the main thread executes, a kernel or
any other function. Its exception is meant for the caller of ``Session.run`` and is unrelated to the
node that was being computed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tfnb.core.process.shelter import ensure_imported

if TYPE_CHECKING:
    from types import CodeType


def raised_by_handler(error: BaseException) -> bool:
    """Return whether an exception passed through the handler of a signal."""
    ensure_imported("signal")
    import signal

    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    place = error.__traceback__ if codes else None
    while place is not None:
        if place.tb_frame.f_code in codes:
            return True
        place = place.tb_next
    return False


def _code_of(handler: Any) -> CodeType | None:
    while isinstance(handler, partial):
        handler = handler.func
    method = handler if hasattr(handler, "__code__") else getattr(handler, "__call__", None)  # noqa: B004 - it is looked into
    code: CodeType | None = getattr(method, "__code__", None)
    return code
