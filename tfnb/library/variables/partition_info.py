"""The information that an initializer gets about a part of a partitioned variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class PartitionInfo:
    """The part of a whole variable that an initializer makes."""

    def __init__(self, full_shape: Sequence[int], var_offset: Sequence[int]) -> None:
        self.full_shape = list(full_shape)
        self.var_offset = list(var_offset)

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the offset along the partitioned dimension."""
        return self.var_offset[self.single_slice_dim(shape) or 0]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the partitioned dimension, or None."""
        cut = [i for i, (a, b) in enumerate(zip(shape, self.full_shape)) if a != b]
        if len(cut) > 1:
            raise ValueError(f"Several dimensions are partitioned: {shape} of {self.full_shape}")
        return cut[0] if cut else None
