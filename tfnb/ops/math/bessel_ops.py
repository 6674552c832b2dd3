"""Bessel functions and functions defined by integrals as ops.

The formulas are in ``bessel_functions.py`` and ``integral_functions.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.op_registry import OpDefinition, register_op
from tfnb.core.shape_inference import unchanged_shape
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.array.where_ops import where, where_v2
from tfnb.ops.math import bessel_functions, cwise_unary_ops, integral_functions
from tfnb.ops.math.math_ops import div, equal
from tfnb.ops.math.special_math_ops import precise

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, Nested, TensorLike, TensorResult

_MODIFIED = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e"]
EXPORTS = {
    "math": _MODIFIED,
    "math.special": [
        *_MODIFIED, "bessel_j0", "bessel_j1", "bessel_k0", "bessel_k0e", "bessel_k1", "bessel_k1e",
        "bessel_y0", "bessel_y1", "dawsn", "expint", "fresnel_cos", "fresnel_sin", "spence",
    ],
}  # fmt: skip


def _special(name: str, function: Callable[..., Nested], traits: str = "") -> OpDefinition:
    """Return the op that applies a function of one number."""

    def kernel(xp: Xp, x: Array) -> Array:
        found = precise(function, xp, x)
        if function is bessel_functions.y1 and x.itemsize < 8:
            # For dtypes smaller than float64, TensorFlow's function returns NaN at the pole.
            found = xp.where(x == 0, x.dtype.type(np.nan), found)
        return found

    kernel.__doc__ = function.__doc__
    definition: OpDefinition = register_op(
        name,
        "x: T -> y: T",
        "T: {bfloat16, half, float, double}",
        shape=unchanged_shape,
        traits=traits,
    )(kernel)
    return definition


_i0 = _special("BesselI0", bessel_functions.i0)
_i0e = _special("BesselI0e", bessel_functions.i0e, "sparse_values")
_i1 = _special("BesselI1", bessel_functions.i1)
_i1e = _special("BesselI1e", bessel_functions.i1e, "sparse_values")
_j0 = _special("BesselJ0", bessel_functions.j0)
_j1 = _special("BesselJ1", bessel_functions.j1)
_k0 = _special("BesselK0", bessel_functions.k0)
_k0e = _special("BesselK0e", bessel_functions.k0e)
_k1 = _special("BesselK1", bessel_functions.k1)
_k1e = _special("BesselK1e", bessel_functions.k1e)
_y0 = _special("BesselY0", bessel_functions.y0)
_y1 = _special("BesselY1", bessel_functions.y1)
_dawsn = _special("Dawsn", integral_functions.dawsn)
_expint = _special("Expint", integral_functions.expint)
_fresnel_cos = _special("FresnelCos", integral_functions.fresnel_cos)
_fresnel_sin = _special("FresnelSin", integral_functions.fresnel_sin)
_spence = _special("Spence", integral_functions.spence)


def _scoped(op: OpDefinition, name: str, what: str) -> Any:
    """Return the public function: the op in a name scope."""

    def function(x: TensorLike, name: str | None = None) -> Tensor:
        with name_scope(name, default_name, [x]):
            result: Tensor = op(x)
        return result

    default_name = name
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{what}, element by element."
    return function


bessel_i0 = _scoped(_i0, "bessel_i0", "The modified Bessel function I0")
bessel_i0e = _scoped(_i0e, "bessel_i0e", "I0(x) times exp(-|x|)")
bessel_i1 = _scoped(_i1, "bessel_i1", "The modified Bessel function I1")
bessel_i1e = _scoped(_i1e, "bessel_i1e", "I1(x) times exp(-|x|)")
bessel_j0 = _scoped(_j0, "bessel_j0", "The Bessel function J0")
bessel_j1 = _scoped(_j1, "bessel_j1", "The Bessel function J1")
bessel_k0 = _scoped(_k0, "bessel_k0", "The modified Bessel function K0")
bessel_k0e = _scoped(_k0e, "bessel_k0e", "K0(x) times exp(x)")
bessel_k1 = _scoped(_k1, "bessel_k1", "The modified Bessel function K1")
bessel_k1e = _scoped(_k1e, "bessel_k1e", "K1(x) times exp(x)")
bessel_y0 = _scoped(_y0, "bessel_y0", "The Bessel function Y0")
bessel_y1 = _scoped(_y1, "bessel_y1", "The Bessel function Y1")
dawsn = _scoped(_dawsn, "dawsn", "Dawson's integral")
expint = _scoped(_expint, "expint", "The exponential integral Ei")
fresnel_cos = _scoped(_fresnel_cos, "fresnel_cos", "Fresnel's cosine integral")
fresnel_sin = _scoped(_fresnel_sin, "fresnel_sin", "Fresnel's sine integral")
spence = _scoped(_spence, "spence", "Spence's integral, the dilogarithm of 1 - x")


# ---------------------------------------------------------------------------------------- gradients


def _slope(op: OpDefinition) -> Callable[[Callable[[Any, Any], Any]], None]:
    """Register a derivative, a function of argument and value, as the gradient of an op."""

    def register(derivative: Callable[[Any, Any], Any]) -> None:
        @op.gradient
        def _(node: Operation, grad: Tensor) -> Gradients:
            with control_dependencies([grad]):
                return grad * derivative(node.inputs[0], node.outputs[0])

    return register


@_slope(_i0)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return bessel_i1(x)


@_slope(_i0e)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return bessel_i1e(x) - cwise_unary_ops.sign(x) * y


@_slope(_i1)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    # At zero the quotient is NaN.
    at_zero = equal(x, 0.0)
    return where_v2(at_zero, cast(1.0, x.dtype), bessel_i0(x) - div(y, x))


@_slope(_i1e)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    at_zero = equal(x, 0.0)
    half = cast(0.5, x.dtype)
    inverse = cwise_unary_ops.reciprocal
    return where_v2(at_zero, half, bessel_i0e(x) - y * (cwise_unary_ops.sign(x) + inverse(x)))


@_slope(_j0)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return -bessel_j1(x)


@_slope(_j1)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    at_zero = equal(x, 0.0)
    return where_v2(at_zero, cast(0.5, x.dtype), bessel_j0(x) - div(y, x))


@_slope(_k0)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return -bessel_k1(x)


@_slope(_k0e)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return y - bessel_k1e(x)


@_slope(_k1)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return -bessel_k0(x) - div(y, x)


@_slope(_k1e)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return y * (1.0 - cwise_unary_ops.reciprocal(x)) - bessel_k0e(x)


@_slope(_y0)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return -bessel_y1(x)


@_slope(_y1)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return bessel_y0(x) - div(y, x)


@_slope(_dawsn)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return 1.0 - 2 * x * y


@_expint.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x = op.inputs[0]
    with control_dependencies([grad]):
        return grad * cwise_unary_ops.exp_op(x) / x


@_slope(_fresnel_cos)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return cwise_unary_ops.cos((math.pi / 2.0) * cwise_unary_ops.square(x))


@_slope(_fresnel_sin)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    return cwise_unary_ops.sin((math.pi / 2.0) * cwise_unary_ops.square(x))


@_slope(_spence)
def _(x: TensorLike, y: TensorLike) -> TensorResult:
    quotient = cwise_unary_ops.log(x) / (1 - x)
    return where(equal(x, 1.0), -array_ops.ones_like(x), quotient)
