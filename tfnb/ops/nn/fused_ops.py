"""Products and convolutions fused with the ops that follow them, as an optimizer writes them.

``fused_ops`` names these ops: a bias or a batch normalization, and optionally an activation.
Corresponds to TensorFlow's ``matmul_op_fused.cc`` and ``conv_ops_fused_impl.h``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from tfnb.core import errors, op_registry
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_shapes, unchanged_shape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.conv.channels_first import also_channels_first, refuses_channel_vectors
from tfnb.ops.conv.conv_ops import conv2d_op, depthwise_conv2d_native_op
from tfnb.ops.math.cwise_unary_ops import sigmoid_op
from tfnb.ops.math.matmul_ops import mat_mul, matmul_shape
from tfnb.ops.nn.activation_ops import elu, leaky_relu_op, relu, relu6_op
from tfnb.ops.nn.normalization_ops import fused_batch_norm_v3

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.kernel_types import Array, Outputs, Xp
    from tfnb.core.tensor_shape import TensorShape

_ACTIVATIONS = ("Relu", "Relu6", "Elu", "LeakyRelu")
_PRODUCT_ACTIVATIONS = (*_ACTIVATIONS, "Tanh", "Sigmoid")


def _activated(xp: Xp, x: Array, name: str, alpha: float) -> Array:
    """Return the result of the activation with that name."""
    if name == "LeakyRelu":
        return leaky_relu_op.function(xp, x, alpha=alpha)  # type: ignore[misc]
    if name == "Tanh":
        return xp.tanh(x)
    known = {"Relu": relu, "Relu6": relu6_op, "Elu": elu, "Sigmoid": sigmoid_op}
    return known[name].function(xp, x)  # type: ignore[misc]


def _parts(fused_ops: Sequence[str], firsts: Sequence[str], activations: Sequence[str]) -> Outputs:
    """Return the first fused op and the activation that follows ("" for none).

    Raises:
      InvalidArgumentError: no op is fused.
      UnimplementedError: an unknown op is fused.
    """
    names = list(fused_ops)
    if not names:
        raise errors.invalid_argument("Fused op must have at least one fused op.")
    first, *rest = names
    if first not in firsts or len(rest) > 1 or (rest and rest[0] not in activations):
        raise errors.unimplemented(f"Fusion is not implemented: [{','.join(names)}]")
    return first, rest[0] if rest else ""


@register_op(
    "_FusedMatMul",
    "a: T, b: T, *args: num_args * T -> product: T",
    "transpose_a: bool = false",
    "transpose_b: bool = false",
    "T: {bfloat16, half, float}",
    "num_args: int >= 0",
    "fused_ops: list(string) = []",
    "epsilon: float = 9.99999975e-05",
    "leakyrelu_alpha: float = 0.200000003",
    shape=matmul_shape,
)
def _fused_mat_mul(
    xp: Xp,
    a: Array,
    b: Array,
    args: Array,
    *,
    transpose_a: bool,
    transpose_b: bool,
    fused_ops: list[str],
    leakyrelu_alpha: float,
) -> Array:
    """Return the activation of a b + bias."""
    _, activation = _parts(fused_ops, ("BiasAdd",), _PRODUCT_ACTIVATIONS)
    if len(args) != 1:
        raise errors.invalid_argument("Fused MatMul must have one extra argument: bias.")
    product = mat_mul.function(  # type: ignore[misc]
        xp, a, b, transpose_a=transpose_a, transpose_b=transpose_b
    )
    if not (product.size and a.size):
        return product  # without the bias, as in TensorFlow
    result = product + _bias(args[0], product.shape[-1])
    return _activated(xp, result, activation, leakyrelu_alpha) if activation else result


def _bias(bias: Array, channels: int) -> Array:
    if bias.ndim != 1 or bias.shape[0] != channels:
        raise errors.invalid_argument(
            f"bias must be a vector of {channels} values, one per column of the result, but has "
            f"shape {shape_text(bias.shape)}"
        )
    return bias


@register_op(
    "_FusedConv2D",
    "input: T, filter: T, *args: TArgs, *host_args: num_host_args * float -> output: T",
    "T: {half, float, double, int8, qint8}",
    "TArgs: list(type) >= 1",
    "num_args: int >= 0",
    "num_host_args: int >= 0 = 0",
    "strides: list(int)",
    "padding: {'SAME', 'VALID', 'EXPLICIT'}",
    "explicit_paddings: list(int) = []",
    "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
    "filter_format: {'HWIO', 'OIHW', 'OIHW_VECT_I'} = 'HWIO'",
    "dilations: list(int) = [1, 1, 1, 1]",
    "use_cudnn_on_gpu: bool = true",
    "fused_ops: list(string) = []",
    "epsilon: float = 9.99999975e-05",
    "leakyrelu_alpha: float = 0.200000003",
    shape=conv2d_op.shape_function,
)
def _fused_conv2d(
    xp: Xp,
    x: Array,
    filter: Array,
    args: Array,
    host_args: Array,
    *,
    strides: list[int],
    padding: str,
    explicit_paddings: list[int],
    filter_format: str,
    dilations: list[int],
    fused_ops: list[str],
    epsilon: float,
    leakyrelu_alpha: float,
) -> Array:
    """Return the activation of a convolution plus bias, or of its batch normalization."""
    first, activation = _parts(fused_ops, ("BiasAdd", "FusedBatchNorm"), _ACTIVATIONS)
    if filter_format != "HWIO" or x.dtype.kind != "f":
        raise errors.unimplemented(
            "Fused conv implementation only supports tensors of floats, with HWIO filters"
        )
    result = conv2d_op.function(  # type: ignore[misc]
        xp,
        x,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=explicit_paddings,
        dilations=dilations,
    )
    if not result.size:
        return result
    if x.shape[-1] != filter.shape[2]:
        raise errors.unimplemented(
            "Fused conv implementation does not support grouped convolutions for now."
        )
    if first == "BiasAdd":
        if len(args) != 1:
            raise errors.invalid_argument("Fused Conv2D must have one extra argument: bias.")
        result = result + _bias(args[0], result.shape[-1])
    else:
        if len(args) != 4:
            raise errors.invalid_argument(
                "Fused FusedBatchNorm must have four extra arguments: scale, offset, mean, "
                "variance."
            )
        scale, offset, mean, variance = (_bias(one, result.shape[-1]) for one in args)
        factor = scale / xp.sqrt(variance + np.float32(epsilon))
        result = ((result - mean) * factor + offset).astype(x.dtype, copy=False)
    return _activated(xp, result, activation, leakyrelu_alpha) if activation else result


also_channels_first(_fused_conv2d, images="x")
refuses_channel_vectors(_fused_conv2d)


@register_op(
    "_FusedDepthwiseConv2dNative",
    "input: T, filter: T, *args: num_args * T -> output: T",
    "T: {half, bfloat16, float, double}",
    "num_args: int >= 0",
    "strides: list(int)",
    "padding: {'SAME', 'VALID'}",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "dilations: list(int) = [1, 1, 1, 1]",
    "fused_ops: list(string) = []",
    "epsilon: float = 9.99999975e-05",
    "leakyrelu_alpha: float = 0.200000003",
    shape=depthwise_conv2d_native_op.shape_function,
)
def _fused_depthwise_conv2d(
    xp: Xp,
    x: Array,
    filter: Array,
    args: Array,
    *,
    strides: list[int],
    padding: str,
    dilations: list[int],
    fused_ops: list[str],
    leakyrelu_alpha: float,
) -> Array:
    """Return the activation of a convolution of each channel separately plus bias."""
    _, activation = _parts(fused_ops, ("BiasAdd",), _ACTIVATIONS)
    if len(args) != 1:
        raise errors.invalid_argument("Fused DepthwiseConv2D must have one extra argument: bias.")
    result = depthwise_conv2d_native_op.function(  # type: ignore[misc]
        xp,
        x,
        filter,
        strides=strides,
        padding=padding,
        explicit_paddings=[],
        dilations=dilations,
    )
    result = result + _bias(args[0], result.shape[-1])
    return _activated(xp, result, activation, leakyrelu_alpha) if activation else result


also_channels_first(_fused_depthwise_conv2d, images="x")


_COMPOSED = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Elu Exp Expm1 Floor Inv Log Log1p Neg "
    "Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sin Sinh Sqrt Square Tan Tanh"
)


@register_op(
    "_UnaryOpsComposition",
    "x: T -> y: T",
    "T: {float, half, double}",
    "op_names: list(string)",
    shape=unchanged_shape,
)
def _unary_ops_composition(xp: Xp, x: Array, *, op_names: list[str]) -> Array:
    """Return x after the ops of these names, applied one after the other."""
    if not op_names:
        raise errors.invalid_argument("Unary op composition must have at least one op")
    for name in op_names:
        if name not in _COMPOSED.split():
            raise errors.invalid_argument(
                f"Do not have a compute function registered for op: {name}"
            )
    for name in op_names:
        x = op_registry.get(name).function(xp, x)  # type: ignore[misc]
    return x


def _fused_norm_ex_shape(c: InferenceContext) -> list[TensorShape]:
    shape = fused_batch_norm_v3.shape_function
    assert shape is not None
    found = list(cast("list[TensorShape]", shape(c)))
    for side in c.inputs[c.input_range("side_input")]:
        found[0] = merge_shapes(found[0], side)
    return found


@register_op(
    "_FusedBatchNormEx",
    "x: T, scale: U, offset: U, mean: U, variance: U, *side_input: num_side_inputs * T "
    "-> y: T, batch_mean: U, batch_variance: U, reserve_space_1: U, reserve_space_2: U, "
    "reserve_space_3: U",
    "T: {half, float, bfloat16}",
    "U: {float}",
    "epsilon: float = 9.99999975e-05",
    "exponential_avg_factor: float = 1",
    "num_side_inputs: int >= 0 = 0",
    "activation_mode: string = 'Identity'",
    "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
    "is_training: bool = true",
    shape=_fused_norm_ex_shape,
)
def fused_batch_norm_ex(
    xp: Xp,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    side_input: Array,
    *,
    epsilon: float,
    exponential_avg_factor: float,
    activation_mode: str,
    data_format: str,
    is_training: bool,
) -> Outputs:
    """Return the activation of a batch normalization plus at most one more tensor."""
    if activation_mode not in ("Identity", "Relu"):
        raise errors.invalid_argument(f"Unsupported activation mode: {activation_mode}")
    if len(side_input) > 1:
        raise errors.invalid_argument("FusedBatchNorm accepts at most one side input.")
    if side_input and activation_mode == "Identity":
        raise errors.invalid_argument("FusedBatchNorm with a side input needs an activation.")
    y, *statistics = fused_batch_norm_v3.function(  # type: ignore[misc]
        xp,
        x,
        scale,
        offset,
        mean,
        variance,
        epsilon=epsilon,
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
    )
    if side_input:
        if side_input[0].shape != x.shape:
            raise errors.invalid_argument(
                f"side_input shape must be equal to input shape: {shape_text(side_input[0].shape)} "
                f"!= {shape_text(x.shape)}"
            )
        y = y + side_input[0]
    if activation_mode == "Relu":
        y = xp.maximum(y, y.dtype.type(0))
    return (y, *statistics)
