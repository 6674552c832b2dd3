"""Gradient descent with momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import Config, TensorLike, VariableLike
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["MomentumOptimizer"]}


class MomentumOptimizer(RuleOptimizer):
    """accum = momentum * accum + gradient; var -= learning_rate * accum."""

    rule: ClassVar[ApplyOps] = training_ops.momentum_rule
    slot_inputs: ClassVar[dict[str, str]] = {"accum": "momentum"}
    hyperparameters: ClassVar[dict[str, str]] = {"lr": "_learning_rate", "momentum": "_momentum"}

    def __init__(
        self,
        learning_rate: TensorLike,
        momentum: TensorLike,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "momentum", self._name)

    def _attrs(self) -> Config:
        return {"use_nesterov": self._use_nesterov}
