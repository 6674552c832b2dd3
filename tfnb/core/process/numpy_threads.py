"""The first import of NumPy, whose BLAS starts its threads then.

OpenBLAS starts a thread for each further processor, which looks for work in a busy loop for 2**28
cycles before it sleeps: a tenth of a second of processor time in each process, and on a busy
machine a third of the time to the first answer. Where tfnb imports NumPy first, the loop ends after
2**20 cycles, unless the user has set the variable. A session gives BLAS one thread anyway
(``common_runtime/session/process_state.py``).
"""

from __future__ import annotations

import os
import sys

from tfnb.core.process.collector_pause import imported

_VARIABLE = "OPENBLAS_THREAD_TIMEOUT"
_POWER_OF_TWO = "20"


def import_numpy() -> None:
    """Import NumPy, if it is not imported yet; the environment is as before."""
    if "numpy" in sys.modules or _VARIABLE in os.environ:
        imported("numpy")
        return
    os.environ[_VARIABLE] = _POWER_OF_TWO
    try:
        imported("numpy")
    finally:
        os.environ.pop(_VARIABLE, None)
