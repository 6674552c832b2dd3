"""Softmax, its logarithm and cross entropies of rows by compiled routines.

A row's exponentials are rounded as ``llvm_functions.py`` says; its sum has several parts, whose
number depends on the processor alone.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.compiled.llvm_functions import literal
from tfnb.core.compiled.processor import num_lanes
from tfnb.core.compiled.routines import Routine, run_rows

if TYPE_CHECKING:
    from tfnb.core.compiled.loops import Loops
    from tfnb.core.kernel_types import Array


_LANES = num_lanes()


def _write_largest(loops: Loops, start: str, width: str) -> str:
    """Write the largest number of a row, in vectors, then one by one; NaN is passed over.

    The row's sum is NaN then, and with it the whole result.
    """
    lowest = literal(float("-inf"), "float")
    kind = f"<{_LANES} x float>"
    vector = loops.variable(kind, loops.splat("float", lowest, _LANES))
    parts = loops.do("sdiv i64", width, str(_LANES))
    with loops.loop("0", parts) as part:
        at = loops.do("add i64", start, loops.do("mul i64", part, str(_LANES)))
        found = loops.vector_load(loops.place("float", "%a1", at), _LANES)
        now = vector.get()
        is_more = loops.do(f"fcmp ogt {kind}", found, now)
        mask = f"<{_LANES} x i1> {is_more}"
        vector.set(loops.do("select", mask, f"{kind} {found}", f"{kind} {now}"))
    largest = loops.variable("float", loops.largest_of(vector.get(), _LANES))
    with loops.loop(loops.do("mul i64", parts, str(_LANES)), width) as i:
        value = loops.load("float", 1, loops.do("add nuw nsw i64", start, i))
        now = largest.get()
        is_more = loops.do("fcmp ogt float", value, now)
        largest.set(loops.choose("float", is_more, value, now))
    return largest.get()


def _write_exponentials(loops: Loops, start: str, width: str, most: str, *, is_log: bool) -> str:
    """Write ``exp(x - most)`` of a row, or the difference alone; return the sum of the former."""
    total = loops.variable("float", "0.0")
    with loops.loop("0", width) as i:
        at = loops.do("add nuw nsw i64", start, i)
        less = loops.do("fsub float", loops.load("float", 1, at), most)
        grown = loops.call("exp", "float", less)
        loops.store("float", less if is_log else grown, 0, at)
        total.set(loops.do("fadd reassoc float", total.get(), grown))
    return total.get()


def _write(loops: Loops, *, is_log: bool, keeps: bool = False) -> None:
    """Write the routine; its arrays are result and logits, its sizes rows and width.

    If it keeps them, a further array gets two numbers of each row: its largest number, and the
    logarithm of the sum of exponentials.
    """
    begin, end, width = (loops.size(i) for i in range(3))
    with loops.loop(begin, end) as row:
        start = loops.do("mul i64", row, width)
        most = _write_largest(loops, start, width)
        total = _write_exponentials(loops, start, width, most, is_log=is_log)
        if is_log:
            number = loops.call("log", "float", total)
        else:
            number = loops.do("fdiv float", "1.0", total)
        if keeps:
            twice = loops.do("mul i64", row, "2")
            loops.store("float", most, 2, twice)
            log = loops.call("log", "float", total)
            loops.store("float", log, 2, loops.do("add i64", twice, "1"))
        operation = "fsub float" if is_log else "fmul float"
        with loops.loop("0", width) as i:
            at = loops.do("add nuw nsw i64", start, i)
            loops.store("float", loops.do(operation, loops.load("float", 0, at), number), 0, at)


def _write_cross_entropy(loops: Loops) -> None:
    """Write the routine for dense labels.

    Its arrays are gradient, logits, labels and loss, its sizes rows and width.
    """
    begin, end, width = (loops.size(i) for i in range(3))
    with loops.loop(begin, end) as row:
        start = loops.do("mul i64", row, width)
        most = _write_largest(loops, start, width)
        total = _write_exponentials(loops, start, width, most, is_log=False)
        log = loops.call("log", "float", total)
        number = loops.do("fdiv float", "1.0", total)
        loss = loops.variable("float", "0.0")
        with loops.loop("0", width) as i:
            at = loops.do("add nuw nsw i64", start, i)
            label = loops.load("float", 2, at)
            less = loops.do("fsub float", loops.load("float", 1, at), most)
            term = loops.do("fmul float", label, loops.do("fsub float", log, less))
            loss.set(loops.do("fadd reassoc float", loss.get(), term))
            share = loops.do("fmul float", loops.load("float", 0, at), number)
            loops.store("float", loops.do("fsub float", share, label), 0, at)
        loops.store("float", loss.get(), 3, row)


_SOFTMAX = Routine(2, partial(_write, is_log=False))
_LOG_SOFTMAX = Routine(2, partial(_write, is_log=True))
_SOFTMAX_AND_SUMS = Routine(3, partial(_write, is_log=False, keeps=True))
_CROSS_ENTROPY = Routine(4, _write_cross_entropy)
# Estimates of the plain way, and of an element here.
_SECONDS_OF_CALL, _SECONDS_OF_ELEMENT = 8e-6, 2e-9
_NS_OF_ELEMENT = 1.0


def _rows(routine: Routine, x: Array, *others: Array) -> Array | None:
    """Return the first result of a routine; its other arrays follow `x`."""
    if x.dtype != np.float32 or not x.size or not x.flags.c_contiguous:
        return None
    function = routine.find(_SECONDS_OF_CALL + x.size * _SECONDS_OF_ELEMENT)
    if function is None:
        return None
    width = x.shape[-1]
    out = np.empty(x.shape, np.float32)
    run_rows(function, [out, x, *others], x.size // width, width * _NS_OF_ELEMENT, width)
    return out


def softmax(x: Array) -> Array | None:
    """Return exp(x) / sum(exp(x)); None where the routine does not fit, or is not ready."""
    return _rows(_SOFTMAX, x)


def log_softmax(x: Array) -> Array | None:
    """Return x - log(sum(exp(x))); None as `softmax`."""
    return _rows(_LOG_SOFTMAX, x)


def sparse_cross_entropy(features: Array, labels: Array) -> tuple[Array, Array] | None:
    """Return loss and gradient of logits with one label for each row; None as `softmax`."""
    rows = len(features)
    sums = np.empty((rows, 2), np.float32)
    backprop = _rows(_SOFTMAX_AND_SUMS, features, sums)
    if backprop is None:
        return None
    here = np.arange(rows), labels
    loss = sums[:, 1] - (features[here] - sums[:, 0])
    backprop[here] -= 1
    return loss, backprop


def cross_entropy(features: Array, labels: Array) -> tuple[Array, Array] | None:
    """Return loss and gradient of logits with a label for each number; None as `softmax`."""
    if labels.dtype != np.float32 or not labels.flags.c_contiguous:
        return None
    loss = np.empty(len(features), np.float32)
    backprop = _rows(_CROSS_ENTROPY, features, labels, loss)
    return None if backprop is None else (loss, backprop)
