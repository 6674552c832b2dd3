"""Results that kernels keep, because the same small inputs come again and again.

Gradients compute with shapes in each step and in each iteration of a loop.  A kept array is
read-only: a variable that gets it takes a copy, as of a constant, and so does the caller of a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.kernel_types import Array, Xp

# The most inputs, the most elements of an input or a result, and the most results, that are kept.
_MOST_INPUTS, _MOST_ELEMENTS, _MOST_RESULTS = 64, 16, 1024


def are_short(*vectors: Sequence[object]) -> bool:
    """Return whether the inputs of a function are so few and so short that its result is kept."""
    return len(vectors) <= _MOST_INPUTS and all(len(one) <= _MOST_ELEMENTS for one in vectors)


def read_only(array: Array) -> Array:
    """Return the array, which nothing may write to from now on."""
    array.flags.writeable = False
    return array


class KnownResults:
    """The results of a function of vectors of integers, by its inputs.

    Args:
      function: gets the array module and two sequences of arrays.
    """

    def __init__(self, function: Callable[[Xp, Sequence[Array], Sequence[Array]], Array]) -> None:
        self._function = function
        self._results: dict[object, Array] = {}

    def get(self, xp: Xp, first: Sequence[Array], second: Sequence[Array]) -> Array:
        """Return the function's result, kept if all arrays are few short vectors of integers."""
        if xp is not np or len(first) + len(second) > _MOST_INPUTS:
            return self._function(xp, first, second)
        key: list[object] = [len(first)]
        for array in (*first, *second):
            if (
                array.__class__ is not np.ndarray
                or array.size > _MOST_ELEMENTS
                or array.dtype.kind not in "iu"
            ):
                return self._function(xp, first, second)
            key += array.shape, array.dtype.char, array.tobytes()
        whole = tuple(key)
        found = self._results.get(whole)
        if found is None:
            found = self._function(xp, first, second)
            if found.size > _MOST_ELEMENTS:  # one index makes a result of any size
                return found
            read_only(found)
            if len(self._results) >= _MOST_RESULTS:
                self._results.clear()
            self._results[whole] = found
        return found
