"""Optimizers that choose rates: one for each layer, or by gradients of the past."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.client.public.api import tf
from tfnb.library.training.adagrad import AdagradOptimizer
from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tfnb.ops.state.training_ops import ApplyOps


class LARSOptimizer(RuleOptimizer):
    """Momentum whose rate for a variable follows the ratio of its norm to its gradient's.

    Source: You, Gitman and Ginsburg, large batch training of convolutional networks.

    Args:
      learning_rate: a number, tensor or function.
      momentum: decay of the running sum.
      weight_decay: the part of a variable that is added to its gradient; of the ratio, too.
      eeta: factor of the ratio.
      epsilon: added to the gradient's norm.
      name: prefix of ops.
      skip_list: parts of the names of variables whose rate stays.
      use_nesterov: whether the step looks ahead.

    Raises:
      ValueError: momentum or weight decay is negative.
    """

    rule: ClassVar[ApplyOps] = training_ops.momentum_rule
    slot_inputs: ClassVar[dict[str, str]] = {"accum": "momentum"}
    hyperparameters: ClassVar[dict[str, str]] = {"lr": "_learning_rate", "momentum": "_momentum"}

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Any = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._weight_decay = weight_decay
        self._eeta = eeta
        self._epsilon = epsilon
        self._skip_list = skip_list
        self._use_nesterov = use_nesterov
        self._learning_rate_tensor: Any = None
        self._is_scaled = False

    def _create_slots(self, var_list: Any) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _attrs(self) -> Any:
        return {"use_nesterov": self._use_nesterov}

    def compute_lr(self, grad: Any, var: Any) -> tuple[Any, Any]:
        """Return the rate of a variable, and its gradient with the decay of weights.

        Args:
          grad: its gradient.
          var: the variable.
        """
        rate = self._learning_rate_tensor
        if rate is None:
            rate = tf.convert_to_tensor(self._call_if_callable(self._learning_rate))
        if any(part in var.name for part in self._skip_list or ()):
            return rate, grad
        weight, slope = tf.norm(var, ord=2), tf.norm(grad, ord=2)
        ratio = self._eeta * weight / (slope + self._weight_decay * weight + self._epsilon)
        is_usual = tf.logical_and(weight > 0, slope > 0)
        rate = tf.cast(rate, ratio.dtype) * tf.where(is_usual, ratio, tf.ones_like(ratio))
        return rate, grad + self._weight_decay * var

    def _extra_inputs(self, var: Any, dtype: Any) -> dict[str, Any]:
        return {"lr": tf.constant(1.0, dtype)} if self._is_scaled else {}

    def _scaled(self, grad: Any, var: Any) -> Any:
        """Return the gradient times the variable's rate: the running sum has the rate in it."""
        rate, grad = self.compute_lr(grad, var)
        return grad * tf.cast(rate, grad.dtype)

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with self._with_scaled_gradients():
            return super()._apply_dense(self._scaled(grad, var), var)

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        with self._with_scaled_gradients():
            return super()._resource_apply_dense(self._scaled(grad, handle), handle)

    @contextlib.contextmanager
    def _with_scaled_gradients(self) -> Iterator[None]:
        self._is_scaled = True
        try:
            yield
        finally:
            self._is_scaled = False


class RegAdagradOptimizer(AdagradOptimizer):
    """Adagrad that can apply gradients without a change of its accumulators.

    Args:
      learning_rate: a number, tensor or function.
      initial_accumulator_value: of the sums of squares.
      use_locking: whether updates are locked.
      name: prefix of ops.
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "RegAdagrad",
    ) -> None:
        super().__init__(learning_rate, initial_accumulator_value, use_locking, name)
        self._should_update_slots = True

    @contextlib.contextmanager
    def avoid_updating_slots(self) -> Iterator[None]:
        """Build updates inside the block that leave the accumulators as they are."""
        before = self._should_update_slots
        self._should_update_slots = False
        try:
            yield
        finally:
            self._should_update_slots = before

    def _attrs(self) -> Any:
        return {"update_slots": self._should_update_slots}
