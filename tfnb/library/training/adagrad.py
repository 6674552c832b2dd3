"""Adagrad, with shrinking, and as dual averaging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import colocate_with, device
from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.library.variables.init_ops import constant_initializer
from tfnb.ops.array import array_ops
from tfnb.ops.math import math_ops
from tfnb.ops.state import training_ops

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Initializer, TensorLike, TensorResult, VariableLike
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["AdagradDAOptimizer", "AdagradOptimizer", "ProximalAdagradOptimizer"]}


class AdagradOptimizer(RuleOptimizer):
    """accum += gradient**2; var -= learning_rate * gradient / sqrt(accum)."""

    rule: ClassVar[ApplyOps] = training_ops.adagrad
    slot_inputs: ClassVar[dict[str, str]] = {"accum": "accumulator"}
    hyperparameters: ClassVar[dict[str, str]] = {"lr": "_learning_rate"}

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        _check_initial("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: TensorLike = None

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        for variable in var_list:
            dtype = variable.dtype.base_dtype
            shape = variable.get_shape()
            initializer: Initializer
            if shape.is_fully_defined():
                initializer = constant_initializer(self._initial_accumulator_value, dtype=dtype)
            else:
                initializer = self._filled_like(variable, dtype)
            self._get_or_make_slot_with_initializer(
                variable, initializer, shape, dtype, "accumulator", self._name
            )

    def _filled_like(self, variable: VariableLike, dtype: DType) -> Callable[[], Any]:
        def make() -> TensorResult:
            value = array_ops.fill(array_ops.shape(variable), self._initial_accumulator_value)
            return math_ops.cast(value, dtype)

        return make


def _check_initial(name: str, value: float) -> None:
    if value <= 0.0:
        raise ValueError(f"{name} must be positive: {value}")


class ProximalAdagradOptimizer(RuleOptimizer):
    """Adagrad, then shrinking by l1 and l2 regularisation."""

    rule: ClassVar[ApplyOps] = training_ops.proximal_adagrad
    slot_inputs: ClassVar[dict[str, str]] = {"accum": "accumulator"}
    hyperparameters: ClassVar[dict[str, str]] = {
        "lr": "_learning_rate",
        "l1": "_l1_regularization_strength",
        "l2": "_l2_regularization_strength",
    }

    def __init__(
        self,
        learning_rate: TensorLike,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        _check_initial("initial_accumulator_value", initial_accumulator_value)
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        for variable in var_list:
            with colocate_with(variable):
                value = array_ops.constant_v1(
                    self._initial_accumulator_value,
                    shape=variable.get_shape(),
                    dtype=variable.dtype.base_dtype,
                )
            self._get_or_make_slot(variable, value, "accumulator", self._name)


class AdagradDAOptimizer(RuleOptimizer):
    """Adagrad with dual averaging of all gradients so far; l1 makes weights sparse."""

    rule: ClassVar[ApplyOps] = training_ops.adagrad_da
    slot_inputs: ClassVar[dict[str, str]] = {
        "gradient_accumulator": "gradient_accumulator",
        "gradient_squared_accumulator": "gradient_squared_accumulator",
    }

    def __init__(
        self,
        learning_rate: TensorLike,
        global_step: VariableLike,
        initial_gradient_squared_accumulator_value: float = 0.1,
        l1_regularization_strength: TensorLike = 0.0,
        l2_regularization_strength: TensorLike = 0.0,
        use_locking: bool = False,
        name: str = "AdagradDA",
    ) -> None:
        _check_initial(
            "initial_gradient_squared_accumulator_value",
            initial_gradient_squared_accumulator_value,
        )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_gradient_squared_accumulator_value = (
            initial_gradient_squared_accumulator_value
        )
        self._l1_regularization_strength = l1_regularization_strength
        self._l2_regularization_strength = l2_regularization_strength
        self._global_step = global_step
        self._learning_rate_tensor: TensorLike = None
        self._global_step_on_worker: Any = None

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        for variable in var_list:
            dtype, shape = variable.dtype.base_dtype, variable.get_shape()
            with colocate_with(variable):
                zero = array_ops.constant_v1(0.0, shape=shape, dtype=dtype)
                squares = array_ops.constant_v1(
                    self._initial_gradient_squared_accumulator_value, shape=shape, dtype=dtype
                )
            self._get_or_make_slot(variable, zero, "gradient_accumulator", self._name)
            self._get_or_make_slot(variable, squares, "gradient_squared_accumulator", self._name)

    def _prepare(self) -> None:
        self._learning_rate_tensor = convert_to_tensor(self._learning_rate, name="learning_rate")
        with colocate_with(self._learning_rate_tensor):
            self._global_step_on_worker = array_ops.identity(self._global_step) + 1

    def _extra_inputs(self, var: VariableLike, dtype: DType) -> dict[str, Any]:
        with device(var.device):
            global_step = array_ops.identity(self._global_step_on_worker)
        return {
            "lr": math_ops.cast(self._learning_rate_tensor, dtype),
            "l1": math_ops.cast(self._l1_regularization_strength, dtype),
            "l2": math_ops.cast(self._l2_regularization_strength, dtype),
            "global_step": global_step,
        }
