"""Tests of the tuple that is made on first use."""

from __future__ import annotations

import threading

import pytest

from tfnb.core.lazy_tuple import LazyTuple


def test_items_are_made_once_and_not_before_they_are_read():
    """Reading makes all items, in any way of reading."""
    calls = []

    def make():
        calls.append(1)
        return iter("abc")

    lazy = LazyTuple(make)
    assert not calls
    assert lazy[1] == "b"
    assert (lazy[1:], len(lazy), list(lazy), "c" in lazy) == (("b", "c"), 3, ["a", "b", "c"], True)
    assert len(calls) == 1


def test_it_equals_the_tuple_of_its_items():
    """It can be compared and hashed like a tuple."""
    lazy, same = LazyTuple(lambda: [1, 2]), LazyTuple(lambda: (1, 2))
    assert lazy == (1, 2) == lazy
    assert lazy == same
    assert hash(lazy) == hash((1, 2))
    assert repr(lazy) == "(1, 2)"
    assert lazy != (1, 3)
    assert lazy != [1, 2]


def test_a_failed_making_is_tried_again():
    """An error reaches the reader and changes nothing."""
    attempts = iter([ValueError("not yet"), None])

    def make():
        error = next(attempts)
        if error is not None:
            raise error
        return (7,)

    lazy = LazyTuple(make)
    with pytest.raises(ValueError, match="not yet"):
        len(lazy)
    assert lazy == (7,)


def test_threads_that_read_at_once_get_one_tuple():
    """All readers get the same items."""
    begin = threading.Barrier(4)
    lazy = LazyTuple(lambda: [object() for _ in range(1000)])
    found = []

    def read():
        begin.wait()
        found.append(lazy[:])

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one == found[0] for one in found)
    assert len(found) == 4
