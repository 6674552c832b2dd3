"""Activation functions and their gradients: Relu, Elu, Selu, Softplus, Softsign and others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes
from tfnb.core.op_registry import register_op
from tfnb.core.process.later import later
from tfnb.core.shape_inference import merge_both_inputs, unchanged_shape
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.framework.scopes import name_scope
from tfnb.ops.array import array_ops
from tfnb.ops.base.broadcasting import require_same_shape
from tfnb.ops.base.large_arrays import LARGE, at_least, choose, is_large, own, tiled

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike, TensorResult
    from tfnb.ops.math import comparison_ops, cwise_binary_ops, cwise_unary_ops
else:
    comparison_ops = later("tfnb.ops.math.comparison_ops")
    cwise_binary_ops = later("tfnb.ops.math.cwise_binary_ops")
    cwise_unary_ops = later("tfnb.ops.math.cwise_unary_ops")

EXPORTS = {
    "nn": [
        "crelu", "elu", "leaky_relu", "relu", "relu6", "selu", "softplus", "softsign",
    ],
    "tf": ["log_sigmoid"],
    "math": ["log_sigmoid", "softplus", "softsign"],
}  # fmt: skip

_FLOAT = "T: {half, bfloat16, float, double}"


# --------------------------------------------------------------------------------------------- relu


@register_op(
    "Relu",
    "features: T -> activations: T",
    "T: {realnumbertype, qint8}",
    shape=unchanged_shape,
    traits="same_layout",
)
def relu(xp: Xp, features: Array) -> Array:
    """Return max(features, 0)."""
    return at_least(xp, features, features.dtype.type(0))


def _relu(xp: Xp, features: Array, out: Array) -> Array:
    return features.clip(features.dtype.type(0), xp.inf, out=out)


relu.tile("{relu}({np}, {features}, out={out})", relu=_relu, np=np)


@relu.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return relu_grad(grad, op.outputs[0])


@register_op(
    "ReluGrad",
    "gradients: T, features: T -> backprops: T",
    "T: realnumbertype",
    shape=merge_both_inputs,
    traits="input_gradient",
)
def relu_grad(xp: Xp, gradients: Array, features: Array) -> Array:
    """Return the gradient where the feature is positive, else 0."""
    require_same_shape("ReluGrad", gradients, features)
    return tiled(xp, _where_positive, gradients, features)


def _where_positive(xp: Xp, gradients: Array, features: Array, out: Array | None = None) -> Array:
    return xp.multiply(gradients, features > 0, out=out)


relu_grad.expression(
    "{gradients} * ({features} > {zero}) if {gradients}.shape == {features}.shape"
    " and {features}.size < {least} else {kernel}",
    types=[dtypes.float32, dtypes.float64],
    zero=np.array(0, np.float32),
    least=LARGE,
)


@relu_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x = op.inputs[1]
    return relu_grad(grad, x), array_ops.zeros_like(x)


@register_op("Relu6", "features: T -> activations: T", "T: realnumbertype", shape=unchanged_shape)
def relu6_op(xp: Xp, features: Array) -> Array:
    """Return min(max(features, 0), 6)."""
    scalar = features.dtype.type
    if is_large(xp, features):
        return features.clip(scalar(0), scalar(6))
    return xp.minimum(xp.maximum(features, scalar(0)), scalar(6))


def _relu6(features: TensorLike, out: Any) -> Any:
    scalar = features.dtype.type
    return features.clip(scalar(0), scalar(6), out=out)


relu6_op.tile("{relu6}({features}, out={out})", relu6=_relu6)


@relu6_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return relu6_grad(grad, op.outputs[0])


@register_op(
    "Relu6Grad",
    "gradients: T, features: T -> backprops: T",
    "T: realnumbertype",
    shape=merge_both_inputs,
    traits="input_gradient",
)
def relu6_grad(xp: Xp, gradients: Array, features: Array) -> Array:
    """Return the gradient where the feature is between 0 and 6, else 0."""
    require_same_shape("Relu6Grad", gradients, features)
    return tiled(xp, _where_between, gradients, features)


def _where_between(xp: Xp, gradients: Array, features: Array, out: Array | None = None) -> Array:
    return xp.multiply(gradients, (features > 0) & (features < 6), out=out)


@relu6_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x = op.inputs[1]
    return relu6_grad(grad, x), array_ops.zeros_like(x)


_LEAKY = ("alpha: float = 0.200000003", "T: {half, bfloat16, float, double} = DT_FLOAT")


@register_op("LeakyRelu", "features: T -> activations: T", *_LEAKY, shape=unchanged_shape)
def leaky_relu_op(xp: Xp, features: Array, *, alpha: float) -> Array:
    """Return the feature where it is positive, else alpha times the feature."""
    if 0 < alpha <= 1 and is_large(xp, features):
        # The result is the larger of the two: alpha makes positive features smaller and negative
        # ones larger.
        scaled = features.dtype.type(alpha) * features
        return np.maximum(features, scaled, out=scaled)
    return xp.where(features > 0, features, features.dtype.type(alpha) * features)


@leaky_relu_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return leaky_relu_grad(grad, op.inputs[0], alpha=op.get_attr("alpha"))


@register_op(
    "LeakyReluGrad",
    "gradients: T, features: T -> backprops: T",
    *_LEAKY,
    shape=merge_both_inputs,
    traits="input_gradient",
)
def leaky_relu_grad(xp: Xp, gradients: Array, features: Array, *, alpha: float) -> Array:
    """Return the gradient where the feature is positive, else alpha times the gradient."""

    def formula(xp: Xp, gradients: Array, features: Array, out: Array | None = None) -> Array:
        scaled = xp.multiply(gradients.dtype.type(alpha), gradients, out=out)
        return choose(xp, features > 0, gradients, scaled, out=own(scaled))

    require_same_shape("LeakyReluGrad", gradients, features)
    return tiled(xp, formula, gradients, features)


@leaky_relu_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    x = op.inputs[1]
    return leaky_relu_grad(grad, x, alpha=op.get_attr("alpha")), array_ops.zeros_like(x)


# --------------------------------------------------------------------------------- exponential ones


@register_op("Elu", "features: T -> activations: T", _FLOAT, shape=unchanged_shape)
def elu(xp: Xp, features: Array) -> Array:
    """Return the feature where it is positive, else exp(features) - 1."""
    return tiled(xp, _elu, features)


def _elu(xp: Xp, features: Array, out: Array | None = None) -> Array:
    # Not expm1: TensorFlow subtracts 1, and loses the digits near zero that expm1 would keep.
    below = xp.exp(features, out=out)
    below = xp.subtract(below, features.dtype.type(1), out=own(below))
    return choose(xp, features < 0, below, features, out=own(below))


@elu.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return elu_grad(grad, op.outputs[0])


@register_op(
    "EluGrad",
    "gradients: T, outputs: T -> backprops: T",
    _FLOAT,
    shape=merge_both_inputs,
    traits="input_gradient",
)
def elu_grad(xp: Xp, gradients: Array, outputs: Array) -> Array:
    """Return the gradient, times outputs + 1 where the output is negative."""
    require_same_shape("EluGrad", gradients, outputs)
    return tiled(xp, _elu_grad, gradients, outputs)


def _elu_grad(xp: Xp, gradients: Array, outputs: Array, out: Array | None = None) -> Array:
    below = xp.add(outputs, outputs.dtype.type(1), out=out)
    below = xp.multiply(below, gradients, out=own(below))
    return choose(xp, outputs < 0, below, gradients, out=own(below))


@elu_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    y = op.inputs[1]
    of_grad = elu_grad(grad, y)
    return of_grad, array_ops.where(
        comparison_ops.less(y, 0), grad * op.inputs[0], array_ops.zeros_like(y)
    )


_SELU_SCALE = 1.0507009873554804934193349852946
_SELU_SCALE_ALPHA = 1.7580993408473768599402175208123


@register_op("Selu", "features: T -> activations: T", _FLOAT, shape=unchanged_shape)
def selu(xp: Xp, features: Array) -> Array:
    """Return Elu, scaled so that mean 0 and variance 1 are preserved."""
    return tiled(xp, _selu, features)


def _selu(xp: Xp, features: Array, out: Array | None = None) -> Array:
    scalar = features.dtype.type
    below = xp.exp(features, out=out)
    target = own(below)
    below = xp.subtract(below, scalar(1), out=target)
    below = xp.multiply(scalar(_SELU_SCALE_ALPHA), below, out=target)
    return choose(xp, features < 0, below, scalar(_SELU_SCALE) * features, out=target)


@selu.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return selu_grad(grad, op.outputs[0])


@register_op(
    "SeluGrad",
    "gradients: T, outputs: T -> backprops: T",
    _FLOAT,
    shape=merge_both_inputs,
    traits="input_gradient",
)
def selu_grad(xp: Xp, gradients: Array, outputs: Array) -> Array:
    """Return the gradient of Selu, from its output."""
    require_same_shape("SeluGrad", gradients, outputs)
    return tiled(xp, _selu_grad, gradients, outputs)


def _selu_grad(xp: Xp, gradients: Array, outputs: Array, out: Array | None = None) -> Array:
    scalar = outputs.dtype.type
    below = xp.add(outputs, scalar(_SELU_SCALE_ALPHA), out=out)
    below = xp.multiply(gradients, below, out=own(below))
    return choose(xp, outputs < 0, below, gradients * scalar(_SELU_SCALE), out=own(below))


@selu_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    y = op.inputs[1]
    of_grad = selu_grad(grad, y)
    return of_grad, array_ops.where(
        comparison_ops.less(y, 0), grad * op.inputs[0], array_ops.zeros_like(y)
    )


@register_op("Softplus", "features: T -> activations: T", _FLOAT, shape=unchanged_shape)
def softplus_op(xp: Xp, features: Array) -> Array:
    """Return log(1 + exp(features)); far from zero, the feature itself or its exponential."""
    return tiled(xp, _softplus, features)


def _softplus(xp: Xp, x: Array, out: Array | None = None) -> Array:
    eps = {np.dtype(np.float64): 2.0**-52, np.dtype(np.float32): 2.0**-23}.get(x.dtype)
    if eps is None:
        eps = 2.0**-13 if x.dtype == np.float16 else 2.0**-7
    threshold = x.dtype.type(math.log(eps) + 2.0)
    grown = xp.exp(x)
    near = xp.log1p(grown, out=out)
    near = choose(xp, x < threshold, grown, near, out=own(near))
    return choose(xp, x > -threshold, x, near, out=own(near))


@softplus_op.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return grad * cwise_unary_ops.sigmoid_op(op.inputs[0])


@register_op(
    "SoftplusGrad",
    "gradients: T, features: T -> backprops: T",
    _FLOAT,
    shape=merge_both_inputs,
    traits="input_gradient",
)
def softplus_grad(xp: Xp, gradients: Array, features: Array) -> Array:
    """Return gradients / (1 + exp(-features))."""
    require_same_shape("SoftplusGrad", gradients, features)
    return tiled(xp, _softplus_grad, gradients, features)


def _softplus_grad(xp: Xp, gradients: Array, features: Array, out: Array | None = None) -> Array:
    grown = xp.negative(features, out=out)
    target = own(grown)
    grown = xp.add(xp.exp(grown, out=target), features.dtype.type(1), out=target)
    return xp.divide(gradients, grown, out=target)


@softplus_grad.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    dy, x = op.inputs
    curvature = (
        grad
        * dy
        / (cwise_unary_ops.exp_op(cwise_unary_ops.neg(x)) + 2.0 + cwise_unary_ops.exp_op(x))
    )
    return softplus_grad(grad, x), curvature


@register_op("Softsign", "features: T -> activations: T", _FLOAT, shape=unchanged_shape)
def softsign(xp: Xp, features: Array) -> Array:
    """Compute features / (1 + |features|)."""
    return tiled(xp, _softsign, features)


def _softsign(xp: Xp, features: Array, out: Array | None = None) -> Array:
    below = xp.absolute(features, out=out)
    below = xp.add(below, features.dtype.type(1), out=own(below))
    return xp.divide(features, below, out=own(below))


@softsign.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return softsign_grad(grad, op.inputs[0])


@register_op(
    "SoftsignGrad", "gradients: T, features: T -> backprops: T", _FLOAT, shape=merge_both_inputs
)
def softsign_grad(xp: Xp, gradients: Array, features: Array) -> Array:
    """Return gradients / (1 + |features|)**2."""
    require_same_shape("SoftsignGrad", gradients, features)
    return tiled(xp, _softsign_grad, gradients, features)


def _softsign_grad(xp: Xp, gradients: Array, features: Array, out: Array | None = None) -> Array:
    below = xp.absolute(features, out=out)
    target = own(below)
    below = xp.add(below, features.dtype.type(1), out=target)
    below = xp.multiply(below, below, out=target)
    return xp.divide(gradients, below, out=target)


# ----------------------------------------------------------------------- functions of Python's side


def relu6(features: TensorLike, name: str | None = None) -> TensorResult:
    """Return min(max(features, 0), 6)."""
    with name_scope(name, "Relu6", [features]) as scope:
        return relu6_op(convert_to_tensor(features, name="features"), name=scope)


def leaky_relu(
    features: TensorLike, alpha: TensorLike = 0.2, name: str | None = None
) -> TensorResult:
    """Return the feature where it is positive, else alpha times the feature."""
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        features = convert_to_tensor(features, name="features")
        if features.dtype.is_integer:
            from tfnb.core import dtypes
            from tfnb.ops.array.cast_ops import cast

            features = cast(features, dtypes.float32)
        if isinstance(alpha, (int, float, np.floating, np.integer)):
            return leaky_relu_op(features, alpha=float(alpha), name=scope)
        alpha = convert_to_tensor(alpha, dtype=features.dtype, name="alpha")
        return cwise_binary_ops.maximum(cwise_binary_ops.mul(alpha, features), features, name=scope)


def crelu(features: TensorLike, name: str | None = None, axis: int = -1) -> TensorResult:
    """Return Relu of the features and of their negatives, joined along an axis."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        both = array_ops.concat([features, -features], axis, name=scope)
        return relu(both)


def softplus(features: TensorLike, name: str | None = None) -> TensorResult:
    """Return log(1 + exp(features))."""
    return softplus_op(features, name=name)


@dispatchable
def log_sigmoid(x: TensorLike, name: str | None = None) -> TensorResult:
    """Return log(1 / (1 + exp(-x))) without overflow."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cwise_unary_ops.neg(softplus_op(-x), name=scope)
