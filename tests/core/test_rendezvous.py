"""Tensors are exchanged under keys."""

from __future__ import annotations

import threading

import pytest

from tfnb.core import errors
from tfnb.core.cancellation import CancellationManager
from tfnb.core.rendezvous import Rendezvous, create_key, parse_key

KEY = create_key("/cpu:0", 1, "/cpu:1", "edge", 0, 0)


def test_a_key_has_five_parts_that_can_be_read_back():
    """Source, incarnation in hexadecimal, destination, edge, frame and iteration."""
    key = create_key("/d:0", 7890, "/d:1", "var0", 3, 4)
    assert key == "/d:0;0000000000001ed2;/d:1;var0;3:4"
    assert parse_key(key) == ("/d:0", 7890, "/d:1", "var0", 3, 4)


@pytest.mark.parametrize("key", ["", "a;b;c;d", "a;0000000000000001;c;d;0:0;e", "a;1;c;d;0:0"])
def test_a_malformed_key_is_refused(key):
    """Fewer or more parts, or a short incarnation."""
    with pytest.raises(errors.InvalidArgumentError, match="Invalid rendezvous key"):
        parse_key(key)


def test_values_wait_in_the_order_they_were_sent():
    """Send comes before Recv; one Recv takes one value."""
    meeting = Rendezvous()
    meeting.send(KEY, "first")
    meeting.send(KEY, "second", True)
    assert meeting.ready_keys() == [KEY]
    assert meeting.recv(KEY) == ("first", False)
    assert meeting.recv(KEY) == ("second", True)
    assert meeting.ready_keys() == []


def test_a_recv_that_came_first_gets_the_next_value():
    """Recv comes before Send."""
    meeting, got = Rendezvous(), []
    meeting.recv_async(KEY, lambda *answer: got.append(answer))
    assert meeting.waiting_keys() == [KEY]
    meeting.send(KEY, 5)
    assert got == [(None, 5, False)]


def test_an_abort_fails_waiting_and_later_callers():
    """All waiting and later callers get the abort's error."""
    meeting, got = Rendezvous(), []
    meeting.recv_async(KEY, lambda error, value, dead: got.append(error))
    stopped = errors.aborted("stopped")
    meeting.start_abort(stopped)
    meeting.start_abort(errors.aborted("later"))
    assert got == [stopped]
    with pytest.raises(errors.AbortedError, match="stopped"):
        meeting.send(KEY, 1)
    with pytest.raises(errors.AbortedError, match="stopped"):
        meeting.recv(KEY)


def test_cancelling_one_recv_leaves_the_others_waiting():
    """The cancelled Recv ends with an error, the other still gets its value."""
    meeting, first, second = Rendezvous(), [], []
    manager = CancellationManager()
    meeting.recv_async(KEY, lambda *answer: first.append(answer), manager)
    meeting.recv_async(KEY, lambda *answer: second.append(answer))
    manager.start_cancel()
    assert isinstance(first[0][0], errors.CancelledError)
    meeting.send(KEY, 7)
    assert second == [(None, 7, False)]


def test_a_recv_of_a_cancelled_step_ends_at_once():
    """The cancellation comes before Recv."""
    meeting, got, manager = Rendezvous(), [], CancellationManager()
    manager.start_cancel()
    meeting.recv_async(KEY, lambda error, value, dead: got.append(error), manager)
    assert [type(error) for error in got] == [errors.CancelledError]


def test_a_value_that_is_there_wins_over_a_cancellation():
    """After Send and a cancellation, Recv still gets the value."""
    meeting, manager = Rendezvous(), CancellationManager()
    got = []
    meeting.send(KEY, 3)
    meeting.recv_async(KEY, lambda *answer: got.append(answer), manager)
    manager.start_cancel()
    assert got == [(None, 3, False)]


def test_threads_hand_values_to_each_other():
    """Two threads exchange values in turn."""
    meeting = Rendezvous()
    pong = create_key("/cpu:1", 1, "/cpu:0", "pong", 0, 0)

    def answer() -> None:
        value, _ = meeting.recv(KEY, 30)
        meeting.send(pong, value + 1)

    thread = threading.Thread(target=answer)
    thread.start()
    meeting.send(KEY, 1)
    assert meeting.recv(pong, 30) == (2, False)
    thread.join()
