"""Observers see the runtime through one interface, which costs nothing without observers."""

from __future__ import annotations

import logging

from tfnb.core.step_events import PartitionedGraph, PlacedGraph, StepEvents, StepObserver


class Counter(StepObserver):
    """Counts steps and signatures."""

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.signatures: list[int] = []

    def step_started(self, step_id, signature_id, t_ns):
        """Record the step."""
        self.steps.append(step_id)

    def graph_partitioned(self, partitioned):
        """Record the signature."""
        self.signatures.append(partitioned.signature_id)


def test_hooks_without_an_override_are_none():
    """Only hooks that an observer defines are called."""
    events = StepEvents()
    assert events.hooks.step_started is None
    counter = Counter()
    events.add(counter)
    assert events.hooks.node_done is None
    events.hooks.step_started(1, 1, 0)
    assert counter.steps == [1]
    events.remove(counter)
    assert events.hooks.step_started is None


def test_an_observer_that_joins_late_receives_every_signature():
    """A late observer receives earlier signatures, but no earlier steps."""
    events = StepEvents()
    events.placed(PlacedGraph(7, ()))
    events.partitioned(PartitionedGraph(7, ()))
    counter = Counter()
    events.add(counter)
    assert (counter.signatures, counter.steps) == ([7], [])


def test_an_observer_that_raises_is_removed_and_logged(caplog):
    """Other observers still receive events."""

    class Broken(StepObserver):
        def step_started(self, *args):
            raise RuntimeError("viewer")

    events, counter = StepEvents(), Counter()
    events.add(Broken())
    events.add(counter)
    with caplog.at_level(logging.ERROR, "tfnb"):
        events.hooks.step_started(1, 1, 0)
        events.hooks.step_started(2, 1, 0)
    assert counter.steps == [1, 2]
    assert events.observers == (counter,)
    assert "was removed" in caplog.text
