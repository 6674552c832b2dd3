"""Imports every family, which registers its converters."""

from __future__ import annotations

from tfnb.onnx_export.families import (
    arrays,
    cells,
    counts,
    drawn,
    elementwise,
    gradients,
    images,
    matrices,
    neural,
    reductions,
    sequences,
    slices,
    sparse,
    special,
    spectra,
    windows,
)

FAMILIES = (
    elementwise,
    special,
    reductions,
    arrays,
    slices,
    counts,
    windows,
    neural,
    cells,
    gradients,
    matrices,
    images,
    sparse,
    spectra,
    sequences,
    drawn,
)
"""The families, in the order of the table in ``docs/onnx.md``."""
