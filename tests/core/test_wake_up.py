"""A wake-up call is kept until a thread sleeps, and used up by it."""

from __future__ import annotations

import threading

from tfnb.core.process.wake_up import WakeUp


def test_a_call_that_came_before_is_kept() -> None:
    """Two early calls count as one."""
    wake = WakeUp()
    wake.set()
    wake.set()
    assert wake.wait(0)
    assert not wake.wait(0)


def test_another_thread_wakes_the_sleeper() -> None:
    """The sleeper wakes long before its time."""
    wake = WakeUp()
    thread = threading.Thread(target=wake.set)
    thread.start()
    assert wake.wait(60)
    thread.join()
