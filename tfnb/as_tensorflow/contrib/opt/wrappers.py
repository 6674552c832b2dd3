"""Optimizers around other optimizers."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tfnb.as_tensorflow.contrib.opt.adam_variants import scattered
from tfnb.client.public.api import tf
from tfnb.library.training.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Callable


class MovingAverageOptimizer(Optimizer):
    """An optimizer with running means of the variables, which a saver can write in their place.

    Args:
      opt: the optimizer.
      average_decay: of the means.
      num_updates: as in ``tf.train.ExponentialMovingAverage``.
      sequential_update: whether means follow after the variables' updates.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        super().__init__(use_locking=False, name="MovingAverageOptimizer")
        self._optimizer = opt
        self._ema = tf.train.ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return the inner optimizer's gradients."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Return an op that applies gradients and updates the means.

        Args:
          grads_and_vars: pairs of ``compute_gradients``.
          global_step: a variable that counts steps.
          name: of the inner op.
          skip_gradients_aggregation: without effect.
        """
        pairs = list(grads_and_vars)
        trained = self._optimizer.apply_gradients(pairs, global_step=global_step, name=name)
        variables = [variable for gradient, variable in pairs if gradient is not None]
        with tf.control_dependencies([trained] if self._sequential_update else []):
            averaged = self._ema.apply(variables)
        self._swapped = {}
        for variable in variables:
            mean = self._ema.average(variable)
            self._swapped[variable.op.name] = mean.op.name
            self._swapped[mean.op.name] = variable.op.name
        return tf.group(trained, averaged, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Any:
        """Return a saver that writes means under the names of variables, and the reverse.

        Args:
          var_list: variables, or a dict of them by name; all global variables by default.
          name: of the saver.
          **kwargs: for ``tf.train.Saver``.

        Raises:
          RuntimeError: no gradients were applied.
          ValueError: a variable's mean is not saved.
        """
        if self._swapped is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        given = tf.global_variables() if var_list is None else var_list
        named = given if isinstance(given, dict) else {one.op.name: one for one in given}
        swapped = {key: self._other(key, value, named) for key, value in named.items()}
        return tf.train.Saver(swapped, name=name, **kwargs)

    def _other(self, key: str, value: Any, named: dict[str, Any]) -> Any:
        assert self._swapped is not None
        other = self._swapped.get(key)
        if other is None:
            return value
        if other not in named:
            raise ValueError(
                f"Variable to swap {other} is not part of variables to save. This breaks "
                "MovingAverageOptimizer."
            )
        return named[other]


def _is_all_zeros(gradient: Any) -> Any:
    values = gradient.values if isinstance(gradient, tf.IndexedSlices) else gradient
    return tf.equal(tf.count_nonzero(values), 0)


class MultitaskOptimizerWrapper:
    """An optimizer that leaves variables and their slots where a gradient is all zeros.

    Args:
      opt: the optimizer; its methods are replaced.

    Raises:
      TypeError: it is none.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in (
            "_apply_dense", "_resource_apply_dense", "_apply_sparse", "_resource_apply_sparse",
        ):  # fmt: skip
            setattr(opt, name, _unless_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opt, name)


def _unless_zero(apply: Callable[..., Any]) -> Callable[..., Any]:
    def applied(gradient: Any, *args: Any, **kwargs: Any) -> Any:
        def update() -> Any:
            with tf.control_dependencies([apply(gradient, *args, **kwargs)]):
                return tf.no_op()

        return tf.cond(_is_all_zeros(gradient), tf.no_op, update)

    return applied


def clip_gradients_by_global_norm(
    gradients_variables: Any, clip_norm: Any = 20.0
) -> tuple[list[Any], Any]:
    """Return pairs with clipped gradients, and the norm of those that are not all zeros.

    Args:
      gradients_variables: pairs of ``compute_gradients``.
      clip_norm: the largest norm.
    """
    pairs = list(gradients_variables)
    gradients = [gradient for gradient, _ in pairs]
    norm = tf.global_norm(gradients)
    clipped, _ = tf.clip_by_global_norm(gradients, clip_norm, use_norm=norm)
    return [(one, variable) for one, (_, variable) in zip(clipped, pairs, strict=True)], norm


class VariableClippingOptimizer(Optimizer):
    """An optimizer that clips norms of variables after each step.

    Args:
      opt: the optimizer.
      vars_to_clip_dims: variable -> the dimensions of its norms.
      max_norm: the largest norm.
      use_locking: whether updates are locked.
      colocate_clip_ops_with_vars: whether norms are computed where the variables are.
      name: prefix of ops.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: Any,
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(use_locking, name)
        self._opt = opt
        self._clipped = [(variable, list(dims)) for variable, dims in vars_to_clip_dims.items()]
        self._max_norm = max_norm
        self._colocate = colocate_clip_ops_with_vars

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return the inner optimizer's gradients."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return the inner optimizer's slot."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> Any:
        """Return the names of the inner optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Return an op that applies gradients and clips.

        Args:
          grads_and_vars: pairs of ``compute_gradients``.
          global_step: a variable that counts steps.
          name: of the op.
          skip_gradients_aggregation: without effect.
        """
        pairs = list(grads_and_vars)
        with tf.name_scope(name, self._name) as scope:
            updated = self._opt.apply_gradients(pairs, global_step=global_step)
            with tf.control_dependencies([updated]):
                clips = [
                    self._clip(variable, gradient, dims)
                    for gradient, variable in pairs
                    for chosen, dims in self._clipped
                    if gradient is not None and variable is chosen
                ]
            return tf.group(updated, *clips, name=scope)

    def _clip(self, variable: Any, gradient: Any, dims: list[int]) -> Any:
        with tf.colocate_with(variable) if self._colocate else contextlib.nullcontext():
            if isinstance(gradient, tf.IndexedSlices) and 0 not in dims:
                indices, _ = tf.unique(gradient.indices)
                rows = tf.gather(variable.read_value(), indices)
                excess = rows - tf.clip_by_norm(rows, self._max_norm, dims)
                return scattered(variable, indices, excess, "sub")
            value = variable.read_value()
            excess = value - tf.clip_by_norm(value, self._max_norm, dims)
        return variable.assign_sub(excess, use_locking=self._use_locking)
