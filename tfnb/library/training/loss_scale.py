"""Losses scaled up so that float16 gradients do not underflow, and gradients scaled down again.

A :class:`LossScale` is the factor. :class:`MixedPrecisionLossScaleOptimizer` applies it around
another optimizer, and does not change variables if a gradient is not finite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.structures import nest
from tfnb.library.control_flow import control_flow
from tfnb.library.control_flow.cond import cond
from tfnb.library.training.optimizer import Optimizer
from tfnb.library.variables.variables import Variable
from tfnb.ops.array.cast_ops import cast
from tfnb.ops.control.control_flow_ops import no_op
from tfnb.ops.math import math_ops, reduction_ops
from tfnb.ops.math.cwise_unary_ops import is_finite

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tfnb.core.dtypes import DTypeLike
    from tfnb.framework.tensor_types import Config, Nested, TensorLike, TensorResult, VariableLike

_CLASSES = ["DynamicLossScale", "FixedLossScale", "LossScale"]
_REWRITES = ["disable_mixed_precision_graph_rewrite", "enable_mixed_precision_graph_rewrite"]
EXPORTS = {
    "train.experimental": [*_CLASSES, "MixedPrecisionLossScaleOptimizer", *_REWRITES],
    "mixed_precision": [*_CLASSES, "MixedPrecisionLossScaleOptimizer", *_REWRITES],
    "mixed_precision.experimental": _CLASSES,
}


class LossScale:
    """The factor for a loss; a call returns it as a float32 scalar."""

    def __init__(self) -> None:
        self._weights: dict[str, Any] = {}

    def __call__(self) -> Any:
        """Return the factor as a tensor."""
        raise NotImplementedError("LossScale is abstract: use FixedLossScale or DynamicLossScale.")

    def update(self, grads: TensorLike) -> tuple[TensorResult, TensorResult]:
        """Return the op that updates the factor after a step, and whether to apply the gradients.

        Args:
          grads: the gradients of the step, a list, unscaled.
        """
        raise NotImplementedError("LossScale is abstract: use FixedLossScale or DynamicLossScale.")

    def get_config(self) -> Config:
        """Return the constructor's arguments."""
        raise NotImplementedError("LossScale is abstract: use FixedLossScale or DynamicLossScale.")

    @classmethod
    def from_config(cls, config: Config) -> LossScale:
        """Return an object made from the result of :meth:`get_config`."""
        return cls(**config)

    def _add_weight(self, name: str, initial_value: TensorLike, dtype: DTypeLike) -> VariableLike:
        """Return a variable that is neither trained nor read late."""
        made: TensorLike = Variable(
            initial_value, name=name, dtype=dtype, trainable=False, use_resource=True
        )
        self._weights[name] = made
        return made

    def _trackable_children(self) -> list[tuple[str, Any]]:
        return sorted(self._weights.items())


class FixedLossScale(LossScale):
    """A constant factor."""

    def __init__(self, loss_scale_value: float) -> None:
        """Check the factor.

        Args:
          loss_scale_value: at least 1.

        Raises:
          ValueError: it is not a number, or less than 1.
        """
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> TensorResult:
        """Return the factor as a tensor."""
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: TensorLike) -> tuple[Nested, Nested]:
        """Return an empty update and True: the scale is fixed, and all gradients are used."""
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> Config:
        """Return the factor."""
        return {"loss_scale_value": self._loss_scale_value}


class DynamicLossScale(LossScale):
    """A factor that grows while gradients are finite, and falls where they are not."""

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        """Make the variables.

        Args:
          initial_loss_scale: the initial factor.
          increment_period: the number of steps with finite gradients after which it grows.
          multiplier: the ratio by which it grows and falls; it never falls below 1.
        """
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtypes.float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        """The initial factor."""
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        """The number of steps with finite gradients after which the factor grows."""
        return self._increment_period

    @property
    def multiplier(self) -> float:
        """The ratio by which the factor grows and falls."""
        return self._multiplier

    def __call__(self) -> TensorResult:
        """Return the factor as a tensor."""
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: TensorLike) -> tuple[Nested, Nested]:
        """Return the op that updates the factor, and whether all gradients are finite."""
        scale, steps = self._current_loss_scale, self._num_good_steps
        finite = _all_finite(nest.flatten(grads))

        def grow() -> TensorResult:
            larger = scale * self._multiplier
            # A factor that is not finite could never fall again.
            set_larger = cond(is_finite(larger), lambda: scale.assign(larger).op, no_op)
            return control_flow.group(set_larger, steps.assign(0))

        def after_finite() -> TensorResult:
            is_time = steps + 1 >= self._increment_period
            return cond(is_time, grow, lambda: steps.assign_add(1).op)

        def after_others() -> TensorResult:
            smaller = math_ops.maximum(scale / self._multiplier, 1.0)
            return control_flow.group(steps.assign(0), scale.assign(smaller))

        return cond(finite, after_finite, after_others), finite

    def __repr__(self) -> str:
        return (
            f"DynamicLossScale(initial_loss_scale={self._initial_loss_scale}, "
            f"increment_period={self._increment_period}, multiplier={self._multiplier})"
        )

    def get_config(self) -> Config:
        """Return the constructor's arguments."""
        return {
            "initial_loss_scale": self._initial_loss_scale,
            "increment_period": self._increment_period,
            "multiplier": self._multiplier,
        }


def _all_finite(grads: Iterable[TensorLike]) -> TensorResult:
    """Return whether all elements of all gradients are finite."""
    values = [one.values if isinstance(one, IndexedSlices) else one for one in grads]
    each = [reduction_ops.reduce_all(is_finite(one)) for one in values if one is not None]
    return reduction_ops.reduce_all(each)


def _as_loss_scale(given: Any) -> LossScale:
    if given == "dynamic":
        return DynamicLossScale()
    if isinstance(given, (int, float)):
        return FixedLossScale(given)
    if isinstance(given, LossScale):
        return given
    raise ValueError(
        f"Could not interpret loss scale identifier: {given}: give a number, 'dynamic' or a "
        "LossScale."
    )


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """An optimizer of scaled losses around another.

    ``compute_gradients`` scales the loss up and the gradients down; ``apply_gradients`` applies
    them if all are finite, and changes the scale.
    """

    def __init__(self, opt: Any, loss_scale: Any) -> None:
        """Wrap an optimizer.

        Args:
          opt: the optimizer.
          loss_scale: a number, "dynamic" or a :class:`LossScale`.

        Raises:
          ValueError: ``opt`` is no optimizer.
        """
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt._name)
        self._optimizer = opt
        self._loss_scale = _as_loss_scale(loss_scale)

    def compute_gradients(
        self,
        loss: TensorLike,
        var_list: VariableLike | None = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> Nested:
        """Return gradients of the scaled loss, scaled down; arguments as of the inner optimizer."""
        scale = self._loss_scale()
        scaled = loss * cast(scale, loss.dtype)
        pairs = self._optimizer.compute_gradients(
            loss=scaled,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        inverse = 1 / scale
        return [(_times(grad, inverse), variable) for grad, variable in pairs]

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: VariableLike | None = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Apply the gradients if all are finite, and change the scale."""
        if isinstance(self._loss_scale, FixedLossScale):
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        pairs = list(grads_and_vars)
        name = self._name if name is None else name
        changed, is_good = self._loss_scale.update([grad for grad, _ in pairs])

        def applied() -> TensorResult:
            return self._optimizer.apply_gradients(pairs, global_step, f"{name}-wrapped")

        return control_flow.group(cond(is_good, applied, no_op), changed, name=name)

    def variables(self) -> list[Nested]:
        """Return the variables of the inner optimizer and of the scale."""
        return [*self._optimizer.variables(), *self._loss_scale._weights.values()]


def _times(grad: TensorLike, factor: TensorLike) -> Any:
    if grad is None:
        return None
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(_times(grad.values, factor), grad.indices, grad.dense_shape)
    return grad * cast(factor, grad.dtype)


def enable_mixed_precision_graph_rewrite(
    opt: Any, loss_scale: Any = "dynamic"
) -> MixedPrecisionLossScaleOptimizer:
    """Return an optimizer whose losses are scaled.

    The types of nodes are not changed: TensorFlow changes them to float16 on GPUs only.

    Args:
      opt: the optimizer.
      loss_scale: as of :class:`MixedPrecisionLossScaleOptimizer`.

    Raises:
      ValueError: ``opt`` scales losses already, or is no optimizer.
    """
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(
            '"opt" must not already be an instance of a MixedPrecisionLossScaleOptimizer. '
            "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
            "MixedPrecisionLossScaleOptimizer."
        )
    return MixedPrecisionLossScaleOptimizer(opt, loss_scale)


def disable_mixed_precision_graph_rewrite() -> None:
    """Do nothing: the types of nodes are never rewritten."""
