"""Tensors as text, exactly as TensorFlow prints them in messages and in ``tf.print``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.node_text import nested_text
from tfnb.core.resource_mgr import ResourceHandle

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array

_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 39: "\\'", 92: "\\\\"}


def number_text(value: Array) -> str:
    """Return one number as text.

    >>> number_text(np.float32(0.1)), number_text(np.float32(1 / 3)), number_text(np.float64(1e10))
    ('0.1', '0.333333343', '10000000000')
    """
    kind = value.dtype.kind
    if kind == "b":
        return "1" if value else "0"
    if kind in "iu":
        return str(int(value))
    if kind == "c":
        return "?"
    number = float(value)
    if number != number:
        return "nan"
    if value.dtype == np.float64:
        short = f"{number:.15g}"
        return short if float(short) == number else f"{number:.17g}"
    short = f"{number:.6g}"
    return short if np.float32(short) == np.float32(number) else f"{number:.9g}"


def escaped(text: bytes) -> str:
    r"""Return text with quotes, backslashes and control characters escaped as in C.

    >>> escaped(b'a"b\n\x01')
    'a\\"b\\n\\001'
    """
    parts = []
    for byte in text:
        if byte in _ESCAPES:
            parts.append(_ESCAPES[byte].encode())
        elif byte < 32 or byte == 127:
            parts.append(b"\\%03o" % byte)
        else:
            parts.append(bytes([byte]))
    return b"".join(parts).decode("utf-8", "surrogateescape")


def _element_text(value: Array, *, quoted: bool = False) -> str:
    if isinstance(value, bytes):
        return f'"{escaped(value)}"' if quoted else escaped(value)
    if isinstance(value, (np.generic, np.ndarray)):
        return number_text(value)
    return str(value)


def _as_array(value: Array) -> Array:
    """Return a tensor's value as an array on the host; a handle or Python object is one element."""
    if isinstance(value, ResourceHandle) or not hasattr(value, "dtype"):
        array = np.empty((), object)
        array[()] = value
        return array
    return np.asarray(value.get() if hasattr(value, "get") else value)


def _is_opaque(flat: Array) -> bool:
    """Return whether TensorFlow prints tensors of this type in one row."""
    return flat.dtype.kind == "c" or (
        flat.dtype == object and flat.size > 0 and not isinstance(flat[0], bytes)
    )


def summarize(value: Array, max_entries: int) -> str:
    """Return the first elements of a tensor, as error messages show them.

    >>> summarize(np.arange(6).reshape(2, 3), 4)
    '[0 1 2][3...]...'

    Args:
      value: the tensor.
      max_entries: how many elements to show; all if it is -1.
    """
    array = _as_array(value)
    limit = array.size if max_entries < 0 else min(max_entries, array.size)
    flat = array.reshape(-1)
    if array.dtype == bool and not limit:
        return ""  # as in TensorFlow
    text = nested_text(
        [_element_text(one) for one in flat[:limit]], () if _is_opaque(flat) else array.shape
    )
    return f"{text}..." if array.size > limit else text


def format_tensor(value: Any, at_ends: int) -> str:
    """Return a tensor as ``tf.print`` shows it: the first and last elements of each dimension.

    >>> format_tensor(np.arange(8), 2)
    '[0 1 ... 6 7]'

    Args:
      value: the tensor.
      at_ends: how many elements to show at each end; all if it is -1.
    """
    array = _as_array(value)
    shown = array.size if at_ends < 0 else min(at_ends, array.size)
    if array.dtype == bool and not shown:
        return ""  # as in TensorFlow
    if array.ndim and _is_opaque(array.reshape(-1)):
        return f"[{summarize(array, at_ends)}]"
    if array.ndim == 0:
        return _element_text(array.reshape(-1)[0], quoted=True) if shown else "..."
    return _format_dimension(array, shown, array.ndim, 0)


def _format_dimension(array: Array, at_ends: int, rank: int, depth: int) -> str:
    if depth == rank:
        return _element_text(array[()], quoted=True)
    last = depth == rank - 1
    space = " " if last else "\n" * (rank - depth - 1) + " " * (depth + 1)
    count = len(array)

    def part(index: int) -> str:
        return _format_dimension(array[index, ...], at_ends, rank, depth + 1)

    text = space.join(part(index) for index in range(min(at_ends, count)))
    if count > 2 * at_ends:
        text += f"{space}..."
    return (
        f"[{text}"
        + "".join(space + part(index) for index in range(max(at_ends, count - at_ends), count))
        + "]"
    )
