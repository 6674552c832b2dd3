"""Ops that map each element separately: signs, roots, exponentials, trigonometry, rounding.

Corresponds to TensorFlow's ``cwise_op_*.cc`` with one input. Special functions are in
``special_math_ops.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, errors, float_ops
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, unchanged_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import control_dependencies, name_scope
from tfnb.framework.tensor import Tensor
from tfnb.ops.array import array_ops
from tfnb.ops.base.large_arrays import LARGE, LEAST_MAPPED, mapped, own, tiled, zero_where
from tfnb.ops.base.opaque_values import is_opaque

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.op_registry import OpDefinition
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult

EXPORTS = {
    "tf": [
        "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "expm1", "is_finite", "is_inf",
        "is_nan", "log", "log1p", "rint", "sin", "sinh", "square", "tan", "tanh", "reciprocal",
        "negative:neg", "conj",
    ],
    "math": [
        "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "expm1", "is_finite", "is_inf",
        "is_nan", "log", "log1p", "rint", "sin", "sinh", "square", "tan", "tanh", "reciprocal",
        "negative:neg", "conj",
    ],
    "nn": ["tanh"],
    "debugging": ["is_finite", "is_inf", "is_nan"],
    "bitwise": ["invert"],
}  # fmt: skip

_FLOAT = "T: {bfloat16, half, float, double}"
_FLOAT_OR_COMPLEX = "T: {bfloat16, half, float, double, complex64, complex128}"
_SIGNED = "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"
_INTEGER = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}"


def _mapped_expressions(op: OpDefinition, function: Any) -> None:
    """Register a function as an op's expression; threads share it for a large array only."""
    op.expression("{f}({x})", scalars_only=True, f=function)
    op.expression("{f}({x}) if {x}.size < {least} else {kernel}", f=function, least=LEAST_MAPPED)


# ------------------------------------------------------------------------------------------- signs


@register_op(
    "Abs",
    "x: T -> y: T",
    "T: {bfloat16, half, float, double, int8, int16, int32, int64}",
    shape=unchanged_shape,
    traits="same_layout sparse_values",
)
def abs_op(xp: Xp, x: Array) -> Array:
    """Return the absolute value; the smallest integer stays negative."""
    return abs(x)


abs_op.expression("abs({x})")
abs_op.tile("{absolute}({x}, out={out})", absolute=np.absolute)


@abs_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad * sign(op.inputs[0])


@register_op(
    "Neg", "x: T -> y: T", _SIGNED, shape=unchanged_shape, traits="same_layout sparse_values"
)
def neg(xp: Xp, x: Array) -> Array:
    """Return -x."""
    return -x


neg.float_ops(float_ops.per_input())


neg.expression("-{x}")
neg.tile("{negative}({x}, out={out})", negative=np.negative)


@neg.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return -grad


@register_op(
    "Sign", "x: T -> y: T", _SIGNED, shape=unchanged_shape, traits="same_layout sparse_values"
)
def sign(xp: Xp, x: Array) -> Array:
    """Return -1, 0 or 1; x / |x| for complex numbers; NaN stays NaN."""
    if x.dtype.kind == "V":  # bfloat16's library keeps the sign of zero
        return xp.sign(x) + x.dtype.type(0)
    if x.dtype.kind != "c":
        return xp.sign(x)
    length = abs(x)
    scale = 1 / xp.where(length == 0, _one(length), length)
    return (x.real * scale + 1j * (x.imag * scale)).astype(x.dtype)


sign.expression(
    "{sign}({x})",
    types=(dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64),
    scalars_only=True,
    sign=np.sign,
)


@sign.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return array_ops.zeros_like(op.inputs[0])


# ------------------------------------------------------------------------- squares, roots, inverses


@register_op(
    "Square",
    "x: T -> y: T",
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
    "complex64, complex128}",
    shape=unchanged_shape,
    traits="same_layout sparse_values",
)
def square(xp: Xp, x: Array) -> Array:
    """Compute x * x."""
    return x * x


square.float_ops(float_ops.per_input())


square.expression("{x} * {x}")
square.tile("{multiply}({x}, {x}, out={out})", multiply=np.multiply)


@square.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        x = conj(op.inputs[0])
        return _product(grad, _product(x, array_ops.constant(2.0, dtype=grad.dtype)))


@register_op(
    "Sqrt",
    "x: T -> y: T",
    _FLOAT_OR_COMPLEX,
    shape=unchanged_shape,
    traits="same_layout sparse_values",
)
def sqrt_op(xp: Xp, x: Array) -> Array:
    """Return the square root; NaN below zero."""
    return mapped(xp, xp.sqrt, x)


_mapped_expressions(sqrt_op, np.sqrt)
sqrt_op.tile("{sqrt}({x}, out={out})", sqrt=np.sqrt)


@sqrt_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return sqrt_grad(op.outputs[0], grad)


@register_op("SqrtGrad", "y: T, dy: T -> z: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def sqrt_grad(xp: Xp, y: Array, dy: Array) -> Array:
    """Return dy * 0.5 / y, where y = sqrt(x); 0 where dy is 0, whatever y is."""
    return _of_pairs(xp, _sqrt_grad, y, dy)


def _sqrt_grad(xp: Xp, y: Array, dy: Array, out: Array | None = None) -> Array:
    result = xp.multiply(dy, dy.dtype.type(0.5), out=out)
    result = xp.divide(result, _conj(xp, y), out=own(result))
    return zero_where(xp, dy == 0, result, out)


@sqrt_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        ratio = grad / op.inputs[0]
        return -conj(ratio) * op.outputs[0], 0.5 * ratio


@register_op(
    "Rsqrt", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="same_layout"
)
def rsqrt_op(xp: Xp, x: Array) -> Array:
    """Return 1 / sqrt(x)."""
    return tiled(xp, _rsqrt, x)


rsqrt_op.expression(
    "1 / {sqrt}({x}) if {x}.size < {least} else {kernel}",
    types=[dtypes.float32, dtypes.float64],
    sqrt=np.sqrt,
    least=LARGE,
)
rsqrt_op.float_ops(float_ops.per_input(2))


def _rsqrt(xp: Xp, x: Array, out: Array | None = None) -> Array:
    if x.dtype.itemsize == 2:  # rounded once, as in TensorFlow
        result = (np.float32(1) / xp.sqrt(x.astype(np.float32))).astype(x.dtype)
        if out is None:
            return result
        out[...] = result
        return out
    root = xp.sqrt(x, out=out)
    return xp.divide(_one(x), root, out=own(root))


@rsqrt_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return rsqrt_grad(op.outputs[0], grad)


@register_op("RsqrtGrad", "y: T, dy: T -> z: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def rsqrt_grad(xp: Xp, y: Array, dy: Array) -> Array:
    """Return dy * -0.5 * y**3, where y = 1 / sqrt(x); 0 where dy is 0, whatever y is."""
    return _of_pairs(xp, _rsqrt_grad, y, dy)


rsqrt_grad.float_ops(float_ops.per_output(4))


def _rsqrt_grad(xp: Xp, y: Array, dy: Array, out: Array | None = None) -> Array:
    y = _conj(xp, y)
    result = xp.multiply(dy, dy.dtype.type(0.5), out=out)
    target = own(result)
    result = xp.multiply(result, y, out=target)
    result = xp.multiply(result, y * y, out=target)
    return zero_where(xp, dy == 0, xp.subtract(_zero(dy), result, out=target), out)


@rsqrt_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        a, b = conj(op.inputs[0]), op.inputs[1]
        return -1.5 * conj(grad) * b * square(a), rsqrt_grad(a, grad)


@register_op("Reciprocal", "x: T -> y: T", _SIGNED, shape=unchanged_shape)
def reciprocal(xp: Xp, x: Array) -> Array:
    """Return 1 / x."""
    return _one(x) / x


reciprocal.float_ops(float_ops.per_input())


@reciprocal.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return reciprocal_grad(op.outputs[0], grad)


@register_op("ReciprocalGrad", "y: T, dy: T -> z: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def reciprocal_grad(xp: Xp, y: Array, dy: Array) -> Array:
    """Return -dy * y * y, where y = 1 / x; 0 where dy is 0, whatever y is."""
    return _of_pairs(xp, _reciprocal_grad, y, dy)


def _gradient_of_reciprocal_grad(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        y, b = conj(op.inputs[0]), op.inputs[1]
        return conj(grad) * -2.0 * b * y, reciprocal_grad(y, grad)


reciprocal_grad.gradient(_gradient_of_reciprocal_grad)


@register_op("Inv", "x: T -> y: T", _SIGNED, shape=unchanged_shape)
def inv(xp: Xp, x: Array) -> Array:
    """Return 1 / x (the older name of Reciprocal)."""
    return _one(x) / x


@inv.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return reciprocal_grad(op.outputs[0], grad)


@register_op("InvGrad", "y: T, dy: T -> z: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def inv_grad(xp: Xp, y: Array, dy: Array) -> Array:
    """Return -dy * y * y, where y = 1 / x; 0 where dy is 0, whatever y is."""
    return _of_pairs(xp, _reciprocal_grad, y, dy)


inv_grad.gradient(_gradient_of_reciprocal_grad)


def _product(x: TensorLike, y: TensorLike) -> TensorResult:
    """Return `x` * `y` as a node named Mul; the operator would name it mul."""
    # A local import, because cwise_binary_ops imports this file.
    from tfnb.ops.math.cwise_binary_ops import mul

    return mul(x, y)


def _reciprocal_grad(xp: Xp, y: Array, dy: Array, out: Array | None = None) -> Array:
    y = _conj(xp, y)
    result = xp.negative(dy, out=out)
    # The result is zero where the incoming gradient is zero, so that an unused pole gives no NaN.
    return zero_where(xp, dy == 0, xp.multiply(result, y * y, out=own(result)), out)


def _conj(xp: Xp, x: Array) -> Array:
    return xp.conj(x) if x.dtype.kind == "c" else x


def _of_pairs(xp: Xp, formula: Callable[..., Array], y: Array, dy: Array) -> Array:
    """Return `formula` of elements at the same position in memory.

    The result has the shape of the first array.
    """
    if y.shape == dy.shape:
        return tiled(xp, formula, y, dy)
    if y.size != dy.size:
        raise errors.invalid_argument(
            "The two arguments to a cwise op must have same number of elements, "
            f"got {y.size} and {dy.size}"
        )
    return formula(xp, y.reshape(-1), dy.reshape(-1)).reshape(y.shape)


def _pair_expressions(op: OpDefinition, text: str) -> None:
    """Register a formula of arrays `y` and `dy`; for large arrays the kernel computes it."""
    fits = "{y}.shape == {dy}.shape != () and {y}.size < {least}"
    for dtype in (dtypes.float32, dtypes.float64):
        one = np.array(1, dtype.as_numpy_dtype)
        op.expression(f"{text} if {fits} else {{kernel}}", types=[dtype], one=one, least=LARGE)


def _zero(x: Array) -> Array:
    """Return 0 in the dtype of x."""
    return x.dtype.type(0)


def _one(x: Array) -> Array:
    """Return 1 in the dtype of x.

    Extension dtypes such as bfloat16 are not preserved by a Python 1.
    """
    return x.dtype.type(1)


# ---------------------------------------------------------------------------------------- rounding


@register_op("Round", "x: T -> y: T", _SIGNED, shape=unchanged_shape)
def round_op(xp: Xp, x: Array) -> Array:
    """Return the nearest whole number, halves to the even one; integers stay unchanged."""
    return x if x.dtype.kind in "iu" else xp.rint(x)


@round_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None


@register_op("Rint", "x: T -> y: T", _FLOAT, shape=unchanged_shape, traits="same_layout")
def rint(xp: Xp, x: Array) -> Array:
    """Return the nearest whole number, halves to the even one."""
    return xp.rint(x)


rint.expression("{rint}({x})", rint=np.rint)
rint.tile("{rint}({x}, out={out})", rint=np.rint)


@rint.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None


@register_op("Floor", "x: T -> y: T", _FLOAT, shape=unchanged_shape, traits="same_layout")
def floor_op(xp: Xp, x: Array) -> Array:
    """Return the largest whole number not above x."""
    return xp.floor(x)


floor_op.expression("{floor}({x})", floor=np.floor)
floor_op.tile("{floor}({x}, out={out})", floor=np.floor)


@floor_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None


@register_op("Ceil", "x: T -> y: T", _FLOAT, shape=unchanged_shape, traits="same_layout")
def ceil_op(xp: Xp, x: Array) -> Array:
    """Return the smallest whole number not below x."""
    return xp.ceil(x)


ceil_op.expression("{ceil}({x})", ceil=np.ceil)
ceil_op.tile("{ceil}({x}, out={out})", ceil=np.ceil)


@ceil_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return None


@register_op("IsNan", "x: T -> y: bool", _FLOAT, shape=unchanged_shape)
def is_nan(xp: Xp, x: Array) -> Array:
    """Return whether x is not a number."""
    return xp.isnan(x)


is_nan.expression("{isnan}({x})", isnan=np.isnan)


@register_op("IsInf", "x: T -> y: bool", _FLOAT, shape=unchanged_shape)
def is_inf(xp: Xp, x: Array) -> Array:
    """Return whether x is infinite."""
    return xp.isinf(x)


is_inf.expression("{isinf}({x})", isinf=np.isinf)


@register_op("IsFinite", "x: T -> y: bool", _FLOAT, shape=unchanged_shape)
def is_finite(xp: Xp, x: Array) -> Array:
    """Return whether x is neither infinite nor NaN."""
    return xp.isfinite(x)


is_finite.expression("{isfinite}({x})", isfinite=np.isfinite)


# ------------------------------------------------------------------------ exponentials, logarithms


@register_op("Exp", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="same_layout")
def exp_op(xp: Xp, x: Array) -> Array:
    """Return e to the power x."""
    return mapped(xp, xp.exp, x)


_mapped_expressions(exp_op, np.exp)
exp_op.tile("{exp}({x}, out={out})", exp=np.exp)


@exp_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * conj(op.outputs[0])


@register_op("Expm1", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def expm1(xp: Xp, x: Array) -> Array:
    """Return exp(x) - 1, exact near zero."""
    return mapped(xp, xp.expm1, x)


_mapped_expressions(expm1, np.expm1)
expm1.tile("{expm1}({x}, out={out})", expm1=np.expm1)


@expm1.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * exp_op(conj(op.inputs[0]))


@register_op("Log", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="same_layout")
def log(xp: Xp, x: Array) -> Array:
    """Return the natural logarithm; -inf at zero, NaN below."""
    return mapped(xp, xp.log, x)


log.float_ops(float_ops.per_input())


_mapped_expressions(log, np.log)
log.tile("{log}({x}, out={out})", log=np.log)


@log.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(conj(op.inputs[0]))


@register_op("Log1p", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def log1p(xp: Xp, x: Array) -> Array:
    """Return log(1 + x), exact near zero."""
    return mapped(xp, xp.log1p, x)


_mapped_expressions(log1p, np.log1p)
log1p.tile("{log1p}({x}, out={out})", log1p=np.log1p)


@log1p.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(1 + conj(op.inputs[0]))


@register_op(
    "Sigmoid", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="same_layout"
)
def sigmoid_op(xp: Xp, x: Array) -> Array:
    """Return 1 / (1 + exp(-x))."""
    return tiled(xp, logistic, x)


def logistic(xp: Xp, x: Array, out: Array | None = None) -> Array:
    """Return 1 / (1 + exp(-x)), in `out` if that is given."""
    one = _one(x)
    if x.dtype.itemsize == 2:
        # Every step is rounded as in TensorFlow; above 11 the result is 1.
        result = xp.minimum(x, x.dtype.type(11), out=out)
        result = xp.exp(result, out=own(result))
        return xp.divide(result, one + result, out=own(result))
    result = xp.negative(x, out=out)
    target = own(result)
    result = xp.add(one, xp.exp(result, out=target), out=target)
    return xp.divide(one, result, out=target)


sigmoid_op.tile("{sigmoid}({np}, {x}, out={out})", sigmoid=logistic, np=np)
for _dtype in (dtypes.float32, dtypes.float64):
    # A small array is not worth the call of a function.
    sigmoid_op.expression(
        "{one} / ({one} + {exp}(-{x})) if {x}.size < {least} else {kernel}",
        types=[_dtype],
        one=np.array(1, _dtype.as_numpy_dtype),
        exp=np.exp,
        least=LARGE,
    )


@sigmoid_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return sigmoid_grad(conj(op.outputs[0]), grad)


@register_op(
    "SigmoidGrad",
    "y: T, dy: T -> z: T",
    _FLOAT_OR_COMPLEX,
    shape=unchanged_shape,
    traits="input_gradient",
)
def sigmoid_grad(xp: Xp, y: Array, dy: Array) -> Array:
    """Return dy * y * (1 - y), where y = sigmoid(x)."""
    return _of_pairs(xp, _sigmoid_grad, y, dy)


def _sigmoid_grad(xp: Xp, y: Array, dy: Array, out: Array | None = None) -> Array:
    result = xp.multiply(dy, y, out=out)
    return xp.multiply(result, _one(y) - y, out=own(result))


_pair_expressions(sigmoid_grad, "{dy} * {y} * ({one} - {y})")


@sigmoid_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        a, b = conj(op.inputs[0]), conj(op.inputs[1])
        scaled = grad * b
        return scaled - 2.0 * scaled * a, sigmoid_grad(a, grad)


# ------------------------------------------------------------------------------------ trigonometry


@register_op(
    "Sin",
    "x: T -> y: T",
    _FLOAT_OR_COMPLEX,
    shape=unchanged_shape,
    traits="same_layout sparse_values",
)
def sin(xp: Xp, x: Array) -> Array:
    """Return the sine of an angle in radians."""
    return mapped(xp, xp.sin, x)


_mapped_expressions(sin, np.sin)
sin.tile("{sin}({x}, out={out})", sin=np.sin)


@sin.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * cos(conj(op.inputs[0]))


@register_op("Cos", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="same_layout")
def cos(xp: Xp, x: Array) -> Array:
    """Return the cosine of an angle in radians."""
    return mapped(xp, xp.cos, x)


_mapped_expressions(cos, np.cos)
cos.tile("{cos}({x}, out={out})", cos=np.cos)


@cos.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return -grad * sin(conj(op.inputs[0]))


@register_op(
    "Tan", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="sparse_values"
)
def tan(xp: Xp, x: Array) -> Array:
    """Return the tangent of an angle in radians."""
    return mapped(xp, xp.tan, x)


@tan.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return square(reciprocal(cos(conj(op.inputs[0])))) * grad


@register_op(
    "Asin", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="sparse_values"
)
def asin(xp: Xp, x: Array) -> Array:
    """Return the angle whose sine is x."""
    return xp.arcsin(x)


def _one_less_square(x: TensorLike, grad: TensorLike) -> TensorResult:
    from tfnb.ops.math.math_ops import subtract

    squared = square(conj(x))
    return subtract(convert_to_tensor(1, dtype=grad.dtype), squared)


@asin.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(sqrt_op(_one_less_square(op.inputs[0], grad)))


@register_op("Acos", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def acos_op(xp: Xp, x: Array) -> Array:
    """Return the angle whose cosine is x."""
    return xp.arccos(x)


@acos_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        inverse = reciprocal(sqrt_op(_one_less_square(op.inputs[0], grad)))
        return -grad * inverse


@register_op(
    "Atan", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="sparse_values"
)
def atan(xp: Xp, x: Array) -> Array:
    """Return the angle whose tangent is x."""
    return xp.arctan(x)


@atan.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        from tfnb.ops.math.math_ops import add

        squared = square(conj(op.inputs[0]))
        return grad * reciprocal(add(convert_to_tensor(1, dtype=grad.dtype), squared))


@register_op("Sinh", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def sinh(xp: Xp, x: Array) -> Array:
    """Return the hyperbolic sine."""
    return mapped(xp, xp.sinh, x)


@sinh.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * cosh(conj(op.inputs[0]))


@register_op("Cosh", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def cosh(xp: Xp, x: Array) -> Array:
    """Return the hyperbolic cosine."""
    return mapped(xp, xp.cosh, x)


@cosh.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * sinh(conj(op.inputs[0]))


@register_op(
    "Tanh",
    "x: T -> y: T",
    _FLOAT_OR_COMPLEX,
    shape=unchanged_shape,
    traits="same_layout sparse_values",
)
def tanh(xp: Xp, x: Array) -> Array:
    """Return the hyperbolic tangent."""
    return mapped(xp, xp.tanh, x)


_mapped_expressions(tanh, np.tanh)
tanh.tile("{tanh}({x}, out={out})", tanh=np.tanh)


@tanh.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return tanh_grad(conj(op.outputs[0]), grad)


@register_op(
    "TanhGrad",
    "y: T, dy: T -> z: T",
    _FLOAT_OR_COMPLEX,
    shape=unchanged_shape,
    traits="input_gradient",
)
def tanh_grad(xp: Xp, y: Array, dy: Array) -> Array:
    """Return dy * (1 - y * y), where y = tanh(x)."""
    return _of_pairs(xp, _tanh_grad, y, dy)


def _tanh_grad(xp: Xp, y: Array, dy: Array, out: Array | None = None) -> Array:
    result = xp.multiply(y, y, out=out)
    target = own(result)
    result = xp.subtract(_one(y), result, out=target)
    return xp.multiply(dy, result, out=target)


_pair_expressions(tanh_grad, "{dy} * ({one} - {y} * {y})")


@tanh_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        a, b = conj(op.inputs[0]), conj(op.inputs[1])
        return grad * -2.0 * b * a, tanh_grad(a, grad)


@register_op(
    "Asinh", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="sparse_values"
)
def asinh(xp: Xp, x: Array) -> Array:
    """Return the inverse hyperbolic sine."""
    return xp.arcsinh(x)


@asinh.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad / cosh(conj(op.outputs[0]))


@register_op("Acosh", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape)
def acosh(xp: Xp, x: Array) -> Array:
    """Return the inverse hyperbolic cosine."""
    return xp.arccosh(x)


@acosh.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad / sinh(conj(op.outputs[0]))


@register_op(
    "Atanh", "x: T -> y: T", _FLOAT_OR_COMPLEX, shape=unchanged_shape, traits="sparse_values"
)
def atanh(xp: Xp, x: Array) -> Array:
    """Return the inverse hyperbolic tangent."""
    return xp.arctanh(x)


@atanh.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(_one_less_square(op.inputs[0], grad))


# -------------------------------------------------------------------------------- complex conjugate


def _conj_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    if data:
        c.set_output_handle_data(0, data)
    return c.inputs[0]


@register_op(
    "Conj",
    "input: T -> output: T",
    "T: {complex64, complex128, variant} = DT_COMPLEX64",
    shape=_conj_shape,
)
def conj_op(xp: Xp, x: Array) -> Array:
    """Return the complex conjugate."""
    if not is_opaque(x):
        return xp.conj(x)
    # A sparse matrix has a method of its own for its conjugate.
    if not hasattr(x, "conjugate"):
        raise errors.internal(
            "No unary variant unary_op function found for op CONJ Variant type_name: "
            f"{type(x).__name__} for device type: CPU"
        )
    return x.conjugate()


@conj_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return conj(grad)


def conj(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return the complex conjugate; real numbers are returned unchanged.

    Raises:
      TypeError: x is not numeric.
    """
    if isinstance(x, Tensor) and (x.dtype.is_floating or x.dtype.is_integer):
        return x
    with name_scope(name, "Conj", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex or x.dtype == dtypes.variant:
            return conj_op(x, name=scope)
        if x.dtype.is_floating or x.dtype.is_integer:
            return x
        raise TypeError(f"Expected numeric or variant tensor, got dtype {x.dtype!r}.")


# ------------------------------------------------------------------------------------ bit patterns


@register_op("Invert", "x: T -> y: T", _INTEGER, shape=unchanged_shape)
def invert(xp: Xp, x: Array) -> Array:
    """Return x with every bit flipped."""
    return ~x


invert.not_differentiable()


@register_op("PopulationCount", "x: T -> y: uint8", _INTEGER, shape=unchanged_shape)
def population_count(xp: Xp, x: Array) -> Array:
    """Return the number of bits that are set, in two's complement."""
    bits = xp.asarray(x)
    if xp is np:
        return np.bitwise_count(bits.view(f"u{bits.itemsize}"))
    # CuPy has no function for this: count byte by byte, from a table.
    table = xp.asarray(np.bitwise_count(np.arange(256, dtype=np.uint8)))
    in_bytes = xp.ascontiguousarray(bits).reshape(*bits.shape, 1).view(np.uint8)
    return table[in_bytes].sum(axis=-1, dtype=np.uint8)


population_count.not_differentiable()


@register_op("LogicalNot", "x: bool -> y: bool", shape=unchanged_shape)
def logical_not(xp: Xp, x: Array) -> Array:
    """Return True where x is false."""
    return ~x


logical_not.expression("{x} ^ {true}", scalars_only=True, true=np.True_)


logical_not.not_differentiable()
