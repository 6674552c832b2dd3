"""A notification wakes all threads that wait for it, also after interrupts of any of them."""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.interrupts import InterruptAt
from tfnb.core import rendezvous
from tfnb.core.process import notification
from tfnb.core.process.notification import Notification
from tfnb.core.rendezvous import Rendezvous
from tfnb.library.training.coordinator import Coordinator

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_notification_that_came_before_is_seen() -> None:
    """It does not pass; each wait returns at once."""
    note = Notification()
    assert not note.has_been_notified()
    assert not note.wait(0)
    assert not note.wait(0.001)
    note.notify()
    note.notify()
    assert note.has_been_notified()
    assert note.wait()
    assert note.wait(0)


def test_all_threads_wake() -> None:
    """Those that begin to wait later as well."""
    note, woken = Notification(), []
    threads = [
        threading.Thread(target=lambda: woken.append(note.wait(1000)), daemon=True)
        for _ in range(20)
    ]
    for number, thread in enumerate(threads):
        if number == 10:
            note.notify()
        thread.start()
    for thread in threads:
        thread.join(100)
    assert woken == [True] * 20


def test_an_interrupt_at_any_moment_of_waiting_does_not_keep_a_thread_from_notifying() -> None:
    """The waiter's interrupt leaves nothing behind; later waits see the notification."""
    for number in itertools.count(1):
        note = Notification()
        at = InterruptAt(number, notification, threading)
        with suppress(KeyboardInterrupt), at:
            note.wait(0.0001)
        assert_ends(note.notify)
        assert note.wait(0)
        if not at.has_raised:
            assert number > 2
            return


def test_an_interrupt_at_any_moment_of_notifying_leaves_no_thread_asleep() -> None:
    """The event has happened for all threads or for none."""
    for number in itertools.count(1):
        note = Notification()
        threads = [threading.Thread(target=note.wait, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        at = InterruptAt(number, notification, threading)
        with suppress(KeyboardInterrupt), at:
            note.notify()
        if not note.has_been_notified():
            note.notify()
        for thread in threads:
            thread.join(100)
            assert not thread.is_alive()
        if not at.has_raised:
            assert number > 1
            return


def test_an_interrupt_at_any_moment_of_recv_does_not_hold_up_the_sender() -> None:
    """A value that no thread takes any more is dropped without waiting."""
    for number in itertools.count(1):
        meeting = Rendezvous()
        at = InterruptAt(number, rendezvous, notification, threading)
        with suppress(KeyboardInterrupt), at, pytest.raises(Exception, match="Timed out"):
            meeting.recv("key", 0.0001)
        assert_ends(partial(meeting.send, "key", 1))
        if not at.has_raised:
            return


def test_an_interrupt_at_any_moment_leaves_a_coordinator_usable() -> None:
    """An interrupt of a thread that waits for the stop, or requests it."""
    for method in ("wait_for_stop", "request_stop"):
        for number in itertools.count(1):
            coordinator = Coordinator()
            arguments = (0.0001,) if method == "wait_for_stop" else ()
            at = InterruptAt(number, Coordinator, notification, threading)
            with suppress(KeyboardInterrupt), at:
                getattr(coordinator, method)(*arguments)
            assert_ends(coordinator.request_stop)
            assert coordinator.should_stop()
            if not at.has_raised:
                break


def assert_ends(call: Callable[[], object]) -> None:
    """Assert that a call in another thread returns."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
