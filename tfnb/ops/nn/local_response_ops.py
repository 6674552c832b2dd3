"""Local response normalization: each number divided by a power of its neighbours' squares.

Large images are computed in tiles of rows, on several threads. Corresponds to TensorFlow's
``lrn_op.cc``.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import errors
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import InferenceContext, merge_shapes
from tfnb.ops.base.large_arrays import is_large, tiled_rows
from tfnb.ops.base.piecewise_products import multiply

if TYPE_CHECKING:
    from tfnb.core.kernel_types import Array, Xp
    from tfnb.core.tensor_shape import TensorShape
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients

EXPORTS = {"nn": ["local_response_normalization:lrn", "lrn"]}

_LRN_ATTRS = (
    "depth_radius: int = 5",
    "bias: float = 1",
    "alpha: float = 1",
    "beta: float = 0.5",
    "T: {half, bfloat16, float} = DT_FLOAT",
)


# Maximum channels for which a product with a mostly zero matrix is faster than sums.
_WIDEST_BAND = 256


def _window_sum(
    xp: Xp, values: Array, radius: int, spreads: bool = False, itself: bool = True
) -> Array:
    """Return sums over the neighbours within `radius` along the last axis, with or without itself.

    With `spreads` a non-finite value makes its whole row NaN, as TensorFlow's product does.
    """
    depth = values.shape[-1]
    spreads &= xp is np and values.size > 0
    if (spreads or is_large(xp, values)) and depth <= _WIDEST_BAND:
        # A product with a matrix that holds ones around its diagonal.
        place = np.arange(depth)
        apart = abs(place[:, None] - place)
        near = ((apart <= radius) & (itself | (apart > 0))).astype(values.dtype)
        sums = multiply(values.reshape(-1, depth), near)
        # Zero times an infinity or NaN would spread NaN over the row.
        if spreads or np.isfinite(sums.sum()):
            return sums.reshape(values.shape)
    total = values.copy() if itself else xp.zeros_like(values)
    for distance in range(1, min(radius, depth - 1) + 1):
        total[..., distance:] += values[..., :-distance]
        total[..., :-distance] += values[..., distance:]
    return total + (values * 0).sum(axis=-1, keepdims=True) if spreads else total


def _lrn_shape(c: InferenceContext) -> TensorShape:
    return c.with_rank(0, 4)


@register_op("LRN", "input: T -> output: T", *_LRN_ATTRS, shape=_lrn_shape)
def lrn(xp: Xp, x: Array, *, depth_radius: int, bias: float, alpha: float, beta: float) -> Array:
    """Compute x / (bias + alpha * sum of squares of the neighbouring channels)**beta."""
    if x.ndim != 4:
        raise errors.invalid_argument("in must be 4-dimensional")
    wide = x.astype(np.float32, copy=False)
    normalize = partial(_lrn, radius=depth_radius, bias=bias, alpha=alpha, beta=beta)
    return tiled_rows(xp, normalize, wide).astype(x.dtype, copy=False)


def _lrn(xp: Xp, x: Array, *, radius: int, bias: float, alpha: float, beta: float) -> Array:
    norm = _window_sum(xp, x * x, radius, spreads=True)
    norm *= np.float32(alpha)
    norm += np.float32(bias)
    norm = _power(xp, norm, -beta)
    norm *= x
    return norm


def _power(xp: Xp, x: Array, exponent: float) -> Array:
    """Return ``x ** exponent``; a large array is overwritten if roots give the power."""
    if exponent not in (-0.5, -0.75) or not is_large(xp, x):
        return x ** np.float32(exponent)
    root = np.sqrt(x, out=x)
    if exponent == -0.75:
        root *= np.sqrt(root)
    return np.divide(np.float32(1), root, out=root)


@lrn.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    return lrn_grad(
        grad,
        op.inputs[0],
        op.outputs[0],
        depth_radius=op.get_attr("depth_radius"),
        bias=op.get_attr("bias"),
        alpha=op.get_attr("alpha"),
        beta=op.get_attr("beta"),
    )


def _lrn_grad_shape(c: InferenceContext) -> TensorShape:
    return merge_shapes(c.with_rank(0, 4), merge_shapes(c.with_rank(1, 4), c.with_rank(2, 4)))


@register_op(
    "LRNGrad",
    "input_grads: T, input_image: T, output_image: T -> output: T",
    *_LRN_ATTRS,
    shape=_lrn_grad_shape,
)
def lrn_grad(
    xp: Xp,
    input_grads: Array,
    input_image: Array,
    output_image: Array,
    *,
    depth_radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Array:
    """Return the gradient of LRN with respect to its input."""
    for value in (input_grads, input_image, output_image):
        if value.ndim != 4:
            raise errors.invalid_argument("inputs must be 4-dimensional")
        if value.shape != input_grads.shape:
            raise errors.invalid_argument(
                "input_grads, input_image, and out_image should have the same shape"
            )
    grads, image, output = (
        value.astype(np.float32, copy=False) for value in (input_grads, input_image, output_image)
    )
    gradient = partial(_lrn_grad, radius=depth_radius, bias=bias, alpha=alpha, beta=beta)
    return tiled_rows(xp, gradient, grads, image, output).astype(input_grads.dtype, copy=False)


def _lrn_grad(
    xp: Xp,
    grads: Array,
    image: Array,
    output: Array,
    *,
    radius: int,
    bias: float,
    alpha: float,
    beta: float,
) -> Array:
    norm = np.float32(bias) + np.float32(alpha) * _window_sum(xp, image * image, radius)
    slopes = np.float32(2 * alpha * beta) * image
    own = output / norm
    # An infinite value is a factor of its own term, and a summand in the others.
    result = _power(xp, norm, -beta)
    result -= slopes * own
    result *= grads
    if xp is not np or not np.isfinite(result.sum()):
        # A zero incoming gradient gives a zero outgoing one, whatever the factors are.
        sends = grads != 0
        result, own = (xp.where(sends, terms, 0) for terms in (result, own))
        senders = _window_sum(xp, sends.astype(np.float32), radius, itself=False)
        slopes = xp.where(senders > 0, slopes, 0)
    result -= slopes * _window_sum(xp, grads * own, radius, itself=False)
    return result
