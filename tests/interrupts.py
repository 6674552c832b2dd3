"""Ctrl-C at a chosen moment, in a call by the main thread that expects it."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS_TO_HEAR = 15.0


def interrupted(
    run: Callable[[], object], when: Callable[[], object] = lambda: None
) -> pytest.ExceptionInfo[KeyboardInterrupt]:
    """Interrupt `run`, which has no other end, as soon as `when` returns in another thread.

    `when` is called as soon as the interrupt is expected. Python loses an interrupt that arrives in
    a finalizer; it is then sent again. An error of `when` is raised here.
    """
    main = threading.main_thread().ident
    assert main is not None
    has_begun, has_ended = threading.Event(), threading.Event()
    failures: list[BaseException] = []

    def act() -> None:
        has_begun.wait()
        try:
            when()
        except BaseException as error:  # raised by the main thread
            failures.append(error)
        for _ in range(5):
            signal.pthread_kill(main, signal.SIGINT)
            if has_ended.wait(_SECONDS_TO_HEAR):
                return

    def begin_and_run() -> None:
        try:
            has_begun.set()
            run()
        finally:
            has_ended.set()  # here, where a second interrupt is expected, too

    thread = threading.Thread(target=act)
    thread.start()
    with pytest.raises(KeyboardInterrupt) as caught:
        begin_and_run()
    thread.join()
    if failures:
        raise failures[0]
    return caught
