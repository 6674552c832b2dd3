"""Threads and kernels of the BLAS that NumPy uses, which NumPy itself offers no functions for.

Symbols are found through the NumPy module that was linked with the library.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

# Functions of the builds of BLAS that set the number; 64_ stands for 64-bit integers.
_SET_NUM_THREADS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
)


def set_num_threads(number: int) -> bool:
    """Set the number of threads of NumPy's BLAS.

    Returns:
        False if this BLAS has no known function for it.
    """
    library: Any = ctypes.PyDLL(_multiarray_umath.__file__)
    for name in _SET_NUM_THREADS:
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = [ctypes.c_int], None
            function(number)
            return True
    return False


# Functions that return the name of the processor for which OpenBLAS chose its kernels.
_GET_CORE_NAME = (
    "scipy_openblas_get_corename64_",
    "scipy_openblas_get_corename",
    "openblas_get_corename64_",
    "openblas_get_corename",
)
# Processors for which OpenBLAS has kernels of products of small matrices.
_WITH_SMALL_KERNELS = frozenset([b"SkylakeX", b"Cooperlake", b"SapphireRapids"])


@cache
def has_small_kernels() -> bool:
    """Return whether NumPy's BLAS multiplies small matrices without rearranging them first."""
    library: Any = ctypes.PyDLL(_multiarray_umath.__file__)
    for name in _GET_CORE_NAME:
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = [], ctypes.c_char_p
            return function() in _WITH_SMALL_KERNELS
    return False
