"""Elementwise functions in LLVM's language, as compiled kernels call them.

Each returns NumPy's result for infinity, NaN and numbers out of range, and is a straight line of
instructions, so that LLVM computes several elements at once.  ``exp`` reduces its argument to at
most ln(2) / 2 and adds the terms of its series; ``tanh`` and ``expm1`` leave out the series' first
term, so that small results keep their digits; ``log`` uses the series of 2 artanh(f / (2 + f)).
Sums and products are rounded one by one, as NumPy rounds them.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache

from tfnb.core.process.records import record


@record(slots=True)
class _Format:
    """What differs between the two formats of floats."""

    name: str
    bits: str
    mantissa: int
    bias: int
    magic: float  # adding it rounds to an integer, which is in the lowest bits then
    ln2_high: float  # the products with exponents are exact
    terms_of_exp: int
    terms_of_log: int
    highest: float  # exp of it is infinite
    lowest: float  # exp of it is 0
    lowest_expm1: float  # expm1 of it is -1
    smallest: float  # the smallest number with all digits
    one_as_bits: int
    root_as_bits: int  # of sqrt(1/2)


def _rounded(value: float) -> float:
    return float(struct.unpack("f", struct.pack("f", value))[0])


_FORMATS = {
    "float": _Format(
        "float", "i32", 23, 127, 1.5 * 2.0**23, 0.693359375, 8, 5, 88.8, -104.0, -20.0,
        2.0**-126, 0x3F800000, 0x3F3504F3,
    ),
    "double": _Format(
        "double", "i64", 52, 1023, 1.5 * 2.0**52, 6.93145751953125e-1, 14, 11, 709.9, -746.0, -40.0,
        2.0**-1022, 0x3FF0000000000000, 0x3FE6A09E667F3BCD,
    ),
}  # fmt: skip


def literal(value: float, type_name: str) -> str:
    """Return a float in LLVM's language, exact to the last bit.

    >>> literal(0.5, "float")
    '0x3FE0000000000000'
    """
    number = _rounded(value) if type_name == "float" and math.isfinite(value) else value
    if math.isnan(number):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


class _Lines:
    """The body of one function."""

    def __init__(self, form: _Format) -> None:
        self.form = form
        self.lines: list[str] = []

    def add(self, text: str) -> str:
        """Add an instruction; return its result."""
        name = f"%t{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def number(self, value: float) -> str:
        """Return a constant."""
        return literal(value, self.form.name)

    def do(self, operation: str, x: str, y: str) -> str:
        """Add a float instruction with two operands."""
        return self.add(f"{operation} {self.form.name} {x}, {y}")

    def do_bits(self, operation: str, x: str, y: int | str) -> str:
        """Add an integer instruction with two operands."""
        return self.add(f"{operation} {self.form.bits} {x}, {y}")

    def choose(self, comparison: str, x: str, y: str, then: str, other: str) -> str:
        """Choose one of two floats by comparing two."""
        test = self.add(f"fcmp {comparison} {self.form.name} {x}, {y}")
        return self.add(f"select i1 {test}, {self.form.name} {then}, {self.form.name} {other}")

    def as_float(self, bits: str) -> str:
        """Reinterpret bits as a float."""
        return self.add(f"bitcast {self.form.bits} {bits} to {self.form.name}")

    def as_bits(self, number: str) -> str:
        """Reinterpret a float as bits."""
        return self.add(f"bitcast {self.form.name} {number} to {self.form.bits}")

    def power_of_two(self, exponent: str) -> str:
        """Return 2 to the power of an integer that gives a normal number."""
        biased = self.do_bits("add", exponent, self.form.bias)
        return self.as_float(self.do_bits("shl", biased, self.form.mantissa))

    def reduced(self, x: str, lowest: float) -> tuple[str, str, str]:
        """Return exp(r) - 1 and r without the first term's rounding, and k, for x = k ln2 + r."""
        form = self.form
        y = self.choose("ogt", x, self.number(form.highest), self.number(form.highest), x)
        y = self.choose("olt", y, self.number(lowest), self.number(lowest), y)
        rounded = self.do("fadd", self.do("fmul", y, self.number(1 / math.log(2))),
                          self.number(form.magic))  # fmt: skip
        whole = self.do("fsub", rounded, self.number(form.magic))
        magic_bits = struct.unpack("<q", struct.pack("<d", form.magic))[0]
        if form.name == "float":
            magic_bits = struct.unpack("<i", struct.pack("<f", form.magic))[0]
        exponent = self.do_bits("sub", self.as_bits(rounded), magic_bits)
        r = self.do("fsub", y, self.do("fmul", whole, self.number(form.ln2_high)))
        low = math.log(2) - form.ln2_high if form.name == "float" else 1.42860682030941723212e-6
        r = self.do("fsub", r, self.do("fmul", whole, self.number(low)))
        total = self.number(1 / math.factorial(form.terms_of_exp - 1))
        for term in range(form.terms_of_exp - 2, 1, -1):
            total = self.do("fmul", total, r)
            total = self.do("fadd", total, self.number(1 / math.factorial(term)))
        less_one = self.do("fadd", self.do("fmul", total, self.do("fmul", r, r)), r)
        return less_one, r, exponent


def _exp(b: _Lines) -> str:
    less_one, _, exponent = b.reduced("%x", b.form.lowest)
    found = b.do("fadd", less_one, b.number(1))
    # Two factors: one alone would overflow before the product does.
    half = b.do_bits("ashr", exponent, 1)
    found = b.do("fmul", found, b.power_of_two(half))
    return b.do("fmul", found, b.power_of_two(b.do_bits("sub", exponent, half)))


def _expm1_of(b: _Lines, x: str) -> str:
    less_one, _, exponent = b.reduced(x, b.form.lowest_expm1)
    # Half of the power, which is finite where the result is.
    scale = b.power_of_two(b.do_bits("sub", exponent, 1))
    half = b.do("fadd", b.do("fmul", less_one, scale), b.do("fsub", scale, b.number(0.5)))
    return b.do("fadd", half, half)


def _signed_as(b: _Lines, found: str, x: str) -> str:
    name = b.form.name
    return b.add(f"call {name} @llvm.copysign.f{b.form.bits[1:]}({name} {found}, {name} {x})")


def _expm1(b: _Lines) -> str:
    return _signed_as(b, _expm1_of(b, "%x"), "%x")  # -0 stays -0


def _tanh(b: _Lines) -> str:
    x = b.choose("ogt", "%x", b.number(20), b.number(20), "%x")
    x = b.choose("olt", x, b.number(-20), b.number(-20), x)
    found = _expm1_of(b, b.do("fadd", x, x))
    found = b.do("fdiv", found, b.do("fadd", found, b.number(2)))
    return _signed_as(b, found, "%x")


def _log_of(b: _Lines, x: str) -> str:
    form = b.form
    up = float(form.mantissa + 2)
    is_small = b.add(f"fcmp olt {form.name} {x}, {b.number(form.smallest)}")
    lifted = b.do("fmul", x, b.number(2.0**up))
    y = b.add(f"select i1 {is_small}, {form.name} {lifted}, {form.name} {x}")
    offset = b.do_bits("sub", b.as_bits(y), form.root_as_bits)
    exponent = b.do_bits("ashr", offset, form.mantissa)
    mantissa = b.do_bits("and", offset, (1 << form.mantissa) - 1)
    f = b.do("fsub", b.as_float(b.do_bits("add", mantissa, form.root_as_bits)), b.number(1))
    k = b.add(f"sitofp {form.bits} {exponent} to {form.name}")
    corrected = b.do("fsub", k, b.number(up))
    k = b.add(f"select i1 {is_small}, {form.name} {corrected}, {form.name} {k}")
    s = b.do("fdiv", f, b.do("fadd", f, b.number(2)))
    square = b.do("fmul", s, s)
    total = b.number(2 / (2 * form.terms_of_log + 1))
    for term in range(form.terms_of_log - 1, 0, -1):
        total = b.do("fadd", b.do("fmul", total, square), b.number(2 / (2 * term + 1)))
    tail = b.do("fmul", total, square)
    # f - s (f - tail) is log(1 + f) with fewer roundings than 2 s + s tail.
    mended = b.do("fmul", s, b.do("fsub", f, tail))
    low = math.log(2) - form.ln2_high if form.name == "float" else 1.42860682030941723212e-6
    mended = b.do("fsub", mended, b.do("fmul", k, b.number(low)))
    found = b.do("fsub", f, mended)
    found = b.do("fadd", found, b.do("fmul", k, b.number(form.ln2_high)))
    found = b.choose("oeq", x, b.number(math.inf), x, found)
    found = b.choose("oeq", x, b.number(0), b.number(-math.inf), found)
    # The comparison does not hold for negative numbers and NaN: the result is NaN.
    return b.choose("oge", x, b.number(0), found, b.number(math.nan))


def _log(b: _Lines) -> str:
    return _log_of(b, "%x")


def _log1p(b: _Lines) -> str:
    whole = b.do("fadd", "%x", b.number(1))
    found = _log_of(b, whole)
    # What the addition of 1 rounded away.
    lost = b.do("fsub", b.do("fsub", whole, b.number(1)), "%x")
    mended = b.do("fsub", found, b.do("fdiv", lost, whole))
    mended = b.choose("oeq", whole, b.number(math.inf), found, mended)
    mended = b.choose("oeq", whole, b.number(0), found, mended)
    return b.choose("oeq", "%x", b.number(0), "%x", mended)


_MAKERS = {"exp": _exp, "expm1": _expm1, "tanh": _tanh, "log": _log, "log1p": _log1p}

FUNCTIONS = frozenset(_MAKERS)
"""The functions of this module by NumPy's names."""


@lru_cache(maxsize=64)
def definition(name: str, type_name: str) -> str:
    """Return the text of a function for "float" or "double"; it is called ``@exp.float``."""
    body = _Lines(_FORMATS[type_name])
    result = _MAKERS[name](body)
    text = "\n".join(body.lines)
    bits = body.form.bits[1:]
    declared = ""
    if "@llvm.copysign" in text:
        declared = f"declare {type_name} @llvm.copysign.f{bits}({type_name}, {type_name})\n"
    return (
        f"{declared}define internal {type_name} @{name}.{type_name}({type_name} %x) alwaysinline "
        f"{{\n{text}\n  ret {type_name} {result}\n}}\n"
    )
