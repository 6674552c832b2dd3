"""A weak registry, which runs no code when a member ends."""

from __future__ import annotations

import gc
import sys
from typing import Any

from tfnb.core.process.weak_registry import WeakRegistry, WeakTable


class Thing:
    """A class that accepts weak references."""


def test_what_ends_is_no_member() -> None:
    """The other members keep their order, and keys find them."""
    registry: WeakRegistry[Thing] = WeakRegistry()
    things = [Thing() for _ in range(4)]
    for number, thing in enumerate(things):
        registry.add(thing, number)
    del things[1], thing
    gc.collect()
    assert list(registry) == things
    assert [key for key, _ in registry.items()] == [0, 2, 3]
    assert registry.get(2) is things[1]
    assert registry.get(1) is None
    registry.clear()
    assert not list(registry)


def test_what_has_ended_is_dropped_when_others_come() -> None:
    """A registry has at most twice the living members; the owner gets the dropped keys."""
    told: list[Any] = []
    registry: WeakRegistry[Thing] = WeakRegistry(told.append)
    kept = [Thing() for _ in range(5)]
    for thing in kept:
        registry.add(thing)
    for number in range(1000):
        registry.add(Thing(), number)
    assert len(registry._refs) < 50
    assert told == list(range(len(told)))
    assert len(told) > 950
    assert list(registry)[:5] == kept


def test_the_collector_may_add_members_to_a_registry_that_is_walked() -> None:
    """It may run at any new object, and with it finalizers and other threads."""
    registry: WeakRegistry[Thing] = WeakRegistry()
    table: WeakTable[Thing, int] = WeakTable()
    things: list[Thing] = []

    def add(phase: str = "start", _: object = None) -> None:
        if phase == "start" and len(things) < 2000:
            things.append(Thing())
            registry.add(things[-1])
            table[things[-1]] = 1

    for _ in range(20):
        add()
    before = gc.get_threshold()
    gc.callbacks.append(add)
    gc.set_threshold(1)
    try:
        for _ in range(100):
            assert list(registry.items())
            assert list(registry)
            registry.add(things[0])
            table[things[0]] = 1
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(add)
    assert set(map(id, registry)) == set(map(id, things))


def test_no_python_code_runs_as_a_member_ends() -> None:
    """There is no code in which an interrupt would be lost."""
    registry: WeakRegistry[Thing] = WeakRegistry()
    thing = Thing()
    registry.add(thing)
    calls: list[str] = []
    sys.setprofile(lambda frame, event, _: calls.append(event) if event == "call" else None)
    try:
        del thing
    finally:
        sys.setprofile(None)
    assert calls == []


def test_a_table_finds_only_living_keys() -> None:
    """Lookup is by identity; ended objects are not found, and few of their entries remain."""
    table: WeakTable[Thing, int] = WeakTable()
    kept = [Thing() for _ in range(5)]
    for number, thing in enumerate(kept):
        table[thing] = number
    for number in range(1000):
        table[Thing()] = number
    assert [table.get(thing) for thing in kept] == list(range(5))
    assert table.get(Thing()) is None
    assert len(table._entries) < 50
    table[kept[0]] = 7
    assert table.get(kept[0], 0) == 7
    kept.clear()
    del thing
    assert len(table) == 0
