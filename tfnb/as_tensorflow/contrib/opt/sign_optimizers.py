"""Steps that grow where a gradient and its running mean have the same sign.

Source: Bello, Zoph, Vasudevan and Le, neural optimizer search.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.as_tensorflow.contrib.opt.adam_variants import scattered
from tfnb.client.public.api import tf
from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Callable

    from tfnb.ops.state.training_ops import ApplyOps


class _SignOptimizer(RuleOptimizer):
    """What both optimizers have in common."""

    slot_inputs: ClassVar[dict[str, str]] = {"m": "m"}
    _lr: Any
    _beta: Any

    def __init__(
        self, sign_decay_fn: Callable[[Any], Any] | None, use_locking: bool, name: str
    ) -> None:
        super().__init__(use_locking, name)
        self._sign_decay_fn = sign_decay_fn
        self._sign_decay: Any = 1.0

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Return an op that applies gradients.

        Args:
          grads_and_vars: pairs of ``compute_gradients``.
          global_step: a variable that counts steps, for the decay of signs too.
          name: of the op.
          skip_gradients_aggregation: without effect.
        """
        if self._sign_decay_fn is not None:
            self._sign_decay = self._sign_decay_fn(global_step)
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Any) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)

    def _factor(self, agreement: Any, dtype: Any) -> Any:
        """Return the factor of the gradient, by decayed agreement of signs."""
        raise NotImplementedError

    def _apply_rows(self, grad: Any, var: Any, indices: Any) -> Any:
        dtype = var.dtype.base_dtype
        beta, rate = (tf.cast(tf.convert_to_tensor(x), dtype) for x in (self._beta, self._lr))
        m = self.get_slot(var, "m")
        decayed = m.assign(m * beta, use_locking=self._use_locking)
        with tf.control_dependencies([decayed]):
            new_m = scattered(m, indices, grad * (1 - beta), "add")
        with tf.control_dependencies([new_m]):
            rows = tf.gather(m, indices)
        agreement = tf.cast(self._sign_decay, dtype) * tf.sign(rows) * tf.sign(grad)
        step = rate * self._factor(agreement, dtype) * grad
        return tf.group(scattered(var, indices, step, "sub"), new_m)

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._apply_rows(grad, handle, indices)


class AddSignOptimizer(_SignOptimizer):
    """A step of ``rate * (alpha + decay * sign(g) * sign(m)) * g``.

    Args:
      learning_rate: a number or tensor.
      alpha: added to the agreement of signs.
      beta: decay of the mean.
      sign_decay_fn: from the global step to a factor of the agreement.
      use_locking: whether updates are locked.
      name: prefix of ops.
    """

    rule: ClassVar[ApplyOps] = training_ops.add_sign
    hyperparameters: ClassVar[dict[str, str]] = {
        "lr": "_lr", "alpha": "_alpha", "sign_decay": "_sign_decay", "beta": "_beta",
    }  # fmt: skip

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(sign_decay_fn, use_locking, name)
        self._lr = learning_rate
        self._alpha = alpha
        self._beta = beta

    def _factor(self, agreement: Any, dtype: Any) -> Any:
        return tf.cast(self._alpha, dtype) + agreement


class PowerSignOptimizer(_SignOptimizer):
    """A step of ``rate * base ** (decay * sign(g) * sign(m)) * g``.

    Args:
      learning_rate: a number or tensor.
      base: of the power.
      beta: decay of the mean.
      sign_decay_fn: from the global step to a factor of the agreement.
      use_locking: whether updates are locked.
      name: prefix of ops.
    """

    rule: ClassVar[ApplyOps] = training_ops.power_sign
    hyperparameters: ClassVar[dict[str, str]] = {
        "lr": "_lr", "logbase": "_logbase", "sign_decay": "_sign_decay", "beta": "_beta",
    }  # fmt: skip

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(sign_decay_fn, use_locking, name)
        self._lr = learning_rate
        self._logbase = math.log(base)
        self._beta = beta

    def _factor(self, agreement: Any, dtype: Any) -> Any:
        return tf.exp(tf.cast(self._logbase, dtype) * agreement)


def _part_done(global_step: Any, decay_steps: int, name: str) -> Any:
    if global_step is None:
        raise ValueError(f"global_step is required for {name}.")
    step = tf.minimum(tf.cast(global_step, tf.int64), decay_steps)
    return tf.cast(step, tf.float32) / float(decay_steps)


def get_linear_decay_fn(decay_steps: int) -> Callable[[Any], Any]:
    """Return a function of the global step that falls from 1 to 0 in a line.

    Args:
      decay_steps: the number of steps.
    """
    return lambda global_step: tf.maximum(
        0.0, 1.0 - _part_done(global_step, decay_steps, "linear_decay")
    )


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """Return a function of the global step that follows a cosine between 1 and 0.

    Args:
      decay_steps: the number of steps.
      num_periods: the number of waves.
      zero_after: the number of waves after which it is 0.
    """

    def decay(global_step: Any) -> Any:
        waves = num_periods * _part_done(global_step, decay_steps, "cosine_decay")
        value = 0.5 * (1.0 + tf.cos(2 * math.pi * waves))
        return value if zero_after is None else tf.where(waves >= zero_after, 0.0, value)

    return decay


def get_restart_decay_fn(
    decay_steps: int, num_periods: int = 1, zero_after: float | None = None
) -> Callable[[Any], Any]:
    """Return a function of the global step that falls from 1 to 0 as half a cosine, repeatedly.

    Args:
      decay_steps: the number of steps.
      num_periods: the number of falls.
      zero_after: the number of falls after which it is 0.
    """

    def decay(global_step: Any) -> Any:
        falls = num_periods * _part_done(global_step, decay_steps, "cosine_decay")
        value = 0.5 * (1.0 + tf.cos(math.pi * tf.mod(falls, 1.0)))
        return value if zero_after is None else tf.where(falls >= zero_after, 0.0, value)

    return decay
