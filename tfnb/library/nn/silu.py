"""``tf.nn.silu``, whose gradient recomputes the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.dispatch import dispatchable
from tfnb.library.gradients.custom_gradient import custom_gradient
from tfnb.ops.math.cwise_unary_ops import sigmoid_op

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult

EXPORTS = {"nn": ["silu", "swish:silu"]}


@dispatchable
def silu(features: TensorLike, beta: TensorLike = 1.0) -> TensorResult:
    """Compute features * sigmoid(beta * features)."""
    from tfnb.framework.scopes import control_dependencies
    from tfnb.ops.math import math_ops

    def product(features: TensorLike, beta: TensorLike) -> Nested:
        def grad(dy: TensorLike) -> Nested:
            with control_dependencies([dy]):  # recomputed instead of kept
                gate = sigmoid_op(beta * features)
            slope = gate * (1.0 + (beta * features) * (1.0 - gate))
            of_beta = math_ops.reduce_sum(dy * math_ops.square(features) * gate * (1.0 - gate))
            return dy * slope, of_beta

        return features * sigmoid_op(beta * features), grad

    features = convert_to_tensor(features, name="features")
    beta = math_ops.cast(convert_to_tensor(beta, name="beta"), features.dtype)
    return custom_gradient(product)(features, beta)
