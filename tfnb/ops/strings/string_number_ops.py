"""Conversion of numbers to text and of text to numbers."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors, host_memory
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import unchanged_shape
from tfnb.ops.base.string_arrays import mapped, strings

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.tensor_types import TensorLike, TensorResult

EXPORTS = {
    "tf": ["as_string", "string_to_number"],
    "strings": ["as_string", "to_number:string_to_number"],
    "dtypes": ["as_string"],
}

_FLAGS = ("", "0", " ", "-", "+")


@register_op(
    "AsString",
    "input: T -> output: string",
    "T: {realnumbertype, complex64, complex128, bool, variant, string}",
    "precision: int = -1",
    "scientific: bool = false",
    "shortest: bool = false",
    "width: int = -1",
    "fill: string = ''",
    shape=unchanged_shape,
    devices=("CPU",),
)
def as_string(
    xp: Xp,
    input: Array,
    *,
    T: DType,
    precision: int,
    scientific: bool,
    shortest: bool,
    width: int,
    fill: str,
) -> Array:
    """Return every number as text, as C's printf writes it."""
    kind = "s" if T in (dtypes.string, dtypes.variant) else np.dtype(T.as_numpy_dtype).kind
    if kind in "iub":
        if scientific or shortest:
            raise errors.invalid_argument(
                f"scientific and shortest format not supported for datatype {T.name}"
            )
        if precision >= 0:
            raise errors.invalid_argument(f"precision not supported for datatype {T.name}")
    if len(fill) > 1:
        raise errors.invalid_argument("Fill string must be one or fewer characters")
    if scientific and shortest:
        raise errors.invalid_argument("Cannot select both scientific and shortest notation")
    if fill not in _FLAGS:
        raise errors.invalid_argument(f'Fill argument not supported: "{fill}"')
    host_memory.check_size(input.size * max(width, precision))
    head = f"%{fill}{width}" if width > -1 else f"%{fill}"
    if kind == "b":
        return mapped(lambda value: b"true" if value else b"false", input)
    if kind == "s":
        # A string has no sign and no leading zeros.
        plain = head.replace("%0", "%").replace("%+", "%").replace("% ", "%")
        return mapped(lambda value: (plain + "s").encode() % value, input)
    if kind == "u":
        # An unsigned number has no place for a sign.
        head = head.replace("%+", "%").replace("% ", "%")
    if kind in "iu":
        return mapped(lambda value: (head + "d").encode() % int(value), input)
    if precision > -1:
        head += f".{precision}"
    form = head + ("e" if scientific else "g" if shortest else "f")
    if kind == "c":
        form = f"({form},{form})"
        pairs = [(form % (v.real, v.imag)).encode() for v in input.reshape(-1).tolist()]
        return strings(pairs, input.shape)
    numbers = input.reshape(-1).astype(np.float64).tolist()
    # NaN and infinities have no leading zeros.
    special = form.replace("%0", "%")
    texts = [(form if math.isfinite(value) else special) % value for value in numbers]
    return strings([text.encode() for text in texts], input.shape)


as_string.not_differentiable()

_SPACE = b" \t\n\v\f\r"
# Digits match in one way only: the time does not grow with the square of their number.
_DECIMAL = re.compile(rb"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.I)
_HEXADECIMAL = re.compile(rb"[+-]?0x([\da-f]+(\.[\da-f]*)?|\.[\da-f]+)(p[+-]?\d+)?", re.I)
_SPECIAL = re.compile(rb"([+-]?)(inf|infinity|nan)(\(\w*\))?", re.I)
_INTEGER = re.compile(rb"([+-]?)(\d+)")
# Digits of the largest integer of 64 bits.
_MOST_DIGITS = 20


def parse_float(text: bytes) -> float | None:
    """Return the number in a text, or None.

    >>> parse_float(b" 1e3 "), parse_float(b"-Infinity"), parse_float(b"0x1p3"), parse_float(b"1f")
    (1000.0, -inf, 8.0, None)
    """
    text = text.strip(_SPACE)
    if _DECIMAL.fullmatch(text):
        return float(text)
    special = _SPECIAL.fullmatch(text)
    if special:
        sign, word, rest = special.groups()
        if rest and word.lower() != b"nan":
            return None
        return float(sign + word)
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.decode())
        except OverflowError:
            return float("-inf" if text.startswith(b"-") else "inf")
    return None


def parse_float32(text: bytes) -> Array:
    """Return the float32 in a text, rounded once, or None."""
    number = parse_float(text)
    if number is None:
        return None
    rounded = np.float32(number)
    # If rounding to double produced a tie between two floats, the number is rounded from its
    # digits.
    if np.isfinite(rounded) and rounded != number and b"x" not in text.lower():
        rounded = np.float32(text.strip(_SPACE).decode())
    return rounded


def parse_integer(text: bytes, dtype: DType) -> int | None:
    """Return the integer in a text, or None if it does not fit the type."""
    found = _INTEGER.fullmatch(text.strip(_SPACE))
    if found is None or (dtype.is_unsigned and found[1] == b"-"):
        return None
    digits = found[2].lstrip(b"0") or b"0"
    if len(digits) > _MOST_DIGITS:
        return None
    number = int(found[1] + digits)
    return number if dtype.min <= number <= dtype.max else None


@register_op(
    "StringToNumber",
    "string_tensor: string -> output: out_type",
    "out_type: {float, double, int32, int64, uint32, uint64} = DT_FLOAT",
    shape=unchanged_shape,
    devices=("CPU",),
)
def string_to_number_op(xp: Xp, string_tensor: Array, *, out_type: DType) -> Array:
    """Return the numbers in strings."""

    def convert(text: bytes) -> Array:
        if out_type is dtypes.float32:
            number = parse_float32(text)
        elif out_type is dtypes.float64:
            number = parse_float(text)
        else:
            number = parse_integer(text, out_type)
        if number is None:
            shown = text.decode("utf-8", "replace")
            raise errors.invalid_argument(
                f"StringToNumberOp could not correctly convert string: {shown}"
            )
        return number

    return mapped(convert, string_tensor, out_type.as_numpy_dtype)


string_to_number_op.not_differentiable()


def string_to_number(
    string_tensor: TensorLike | None = None,
    out_type: DTypeLike = dtypes.float32,
    name: str | None = None,
    input: TensorLike | None = None,
) -> TensorResult:
    """Return the numbers in strings.

    Raises:
      ValueError: the strings were given under both names.
    """
    if input is not None:
        if string_tensor is not None:
            raise ValueError("Cannot specify both 'input' and 'string_tensor'")
        string_tensor = input
    return string_to_number_op(string_tensor, out_type=out_type, name=name)
