"""Inputs of stored answers have the same bits on every processor.

The answer of a row is found by a hash of its inputs, which a rounding of LAPACK or of `exp` that
differs between processors would change.
"""

from __future__ import annotations

import ast
import math
import os
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import exact_numbers
from tests.library.layers import layer_scenarios
from tests.library.metrics import metric_scenarios
from tests.ops import old_op_rows, samples
from tests.ops.golden import upstream_gradient

_TESTS = Path(__file__).resolve().parents[1]
_MODULES = sorted(
    path
    for pattern in (
        "ops/**/samples*.py",
        "**/*_rows.py",
        "**/*_scenarios.py",
        "ops/golden.py",
        "**/gradient_programs.py",
        "cases/replay.py",
    )
    for path in _TESTS.glob(pattern)
    if not path.name.startswith("test_")
)
# NumPy's functions that make, move or compare numbers, or round each one exactly.
_WORDS = """
    abs all arange array asarray bool_ bytes_ complex128 complex64 concatenate diag dtype empty
    errstate eye float16 float32 float64 frombuffer full generic iinfo inf int16 int32 int64 int8
    isclose isnan linspace load mgrid moveaxis nan nan_to_num nanmax ndarray object_ ones prod stack
    transpose uint16 uint32 uint64 uint8 vectorize where zeros
"""
_EXACT = frozenset(_WORDS.split())


def _inexact(source: str) -> list[str]:
    """Return the uses of NumPy in a module that may round differently elsewhere, with lines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id in ("np", "numpy") and node.attr not in _EXACT:
                found.append(f"line {node.lineno}: np.{node.attr}")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            found.append(f"line {node.lineno}: @")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numpy":
            found.append(f"line {node.lineno}: from {node.module} import ...")
    return found


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: path.stem)
def test_inputs_are_literals_or_exact_arithmetic(path: Path) -> None:
    """Linear algebra, exp, sin and NumPy's generators are refused; use tests/exact_numbers.py."""
    assert not _inexact(path.read_text())


def test_what_rounds_differently_is_found() -> None:
    """The check finds all spellings."""
    lines = ["np.linalg.cholesky(a)", "a @ b", "np.random.RandomState(1)", "np.exp(np.array(a))"]
    assert len(_inexact("\n".join([*lines, "from numpy import linalg"]))) == 5


def inputs() -> list[Any]:
    """Return the keys of all rows, and checksums of other computed inputs."""
    keys = [[row.key() for row in samples.family(name)] for name in samples.families()]
    keys.append([row.key() for row in old_op_rows.ROWS])
    arrays = [upstream_gradient(np.ones(100, np.complex128), 3), layer_scenarios.numbers(500)]
    arrays += metric_scenarios.data(1).values()
    return [*keys, [zlib.crc32(array.tobytes()) for array in arrays]]


@pytest.mark.slow
def test_a_processor_without_vectors_makes_the_same_inputs() -> None:
    """NumPy, OpenBLAS and the C library are restricted to basic instructions."""
    from numpy._core import _multiarray_umath as numpy_core

    can = [name for name in numpy_core.__cpu_dispatch__ if numpy_core.__cpu_features__[name]]
    plain = {
        "OPENBLAS_CORETYPE": "Prescott",
        "NPY_DISABLE_CPU_FEATURES": " ".join(can),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-AVX,-FMA,-FMA4,-AVX512F",
    }
    ask = "from tests.library import test_exact_inputs; print(test_exact_inputs.inputs())"
    asked = subprocess.run(
        [sys.executable, "-c", ask],
        env={**os.environ, **plain},
        cwd=_TESTS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert asked.stdout == f"{inputs()}\n"


def test_exact_numbers_are_those_of_numpy() -> None:
    """They agree up to the last bits; generators give NumPy's numbers in order."""
    x = np.linspace(0.001, 2000, 4001)
    np.testing.assert_allclose(exact_numbers.log(x), np.log(x), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(exact_numbers.sin(x), np.sin(x), rtol=0, atol=1e-15)
    np.testing.assert_allclose(exact_numbers.cos(-x), np.cos(-x), rtol=0, atol=1e-15)
    assert exact_numbers.cos(0.0) == 1
    ours, theirs = exact_numbers.RandomNumbers(3), np.random.RandomState(3)
    for size in (5, (2, 3), 0, (), 1, 300):
        wanted = theirs.normal(1.0, 2.0, size)
        np.testing.assert_allclose(ours.normal(1.0, 2.0, size), wanted, rtol=1e-13)
        assert ours.randint(0, 9, 3).tolist() == theirs.randint(0, 9, 3).tolist()
        assert ours.uniform(2, 3, 4).tolist() == theirs.uniform(2, 3, 4).tolist()


def test_exact_matrices_are_those_of_linear_algebra() -> None:
    """Products, and a Cholesky factor whose product is the matrix, are compared."""
    a = exact_numbers.RandomNumbers(1).normal(size=(2, 4, 3))
    square = exact_numbers.matmul(a, a.swapaxes(-1, -2)) + np.eye(4)
    np.testing.assert_allclose(square, a @ a.swapaxes(-1, -2) + np.eye(4), rtol=1e-13, atol=1e-13)
    lower = exact_numbers.cholesky(square)
    np.testing.assert_allclose(lower, np.linalg.cholesky(square), rtol=1e-12, atol=1e-13)
    assert math.isclose(lower[0, 0, 0], square[0, 0, 0] ** 0.5)
