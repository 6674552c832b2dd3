"""What NumPy does not pass on of the BLAS it was linked with: threads, and y = a x + b y.

Symbols are found through the NumPy module that was linked with the library; where they are not (a
BLAS with other names), the functions here say so, and callers do without.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

# How builds of BLAS tell their threads, and name their functions; 64_ stands for 64-bit integers.
_SET_NUM_THREADS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
)
_FUNCTIONS = ("scipy_cblas_{}64_", "scipy_cblas_{}", "cblas_{}64_", "cblas_{}")
_REAL = {"f": ("saxpby", ctypes.c_float), "d": ("daxpby", ctypes.c_double)}


def set_num_threads(number: int) -> bool:
    """Tells NumPy's BLAS how many threads it may use; False if it is one that cannot be told."""
    library: Any = ctypes.PyDLL(_multiarray_umath.__file__)
    for name in _SET_NUM_THREADS:
        function = getattr(library, name, None)
        if function is not None:
            function.argtypes, function.restype = [ctypes.c_int], None
            function(number)
            return True
    return False


@cache
def _axpby(dtype: str) -> Any:
    """The function for float32 or float64, None if there is none."""
    library: Any = ctypes.CDLL(_multiarray_umath.__file__)
    name, real = _REAL[dtype]
    for form in _FUNCTIONS:
        function = getattr(library, form.format(name), None)
        if function is not None:
            integer = ctypes.c_int64 if form.endswith("64_") else ctypes.c_int
            pointer = ctypes.c_void_p
            function.argtypes = [integer, real, pointer, integer, real, pointer, integer]
            function.restype = None
            return function
    return None


def add_scaled(alpha: Any, x: Any, beta: Any, y: Any) -> None:
    """Y = alpha x + beta y, written over `y`, in one pass where BLAS does it.

    Args:
      alpha: a number of the dtype of the arrays.
      x: an array of the shape and dtype of `y` that shares no memory with it.
      beta: a number of that dtype.
      y: an array of at least one dimension that may be written to.
    """
    if (
        y.dtype.char in _REAL
        and x.dtype == y.dtype
        and x.shape == y.shape
        and x.flags.c_contiguous
        and y.flags.c_contiguous
        # BLAS leaves out what it multiplies by 0, and NaN with it.
        and alpha != 0
        and beta != 0
    ):
        function = _axpby(y.dtype.char)
        if function is not None:
            function(y.size, alpha, x.ctypes.data, 1, beta, y.ctypes.data, 1)
            return
    if beta != 1:
        np.multiply(y, beta, out=y)
    np.add(y, x * alpha, out=y)
