"""Adam's relatives: AdaMax, Nadam, LazyAdam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.client.public.api import tf
from tfnb.library.training.adam import AdamOptimizer
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from tfnb.ops.state.training_ops import ApplyOps


def scattered(variable: Any, indices: Any, rows: Any, kind: str) -> Any:
    """Return a variable after "update", "add" or "sub" of rows."""
    return getattr(variable, f"scatter_{kind}")(tf.IndexedSlices(rows, indices))


class LazyAdamOptimizer(AdamOptimizer):
    """Adam whose means change in the rows of a sparse gradient only."""

    def _apply_sparse_rows(self, grad: Any, var: Any, indices: Any) -> Any:
        inputs = self._extra_inputs(var, var.dtype.base_dtype)
        beta1, beta2 = inputs["beta1"], inputs["beta2"]
        rate = inputs["lr"] * tf.sqrt(1 - inputs["beta2_power"]) / (1 - inputs["beta1_power"])
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = beta1 * tf.gather(m, indices) + (1 - beta1) * grad
        new_v = beta2 * tf.gather(v, indices) + (1 - beta2) * tf.square(grad)
        step = rate * new_m / (tf.sqrt(new_v) + inputs["epsilon"])
        # Both means are read before either is written: references see later writes.
        with tf.control_dependencies([step]):
            return tf.group(
                scattered(m, indices, new_m, "update"),
                scattered(v, indices, new_v, "update"),
                scattered(var, indices, step, "sub"),
            )

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return self._apply_sparse_rows(grad.values, var, grad.indices)

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return self._apply_sparse_rows(grad, handle, indices)


class NadamOptimizer(AdamOptimizer):
    """Adam with Nesterov's momentum.

    Source: Dozat, incorporating Nesterov momentum into Adam.
    """

    def _attrs(self) -> Any:
        return {"use_nesterov": True}

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        inputs = self._extra_inputs(var, var.dtype.base_dtype)
        beta1, beta2 = inputs["beta1"], inputs["beta2"]
        rate = inputs["lr"] * tf.sqrt(1 - inputs["beta2_power"]) / (1 - inputs["beta1_power"])
        m = self._decayed(self.get_slot(var, "m"), beta1, grad, indices, scatter_add)
        v = self._decayed(self.get_slot(var, "v"), beta2, grad * grad, indices, scatter_add)
        ahead = (1 - beta1) * grad + beta1 * tf.gather(m, indices)
        step = -rate * ahead / (tf.sqrt(tf.gather(v, indices)) + inputs["epsilon"])
        return tf.group(scatter_add(var, indices, step), m, v)


class AdaMaxOptimizer(AdamOptimizer):
    """Adam with a running maximum of absolute gradients instead of a mean of squares.

    Source: Kingma and Ba, Adam, section 7.1.

    Args:
      learning_rate: a number, tensor or function.
      beta1: decay of the mean.
      beta2: decay of the maximum.
      epsilon: added to the maximum.
      use_locking: whether updates are locked.
      name: prefix of ops.
    """

    rule: ClassVar[ApplyOps] = training_ops.ada_max

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        with tf.init_scope():
            return self._get_non_slot_variable("beta1_power", graph=tf.get_default_graph())

    def _create_slots(self, var_list: Any) -> None:
        first = min(var_list, key=lambda variable: str(variable.name))
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _extra_inputs(self, var: Any, dtype: Any) -> dict[str, Any]:
        return {
            "beta1_power": tf.cast(self._get_beta_accumulators(), dtype),
            "lr": tf.cast(self._lr_t, dtype),
            "beta1": tf.cast(self._beta1_t, dtype),
            "beta2": tf.cast(self._beta2_t, dtype),
            "epsilon": tf.cast(self._epsilon_t, dtype),
        }

    def _apply_sparse_shared(self, grad: Any, var: Any, indices: Any, scatter_add: Any) -> Any:
        inputs = self._extra_inputs(var, var.dtype.base_dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        new_m = tf.gather(m, indices) * inputs["beta1"] + grad * (1 - inputs["beta1"])
        new_v = tf.maximum(tf.gather(v, indices) * inputs["beta2"], tf.abs(grad))
        step = -inputs["lr"] / (1 - inputs["beta1_power"]) * new_m / (new_v + inputs["epsilon"])
        with tf.control_dependencies([step]):
            return tf.group(
                scattered(m, indices, new_m, "update"),
                scattered(v, indices, new_v, "update"),
                scatter_add(var, indices, step),
            )

    def _finish(self, update_ops: Any, name_scope: str) -> Any:
        with tf.control_dependencies(update_ops):
            power = self._get_beta_accumulators()
            with tf.colocate_with(power):
                update = power.assign(power * self._beta1_t, use_locking=self._use_locking)
        return tf.group(*update_ops, update, name=name_scope)
