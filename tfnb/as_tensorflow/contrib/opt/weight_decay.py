"""Decay of weights that is no part of the gradient.

Source: Loshchilov and Hutter, decoupled weight decay regularization.
"""

from __future__ import annotations

from typing import Any

from tfnb.as_tensorflow.contrib.opt.adam_variants import scattered
from tfnb.client.public.api import tf
from tfnb.library.training.adam import AdamOptimizer
from tfnb.library.training.momentum import MomentumOptimizer


class DecoupledWeightDecayExtension:
    """A mix-in before an optimizer: each step takes a part of the weights away first.

    Args:
      weight_decay: the part: a number, a tensor or a function.
      *args: for the optimizer.
      **kwargs: for the optimizer.
    """

    _use_locking: bool

    def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
        self._decay_var_list: list[Any] | None = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: Any = None
        super().__init__(*args, **kwargs)

    def minimize(self, loss: Any, *args: Any, decay_var_list: Any = None, **kwargs: Any) -> Any:
        """Return an op that decays weights and minimizes a loss.

        Args:
          loss: the loss.
          *args: for the optimizer's ``minimize``.
          decay_var_list: the variables that decay; all by default.
          **kwargs: for the optimizer's ``minimize``.
        """
        self._decay_var_list = list(decay_var_list) if decay_var_list else None
        return super().minimize(loss, *args, **kwargs)  # type: ignore[misc]

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Any = None,
    ) -> Any:
        """Return an op that decays weights and applies gradients.

        Args:
          grads_and_vars: pairs of ``compute_gradients``.
          global_step: a variable that counts steps.
          name: of the op.
          decay_var_list: the variables that decay; those of ``minimize``, or all, by default.
        """
        if decay_var_list:
            self._decay_var_list = list(decay_var_list)
        return super().apply_gradients(  # type: ignore[misc]
            grads_and_vars, global_step=global_step, name=name
        )

    def _prepare(self) -> None:
        decay = self._weight_decay
        decay = decay() if callable(decay) else decay
        self._weight_decay_tensor = tf.convert_to_tensor(decay, name="weight_decay")
        super()._prepare()  # type: ignore[misc]

    def _decays(self, var: Any) -> bool:
        chosen = self._decay_var_list
        return chosen is None or any(var is one for one in chosen)

    def _decay(self, var: Any) -> list[Any]:
        if not self._decays(var):
            return []
        rate = tf.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        return [var.assign_sub(rate * var, self._use_locking)]

    def _decay_rows(self, var: Any, indices: Any) -> list[Any]:
        if not self._decays(var):
            return []
        rate = tf.cast(self._weight_decay_tensor, var.dtype.base_dtype)
        return [scattered(var, indices, rate * tf.gather(var, indices), "sub")]

    def _apply_dense(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies(self._decay(var)):
            return super()._apply_dense(grad, var)  # type: ignore[misc]

    def _resource_apply_dense(self, grad: Any, handle: Any) -> Any:
        with tf.control_dependencies(self._decay(handle)):
            return super()._resource_apply_dense(grad, handle)  # type: ignore[misc]

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        with tf.control_dependencies(self._decay_rows(var, grad.indices)):
            return super()._apply_sparse(grad, var)  # type: ignore[misc]

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        with tf.control_dependencies(self._decay_rows(handle, indices)):
            return super()._resource_apply_sparse(grad, handle, indices)  # type: ignore[misc]


def extend_with_decoupled_weight_decay(base_optimizer: Any) -> type:
    """Return the class of an optimizer with decay of weights: ``(weight_decay, ...)``.

    Args:
      base_optimizer: the class of an optimizer.
    """

    class OptimizerWithDecoupledWeightDecay(
        DecoupledWeightDecayExtension,
        base_optimizer,  # type: ignore[misc]
    ):
        """The optimizer, with ``weight_decay`` before its arguments."""

    return OptimizerWithDecoupledWeightDecay


class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """Momentum with decay of weights.

    Args:
      weight_decay: the part of the weights that a step takes away.
      learning_rate: a number, tensor or function.
      momentum: a number, tensor or function.
      use_locking: whether updates are locked.
      name: prefix of ops.
      use_nesterov: whether the step looks ahead.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(weight_decay, learning_rate, momentum, use_locking, name, use_nesterov)


class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """Adam with decay of weights.

    Args:
      weight_decay: the part of the weights that a step takes away.
      learning_rate: a number, tensor or function.
      beta1: decay of the mean of gradients.
      beta2: decay of the mean of their squares.
      epsilon: added to the root.
      use_locking: whether updates are locked.
      name: prefix of ops.
    """

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(weight_decay, learning_rate, beta1, beta2, epsilon, use_locking, name)
