"""What NumPy does not pass on of the BLAS it was linked with: how many threads it may use.

Symbols are found through the NumPy module that was linked with the library.
"""

from __future__ import annotations

import ctypes
from typing import Any

from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

# How builds of BLAS are told; 64_ stands for 64-bit integers.
_SET_NUM_THREADS = (
    "scipy_openblas_set_num_threads64_",
    "scipy_openblas_set_num_threads",
    "openblas_set_num_threads64_",
    "openblas_set_num_threads",
    "MKL_Set_Num_Threads",
    "bli_thread_set_num_threads",
)


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
