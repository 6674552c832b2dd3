"""Calls that interrupts cannot reach."""

from __future__ import annotations

import sys
import threading
from _thread import start_new_thread

import pytest

from tfnb.common_runtime.executor.deadlines import Deadlines
from tfnb.common_runtime.executor.run_state import RunState
from tfnb.core import errors
from tfnb.core.process import shelter
from tfnb.core.process.shelter import call_sheltered, ensure_imported
from tfnb.core.step_events import IDLE_HOOKS

LIMIT_S = 60


def test_a_call_is_made_in_another_thread_and_is_over_when_it_returns() -> None:
    """The call runs once, in another thread."""
    found: list[int] = []
    call_sheltered(lambda: found.append(threading.get_ident()))
    assert len(found) == 1
    assert found[0] != threading.get_ident()


def test_what_the_function_raises_is_raised() -> None:
    """Exceptions are passed on, also SystemExit."""
    for error in (ValueError("no"), SystemExit(3)):

        def fail(error: BaseException = error) -> None:
            raise error

        with pytest.raises(type(error)) as found:
            call_sheltered(fail)
        assert found.value is error


@pytest.fixture
def first_threads_are_hit(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Interrupt two threads before they begin; return the started threads."""
    started: list[object] = []

    def start(function, args):
        started.append(function)
        return start_new_thread(function if len(started) > 2 else lambda *_: None, args)

    monkeypatch.setattr(shelter, "start_new_thread", start)
    monkeypatch.setattr(shelter, "_PATIENCE_S", 0.01)
    return started


def test_a_thread_that_ended_before_it_began_is_followed_by_another(
    first_threads_are_hit: list[object],
) -> None:
    """The call is made once, in the thread that follows."""
    found: list[int] = []
    call_sheltered(lambda: found.append(1))
    assert found == [1]
    assert len(first_threads_are_hit) >= 3


def test_a_call_that_takes_longer_than_a_thread_to_begin_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slow call is not repeated."""
    monkeypatch.setattr(shelter, "_PATIENCE_S", 0.001)
    found: list[int] = []
    goes_on = threading.Event()

    def slow() -> None:
        found.append(1)
        goes_on.wait(0.1)

    call_sheltered(slow)
    assert found == [1]


@pytest.mark.usefixtures("first_threads_are_hit")
def test_deadlines_hold_although_an_interrupt_came_while_the_first_was_set() -> None:
    """The thread for deadlines starts, although an interrupt arrived."""
    found, step = Deadlines(), RunState(None, IDLE_HOOKS)
    found.set(step, 1)
    assert step.wake.wait(LIMIT_S)
    assert isinstance(step.stop, errors.DeadlineExceededError)


def test_a_module_is_imported_where_no_thread_can_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Python 3.12 starts none while functions of atexit run; these may run a step."""

    def refuse(*_: object) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(shelter, "start_new_thread", refuse)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    ensure_imported("colorsys")
    assert "colorsys" in sys.modules
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        ensure_imported("tfnb.core.no_such")
