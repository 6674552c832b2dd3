"""Calls with values that NumPy 1 took for numbers, for ``tfnb run``.

``sources/older_calls.py`` leads the calls of a program through these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

# The text of NumPy 2.4's error for an array of shape [1] in place of a number.
_REFUSED = "only 0-dimensional arrays can be converted"

# Members that a list of numbers as an index does not have.
_OF_TUPLES = (slice, type(Ellipsis))


def _number(value: Any) -> Any:
    """Return the element of an array of one; other values as they are."""
    is_one = isinstance(value, np.ndarray) and value.size == 1
    return value.reshape(())[()] if is_one else value


def call(function: Callable[..., Any], *given: Any) -> Any:
    """Call a function of numbers, such as ``int``, for which an array of one element is a number.

    Args:
      function: ``int``, ``float``, ``complex``, or one of ``math``.
      *given: its arguments.
    """
    try:
        return function(*given)
    except TypeError as error:
        if _REFUSED not in str(error):
            raise
        return function(*map(_number, given))


def text(form: str, values: Any) -> Any:
    """Return ``form % values``, for which an array of one element is a number.

    Args:
      form: a text with places.
      values: a value, a tuple or a dictionary of them.
    """
    try:
        return form % values
    except TypeError:
        numbers: Any
        if isinstance(values, tuple):
            numbers = tuple(map(_number, values))
        elif isinstance(values, dict):
            numbers = {key: _number(one) for key, one in values.items()}
        else:
            numbers = _number(values)
        if numbers is values:
            raise
        return form % numbers


def to_bytes(value: Any) -> Any:
    """Return ``value.tostring()``, of arrays and numbers of NumPy their bytes.

    Args:
      value: an array, or any object with that method.
    """
    is_of_numpy = isinstance(value, (np.ndarray, np.generic))
    return value.tobytes() if is_of_numpy else value.tostring()


def index(key: Any) -> Any:
    """Return what an index means: a list with slices is a tuple, as before NumPy 1.23.

    Args:
      key: the index of an array, or of anything else.
    """
    if type(key) is list and any(one is None or type(one) in _OF_TUPLES for one in key):
        return tuple(key)
    return key


def integers(values: Any) -> Any:
    """Return what a message takes as integers: truth values of NumPy are 0 and 1.

    Args:
      values: an array, any other iterable of numbers, or None.
    """
    if values is None:
        return None
    if isinstance(values, np.ndarray):
        return values.astype(np.int64) if values.dtype == bool else values
    return [int(one) if isinstance(one, np.bool_) else one for one in values]
