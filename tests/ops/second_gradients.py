"""Compares gradients of gradients with TensorFlow's, or stores TensorFlow's.

    python -m tests.ops.second_gradients PYTHON [OP ...] [--most N] [--store]

PYTHON is the interpreter of an environment with TensorFlow. The calls are those whose gradients
are compared with differences (test_numeric_gradients.py), at most N of each op and type. With
``--store`` TensorFlow's answers become tests/golden/second_gradients.bin, which
test_second_gradients.py checks.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.ops import samples
from tests.ops.golden import Golden, GoldenWriter
from tests.ops.oracle import Oracle, described
from tests.ops.test_numeric_gradients import Slope, calls_with_gradients
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

PATH = samples.GOLDEN / "second_gradients.bin"
# Products of several gradients differ by rounding, relative to the largest ones.
_LOOSE = {8: 1e-10, 4: 1e-4}
# Terms with 1 / x**2 cancel each other where x is small.
_NEAR_ZERO = frozenset(["BesselI1", "BesselI1e", "BesselJ1", "BesselK1", "BesselY1"])
_TWO_BYTES = frozenset(["half", "float16", "bfloat16"])
_SCRIPT = Path(__file__).resolve().parents[2] / "scripts/oracle/second_gradients.py"


def here(row: samples.Sample) -> list[Any]:
    """Return tfnb's second gradients, or the class of the error."""
    try:
        return Slope(row, order=2).values()
    except (LookupError, TypeError, ValueError, NotImplementedError, errors.OpError) as error:
        return ["nothing" if "nothing is passed" in str(error) else type(error).__name__]


def difference(row: samples.Sample, wanted: list[Any]) -> str:
    """Return the difference from TensorFlow's in one line, or ""."""
    with np.errstate(all="ignore"):
        found = here(row)
    if any(isinstance(one, str) for one in [*found, *wanted]):
        # A TypeError is a defect of TensorFlow: the gradient takes fewer gradients than there are.
        same = found == wanted or (wanted == ["TypeError"] and found == ["LookupError"])
        return "" if same else f"{found} here, {wanted} there"
    if [w is None for w in wanted] != [f is None for f in found]:
        return f"None: {[f is None for f in found]} here, {[w is None for w in wanted]} there"
    sizes = [array.dtype for array in [*_arrays(row), *found] if array is not None]
    narrowest = min(d.itemsize // (1 + (d.kind == "c")) for d in sizes if d.kind in "fc")
    loose = _LOOSE[narrowest] * (10_000 if row.op in _NEAR_ZERO else 1)
    for position, (value, want) in enumerate(zip(found, wanted, strict=True)):
        if want is not None:
            if value.dtype != want.dtype or value.shape != want.shape:
                return f"{position}: {value.dtype}{value.shape}, not {want.dtype}{want.shape}"
            numbers = np.abs(want[np.isfinite(want)])
            near = max(float(numbers.max(initial=0)), 1e-3) * loose / 10
            try:
                np.testing.assert_allclose(value, want, rtol=loose, atol=near)
            except AssertionError as error:
                return f"{position}: {' '.join(str(error).split())}"
    return ""


def chosen(most: int) -> Iterator[tuple[str, samples.Sample]]:
    """Return calls by key: small ones with finite numbers first, of as many types as possible."""
    for op, rows in calls_with_gradients().items():
        seen: Counter[str] = Counter()
        for row in sorted(rows, key=lambda r: _size(r) > 40):
            kind = _kind(row)
            if not {kind, row.types, *map(str, row.attrs.values())}.isdisjoint(_TWO_BYTES):
                continue  # rounding hides everything
            seen[kind] += 1
            if seen[kind] <= most and _size(row) <= 400:
                yield f"{op}-{row.key()}", row


def _arrays(row: samples.Sample) -> list[Any]:
    return [np.asarray(a) for e in row.inputs for a in (e if isinstance(e, list) else [e])]


def _size(row: samples.Sample) -> int:
    return sum(array.size for array in _arrays(row))


def _kind(row: samples.Sample) -> str:
    return next((a.dtype.name for a in _arrays(row) if a.dtype.kind not in "iubO"), "")


@cache
def stored() -> dict[str, list[tuple[samples.Sample, list[Any]]]]:
    """The stored answers with their calls, by op."""
    golden = Golden(PATH)
    found: dict[str, list[tuple[samples.Sample, list[Any]]]] = {}
    for op, rows in calls_with_gradients().items():
        for row in rows:
            answer = golden.get(f"{op}-{row.key()}")
            if answer is not None:
                found.setdefault(op, []).append((row, answer["second"]))
    return found


def main(arguments: list[str]) -> int:
    """Compare; the exit status says whether all agree."""
    parser = argparse.ArgumentParser(prog="python -m tests.ops.second_gradients")
    parser.add_argument("python", help="an interpreter with TensorFlow")
    parser.add_argument("ops", nargs="*")
    parser.add_argument("--most", type=int, default=2, help="calls of each op and type")
    parser.add_argument("--store", action="store_true")
    options = parser.parse_args(arguments)
    oracle, writer, sums = Oracle(options.python, _SCRIPT), GoldenWriter(PATH), Counter[str]()
    if options.store and options.ops:
        # Answers of other ops stay.
        before = Golden(PATH)
        for key in before.index:
            answer = before.get(key)
            if answer is not None and key.split("-")[0] not in options.ops:
                writer.add(key, answer)
    for key, row in chosen(options.most):
        if options.ops and row.op not in options.ops:
            continue
        wanted = oracle.answer(row)
        if wanted is None:
            print(f"TensorFlow crashes: {described(row)[:300]}", flush=True)
            continue
        line = difference(row, wanted)
        sums["disagree" if line else "agree"] += 1
        sums["without"] += any(isinstance(one, str) for one in wanted)
        if line:
            print(f"{described(row)[:260]}\n    {line[:420]}", flush=True)
        else:
            writer.add(key, {"second": wanted})
    oracle.close()
    if options.store:
        writer.close()
        print(PATH, PATH.stat().st_size)
    print(dict(sums))
    return int(bool(sums["disagree"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
