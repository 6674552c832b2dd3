"""Threads that share calls of compiled kernels compute each piece once, and wait for each other."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.forked import in_child
from tfnb.core.compiled import routines, team
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import Routine, compiling_at_once, run_rows
from tfnb.core.process import work_sharder

pytest.importorskip("llvmlite")

# Looks at a word before a piece gives up waiting for another one: some seconds.
_LOOKS = 1 << 31


def write_count(loops):
    """Write ``out[i] += size`` for a range of i."""
    begin, end, size = (loops.size(i) for i in range(3))
    with loops.loop(begin, end) as i:
        loops.store("i64", loops.do("add i64", loops.load("i64", 0, i), size), 0, i)


def write_meeting(loops):
    """Write ``flags[i] = 1``, then wait until the other one of two flags is 1, for each i."""
    begin, end = (loops.size(i) for i in range(2))
    with loops.loop(begin, end) as i:
        own = loops.place("i64", "%a0", i)
        loops.write(f"store atomic i64 1, ptr {own} seq_cst, align 8")
        other = loops.place("i64", "%a0", loops.do("sub i64", "1", i))
        came = loops.variable("i1", "false")
        with loops.loop("0", str(_LOOKS), unless=came):
            flag = loops.do(f"load atomic i64, ptr {other} seq_cst, align 8")
            came.set(loops.do("icmp eq i64", flag, "1"))
        both = loops.do("add i64", i, "2")
        loops.store("i64", loops.convert("zext i1", came.get(), "i64"), 0, both)


def write_looks(loops):
    """Write a piece that looks at a word as often as it says."""
    begin, end = (loops.size(i) for i in range(2))
    with loops.loop(begin, end) as i:
        place = loops.place("i64", "%a0", i)
        with loops.loop("0", loops.load("i64", 0, i)):
            loops.do(f"load atomic i64, ptr {place} seq_cst, align 8")


@pytest.fixture(name="ready")
def _ready(monkeypatch):
    """Return a function that makes a routine ready, with a team of two beside the caller."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    monkeypatch.setattr(routines, "_routines", [])
    monkeypatch.setattr(work_sharder, "_num_threads", 3)
    wake_all()
    if not team.is_ready(2):
        HELPER.wait()
    assert team.is_ready(2)

    def ready(arrays, write):
        routine = Routine(arrays, write)
        with compiling_at_once():
            routine.find(0.0)
            HELPER.wait()
            found = routine.find(0.0)
        assert found is not None
        return found

    return ready


def wake_all():
    """Let the next job wake all members, whatever they missed."""
    team.WORDS[team._MISSES] = team.WORDS[team._UNSHARED] = 0


def meets(meet):
    """Return whether two pieces of a job met; threads of other tests may use the team, too."""
    for _ in range(5):
        wake_all()
        flags = np.zeros(4, np.int64)
        run_rows(meet, [flags], 2, 1e6)
        if flags.tolist() == [1] * 4:
            return True
    return False


@pytest.mark.parametrize("rows", [2, 3, 7, 64, 1001])
def test_every_row_is_computed_once(ready, rows):
    """In any number of pieces, again and again."""
    count = ready(1, write_count)
    out = np.zeros(rows + 1, np.int64)
    for _ in range(300):
        run_rows(count, [out], rows, 1e6, 2)
    assert out.tolist() == [600] * rows + [0]


def test_members_work_at_once(ready):
    """Two pieces wait for each other, which one thread could not finish."""
    meet = ready(1, write_meeting)
    for _ in range(20):
        assert meets(meet)


def test_a_member_is_not_late_because_the_last_piece_was_short(ready):
    """The caller computes the first piece and the last, a short one, then waits for the second.

    On a busy machine some members are late.
    """
    look, members = ready(1, write_looks), int(team.WORDS[team._MEMBERS])
    team.WORDS[team._MEMBERS] = 1  # the others are not woken
    timely = 0
    try:
        for _ in range(400):
            wake_all()
            team.WORDS[team._LEVEL] = 0
            run_rows(look, [np.array([2_000_000, 3_000_000, 1], np.int64)], 3, 1e6)
            timely += bool(team.WORDS[team._HELPED]) and not team.WORDS[team._LEVEL]
            if timely == 20:
                return
    finally:
        team.WORDS[team._MEMBERS] = members
    pytest.fail(f"{timely} of 400 members were timely")


def test_callers_at_the_same_time_compute_alone(ready):
    """One job is shared at a time; the others are complete, too."""
    count = ready(1, write_count)
    outs = [np.zeros(500, np.int64) for _ in range(4)]

    def call(out):
        for _ in range(200):
            run_rows(count, [out], 500, 1e5, 1)

    threads = [threading.Thread(target=call, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((out == 200).all() for out in outs)


def test_members_that_rest_come_again(ready):
    """Other threads may need the processors between two jobs."""
    meet = ready(1, write_meeting)
    for _ in range(10):
        team.rest()
        assert meets(meet)


def test_a_team_that_is_not_ready_leaves_the_work_to_other_threads(ready, monkeypatch):
    """Rows are computed in pieces by threads of Python."""
    count = ready(1, write_count)
    monkeypatch.setattr(team, "is_ready", lambda members: False)
    out = np.zeros(101, np.int64)
    run_rows(count, [out], 100, 1e6, 3)
    assert out.tolist() == [3] * 100 + [0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_forked_process_has_a_team_of_its_own(ready):
    """Its members start when a call needs them."""
    meet = ready(1, write_meeting)

    def child():
        assert meets(meet)

    in_child(child)
    child()


_ENDS_WITHIN = """
import threading
import numpy as np
from tests.core.compiled.test_team import write_count
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import Routine, compiling_at_once, run_rows
from tfnb.core.process import work_sharder

work_sharder.set_num_threads(3)
routine, out, begun = Routine(1, write_count), np.zeros(1 << 22, np.int64), threading.Event()
with compiling_at_once():
    routine.find(0.0)
    HELPER.wait()
    count = routine.find(0.0)
run_rows(count, [out], len(out), 1.0, 1)
HELPER.wait()

def run():
    while True:
        run_rows(count, [out], len(out), 1.0, 1)
        begun.set()

threading.Thread(target=run, daemon=True).start()
begun.wait()
"""


def test_a_process_ends_while_threads_run_kernels():
    """Their machine code stays in memory until the end."""
    environment = {**os.environ, "TFNB_COMPILED": "1"}
    for _ in range(3):
        subprocess.run([sys.executable, "-c", _ENDS_WITHIN], env=environment, check=True)


def test_a_team_whose_start_was_interrupted_starts_once(ready, monkeypatch):
    """Another caller comes while the threads of the first one are being started."""
    number = team.num_members()
    starts = [threading.Thread(target=team._start, args=(number + 2,)) for _ in range(4)]
    for thread in starts:
        thread.start()
    for thread in starts:
        thread.join()
    assert team.num_members() == number + 2
    names = [thread.name for thread in threading.enumerate() if thread.name.startswith("team_")]
    assert sorted(names) == sorted(f"team_{i}" for i in range(number + 2))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="of this processor")
@pytest.mark.parametrize("flushes", [True, False])
def test_denormal_numbers_are_zero_in_routines_that_flush_them(ready, flushes):
    """Also in members; other routines, and the caller's arithmetic, keep them."""

    def write(loops):
        if flushes:
            loops.flush_denormals()
        begin, end = (loops.size(i) for i in range(2))
        with loops.loop(begin, end) as i:
            loops.store("float", loops.do("fmul float", loops.load("float", 1, i), "2.0"), 0, i)

    twice = ready(2, write)
    x = np.array([1.0, 1e-39, 1e-45, -1e-40] * 25, np.float32)
    out = np.ones(100, np.float32)
    for ns in (1.0, 1e6):
        run_rows(twice, [out, x], 100, ns)
        np.testing.assert_array_equal(out, [2.0, 0.0, 0.0, 0.0] * 25 if flushes else x * 2)
    assert (x[1:4] * np.float32(2)).all()
