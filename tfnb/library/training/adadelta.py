"""Adadelta."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import TensorLike, VariableLike
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["AdadeltaOptimizer"]}


class AdadeltaOptimizer(RuleOptimizer):
    """Steps whose size depends on running averages of gradients and of earlier steps."""

    rule: ClassVar[ApplyOps] = training_ops.adadelta
    slot_inputs: ClassVar[dict[str, str]] = {
        "accum": "accum",
        "accum_update": "accum_update",
    }
    hyperparameters: ClassVar[dict[str, str]] = {
        "lr": "_lr",
        "rho": "_rho",
        "epsilon": "_epsilon",
    }

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        rho: Any = 0.95,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._lr = learning_rate
        self._rho = rho
        self._epsilon = epsilon

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        for variable in var_list:
            self._zeros_slot(variable, "accum", self._name)
            self._zeros_slot(variable, "accum_update", self._name)
