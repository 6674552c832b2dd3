"""Ctrl-C at a chosen moment, in a call by the main thread that expects it."""

from __future__ import annotations

import dis
import inspect
import signal
import sys
import threading
from types import CodeType
from typing import TYPE_CHECKING, Any, Self

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


# Behind these instructions, CPython looks for signals.
_LOOKS = frozenset({"RESUME", "CALL", "CALL_FUNCTION_EX", "JUMP_BACKWARD"})


class InterruptAt:
    """Raises KeyboardInterrupt at one of the moments at which CPython looks for signals.

    Only the moments inside of functions of the given classes and modules count, in the thread that
    enters the context. ``has_raised`` says whether the moment came.
    """

    def __init__(self, number: int, *owners: object) -> None:
        self.has_raised = False
        self._left = number
        self._codes = set().union(*(_codes(owner) for owner in owners))
        self._before: dict[Any, str] = {}

    def __enter__(self) -> Self:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_error: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: Any, event: str, _: object) -> Any:
        if frame.f_code not in self._codes:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self._left -= self._before.get(frame, "") in _LOOKS
            self._before[frame] = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if self._left == 0 and not self.has_raised:
                self.has_raised = True
                raise KeyboardInterrupt
        return self._trace


def _codes(owner: Any) -> set[Any]:
    """Return the code objects of a class's methods, or of a module's functions and classes."""
    found = set()
    for one in vars(owner).values():
        one = one.fget if isinstance(one, property) else inspect.unwrap(one)
        if inspect.isclass(one) and inspect.ismodule(owner):
            found |= _codes(one)
        elif hasattr(one, "__code__"):
            found |= set(_with_inner(one.__code__))
    return found


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _with_inner(one)
