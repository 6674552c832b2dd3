"""JSON by orjson, which reads and writes large arrays ten times as fast as Python's own module.

It is used where its result is that of ``json``: both functions return None for anything else, and
where it is not installed. Then the caller does what it would do without it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

_WRITTEN = frozenset("?bBhHiIlLqQfd")


def parsed_json(text: bytes) -> Any:
    """Return the value of a JSON text; None if it has to be read by ``json``.

    That holds for NaN and infinities, other encodings than UTF-8, and what is no JSON. Integers
    beyond 64 bits are floats.
    """
    orjson = _orjson()
    if orjson is None:
        return None
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def json_of_arrays(key: str, arrays: Mapping[str, Any], *, is_row: bool) -> bytes | None:
    """Return the object ``{key: arrays}``; None if it has to be written by ``json``.

    That holds for values which are no arrays of numbers or booleans, and for NaN and infinities.

    Args:
        key: The key of the object.
        arrays: Name of an output -> its array; the only one is written without its name.
        is_row: Whether several arrays are written as one object for each of their rows.
    """
    orjson = _orjson()
    if orjson is None or not all(map(_is_written, arrays.values())):
        return None
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    value: Any = whole
    if len(whole) == 1:
        value = next(iter(whole.values()))
    elif is_row:
        value = [dict(zip(whole, row)) for row in zip(*whole.values())]
    try:
        found: bytes = orjson.dumps({key: value}, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # one number of a type with a second name: np.longlong
        return None
    return found


def _is_written(array: Any) -> bool:
    if not isinstance(array, np.ndarray) or not array.ndim or not array.size:
        return False
    dtype = array.dtype
    if dtype.char not in _WRITTEN or not dtype.isnative:
        return False
    return dtype.kind != "f" or bool(np.isfinite(array).all())


@cache
def _orjson() -> Any:
    try:
        import orjson
    except ImportError:
        return None
    return orjson
