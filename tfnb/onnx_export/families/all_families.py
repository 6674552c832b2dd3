"""Imports every family, which registers its converters."""

from __future__ import annotations

from tfnb.onnx_export.families import (
    arrays,
    drawn,
    elementwise,
    images,
    matrices,
    neural,
    reductions,
    sequences,
    slices,
    windows,
)

FAMILIES = (
    elementwise,
    reductions,
    arrays,
    slices,
    windows,
    neural,
    matrices,
    images,
    sequences,
    drawn,
)
"""The families, in the order of the table in ``docs/onnx.md``."""
