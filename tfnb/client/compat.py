"""``tf.compat``: conversions between text and bytes, and the types that count as numbers."""

from __future__ import annotations

import codecs
import datetime
import numbers
import os
from typing import Any

import numpy as np

bytes_or_text_types = (bytes, str)
integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)

# The day that forward_compatible() uses as the present day; None for today.
horizon: datetime.date | None = None


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    r"""Encode text; return bytes unchanged.

    >>> as_bytes("é"), as_bytes(b"x")
    (b'\xc3\xa9', b'x')
    """
    encoding = codecs.lookup(encoding).name
    if isinstance(bytes_or_text, bytearray):
        return bytes(bytes_or_text)
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Decode bytes; return text unchanged.

    >>> as_text(b"x"), as_text("y")
    ('x', 'y')
    """
    encoding = codecs.lookup(encoding).name
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Return any value as text, with bytes decoded."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path object as text; any other value unchanged."""
    return as_str_any(os.fspath(path)) if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether today is after a day, so that graphs may use what TensorFlow added on it."""
    today = datetime.date.today() if horizon is None else horizon
    return today > datetime.date(year, month, day)
