"""Op samples, each a graph of one op: onnxruntime gives the session's values."""

from __future__ import annotations

import pytest

from tests.joined import check_each, in_batches
from tests.onnx_export import samples
from tfnb.onnx_export.families import cells, counts, gradients, matrices, sparse, special
from tfnb.onnx_export.families.all_families import FAMILIES
from tfnb.onnx_export.writing.converters import CONVERTERS

pytest.importorskip("onnxruntime")

_NARROW = (cells, counts, gradients, matrices, sparse, special)
# Rows of these ops are refused for their attributes, or draw random numbers.
_DRAWN = frozenset(["Multinomial", "RandomShuffle", "RandomUniform", "RandomStandardNormal"])
_DRAWN |= {"TruncatedNormal", "RandomUniformInt"}
# Rows that differ for a reason that docs/onnx.md gives.
_KNOWN = frozenset(["SparseAdd", "LRNGrad", "ResizeBicubic"])


def _ops(*modules: object) -> list[str]:
    names = {getattr(module, "__name__", "") for module in modules}
    found = {op for op, one in CONVERTERS.items() if one.__module__ in names}
    return sorted(found - _DRAWN)


def _check(op: str, number: int) -> None:
    rows = samples.rows_of([op]).get(op, [])
    outcomes = [samples.outcome(row) for row in samples.chosen(rows, number)]
    bad = [one for one in outcomes if one[0] in (samples.CRASHES, samples.DIFFERS)]
    assert op in _KNOWN or not bad, bad[0]


@in_batches("op", _ops(*_NARROW))
def test_a_row_of_each_op_agrees(op: str) -> None:
    """One row of each op of the families that have few tests of their own."""
    check_each([op], lambda one: _check(one, 1))


@pytest.mark.repeats
@in_batches("op", _ops(*FAMILIES))
def test_rows_of_all_ops_agree(op: str) -> None:
    """Five rows of each op; what is refused is no failure."""
    check_each([op], lambda one: _check(one, 5))
