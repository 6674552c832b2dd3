"""The number of threads of the BLAS that NumPy uses, which NumPy itself offers no function for.

Symbols are found through the NumPy module that was linked with the library.
"""

from __future__ import annotations

import ctypes
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
