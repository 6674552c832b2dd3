"""What a processor can compute at once; routines with explicit vectors are written for it."""

from __future__ import annotations

import numpy as np


def num_lanes() -> int:
    """Return the number of 32-bit floats of a register: 16 with AVX-512, else 8."""
    core = getattr(np, "_core", None)
    features = getattr(getattr(core, "_multiarray_umath", None), "__cpu_features__", {})
    return 16 if features.get("AVX512F") else 8
