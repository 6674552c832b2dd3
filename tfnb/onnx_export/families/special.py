"""Functions that ONNX lacks, as series in float64."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes
from tfnb.onnx_export.writing.converters import NodeToConvert, converts

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    def result(self, value: str) -> str:
        """Return a value in the type of the output."""
        wanted = self._node.output_dtype()
        return value if wanted == _F64 else self._node.cast(value, wanted)


@converts("Lgamma")
def lgamma(node: NodeToConvert) -> str:
    """Convert the logarithm of the gamma function; below 1/2 by its reflection."""
    w = _Series(node)
    x = node.as_type(0, _F64)
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
    infinite = w("IsInf", x)
    return w.result(w("Where", infinite, math.inf, found))


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
