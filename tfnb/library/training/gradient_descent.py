"""Gradient descent, plain and with shrinking."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.math import math_ops
from tfnb.ops.state import training_ops
from tfnb.ops.state.resource_variable_ops import resource_scatter_add

if TYPE_CHECKING:
    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["GradientDescentOptimizer", "ProximalGradientDescentOptimizer"]}


class GradientDescentOptimizer(RuleOptimizer):
    """var -= learning_rate * gradient."""

    rule: ClassVar[ApplyOps] = training_ops.gradient_descent
    hyperparameters: ClassVar[dict[str, str]] = {"alpha": "_learning_rate"}

    def __init__(
        self, learning_rate: TensorLike, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: TensorLike = None

    # Adding rows does not require sums of rows with the same index.

    def _apply_sparse_duplicate_indices(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        rate = math_ops.cast(self._learning_rate_tensor, var.dtype.base_dtype)
        delta = IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: TensorLike, handle: TensorLike, indices: TensorLike
    ) -> TensorResult:
        rate = math_ops.cast(self._learning_rate_tensor, grad.dtype.base_dtype)
        return resource_scatter_add(handle.handle, indices, -grad * rate)


class ProximalGradientDescentOptimizer(RuleOptimizer):
    """Gradient descent, then shrinking by l1 and l2 regularisation (FOBOS)."""

    rule: ClassVar[ApplyOps] = training_ops.proximal_gradient_descent
    hyperparameters: ClassVar[dict[str, str]] = {
        "alpha": "_learning_rate",
        "l1": "_l1_regularization_strength",
        "l2": "_l2_regularization_strength",
    }

    def __init__(
        self,
        learning_rate: TensorLike,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
