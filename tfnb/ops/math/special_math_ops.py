"""Special functions as ops: error functions, gamma functions, zeta, incomplete beta and gamma.

The formulas are in ``special_functions.py``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import (
    SCALAR_SHAPE,
    UNKNOWN_SHAPE,
    InferenceContext,
    broadcast_shape,
    merge_shapes,
    unchanged_shape,
)
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import incompatible_shapes
from tfnb.ops.base.large_arrays import tiled
from tfnb.ops.math import special_functions as functions
from tfnb.ops.math.cwise_binary_ops import xlogy
from tfnb.ops.math.cwise_unary_ops import exp_op, log, square
from tfnb.ops.math.math_ops import xlog1py
from tfnb.ops.math.reduction_ops import reduce_sum
from tfnb.ops.math.unbroadcast import unbroadcast_by_axes

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "betainc", "digamma", "erf", "erfc", "igamma", "igammac", "lbeta", "lgamma", "polygamma",
        "zeta",
    ],
    "math": [
        "betainc", "digamma", "erf", "erfc", "erfcinv", "erfinv", "igamma", "igammac", "lbeta",
        "lgamma", "ndtri", "polygamma", "zeta",
    ],
}  # fmt: skip

_FLOAT = "T: {bfloat16, half, float, double}"


def precise(function: Callable[..., Array], xp: Xp, *arguments: Array) -> Array:
    """Return the function, computed in float64, in the dtype of its first argument."""
    dtype = arguments[0].dtype
    wide = [xp.asarray(value, np.float64) for value in arguments]
    return function(xp, *wide).astype(dtype)


# ---------------------------------------------------------------------------------- error functions


@register_op("Erf", "x: T -> y: T", _FLOAT, shape=unchanged_shape, traits="sparse_values")
def erf(xp: Xp, x: Array) -> Array:
    """Return the error function, of float32 within 2 units in the last place."""
    if x.dtype == np.float32:
        return tiled(xp, functions.erf_of_singles, x)
    return precise(functions.erf, xp, x)


@erf.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    factor = convert_to_tensor(2 / math.sqrt(math.pi), dtype=grad.dtype)
    with control_dependencies([grad]):
        return grad * factor * exp_op(-square(op.inputs[0]))


@register_op("Erfc", "x: T -> y: T", _FLOAT, shape=unchanged_shape)
def erfc(xp: Xp, x: Array) -> Array:
    """Return 1 - erf(x)."""
    return precise(functions.erfc, xp, x)


@erfc.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    factor = convert_to_tensor(-2 / math.sqrt(math.pi), dtype=grad.dtype)
    with control_dependencies([grad]):
        return grad * factor * exp_op(-square(op.inputs[0]))


@register_op("Erfinv", "x: T -> y: T", _FLOAT, shape=unchanged_shape)
def erfinv_op(xp: Xp, x: Array) -> Array:
    """Return the number whose error function is x."""
    # Adding 0 gives every zero the same sign.
    return precise(functions.erfinv, xp, x) + x.dtype.type(0)


@erfinv_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    factor = convert_to_tensor(math.sqrt(math.pi) / 2, dtype=grad.dtype)
    with control_dependencies([grad]):
        return grad * factor * exp_op(square(op.outputs[0]))


@register_op("Ndtri", "x: T -> y: T", _FLOAT, shape=unchanged_shape)
def ndtri_op(xp: Xp, x: Array) -> Array:
    """Return the quantile of the normal distribution for the probability x."""
    return precise(functions.ndtri, xp, x)


@ndtri_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    factor = convert_to_tensor(math.sqrt(2 * math.pi), dtype=grad.dtype)
    with control_dependencies([grad]):
        return grad * factor * exp_op(square(op.outputs[0]) / 2.0)


# ---------------------------------------------------------------------------------- gamma functions


@register_op("Lgamma", "x: T -> y: T", _FLOAT, shape=unchanged_shape)
def lgamma(xp: Xp, x: Array) -> Array:
    """Return the logarithm of the modulus of the gamma function."""
    return precise(functions.lgamma, xp, x)


@lgamma.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * digamma(op.inputs[0])


@register_op("Digamma", "x: T -> y: T", _FLOAT, shape=unchanged_shape)
def digamma(xp: Xp, x: Array) -> Array:
    """Return the derivative of lgamma."""
    return precise(functions.digamma, xp, x)


@digamma.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x = op.inputs[0]
    with control_dependencies([grad]):
        return grad * polygamma(convert_to_tensor(1, dtype=x.dtype), x)


def _binary(function: Array, xp: Xp, x: Array, y: Array) -> Array:
    try:
        return precise(function, xp, x, y)
    except ValueError:
        raise incompatible_shapes(x, y) from None


@register_op("Igamma", "a: T, x: T -> z: T", _FLOAT, shape=broadcast_shape)
def igamma(xp: Xp, a: Array, x: Array) -> Array:
    """Return the lower regularized incomplete gamma function."""
    return _binary(functions.igamma, xp, a, x)


def igamma_gradients(op: Operation, grad: Tensor) -> tuple[TensorResult, TensorResult]:
    """Return the gradients of the lower function by both inputs."""
    a, x = op.inputs

    def gradients() -> tuple[TensorResult, TensorResult]:
        by_a = igamma_grad_a(a, x)
        # The density of the gamma distribution; its logarithm does not overflow.
        by_x = exp_op(-x + (a - 1) * log(x) - lgamma(a))
        return by_a * grad, by_x * grad

    return unbroadcast_by_axes(a, x, gradients, grad)


igamma.gradient(igamma_gradients)


@register_op("Igammac", "a: T, x: T -> z: T", _FLOAT, shape=broadcast_shape)
def igammac(xp: Xp, a: Array, x: Array) -> Array:
    """Return the upper regularized incomplete gamma function."""
    return _binary(functions.igammac, xp, a, x)


@igammac.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    by_a, by_x = igamma_gradients(op, grad)
    return -by_a, -by_x


@register_op(
    "IgammaGradA",
    "a: T, x: T -> z: T",
    "T: {float, double}",
    shape=broadcast_shape,
    devices=("CPU",),
)
def igamma_grad_a(xp: Xp, a: Array, x: Array) -> Array:
    """Return the derivative of Igamma by a."""
    return _binary(lambda _, p, q: functions.igamma_grad_a(p, q), xp, a, x)


@register_op(
    "RandomGammaGrad",
    "alpha: T, sample: T -> output: T",
    "T: {float, double}",
    shape=broadcast_shape,
    devices=("CPU",),
)
def random_gamma_grad(xp: Xp, alpha: Array, sample: Array) -> Array:
    """Return the derivative of a gamma-distributed sample by alpha."""
    return _binary(lambda _, p, q: functions.random_gamma_grad(p, q), xp, alpha, sample)


@register_op("Zeta", "x: T, q: T -> z: T", "T: {float, double}", shape=broadcast_shape)
def zeta(xp: Xp, x: Array, q: Array) -> Array:
    """Return the Hurwitz zeta function: the sum of (q + k)**-x over k >= 0."""
    return _binary(functions.zeta, xp, x, q)


@zeta.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x, q = op.inputs
    return unbroadcast_by_axes(x, q, lambda: (None, -x * zeta(x + 1, q) * grad), grad)


@register_op("Polygamma", "a: T, x: T -> z: T", "T: {float, double}", shape=broadcast_shape)
def polygamma(xp: Xp, a: Array, x: Array) -> Array:
    """Return the a-th derivative of digamma."""
    return _binary(functions.polygamma, xp, a, x)


@polygamma.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    n, x = op.inputs
    return unbroadcast_by_axes(n, x, lambda: (None, polygamma(n + 1, x) * grad), grad)


# ------------------------------------------------------------------------------------ beta function


def _betainc_shape(c: InferenceContext) -> TensorShape:
    shapes = [shape for shape in c.inputs if shape.rank != 0]
    if not shapes:
        return SCALAR_SHAPE
    found = UNKNOWN_SHAPE
    for shape in shapes:
        if shape.rank is not None:
            found = merge_shapes(found, shape)
    return found


@register_op("Betainc", "a: T, b: T, x: T -> z: T", "T: {float, double}", shape=_betainc_shape)
def betainc(xp: Xp, a: Array, b: Array, x: Array) -> Array:
    """Return the regularized incomplete beta function; scalars are used for every element."""
    shapes = {value.shape for value in (a, b, x) if value.ndim}
    if len(shapes) > 1:
        from tfnb.core import errors
        from tfnb.ops.base.broadcasting import shape_text

        first, second = [v.shape for v in (a, b, x) if v.ndim][:2]
        names = [n for n, v in zip("abx", (a, b, x), strict=True) if v.ndim]
        raise errors.invalid_argument(
            f"Shapes of {names[0]} and {names[1]} are inconsistent: {shape_text(first)} vs. "
            f"{shape_text(second)}"
        )
    return precise(functions.betainc, xp, a, b, x)


@betainc.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    a, b, x = op.inputs
    shape = array_ops.shape(a), array_ops.shape(x)
    axes = array_ops.broadcast_gradient_args(*shape)[1]
    log_beta = lgamma(a) + lgamma(b) - lgamma(a + b)
    # xlogy and xlog1py keep the ends of the interval finite.
    by_x = exp_op(xlog1py(b - 1, -x) + xlogy(a - 1, x) - log_beta)
    return None, None, array_ops.reshape(reduce_sum(by_x * grad, axes), shape[1])


# ----------------------------------------------------------------------- functions of Python's side


def erfinv(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the number whose error function is x."""
    with name_scope(name, "erfinv", [x]):
        return erfinv_op(x)


def ndtri(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the quantile of the normal distribution for the probability x."""
    with name_scope(name, "ndtri", [x]):
        return ndtri_op(x)


def erfcinv(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the number whose complementary error function is x."""
    with name_scope(name, "erfcinv", [x]):
        x = convert_to_tensor(x, name="start")
        return -ndtri(0.5 * x) * math.sqrt(0.5)


def lbeta(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the logarithm of the modulus of the multivariate beta function.

    It is computed along the last dimension.
    """
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        log_prod_gamma = reduce_sum(lgamma(x), axis=[-1])
        log_gamma_sum = lgamma(reduce_sum(x, axis=[-1]))
        return log_prod_gamma - log_gamma_sum
