"""FTRL-proximal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core import dtypes
from tfnb.framework.convert import convert_to_tensor
from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike
    from tfnb.library.variables.partition_info import PartitionInfo
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["FtrlOptimizer"]}


class FtrlOptimizer(RuleOptimizer):
    """Follow the regularized leader (McMahan et al., 2013)."""

    slot_inputs: ClassVar[dict[str, str]] = {"accum": "accum", "linear": "linear"}

    def __init__(
        self,
        learning_rate: TensorLike,
        learning_rate_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "Ftrl",
        accum_name: str | None = None,
        linear_name: str | None = None,
        l2_shrinkage_regularization_strength: float = 0.0,
        beta: float | None = None,
    ) -> None:
        super().__init__(use_locking, name)
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power:f} needs to be negative or zero"
            )
        for word, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{word} {value:f} needs to be positive or zero")
        self._learning_rate = learning_rate
        self._learning_rate_power = learning_rate_power
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._l2_shrinkage_regularization_strength = l2_shrinkage_regularization_strength
        self._beta = 0.0 if beta is None else beta
        self._accum_name = accum_name
        self._linear_name = linear_name
        self._tensors: dict[str, Any] = {}

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        def first_accum(
            shape: TensorLike,
            dtype: DTypeLike = dtypes.float32,
            partition_info: PartitionInfo | None = None,
        ) -> TensorResult:
            return array_ops.ones(shape=shape, dtype=dtype) * self._initial_accumulator_value

        for variable in var_list:
            self._get_or_make_slot_with_initializer(
                variable,
                first_accum,
                variable.shape,
                variable.dtype,
                "accum",
                self._accum_name or self._name,
            )
            self._zeros_slot(variable, "linear", self._linear_name or self._name)

    def _prepare(self) -> None:
        def add(word: str, name: str, value: TensorLike) -> None:
            self._tensors[word] = convert_to_tensor(value, name=name)

        add("lr", "learning_rate", self._learning_rate)
        add("l1", "l1_regularization_strength", self._l1_regularization_strength)
        # Beta acts like l2 regularisation that fades as the learning rate grows.
        l2 = self._l2_regularization_strength + self._beta / (
            2.0 * math_ops.maximum(self._learning_rate, 1e-36)
        )
        add("l2", "adjusted_l2_regularization_strength", l2)
        add("beta", "beta", self._beta)
        add(
            "l2_shrinkage",
            "l2_shrinkage_regularization_strength",
            self._l2_shrinkage_regularization_strength,
        )
        add("lr_power", "learning_rate_power", self._learning_rate_power)

    def _rule(self) -> ApplyOps:
        has_shrinkage = self._l2_shrinkage_regularization_strength > 0.0
        return training_ops.ftrl_v2 if has_shrinkage else training_ops.ftrl

    def _extra_inputs(self, var: VariableLike, dtype: DType) -> dict[str, Any]:
        return {word: math_ops.cast(value, dtype) for word, value in self._tensors.items()}
