"""Routines: compiled kernels of ops with a fixed source, used once they are worth their cost.

An op asks its routine at each call, and says what the plain way costs::

    compiled = _ADAM.find(seconds)
    if compiled is not None:
        run_rows(compiled, [var, m, v, grad, numbers], size, work)

A routine is compiled once its plain ways have taken a share of the time of its compilation, which
runs beside the steps (``Prices``).  Earlier it is looked for among the kernels that other processes
left on disk.  It may become ready within a step.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.process import forking
from tfnb.core.process.shelter import ensure_imported
from tfnb.core.process.work_sharder import num_threads, shard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tfnb.core.compiled.helper import CompiledKernel
    from tfnb.core.compiled.loops import Loops

_PARTS = ("",)


# LLVM's import takes about 0.07 s, a kernel 0.04 s, one from disk 0.3 ms.  On a second processor
# they cost the steps little, and are worth it early.
_HAS_ONE_PROCESSOR = (
    len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
) == 1


class Prices:
    """What compiling has to be worth, in seconds.

    Attributes:
      of_start: the plain ways of all kernels, before the first one is requested.
      of_kernel: the plain ways of one kernel, before it is compiled.
      of_look: the plain ways of one kernel, before it is looked for on disk.
      paid: the estimated time that the plain ways of all kernels have taken so far.
      first_step: the first step of a function in which the shapes of clusters are recorded and
        sources written, which costs as much as a few small steps.
      first_seconds: the processor time of steps after which that happens earlier.
    """

    first_step = 32
    first_seconds = 0.02
    of_start = 0.1 if _HAS_ONE_PROCESSOR else 0.02
    of_kernel = 0.04 if _HAS_ONE_PROCESSOR else 0.002
    of_look = 0.0005
    paid = 0.0


@contextmanager
def compiling_at_once() -> Iterator[None]:
    """Request kernels at their first use, however cheap the plain way is.

    Routines that became ready are forgotten at the end.
    """
    before = Prices.of_start, Prices.of_kernel, Prices.of_look, Prices.first_step
    Prices.of_start = Prices.of_kernel = Prices.of_look = 0.0
    Prices.first_step = 2
    _forget_all()
    try:
        yield
    finally:
        Prices.of_start, Prices.of_kernel, Prices.of_look, Prices.first_step = before
        _forget_all()


def _forget_all() -> None:
    global _turn
    _turn += 1
    for one in _routines:
        one.forget()


# The number of times that all routines were forgotten.
_turn = 0


def turn() -> int:
    """Return a number for :func:`are_in_use`, to be kept beside functions that were found."""
    return _turn


def are_in_use(found: int) -> bool:
    """Return whether the functions that were found at a turn may be called now."""
    return found == _turn and not _is_off


@contextmanager
def without_routines() -> Iterator[None]:
    """Compute the plain way in all threads until the end of the block."""
    global _is_off
    before, _is_off = _is_off, True
    try:
        yield
    finally:
        _is_off = before


_is_off = False
# Calls for which a routine does not ask again whether anything may be compiled.
_CALLS_AFTER_REFUSAL = 256
_routines: list[Routine] = []
_lock = threading.Lock()
forking.guard(sys.modules[__name__], "_lock")


class Routine:
    """A kernel with a fixed source.

    Args:
      arrays: the number of arrays that it gets before the array of sizes.
      write: writes its source.
    """

    __slots__ = ("_arrays", "_function", "_kernel", "_rest", "_seconds", "_write")

    def __init__(self, arrays: int, write: Callable[[Loops], None]) -> None:
        self._arrays = arrays
        self._write = write
        self._kernel: CompiledKernel | None = None
        self._seconds = 0.0  # guarded by _lock
        self._rest = 0  # calls that still follow a refusal
        self._function: Callable[..., None] | None = None
        _routines.append(self)

    def find(self, seconds: float) -> Callable[..., None] | None:
        """Return the compiled function; None if the caller has to compute the plain way.

        Args:
          seconds: the time of the plain way, estimated.
        """
        if self._rest > 0:  # two threads may count the last call, which makes it -1
            self._rest -= 1
            return None
        function = self._function
        if _is_off:
            return None
        return function if function is not None else self._look(seconds)

    def forget(self) -> None:
        """Begin anew."""
        self._function = self._kernel = None
        self._seconds, self._rest = 0.0, 0

    def _look(self, seconds: float) -> Callable[..., None] | None:
        kernel = self._kernel
        if kernel is None or not (kernel.addresses or kernel.pays):
            self._pay(seconds)
            return None
        if not kernel.addresses:
            return None
        self._function = _as_function(kernel.addresses[0])
        return self._function

    def _pay(self, seconds: float) -> None:
        with _lock:
            self._seconds += seconds
            Prices.paid += seconds
            if Prices.paid < Prices.of_start or self._seconds < Prices.of_look:
                return
            pays, kernel = self._seconds >= Prices.of_kernel, self._kernel
            if kernel is None or (pays and not kernel.pays):
                self._kernel = _request(self._arrays, self._write, pays)
                if self._kernel is None:
                    # Nothing may be compiled; the next look comes later.
                    self._seconds, self._rest = 0.0, _CALLS_AFTER_REFUSAL


# The other modules are imported by the first routine that pays: most processes compile none.


def _request(arrays: int, write: Callable[[Loops], None], pays: bool) -> CompiledKernel | None:
    """Request a routine; return None where nothing may be compiled."""
    from tfnb.core.compiled.helper import HELPER, is_available

    if not is_available():
        return None
    from tfnb.core.compiled.loops import Loops

    loops = Loops(arrays)
    write(loops)
    return HELPER.request(loops.text(), _PARTS, pays=pays)


def _as_function(address: int) -> Callable[..., None]:
    """Return a compiled routine as a function; it reads what is known in this process only."""
    ensure_imported("tfnb.core.compiled.team")
    from tfnb.core.compiled import array_calls, team

    words = [array_calls.address_of("Py_IncRef"), id(None)]
    words += [array_calls.address_of(f"PyEval_{name}Thread") for name in ("Save", "Restore")]
    words.append(team.address())
    return array_calls.as_function(address, np.array(words, np.int64))


# Estimated nanoseconds of work from which on threads share it.
_LARGE = 100_000


# The same for the team, and of the work of a piece.  A thread has up to this number of pieces.
_LEAST_SHARED, _LEAST_PIECE, _MOST_PIECES = 25_000, 10_000, 4


def shared_unit(rows: int, ns: float) -> int:
    """Return how many rows a piece has if the team shares a call; 0 if it does not.

    Args:
      rows: the number of rows.
      ns: the estimated time of all of them.
    """
    threads = num_threads()
    if threads == 1:
        return 0
    from tfnb.core.compiled import team

    # More members than the present number of threads would take part in more pieces.
    most = threads if team.num_members() >= threads else threads * _MOST_PIECES
    pieces = min(rows, int(ns / _LEAST_PIECE), most)
    if pieces < 2 or not team.is_ready(min(threads, pieces) - 1):
        return 0
    return -(-rows // pieces)


def run_rows(
    function: Callable[..., None],
    arrays: Sequence[np.ndarray[Any, Any]],
    rows: int,
    ns_per_row: float,
    *sizes: int,
) -> None:
    """Call a routine for a number of rows, on several threads if they take long.

    The routine's sizes are the first row, the end of the rows, and the given ones.
    """
    run_sizes(function, arrays, rows, ns_per_row, np.array([0, 0, rows, *sizes], np.int64))


def run_sizes(
    function: Callable[..., None],
    arrays: Sequence[np.ndarray[Any, Any]],
    rows: int,
    ns_per_row: float,
    sizes: np.ndarray[Any, Any],
) -> None:
    """Call a routine as :func:`run_rows` does.

    Args:
      function: the compiled routine.
      arrays: its arrays before the sizes.
      rows: the number of rows.
      ns_per_row: the estimated time of a row.
      sizes: [0, 0, number of rows, further sizes...], which may be used again.
    """
    ns = rows * ns_per_row
    if ns >= _LEAST_SHARED and (unit := shared_unit(rows, ns)):
        given = sizes.copy()
        given[0] = unit + 1
        function(*arrays, given)
        return
    if ns < 2 * _LARGE:
        function(*arrays, sizes)
        return

    def work(first: int, last: int) -> None:
        part = sizes.copy()
        part[:3] = 1, first, last
        function(*arrays, part)

    shard(rows, int(_LARGE / ns_per_row) + 1, work)
