"""RMSProp, plain and centered."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.library.variables.init_ops import ones_initializer
from tfnb.ops.array import array_ops
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.tensor_types import Initializer, TensorLike, VariableLike
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["RMSPropOptimizer"]}


class RMSPropOptimizer(RuleOptimizer):
    """The gradient divided by a running average of its magnitude, optionally with momentum.

    The centered form subtracts the square of the gradient's running mean from that average.
    """

    slot_inputs: ClassVar[dict[str, str]] = {"ms": "rms", "mom": "momentum", "mg": "mg"}
    hyperparameters: ClassVar[dict[str, str]] = {
        "lr": "_learning_rate",
        "rho": "_decay",
        "momentum": "_momentum",
        "epsilon": "_epsilon",
    }

    def __init__(
        self,
        learning_rate: TensorLike,
        decay: TensorLike = 0.9,
        momentum: TensorLike = 0.0,
        epsilon: TensorLike = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._decay = decay
        self._momentum = momentum
        self._epsilon = epsilon
        self._centered = centered

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        for variable in var_list:
            shape, dtype = variable.get_shape(), variable.dtype.base_dtype
            initializer: Initializer
            if shape.is_fully_defined():
                initializer = ones_initializer(dtype=dtype)
            else:
                initializer = array_ops.ones_like(variable)
            self._get_or_make_slot_with_initializer(
                variable, initializer, shape, dtype, "rms", self._name
            )
            if self._centered:
                self._zeros_slot(variable, "mg", self._name)
            self._zeros_slot(variable, "momentum", self._name)

    def _rule(self) -> ApplyOps:
        return training_ops.centered_rms_prop if self._centered else training_ops.rms_prop
