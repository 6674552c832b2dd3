"""A stand-in for ml_dtypes where no build of it is at hand: names and sizes, no arithmetic.

Pyodide's own distribution has ml_dtypes; the one that the tests of the browser use does not.
"""

from typing import Any

import numpy as np


def _scalar(name: str, size: int) -> Any:
    """Return a scalar type whose arrays hold bits."""
    # A field makes types of the same size differ.
    return type(name, (np.void,), {"dtype": np.dtype([(name, f"u{size}")])})


bfloat16 = _scalar("bfloat16", 2)
float8_e5m2 = _scalar("float8_e5m2", 1)
float8_e4m3fn = _scalar("float8_e4m3fn", 1)
float8_e4m3fnuz = _scalar("float8_e4m3fnuz", 1)
float8_e4m3b11fnuz = _scalar("float8_e4m3b11fnuz", 1)
float8_e5m2fnuz = _scalar("float8_e5m2fnuz", 1)
float4_e2m1fn = _scalar("float4_e2m1fn", 1)
int4 = _scalar("int4", 1)
uint4 = _scalar("uint4", 1)
int2 = _scalar("int2", 1)
uint2 = _scalar("uint2", 1)

finfo = np.finfo
iinfo = np.iinfo
