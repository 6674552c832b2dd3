"""The garbage collector while large graphs are made."""

from __future__ import annotations

import gc
import subprocess
import sys

import pytest

import tfnb as tf
from tfnb.core.process import collector_pause
from tfnb.core.process.collector_pause import without_collector

# Run in a separate process, because this one has frozen objects.
AGES = """
import gc
from tfnb.core.process.collector_pause import without_collector
def is_of(generation, one):
    return any(each is one for each in gc.get_objects(generation=generation))
with without_collector(2000):
    made = [[]]
print(is_of(2, made))
gc.freeze()
with without_collector(2000):
    later = [[]]
print(gc.get_freeze_count() > 0, not is_of(2, later))
"""


def test_the_collector_is_off_inside_and_on_behind() -> None:
    """The collector is off for many nodes, also after errors.

    A collector that was off stays off.
    """
    with without_collector(2000):
        assert not gc.isenabled()
    assert gc.isenabled()
    with without_collector(10):
        assert gc.isenabled()
    with pytest.raises(ValueError, match="x"), without_collector(2000):
        raise ValueError("x")
    assert gc.isenabled()
    gc.disable()
    try:
        with without_collector(2000):
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_is_made_inside_is_not_passed_over_by_the_next_collection() -> None:
    """New objects are in the oldest generation at once, and frozen ones stay frozen."""
    seen = subprocess.check_output([sys.executable, "-c", AGES], text=True)
    assert seen.split() == ["True", "True", "True"]


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with millions of frozen objects does not visit them at each large graph."""
    counts = []
    monkeypatch.setattr(collector_pause, "_is_frozen", False)
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counts.append(1) or 1_000_000)
    for _ in range(3):
        with without_collector(2000):
            pass
    assert len(counts) == 1


def test_a_pause_that_an_interrupt_left_is_ended_by_the_next() -> None:
    """An interrupt may prevent the entry of the context."""
    without_collector(2000).__enter__()
    with without_collector(2000):
        pass
    assert gc.isenabled()


def test_first_runs_of_large_graphs_are_not_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The collector does not run while a large graph is prepared."""
    monkeypatch.setattr(collector_pause, "_MANY", 3)
    with tf.Graph().as_default(), tf.Session() as sess:
        y = tf.constant(1.0)
        for _ in range(5):
            y = tf.sin(y)
        prepare, seen = sess.runtime.prepare, []

        def note(*names: tuple[str, ...]) -> object:
            seen.append(gc.isenabled())
            return prepare(*names)

        monkeypatch.setattr(sess.runtime, "prepare", note)
        sess.run(y)
        assert (seen, gc.isenabled()) == ([False], True)
