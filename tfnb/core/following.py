"""What follows a kernel in the same pass, over the last dimension of its result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array


class Following:
    """The steps behind a kernel, which ``OpDefinition.biased`` functions do while they make it.

    Attributes:
      bias: a vector that is added, or None.
      norm: what is subtracted then, a factor, and what is added to the product, or None.
      limits: the smallest and the largest result, and the factor of what is smaller, which is
        multiplied instead unless the factor is 0.  NaN stays NaN.
      is_plain: whether there are no compiled routines: NumPy computes the steps.
      kept: what functions made of these numbers and of the node's filter, if all of them are
        constants; else None.
    """

    __slots__ = ("bias", "is_plain", "kept", "limits", "norm")

    def __init__(
        self,
        bias: Array | None,
        norm: tuple[Array, Array, Array] | None,
        limits: tuple[float, float, float],
        *,
        is_plain: bool = False,
        is_constant: bool = False,
    ) -> None:
        """Initialize the steps; for the arguments see the attributes.

        Args:
          bias: see the class.
          norm: see the class.
          limits: see the class.
          is_plain: see the class.
          is_constant: whether all numbers, and the filter of the node, are constants.
        """
        self.bias, self.norm, self.limits = bias, norm, limits
        self.is_plain = is_plain
        self.kept: dict[str, Any] | None = {} if is_constant else None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing follows."""
        no_limits = self.limits[:2] == (-math.inf, math.inf)
        return self.bias is None and self.norm is None and no_limits
