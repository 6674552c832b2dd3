"""``tf.tpu``: what a program for TPUs uses on other devices, as ``tf.contrib.tpu`` has it."""

from __future__ import annotations

from typing import Any, NoReturn

from tfnb.client.public.api import tf

NO_TPU = "it needs TPUs; tfnb runs on CPUs and GPUs, so pass use_tpu=False or leave it out"
OF_TPUS = (
    "TPUDistributionStrategy", "batch_parallel", "core", "device_assignment", "infeed_dequeue",
    "infeed_dequeue_tuple", "infeed_enqueue", "infeed_enqueue_tuple", "initialize_system",
    "keras_to_tpu_model", "outfeed_dequeue", "outfeed_dequeue_tuple", "outfeed_enqueue",
    "outfeed_enqueue_tuple", "replicate", "rewrite", "shard", "shutdown_system", "while_loop",
)  # fmt: skip


def get_tpu_context() -> None:
    """Return None: no graph is built for TPUs."""


class CrossShardOptimizer(tf.train.Optimizer):  # type: ignore[misc]
    """An optimizer that sums gradients over replicas: on one device, the optimizer it wraps.

    Args:
      opt: the optimizer.
      reduction: how losses of replicas are reduced.
      name: the name of the optimizer.
      group_assignment: groups of replicas.
    """

    def __init__(
        self,
        opt: Any,
        reduction: Any = tf.losses.Reduction.MEAN,
        name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:
        if reduction not in (tf.losses.Reduction.SUM, tf.losses.Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        super().__init__(False, name)
        self._opt = opt

    def compute_gradients(self, loss: Any, var_list: Any = None, **kwargs: Any) -> Any:
        """Return the gradients and variables of the wrapped optimizer."""
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Apply gradients with the wrapped optimizer."""
        return self._opt.apply_gradients(grads_and_vars, global_step, name)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the wrapped optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the names of the slots of the wrapped optimizer."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> Any:
        """Return the variables of the wrapped optimizer."""
        return self._opt.variables()


def cross_replica_sum(x: Any, group_assignment: Any = None, name: str | None = None) -> Any:
    """Return the sum over replicas: with one of them, the tensor itself."""
    return tf.identity(x, name=name)


def outside_compilation(computation: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the result of a function, which nothing compiles here."""
    return computation(*args, **kwargs)


def bfloat16_scope() -> Any:
    """Return the scope in which TPUs keep variables as float32: here, an ordinary scope."""
    return tf.variable_scope("", use_resource=tf.get_variable_scope().use_resource)


def __getattr__(name: str) -> Any:
    if name not in OF_TPUS:
        raise AttributeError(f"module 'tensorflow.tpu' has no attribute {name!r}: {NO_TPU}")

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"'tensorflow.tpu.{name}' is not there: {NO_TPU}")

    return refuse
