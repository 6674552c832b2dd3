"""Every row of the op samples is compared with TensorFlow's stored answers."""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.joined import check_each, in_batches
from tests.ops import samples
from tests.ops.golden import Golden
from tests.ops.kernel_runner import SampleRun
from tfnb.core import errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@cache
def _rows() -> dict[str, list[tuple[str, samples.Sample]]]:
    """The rows of each op, with their families."""
    found: dict[str, list[tuple[str, samples.Sample]]] = {}
    for name in samples.families():
        for row in samples.family(name):
            found.setdefault(row.op, []).append((name, row))
    return found


_ALL = in_batches("op", sorted(_rows()))

# Relative tolerance by dtype: a few units in the last place.
_RTOL = {"float64": 1e-13, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3,
         "complex64": 2e-6, "complex128": 1e-13}  # fmt: skip


@cache
def _golden(name: str) -> Golden:
    return Golden(samples.GOLDEN / f"ops_{name}.bin")


def answer_of(name: str, row: samples.Sample) -> dict[str, Any] | None:
    """Return TensorFlow's answer to this row, or None if it is not stored."""
    return _golden(name).get(row.key())


def _answer(name: str, row: samples.Sample) -> dict[str, Any]:
    answer = answer_of(name, row)
    assert answer is not None, (
        f"no stored answer for this row: run scripts/oracle/ops_samples.py {name} with TensorFlow"
    )
    return answer


@pytest.fixture(scope="module", autouse=True)
def _all_ops_registered() -> None:
    importlib.import_module("tfnb.ops.all_ops")


def check_rows(
    rows: Iterable[tuple[str, samples.Sample]], check: Callable[[str, samples.Sample], None]
) -> None:
    """Check all rows of an op, and fail with the messages of all failed rows, by key.

    A row is not a separate test: with fifteen thousand tests, pytest takes longer than the ops.
    """
    check_each(rows, lambda row: check(*row), lambda row: f"{row[1].key()} of samples_{row[0]}.py")


@_ALL
def test_values_equal_tensorflows(op: str) -> None:
    """Outputs, written variables, or the error of the kernel equal TensorFlow's."""
    check_rows(_rows()[op], _check_values)


def _check_values(name: str, row: samples.Sample) -> None:
    answer = _answer(name, row)
    if "build_error_unknown" in answer or "no_kernel" in answer:
        # TensorFlow refuses the node for its attrs, or has no CPU kernel.
        return
    if "error" in answer:
        _, message = answer["error"]
        with pytest.raises(errors.OpError, match=row.error) as caught:
            SampleRun(row).run()
        assert answer["error"][0] == type(caught.value).__name__, message
        return
    run = SampleRun(row)
    outputs = run.run()
    declared = [dtype.name for dtype in run.output_types]
    assert answer["dtypes"] == [
        t + "_ref" if answer["dtypes"][i].endswith("_ref") else t for i, t in enumerate(declared)
    ]
    if not row.values:
        assert [list(np.shape(o)) for o in outputs] == answer.get(
            "run_shapes", [list(np.shape(o)) for o in outputs]
        )
        return
    assert len(answer["values"]) == len(outputs)
    triples = zip(outputs, answer["values"], run.output_types, strict=True)
    for position, (found, wanted, dtype) in enumerate(triples):
        if position in row.undefined:
            # An output that TensorFlow does not set is a scalar.
            assert wanted.shape in (np.shape(found), ())
        elif wanted is not None:
            assert_same(found, wanted, row, dtype)
    for cell, wanted in zip(run.cells, answer["variables"], strict=True):
        assert_same(cell.value, wanted, row, cell.dtype)


@_ALL
def test_static_shapes_equal_tensorflows(op: str) -> None:
    """Shapes equal TensorFlow's for known values, known shapes and unknown shapes."""
    check_rows(_rows()[op], _check_shapes)


def _check_shapes(name: str, row: samples.Sample) -> None:
    answer = _answer(name, row)
    if not row.shapes:
        return
    if "build_error_unknown" in answer:
        with pytest.raises((ValueError, TypeError)):
            SampleRun(row).static_shapes("unknown")
        return
    run = SampleRun(row)
    for mode in ("unknown", "known", "const"):
        wanted = answer.get(f"build_error_{mode}")
        if wanted is not None:
            with pytest.raises(ValueError, match=row.error):
                run.static_shapes(mode)
        elif f"shapes_{mode}" in answer:
            assert answer[f"shapes_{mode}"] == run.static_shapes(mode), mode


def assert_same(found: Any, wanted: Any, row: samples.Sample, dtype: Any) -> None:
    """Checks one value: dtype and shape exactly, numbers within the row's tolerance."""
    assert isinstance(found, (np.ndarray, np.generic)), type(found)
    found = np.asarray(found)
    assert wanted.shape == found.shape, f"shape {found.shape}, not {wanted.shape}"
    if wanted.dtype == object:
        assert wanted.ravel().tolist() == found.ravel().tolist()
        return
    assert wanted.dtype == found.dtype, dtype
    if wanted.dtype.name not in _RTOL:
        if row.atol is not None:
            difference = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
            assert difference.max(initial=0) <= row.atol
            return
        np.testing.assert_array_equal(found, wanted)
        return
    if row.exact:
        found, wanted = np.atleast_1d(found, wanted)
        same = (found == wanted) | ((found != found) & (wanted != wanted))
        assert same.all(), f"{found!r} is not exactly {wanted!r}"
        signs = np.signbit(found.view(_real(found)).astype(np.float64)) == np.signbit(
            wanted.view(_real(wanted)).astype(np.float64)
        )
        assert (signs | np.isnan(wanted.view(_real(wanted)).astype(np.float64))).all(), (
            "a zero has the other sign"
        )
        return
    rtol = row.rtol if row.rtol is not None else _RTOL[wanted.dtype.name]
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    finite = np.abs(wanted.astype(wide))[np.isfinite(wanted.astype(wide))]
    scale = float(np.median(finite)) if finite.size else 0.0
    atol = row.atol if row.atol is not None else rtol * scale / 4
    pair = np.atleast_1d(found.astype(wide), wanted.astype(wide))
    if wide is np.complex128:
        # NumPy allows no difference in the finite part of an infinite complex number.
        endless = np.isinf(pair).all(axis=0) & ~np.isnan(pair).any(axis=0)
        parts = [value[endless].view(np.float64) for value in pair]
        np.testing.assert_allclose(*parts, rtol=rtol, atol=atol)
        pair = [np.where(endless, 0, value) for value in pair]
    np.testing.assert_allclose(*pair, rtol=rtol, atol=atol)


def _real(value: Any) -> Any:
    return {"complex64": np.float32, "complex128": np.float64}.get(value.dtype.name, value.dtype)
