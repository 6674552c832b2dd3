"""Products of matrices where NumPy has no BLAS of its own, as in a browser.

NumPy's loops take four times as long there as the BLAS of SciPy, if SciPy is installed. Elsewhere
:data:`matmul` is NumPy's function.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp

# Minimum number of multiplications for which a call of SciPy pays.
_LEAST_PRODUCTS: Final = 1 << 13


@cache
def _gemm(char: str) -> Callable[..., Any] | None:
    """Return SciPy's product for a type of elements, or None without SciPy."""
    try:
        blas: Any = import_module("scipy.linalg.blas")
    except ImportError:
        return None
    found: Callable[..., Any] = getattr(
        blas, {"f": "s", "d": "d", "F": "c", "D": "z"}[char] + "gemm"
    )
    return found


def scipy_matmul(a: Array, b: Array, out: Array | None = None) -> Array:
    """Compute ``a @ b`` by SciPy's BLAS where that pays, else by NumPy."""
    char = a.dtype.char
    is_stack = a.ndim > 2 and a.shape[:-2] == b.shape[:-2]
    if (
        char in "fdFD"
        and a.dtype == b.dtype
        and (is_stack or a.ndim == b.ndim == 2)
        and a.shape[-2] * a.shape[-1] * b.shape[-1] >= _LEAST_PRODUCTS
        and a.shape[-1] == b.shape[-2]
        and (gemm := _gemm(char)) is not None
    ):
        if out is None:
            if not is_stack:
                return _product(gemm, a, b)
            out = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
        for place in np.ndindex(a.shape[:-2]):
            out[place] = _product(gemm, a[place], b[place])
        return out
    return np.matmul(a, b, out=out)


def _product(gemm: Callable[..., Any], a: Array, b: Array) -> Array:
    """Compute ``(b.T @ a.T).T``, whose operands are in Fortran's order in most cases."""
    first, turns_first = (b, True) if _is_fortran(b) else (b.T, False)
    second, turns_second = (a, True) if _is_fortran(a) else (a.T, False)
    return gemm(1.0, first, second, trans_a=turns_first, trans_b=turns_second).T


def _is_fortran(x: Array) -> bool:
    return bool(x.flags.f_contiguous and not x.flags.c_contiguous)


HAS_BLAS: Final = sys.platform not in ("emscripten", "wasi")
"""Whether NumPy is built with a BLAS."""

matmul: Callable[..., Any] = np.matmul if HAS_BLAS else scipy_matmul
"""``np.matmul``, or what replaces it; takes the operands, and ``out``."""


def matmul_of(xp: Xp) -> Callable[..., Any]:
    """Return the product of an array module: :data:`matmul` for NumPy."""
    return matmul if xp is np else xp.matmul
