"""Runs a function in a forked child, which is ended if it hangs."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 240


def in_child(function: Callable[[], object]) -> None:
    """Raise the exception of the function in the child, or fail if it does not end."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        pid = os.fork()
    if pid == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(LIMIT_S)
            function()
        except BaseException:
            os.write(writer, traceback.format_exc().encode()[-50_000:])
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        told = file.read().decode()
    _, status = os.waitpid(pid, 0)
    assert not os.WIFSIGNALED(status), f"the child stood still, or died: {status}"
    assert not told, told
