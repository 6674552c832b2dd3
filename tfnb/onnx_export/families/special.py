"""Functions that ONNX lacks, as series in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts
from tfnb.onnx_export.writing.onnx_nodes import Kind, close_body, loop_body

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_F64 = dtypes.float64
# Lanczos' approximation of the gamma function, with g = 7.
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)
# Bernoulli's numbers B_2k / 2k, of the asymptotic series of digamma.
_DIGAMMA = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760)
_SHIFT = 8
# A term of a series below this share of the sum changes nothing in float64.
_SMALLEST_SHARE = 1e-17
_MOST_TERMS = 100_000
# Giles' polynomials of the inverse error function, highest power first.
_ERFINV_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_ERFINV_FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)


class _Series:
    """Writes arithmetic in float64."""

    def __init__(self, node: NodeToConvert) -> None:
        self._node = node

    def number(self, value: float) -> str:
        """Return a constant."""
        return self._node.value(value, np.float64)

    def __call__(self, op: str, *values: str | float) -> str:
        """Add a node on values and numbers."""
        given = [one if isinstance(one, str) else self.number(one) for one in values]
        return self._node.add(op, *given)

    def polynomial(self, x: str, numbers: Sequence[float]) -> str:
        """Return a polynomial; the factor of the highest power is the first."""
        found: str | float = numbers[0]
        for number in numbers[1:]:
            found = self("Add", self("Mul", found, x), number)
        assert isinstance(found, str)
        return found

    def sum(self, first: str, ratio: Callable[[str], str]) -> str:
        """Return the sum of terms until none of them counts any more.

        Args:
          first: the first term.
          ratio: returns a term divided by the one before, given its number from 1.
        """
        node, writer = self._node, self._node.writer
        body, turn, _ = loop_body(writer.graph, writer.names)
        carried = [writer.names.new(name) for name in ("term", "total")]
        for name in carried:
            writer.graph.kinds[name] = Kind(_F64)
            body.inputs.append((name, Kind(_F64)))
        term, total = carried
        with writer.inside(body):
            number = node.cast(node.add("Add", turn, node.value(1, np.int64)), _F64)
            term = self("Mul", term, ratio(number))
            limit = self("Mul", total, _SMALLEST_SHARE)
            total = self("Add", total, term)
            counts = node.cast(self("Greater", term, limit), dtypes.int32)
            most = node.add("ReduceMax", node.add("Reshape", counts, node.ints(-1)), keepdims=0)
            going = node.cast(most, dtypes.bool)
        for name, dtype in ((term, _F64), (total, _F64), (going, dtypes.bool)):
            writer.graph.kinds[name] = Kind(dtype)
        close_body(writer, body, [going, term, total])
        most_terms = node.value(_MOST_TERMS, np.int64)
        return node.add_many("Loop", 2, most_terms, "", first, first, body=body)[1]

    def result(self, value: str) -> str:
        """Return a value in the type of the output."""
        wanted = self._node.output_dtype()
        return value if wanted == _F64 else self._node.cast(value, wanted)


@converts("Lgamma")
def lgamma(node: NodeToConvert) -> str:
    """Convert the logarithm of the gamma function; below 1/2 by its reflection."""
    w = _Series(node)
    return w.result(_lgamma(w, node.as_type(0, _F64)))


def _lgamma(w: _Series, x: str) -> str:
    is_low = w("Less", x, 0.5)
    y = w("Sub", w("Where", is_low, w("Sub", 1.0, x), x), 1.0)
    total: str | float = _LANCZOS[0]
    for place, number in enumerate(_LANCZOS[1:], 1):
        total = w("Add", total, w("Div", number, w("Add", y, float(place))))
    t = w("Add", y, 7.5)
    high = w("Mul", w("Add", y, 0.5), w("Log", t))
    high = w("Add", w("Sub", high, t), w("Log", total))
    high = w("Add", high, 0.5 * math.log(2 * math.pi))
    # sin(pi x) of the rest behind the comma, so that whole numbers give exactly 0.
    rest = w("Sub", x, w("Floor", x))
    sine = w("Abs", w("Sin", w("Mul", rest, math.pi)))
    low = w("Sub", w("Sub", math.log(math.pi), w("Log", sine)), high)
    found = w("Where", is_low, low, high)
    return w("Where", w("IsInf", x), math.inf, found)


@converts("Igamma", "Igammac")
def igamma(node: NodeToConvert) -> str:
    """Convert the incomplete gamma function by its power series; Igammac is what is left of 1."""
    w = _Series(node)
    a, x = (node.as_type(index, _F64) for index in (0, 1))
    one = w("Add", w("Mul", w("Add", a, x), 0.0), 1.0)
    total = w.sum(one, lambda number: w("Div", x, w("Add", a, number)))
    # x^a e^-x / gamma(a + 1)
    size = w("Sub", w("Mul", a, w("Log", x)), w("Add", x, _lgamma(w, w("Add", a, 1.0))))
    found = w("Mul", total, w("Exp", size))
    found = w("Where", w("IsInf", x), 1.0, w("Min", found, 1.0))
    if node.op == "Igammac":
        found = w("Sub", 1.0, found)
    outside = w("Or", w("Less", x, 0.0), w("LessOrEqual", a, 0.0))
    return w.result(w("Where", outside, math.nan, found))


@converts("Betainc")
def betainc(node: NodeToConvert) -> str:
    """Convert the incomplete beta function by its power series, on the side where it is short."""
    w = _Series(node)
    a, b, x = (node.as_type(index, _F64) for index in (0, 1, 2))
    both = w("Add", a, b)
    is_far = w("Greater", x, w("Div", w("Add", a, 1.0), w("Add", both, 2.0)))
    first, second = w("Where", is_far, b, a), w("Where", is_far, a, b)
    place = w("Where", is_far, w("Sub", 1.0, x), x)
    one = w("Add", w("Mul", w("Add", both, x), 0.0), 1.0)

    def ratio(number: str) -> str:
        above = w("Mul", place, w("Add", both, w("Sub", number, 1.0)))
        return w("Div", above, w("Add", first, number))

    total = w.sum(one, ratio)
    # x^a (1 - x)^b / (a beta(a, b))
    size = w("Sub", _lgamma(w, both), w("Add", _lgamma(w, first), _lgamma(w, second)))
    size = w("Add", size, w("Mul", first, w("Log", place)))
    size = w("Add", size, w("Mul", second, w("Log", w("Sub", 1.0, place))))
    found = w("Div", w("Mul", total, w("Exp", size)), first)
    found = w("Where", is_far, w("Sub", 1.0, found), found)
    outside = w("Or", w("Less", x, 0.0), w("Greater", x, 1.0))
    wrong = w("Or", w("LessOrEqual", a, 0.0), w("LessOrEqual", b, 0.0))
    return w.result(w("Where", w("Or", outside, wrong), math.nan, found))


@converts("Digamma")
def digamma(node: NodeToConvert) -> str:
    """Convert the derivative of the logarithm of the gamma function."""
    w = _Series(node)
    x = node.as_type(0, _F64)
    is_low = w("Less", x, 0.5)
    y = w("Where", is_low, w("Sub", 1.0, x), x)
    before: str | float = 0.0
    for step in range(_SHIFT):
        before = w("Add", before, w("Div", 1.0, w("Add", y, float(step))))
    far = w("Add", y, float(_SHIFT))
    square = w("Div", 1.0, w("Mul", far, far))
    series = w("Mul", w.polynomial(square, _DIGAMMA[::-1]), square)
    high = w("Sub", w("Log", far), w("Div", 0.5, far))
    high = w("Sub", w("Sub", high, series), before)
    rest = w("Mul", w("Sub", x, w("Floor", x)), math.pi)
    turned = w("Mul", w("Div", w("Cos", rest), w("Sin", rest)), math.pi)
    found = w("Where", is_low, w("Sub", high, turned), high)
    whole = w("And", w("Equal", x, w("Floor", x)), w("LessOrEqual", x, 0.0))
    return w.result(w("Where", whole, math.nan, found))


@converts("Erfinv", "Ndtri")
def erfinv(node: NodeToConvert) -> str:
    """Convert the inverse of the error function, and of the normal distribution."""
    w = _Series(node)
    x = node.as_type(0, _F64)
    if node.op == "Ndtri":
        x = w("Sub", w("Mul", x, 2.0), 1.0)
    depth = w("Neg", w("Log", w("Mul", w("Sub", 1.0, x), w("Add", 1.0, x))))
    near = w.polynomial(w("Sub", depth, 2.5), _ERFINV_NEAR)
    far = w.polynomial(w("Sub", w("Sqrt", depth), 3.0), _ERFINV_FAR)
    found = w("Mul", w("Where", w("Less", depth, 5.0), near, far), x)
    edge = w("Equal", w("Abs", x), 1.0)
    found = w("Where", edge, w("Mul", x, math.inf), found)
    return w.result(w("Mul", found, math.sqrt(2)) if node.op == "Ndtri" else found)
