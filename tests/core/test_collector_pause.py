"""The garbage collector while large graphs are made."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import tfnb as tf
from tfnb.core.process import collector_pause
from tfnb.core.process.collector_pause import imported, without_collector

if TYPE_CHECKING:
    from pathlib import Path

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


# Likewise, with objects that no collection visits afterwards.
KEPT = """
import gc, weakref
from tfnb.core.process.collector_pause import keep_existing_objects
class Cycle:
    pass
kept, cycle = [[]], Cycle()
cycle.itself, garbage = cycle, weakref.ref(cycle)
del cycle
keep_existing_objects()
print(not any(each is kept for each in gc.get_objects()), gc.get_freeze_count() > 1000)
print(garbage() is None, gc.isenabled())
"""


def test_a_server_spares_collections_what_exists_when_it_is_ready() -> None:
    """Objects that exist are visited by no later collection; garbage is collected before."""
    seen = subprocess.check_output([sys.executable, "-c", KEPT], text=True)
    assert seen.split() == ["True"] * 4


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


WATCHED = "was_enabled.append(gc.isenabled())"


def _write_module(folder: Path, name: str, end: str) -> None:
    (folder / f"{name}.py").write_text(
        f"import gc\nwas_enabled = []\n{WATCHED}\n{end}\n", encoding="utf-8"
    )


def test_nothing_is_collected_while_a_module_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The collector is off in the module, and on after it, also if its import fails."""
    monkeypatch.syspath_prepend(str(tmp_path))
    _write_module(tmp_path, "imported_once", "")
    _write_module(tmp_path, "imported_badly", "raise ValueError('bad')")
    module = imported("imported_once")
    assert (module.was_enabled, gc.isenabled()) == ([False], True)
    assert imported("imported_once") is module
    assert len(module.was_enabled) == 1
    with pytest.raises(ValueError, match="bad"):
        imported("imported_badly")
    assert gc.isenabled()
    del sys.modules["imported_once"]


def test_an_import_does_not_end_a_pause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module is imported while a large graph is made."""
    monkeypatch.syspath_prepend(str(tmp_path))
    _write_module(tmp_path, "imported_inside", "")
    with without_collector(2000):
        imported("imported_inside")
        assert not gc.isenabled()
    assert gc.isenabled()
    del sys.modules["imported_inside"]


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
