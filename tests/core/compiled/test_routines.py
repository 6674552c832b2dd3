"""Routines are requested when they pay, and compute what their source says."""

from __future__ import annotations

import numpy as np
import pytest

from tfnb.core.compiled import helper, routines
from tfnb.core.compiled.helper import HELPER
from tfnb.core.compiled.routines import Prices, Routine, compiling_at_once, run_rows

pytest.importorskip("llvmlite")


def write(loops):
    """Write ``out[i] = 2 * x[i] + size`` for a range of i."""
    begin, end, size = (loops.size(i) for i in range(3))
    added = loops.convert("sitofp i64", size, "float")
    with loops.loop(begin, end) as i:
        twice = loops.do("fmul float", loops.load("float", 1, i), "2.0")
        loops.store("float", loops.do("fadd float", twice, added), 0, i)


@pytest.fixture(name="routine")
def _routine(monkeypatch):
    monkeypatch.setattr(routines, "_routines", [])
    return Routine(2, write)


def test_routine_is_requested_once_it_pays(routine, monkeypatch):
    """It waits for the time that compiling takes, of its plain ways and of all of them."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    monkeypatch.setattr(Prices, "of_start", 1e9)
    assert routine.find(Prices.of_kernel / 2) is None
    assert routine.find(Prices.of_kernel / 2) is None
    HELPER.wait()
    assert routine.find(0.0) is None  # LLVM's import has not paid yet
    monkeypatch.setattr(Prices, "of_start", 0.0)
    assert routine.find(0.0) is None
    HELPER.wait()
    assert routine.find(0.0) is not None


def test_routine_is_looked_for_before_it_pays(routine, monkeypatch, tmp_path):
    """One that an earlier process left on disk is used soon."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    monkeypatch.setenv("TFNB_CACHE", str(tmp_path))
    monkeypatch.setattr(Prices, "of_start", 0.0)
    for is_kept in (False, True):
        own = helper.Helper()
        monkeypatch.setattr(helper, "HELPER", own)
        routine.forget()
        routine.find(Prices.of_look)
        own.wait()
        assert (routine.find(0.0) is not None) == is_kept
        routine.find(Prices.of_kernel)
        own.wait()
        assert routine.find(0.0) is not None
        own.end()


def test_nothing_is_requested_where_compiling_is_off(routine, monkeypatch):
    """With TFNB_COMPILED=0 the plain way stays."""
    monkeypatch.setenv("TFNB_COMPILED", "0")
    with compiling_at_once():
        assert routine.find(100.0) is None
        HELPER.wait()
        assert routine.find(100.0) is None


def test_rows_are_computed_in_pieces(routine, monkeypatch):
    """Few rows in one call, many in pieces, which let other threads run."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    x = np.arange(1000, dtype=np.float32)
    with compiling_at_once():
        routine.find(0.0)
        HELPER.wait()
        function = routine.find(0.0)
        for ns_per_row in (1.0, 1000.0):
            out = np.zeros(1001, np.float32)
            run_rows(function, [out, x], 1000, ns_per_row, 7)
            np.testing.assert_array_equal(out[:1000], 2 * x + 7)
            assert out[1000] == 0
    assert routine.find(0.0) is None


def test_refused_routine_asks_again_later(routine, monkeypatch):
    """Where compiling is permitted later, the routine is requested after a number of calls."""
    monkeypatch.setenv("TFNB_COMPILED", "0")
    monkeypatch.setattr(Prices, "of_start", 0.0)
    assert routine.find(Prices.of_kernel) is None
    monkeypatch.setenv("TFNB_COMPILED", "1")
    for _ in range(300):
        assert routine.find(0.0) is None
    assert routine.find(Prices.of_kernel) is None
    HELPER.wait()
    assert routine.find(0.0) is not None


def test_threads_that_count_the_last_refused_call_do_not_refuse_the_next(routine, monkeypatch):
    """Both find one call left, and subtract one."""
    monkeypatch.setenv("TFNB_COMPILED", "1")
    monkeypatch.setattr(Prices, "of_start", 0.0)
    routine._rest = -1
    assert routine.find(Prices.of_kernel) is None
    HELPER.wait()
    assert routine.find(0.0) is not None
