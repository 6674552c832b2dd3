"""Adam."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import colocate_with, control_dependencies, init_scope
from tfnb.library.control_flow import control_flow
from tfnb.library.training.optimizer import RuleOptimizer
from tfnb.ops.math import math_ops
from tfnb.ops.state import state_ops, training_ops
from tfnb.ops.state.resource_variable_ops import resource_scatter_add

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tfnb.core.dtypes import DType
    from tfnb.framework.tensor_types import Nested, TensorLike, TensorResult, VariableLike
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["AdamOptimizer"]}


class AdamOptimizer(RuleOptimizer):
    """Running means of gradients (m) and of their squares (v), corrected for their initial zeros.

    With a sparse gradient, m and v of all rows decay, and all rows are updated, as with a dense
    one.
    """

    rule: ClassVar[ApplyOps] = training_ops.adam
    slot_inputs: ClassVar[dict[str, str]] = {"m": "m", "v": "v"}

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        beta1: TensorLike = 0.9,
        beta2: TensorLike = 0.999,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
        use_own_namescope_for_non_slot_vars: bool = False,
    ) -> None:
        super().__init__(use_locking, name, use_own_namescope_for_non_slot_vars)
        self._lr = learning_rate
        self._beta1 = beta1
        self._beta2 = beta2
        self._epsilon = epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Nested, Nested]:
        """Return the variables that hold beta1 and beta2 to the power of the step."""
        with init_scope():
            graph = get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph=graph),
                self._get_non_slot_variable("beta2_power", graph=graph),
            )

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        # On the device of the variable with the first name, which is the same in every program.
        first = min(var_list, key=lambda variable: str(variable.name))
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        self._create_non_slot_variable(self._beta2, "beta2_power", first)
        for variable in var_list:
            self._zeros_slot(variable, "m", self._name)
            self._zeros_slot(variable, "v", self._name)

    def _prepare(self) -> None:
        rate, beta1, beta2, epsilon = (
            self._call_if_callable(value)
            for value in (self._lr, self._beta1, self._beta2, self._epsilon)
        )
        self._lr_t = convert_to_tensor(rate, name="learning_rate")
        self._beta1_t = convert_to_tensor(beta1, name="beta1")
        self._beta2_t = convert_to_tensor(beta2, name="beta2")
        self._epsilon_t = convert_to_tensor(epsilon, name="epsilon")

    def _extra_inputs(self, var: VariableLike, dtype: DType) -> dict[str, Any]:
        beta1_power, beta2_power = self._get_beta_accumulators()
        return {
            "beta1_power": math_ops.cast(beta1_power, dtype),
            "beta2_power": math_ops.cast(beta2_power, dtype),
            "lr": math_ops.cast(self._lr_t, dtype),
            "beta1": math_ops.cast(self._beta1_t, dtype),
            "beta2": math_ops.cast(self._beta2_t, dtype),
            "epsilon": math_ops.cast(self._epsilon_t, dtype),
        }

    def _apply_sparse_shared(
        self,
        grad: TensorLike,
        var: VariableLike,
        indices: TensorLike,
        scatter_add: Callable[..., Nested],
    ) -> TensorResult:
        inputs = self._extra_inputs(var, var.dtype.base_dtype)
        beta1, beta2 = inputs["beta1"], inputs["beta2"]
        rate = inputs["lr"] * math_ops.sqrt(1 - inputs["beta2_power"]) / (1 - inputs["beta1_power"])
        m_t = self._decayed(self.get_slot(var, "m"), beta1, grad, indices, scatter_add)
        v_t = self._decayed(self.get_slot(var, "v"), beta2, grad * grad, indices, scatter_add)
        root = math_ops.sqrt(v_t)
        step = rate * m_t / (root + inputs["epsilon"])
        update = state_ops.assign_sub(var, step, use_locking=self._use_locking)
        return control_flow.group(update, m_t, v_t)

    def _decayed(
        self,
        slot: VariableLike,
        beta: TensorLike,
        rows: TensorLike,
        indices: TensorLike,
        scatter_add: Callable[..., Nested],
    ) -> TensorResult:
        """Compute slot = beta * slot, then add (1 - beta) * rows."""
        added = rows * (1 - beta)
        decayed = state_ops.assign(slot, slot * beta, use_locking=self._use_locking)
        with control_dependencies([decayed]):
            return scatter_add(slot, indices, added)

    def _apply_sparse(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        def scatter_add(slot: VariableLike, indices: TensorLike, rows: TensorLike) -> TensorResult:
            return state_ops.scatter_add(slot, indices, rows, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, scatter_add)

    def _resource_apply_sparse(
        self, grad: TensorLike, handle: TensorLike, indices: TensorLike
    ) -> TensorResult:
        def scatter_add(slot: VariableLike, indices: TensorLike, rows: TensorLike) -> TensorResult:
            with control_dependencies([resource_scatter_add(slot.handle, indices, rows)]):
                return slot.value()

        return self._apply_sparse_shared(grad, handle, indices, scatter_add)

    def _finish(self, update_ops: list[TensorLike], name_scope: str) -> TensorResult:
        with control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with colocate_with(beta1_power):
                updates = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in (
                        (beta1_power, self._beta1_t),
                        (beta2_power, self._beta2_t),
                    )
                ]
        return control_flow.group(*update_ops, *updates, name=name_scope)
