"""Callbacks of a cancelled step are called once, in every order of events."""

from __future__ import annotations

import threading

from tfnb.core.cancellation import CancellationManager


def test_a_callback_registered_before_is_called_once():
    """A second cancellation does nothing."""
    manager, calls = CancellationManager(), []
    assert manager.register_callback(manager.get_cancellation_token(), lambda: calls.append(1))
    manager.start_cancel()
    manager.start_cancel()
    assert calls == [1]
    assert manager.is_cancelled
    assert not manager.is_cancelling


def test_a_callback_registered_after_is_refused_and_not_called():
    """The caller learns that it is too late."""
    manager, calls = CancellationManager(), []
    manager.start_cancel()
    assert not manager.register_callback(manager.get_cancellation_token(), lambda: calls.append(1))
    assert calls == []


def test_a_deregistered_callback_is_not_called():
    """Deregistering before the cancellation succeeds, after it fails."""
    manager, calls = CancellationManager(), []
    first, second = manager.get_cancellation_token(), manager.get_cancellation_token()
    manager.register_callback(first, lambda: calls.append(1))
    manager.register_callback(second, lambda: calls.append(2))
    assert manager.deregister_callback(first)
    manager.start_cancel()
    assert calls == [2]
    assert not manager.deregister_callback(second)
    assert not manager.try_deregister_callback(second)


def test_is_cancelling_only_while_callbacks_run():
    """A callback may deregister itself without waiting for itself."""
    manager, seen = CancellationManager(), []
    token = manager.get_cancellation_token()

    def callback() -> None:
        seen.append((manager.is_cancelling, manager.is_cancelled))
        seen.append(manager.deregister_callback(token))

    manager.register_callback(token, callback)
    manager.start_cancel()
    assert seen == [(True, False), False]


def test_a_parent_cancels_its_children_and_not_the_other_way():
    """A child of a cancelled parent starts cancelled."""
    parent = CancellationManager()
    one, other = CancellationManager(parent), CancellationManager(parent)
    one.start_cancel()
    assert not parent.is_cancelled
    parent.start_cancel()
    assert other.is_cancelled
    assert CancellationManager(parent).is_cancelled


def test_a_closed_child_leaves_its_parent():
    """A finished step is not cancelled later."""
    parent = CancellationManager()
    with CancellationManager(parent) as child:
        pass
    parent.start_cancel()
    assert not child.is_cancelled


class Cancelling:
    """A manager that is being cancelled in another thread and waits in a callback."""

    def __init__(self) -> None:
        self.manager = CancellationManager()
        self.token = self.manager.get_cancellation_token()
        self.inside, self.may_go, self.ended = (threading.Event() for _ in range(3))
        assert self.manager.register_callback(self.token, self._wait)
        self.thread = threading.Thread(target=self.manager.start_cancel)
        self.thread.start()
        assert self.inside.wait(60)

    def _wait(self) -> None:
        self.inside.set()
        assert self.may_go.wait(60)
        self.ended.set()

    def go(self) -> None:
        """Let the callback end."""
        self.may_go.set()
        self.thread.join(60)


def test_deregistering_waits_for_the_callback_that_runs():
    """A caller that gets False may free what the callback uses."""
    running, found = Cancelling(), []

    def deregister() -> None:
        found.append((running.manager.deregister_callback(running.token), running.ended.is_set()))

    waiter = threading.Thread(target=deregister)
    waiter.start()
    assert not running.manager.is_cancelled
    assert found == []
    running.go()
    waiter.join(60)
    assert found == [(False, True)]


def test_trying_to_deregister_does_not_wait():
    """False is returned while the callback runs."""
    running = Cancelling()
    assert not running.manager.try_deregister_callback(running.token)
    assert not running.ended.is_set()
    running.go()


def test_while_callbacks_run_the_manager_is_cancelling_and_takes_no_more():
    """Another thread reads both states; afterwards the manager is cancelled."""
    running = Cancelling()
    manager = running.manager
    assert (manager.is_cancelling, manager.is_cancelled) == (True, False)
    assert not manager.register_callback(manager.get_cancellation_token(), lambda: None)
    running.go()
    assert (manager.is_cancelling, manager.is_cancelled) == (False, True)


def test_grandchildren_are_cancelled_and_siblings_of_a_cancelled_child_are_not():
    """From the top to the leaves only."""
    parent = CancellationManager()
    child, sibling = CancellationManager(parent), CancellationManager(parent)
    grandchild = CancellationManager(child)
    child.start_cancel()
    assert grandchild.is_cancelled
    assert not sibling.is_cancelled
    parent.start_cancel()
    assert sibling.is_cancelled
