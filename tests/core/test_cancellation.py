"""Callbacks of a cancelled step are called once, in every order of events."""

from __future__ import annotations

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
    """And a callback may deregister itself without waiting for itself."""
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
