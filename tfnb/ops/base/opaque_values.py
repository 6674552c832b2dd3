"""Resources and variants as values: a single one is a bare object, several form an object array."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array


def is_opaque(value: Array) -> bool:
    """Return whether a value is a bare resource handle or variant, not an array."""
    return not hasattr(value, "ndim")


def array_of(values: Array) -> Array:
    """Return a vector of bare objects or of strings."""
    out = np.empty(len(values), object)
    for index, value in enumerate(values):
        out[index] = value if is_opaque(value) else value[()]
    return out


def as_scalar(value: Array) -> Array:
    """Return an object array of rank 0 in the runtime's form.

    Strings remain in an array; all other objects become bare.
    """
    if value.ndim == 0 and value.dtype == object:
        item = value[()]
        if not isinstance(item, bytes):
            return item
    return value
