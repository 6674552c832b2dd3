"""Complex numbers: construction, parts, modulus and angle."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tfnb.core import dtypes
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import broadcast_shape, unchanged_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import incompatible_shapes

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.math import cwise_unary_ops, unbroadcast
else:
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")
    unbroadcast = later("tfnb.ops.math.unbroadcast")

EXPORTS = {
    "tf": ["complex:complex_", "real", "imag", "angle"],
    "math": ["real", "imag", "angle"],
    "dtypes": ["complex:complex_"],
}

_COMPLEX_IN = "T: {complex64, complex128} = DT_COMPLEX64"
_REAL_OUT = "Tout: {float, double} = DT_FLOAT"


@register_op("Real", "input: T -> output: Tout", _COMPLEX_IN, _REAL_OUT, shape=unchanged_shape)
def real_op(xp: Xp, x: Array) -> Array:
    """Return the real part."""
    return x.real


@real_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return complex_(grad, array_ops.constant(0, grad.dtype))


@register_op("Imag", "input: T -> output: Tout", _COMPLEX_IN, _REAL_OUT, shape=unchanged_shape)
def imag_op(xp: Xp, x: Array) -> Array:
    """Return the imaginary part."""
    return x.imag


@imag_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return complex_(array_ops.constant(0, grad.dtype), grad)


@register_op("Angle", "input: T -> output: Tout", _COMPLEX_IN, _REAL_OUT, shape=unchanged_shape)
def angle_op(xp: Xp, x: Array) -> Array:
    """Return the argument atan2(imag, real) in radians."""
    return xp.angle(x).astype(x.real.dtype)


@angle_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x = op.inputs[0]
    with control_dependencies([grad]):
        real_part = real(x)
        swapped = cwise_unary_ops.reciprocal(complex_(imag(x), real_part))
        return -complex_(grad, array_ops.constant(0, grad.dtype)) * swapped


@register_op("ComplexAbs", "x: T -> y: Tout", _COMPLEX_IN, _REAL_OUT, shape=unchanged_shape)
def complex_abs(xp: Xp, x: Array) -> Array:
    """Return the modulus sqrt(real**2 + imag**2)."""
    return abs(x)


@complex_abs.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.math.math_ops import div_no_nan

    x, y = op.inputs[0], op.outputs[0]
    weighted = complex_(grad, array_ops.zeros_like(grad)) * x
    return div_no_nan(weighted, complex_(y, array_ops.zeros_like(y)))


@register_op(
    "Complex",
    "real: T, imag: T -> out: Tout",
    "T: {float, double} = DT_FLOAT",
    "Tout: {complex64, complex128} = DT_COMPLEX64",
    shape=broadcast_shape,
)
def complex_op(xp: Xp, real: Array, imag: Array, *, Tout: DType) -> Array:
    """Return real + i * imag; the parts broadcast."""
    try:
        shape = xp.broadcast_shapes(real.shape, imag.shape)
    except ValueError:
        raise incompatible_shapes(real, imag) from None
    out = xp.empty(shape, Tout.as_numpy_dtype)
    out.real = real
    out.imag = imag
    return out


@complex_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return unbroadcast.unbroadcast(op.inputs[0], op.inputs[1], real(grad), imag(grad))


# ----------------------------------------------------------------------- functions of Python's side


def complex_(real: TensorLike, imag: TensorLike, name: str | None = None) -> TensorResult:
    """Return a complex tensor from its real and imaginary parts.

    Raises:
      TypeError: the parts are neither both float32 nor both float64.
    """
    real = convert_to_tensor(real, name="real")
    imag = convert_to_tensor(imag, name="imag")
    with name_scope(name, "Complex", [real, imag]) as scope:
        types = (real.dtype.base_dtype, imag.dtype.base_dtype)
        if types == (dtypes.float64, dtypes.float64):
            result_type = dtypes.complex128
        elif types == (dtypes.float32, dtypes.float32):
            result_type = dtypes.complex64
        else:
            raise TypeError(
                f"The `real` and `imag` components have incorrect types: {types[0].name} "
                f"{types[1].name}. They must be consistent, and one of "
                f"{[dtypes.float32, dtypes.float64]}"
            )
        return complex_op(real, imag, Tout=result_type, name=scope)


def real(input: TensorLike, name: str | None = None) -> TensorResult:
    """Return the real part; real numbers are returned unchanged."""
    with name_scope(name, "Real", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return real_op(input, Tout=input.dtype.real_dtype, name=scope)
        if input.dtype.is_numeric:
            return input
        raise TypeError(f"input must be a numeric tensor, but got tensor with dtype {input.dtype}")


def imag(input: TensorLike, name: str | None = None) -> TensorResult:
    """Return the imaginary part; zeros for real numbers."""
    with name_scope(name, "Imag", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return imag_op(input, Tout=input.dtype.real_dtype, name=scope)
        return array_ops.zeros_like(input)


def angle(input: TensorLike, name: str | None = None) -> TensorResult:
    """Return the argument in radians; 0 or pi for real numbers."""
    with name_scope(name, "Angle", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        if input.dtype.is_complex:
            return angle_op(input, Tout=input.dtype.real_dtype, name=scope)
        return array_ops.where(
            input < 0, math.pi * array_ops.ones_like(input), array_ops.zeros_like(input)
        )
