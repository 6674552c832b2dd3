"""Results that kernels keep, because the same small inputs come again and again.

Gradients compute with shapes in each step and in each iteration of a loop.  A kept array is
read-only: a variable that gets it takes a copy, as of a constant, and so does the caller of a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


# Arrays that kernels keep, by their ids; they stay until there are too many.
_MOST_KEPT = 4096
_kept: dict[int, Array] = {}


def kept(array: Array) -> Array:
    """Return an array, read-only, that stands for its value: :func:`are_kept` knows it."""
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[id(array)] = array
    return read_only(array)


def are_kept(arrays: Sequence[Array]) -> bool:
    """Return whether the values of all arrays never change: kept arrays, and NumPy's scalars."""
    return all(_kept.get(id(one)) is one or isinstance(one, np.generic) for one in arrays)


class ResultsOfKept:
    """The results of a function, by the identity of kept inputs and by shapes.

    Looking for the arrays themselves takes a fifth of the time of looking for their values.
    """

    def __init__(self) -> None:
        # Each entry holds its inputs, so that no other array has one of these ids.
        self._results: dict[object, tuple[Sequence[Array], Any]] = {}

    def get(self, arrays: Sequence[Array], shape: object = None) -> Any:
        """Return the result for these very inputs and a shape; None if there is none."""
        found = self._results.get((shape, *map(id, arrays)))
        return None if found is None else found[1]

    def keep(self, arrays: Sequence[Array], result: Any, shape: object = None) -> Any:
        """Return a result, which is kept if the inputs are."""
        if len(arrays) <= _MOST_INPUTS and are_kept(arrays):
            if len(self._results) >= _MOST_RESULTS:
                self._results.clear()
            self._results[(shape, *map(id, arrays))] = (arrays, result)
        return result


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
                not isinstance(array, np.ndarray | np.generic)
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
