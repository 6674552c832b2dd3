"""Named state: containers, handles, and variables whose readers keep what they read."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core import dtypes, errors
from tfnb.core.resource_mgr import RefCell, ResourceMgr, Var


def test_a_resource_is_found_by_its_handle_until_it_is_deleted():
    """Create, look up, delete."""
    manager = ResourceMgr("/cpu:0")
    handle = manager.make_handle("v", "Variable")
    with pytest.raises(errors.NotFoundError, match="localhost/v/Variable does not exist"):
        manager.lookup(handle)
    manager.create("", "Variable", "v", "thing")
    assert manager.lookup(handle) == "thing"
    with pytest.raises(errors.AlreadyExistsError, match="exists already"):
        manager.create("", "Variable", "v", "other")
    manager.delete(handle)
    with pytest.raises(errors.NotFoundError, match="does not exist"):
        manager.delete(handle)


def test_containers_are_emptied_apart():
    """Cleanup drops one container and closes what can be closed."""
    closed = []

    class Closable:
        def close(self) -> None:
            closed.append(True)

    manager = ResourceMgr()
    manager.create("", "Queue", "a", Closable())
    manager.create("other", "Queue", "a", "kept")
    manager.cleanup()
    assert (closed, manager.names()) == ([True], [("other", "Queue", "a")])
    manager.clear()
    assert manager.names() == []


def test_lookup_or_create_makes_a_resource_once():
    """The second caller gets the resource of the first."""
    manager = ResourceMgr()
    first = manager.lookup_or_create("", "T", "n", list)
    assert first is manager.lookup_or_create("", "T", "n", list)


def test_reading_an_empty_variable_names_it():
    """Reference and resource variables have TensorFlow's two wordings."""
    with pytest.raises(errors.FailedPreconditionError, match="uninitialized value w"):
        RefCell("w", dtypes.float32).read()
    with pytest.raises(errors.FailedPreconditionError, match="Could not find variable w"):
        Var("w", dtypes.float32).read()


def test_a_value_that_was_read_survives_a_write_in_place():
    """Writing in place copies the value if another holder has it."""
    cell = RefCell("w", dtypes.float32)
    cell.assign(np.zeros(3, np.float32))
    read = cell.read()
    with cell.lock:
        array = cell.writable()
        array += 1
    del array
    assert read.tolist() == [0, 0, 0]
    assert cell.read().tolist() == [1, 1, 1]
    del read
    before = id(cell.value)
    with cell.lock:
        array = cell.writable()
        array += 1
    assert id(cell.value) == before
    assert cell.read().tolist() == [2, 2, 2]


def test_a_view_of_the_value_counts_as_a_reader():
    """A slice with another holder is not changed either."""
    cell = RefCell("w", dtypes.float32)
    cell.assign(np.zeros(3, np.float32))
    part = cell.read()[:2]
    with cell.lock:
        array = cell.writable()
        array += 1
    assert part.tolist() == [0, 0]


def test_update_replaces_the_value_in_one_step():
    """The function gets the value, and its result becomes the value."""
    cell = Var("w", dtypes.int32)
    cell.assign(np.int32(2))
    assert cell.update(lambda value: value * np.int32(5)) == 10
    assert cell.read() == 10


def test_a_finalized_manager_takes_no_new_resources():
    """Existing resources can be used and deleted."""
    manager = ResourceMgr("/cpu:0")
    manager.create("", "T", "old", 1)
    manager.finalize()
    with pytest.raises(errors.FailedPreconditionError, match="ResourceMgr is finalized"):
        manager.create("", "T", "new", 2)
    with pytest.raises(errors.FailedPreconditionError, match="ResourceMgr is finalized"):
        manager.lookup_or_create("", "T", "new", lambda: 2)
    assert manager.lookup_or_create("", "T", "old", lambda: 2) == 1
    manager.delete(manager.make_handle("old", "T"))
    assert manager.names() == []
