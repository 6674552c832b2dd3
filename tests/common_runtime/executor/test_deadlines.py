"""One thread ends all steps whose deadline has passed."""

from __future__ import annotations

import gc
import weakref

import pytest

from tfnb.common_runtime.executor import deadlines
from tfnb.common_runtime.executor.deadlines import Deadlines
from tfnb.common_runtime.executor.run_state import RunState
from tfnb.core import errors
from tfnb.core.step_events import IDLE_HOOKS


def a_step() -> RunState:
    """Return a step that can be waited for."""
    return RunState(None, IDLE_HOOKS)


def test_steps_end_in_the_order_of_their_deadlines() -> None:
    """Deadlines may be set in any order."""
    found = Deadlines()
    late, soon = a_step(), a_step()
    found.set(late, 3_600_000)
    found.set(soon, 1)
    assert soon.wake.wait(60)
    assert isinstance(soon.stop, errors.DeadlineExceededError)
    assert late.stop is None
    assert found.num_set() == 1


def test_a_step_that_is_over_is_forgotten() -> None:
    """A finished step is dropped, because its tensors must be freed before the deadline."""

    class Weak(RunState):
        """A class that accepts weak references."""

    found, step = Deadlines(), Weak(None, IDLE_HOOKS)
    watched = weakref.ref(step)
    entry = found.set(step, 3_600_000)
    found.call_off(entry)
    found.call_off(entry)
    del step
    gc.collect()
    assert watched() is None
    assert found.num_set() == 0


def test_cancelled_deadlines_are_removed() -> None:
    """A million short steps with deadlines of an hour leave no entries."""
    found = Deadlines()
    for _ in range(5_000):
        found.call_off(found.set(a_step(), 3_600_000))
    assert len(found._entries) < 1_000


@pytest.mark.parametrize("timeout_ms", [1 << 31, 1 << 62])
def test_a_deadline_may_lie_centuries_away(timeout_ms: int) -> None:
    """A deadline centuries away does not keep the thread from others."""
    found = Deadlines()
    found.set(a_step(), timeout_ms)
    soon = a_step()
    found.set(soon, 1)
    assert soon.wake.wait(60)


def test_the_thread_ends_and_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without deadlines the thread ends; a new deadline starts it again."""
    monkeypatch.setattr(deadlines, "_LINGER_S", 0.001)
    found = Deadlines()
    for _ in range(3):
        step = a_step()
        found.set(step, 1)
        assert step.wake.wait(60)
        while found._is_serving:
            pass
