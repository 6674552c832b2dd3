"""The optimizers of TensorFlow 1: which slots each keeps, and how its apply ops take them.

The rules themselves are kernels, in :mod:`tfnb.ops.training_ops`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.scopes import colocate_with, control_dependencies
from tfnb.ops import array_ops, training_ops
from tfnb.ops.control_flow import group
from tfnb.ops.init_ops import constant_initializer
from tfnb.ops.resource_variable import is_resource_variable
from tfnb.ops.training.optimizer import Optimizer

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPORTS = {
    "train": [
        "GradientDescentOptimizer",
        "MomentumOptimizer",
        "AdamOptimizer",
        "AdagradOptimizer",
        "AdadeltaOptimizer",
        "RMSPropOptimizer",
        "FtrlOptimizer",
        "ProximalGradientDescentOptimizer",
        "ProximalAdagradOptimizer",
    ]
}


class GradientDescentOptimizer(Optimizer):
    """``var -= learning_rate * gradient``."""

    _ops = training_ops.gradient_descent
    _sums_repeated_indices = False

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._rate: Any = None

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._rate = convert_to_tensor(rate, name="learning_rate")

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        return [], [self._rate], []

    def _apply(self, grad: Any, var: Any, indices: Any) -> Any:
        if indices is None:
            return super()._apply(grad, var, indices)
        from tfnb.framework.indexed_slices import IndexedSlices
        from tfnb.ops.math_ops import cast

        delta = grad * cast(self._rate, var.dtype.base_dtype)
        found = var.scatter_sub(IndexedSlices(delta, indices), use_locking=self._use_locking)
        return getattr(found, "op", found)


class MomentumOptimizer(Optimizer):
    """``accumulator = momentum * accumulator + gradient; var -= learning_rate * accumulator``."""

    _ops = training_ops.momentum_rule

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._momentum = momentum
        self._use_nesterov = use_nesterov
        self._tensors: list[Any] = []

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(self._learning_rate), name="learning_rate"),
            convert_to_tensor(self._call_if_callable(self._momentum), name="momentum"),
        ]

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        rate, momentum = self._tensors
        return [self.get_slot(var, "momentum")], [rate], [momentum]

    def _attributes(self) -> dict[str, Any]:
        return {"use_locking": self._use_locking, "use_nesterov": self._use_nesterov}


class AdamOptimizer(Optimizer):
    """Adam (Kingma and Ba, 2014): running means of the gradient and of its square."""

    _ops = training_ops.adam

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {
            "learning_rate": learning_rate,
            "beta1": beta1,
            "beta2": beta2,
            "epsilon": epsilon,
        }
        self._tensors: dict[str, Any] = {}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        # The powers live beside the first variable by name.
        first = min(var_list, key=lambda variable: str(variable.name))
        for name in ("beta1", "beta2"):
            value = self._call_if_callable(self._parameters[name])
            self._create_non_slot_variable(value, f"{name}_power", first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._tensors = {
            name: convert_to_tensor(self._call_if_callable(value), name=name)
            for name, value in self._parameters.items()
        }

    def _powers(self, graph: Any) -> tuple[Any, Any]:
        return (
            self._get_non_slot_variable("beta1_power", graph),
            self._get_non_slot_variable("beta2_power", graph),
        )

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        tensors = self._tensors
        slots = [self.get_slot(var, "m"), self.get_slot(var, "v")]
        beta1_power, beta2_power = self._powers(var.graph)
        rest = [tensors[name] for name in ("learning_rate", "beta1", "beta2", "epsilon")]
        return slots, [beta1_power, beta2_power, *rest], []

    def _apply(self, grad: Any, var: Any, indices: Any) -> Any:
        if indices is None:
            return super()._apply(grad, var, indices)
        return self._apply_rows(grad, var, indices)

    def _apply_rows(self, grad: Any, var: Any, indices: Any) -> Any:
        """The means decay everywhere, and grow at the rows that have a gradient."""
        from tfnb.framework.indexed_slices import IndexedSlices
        from tfnb.ops import math_ops

        dtype = var.dtype.base_dtype
        tensors = {name: math_ops.cast(value, dtype) for name, value in self._tensors.items()}
        beta1_power, beta2_power = (math_ops.cast(p, dtype) for p in self._powers(var.graph))
        rate = tensors["learning_rate"] * math_ops.sqrt(1 - beta2_power) / (1 - beta1_power)
        means = []
        for name, beta, value in (
            ("m", tensors["beta1"], grad),
            ("v", tensors["beta2"], grad * grad),
        ):
            slot = self.get_slot(var, name)
            decayed = slot.assign(slot * beta, use_locking=self._use_locking)
            with control_dependencies([decayed]):
                rows = IndexedSlices(value * (1 - beta), indices)
                means.append(slot.scatter_add(rows, use_locking=self._use_locking))
        m, v = means
        step = rate * m / (math_ops.sqrt(v) + tensors["epsilon"])
        update = var.assign_sub(step, use_locking=self._use_locking)
        return group(update, m, v)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        graph = update_ops[0].graph
        beta1_power, beta2_power = self._powers(graph)
        with control_dependencies(update_ops), colocate_with(beta1_power.op):
            moved = [
                power.assign(
                    power * self._tensors[name], use_locking=self._use_locking, read_value=False
                )
                if is_resource_variable(power)
                else power.assign(power * self._tensors[name], use_locking=self._use_locking)
                for name, power in (("beta1", beta1_power), ("beta2", beta2_power))
            ]
        return group(*update_ops, *moved, name=name_scope)


class AdagradOptimizer(Optimizer):
    """Adagrad (Duchi et al., 2011): the rate falls with the sum of squared gradients."""

    _ops = training_ops.adagrad

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._rate: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            _constant_slot(self, var, "accumulator", self._initial_accumulator_value)

    def _prepare(self) -> None:
        rate = self._call_if_callable(self._learning_rate)
        self._rate = convert_to_tensor(rate, name="learning_rate")

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        return [self.get_slot(var, "accumulator")], [self._rate], []


def _constant_slot(optimizer: Optimizer, var: Any, slot_name: str, value: float) -> None:
    dtype = var.dtype.base_dtype
    if var.shape.is_fully_defined():
        initial: Any = constant_initializer(value, dtype=dtype)
    else:
        initial = array_ops.fill(
            array_ops.shape(var.initialized_value()), convert_to_tensor(value, dtype=dtype)
        )
    optimizer._get_or_make_slot(var, initial, slot_name, optimizer.get_name())


class AdadeltaOptimizer(Optimizer):
    """Adadelta (Zeiler, 2012): steps as large as former updates, by former gradients."""

    _ops = training_ops.adadelta

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {"lr": learning_rate, "rho": rho, "epsilon": epsilon}
        self._tensors: list[Any] = []

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "accum", self._name)
            self._zeros_slot(var, "accum_update", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(value), name=name)
            for name, value in self._parameters.items()
        ]

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        slots = [self.get_slot(var, "accum"), self.get_slot(var, "accum_update")]
        return slots, list(self._tensors), []


class RMSPropOptimizer(Optimizer):
    """RMSProp (Tieleman and Hinton): the gradient by a running root of its mean square."""

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {
            "learning_rate": learning_rate,
            "decay": decay,
            "momentum": momentum,
            "epsilon": epsilon,
        }
        self._centered = centered
        self._ops = training_ops.centered_rms_prop if centered else training_ops.rms_prop
        self._tensors: list[Any] = []

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            _constant_slot(self, var, "rms", 1.0)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(value), name=name)
            for name, value in self._parameters.items()
        ]

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        names = ["mg", "rms", "momentum"] if self._centered else ["rms", "momentum"]
        return [self.get_slot(var, name) for name in names], list(self._tensors), []


class FtrlOptimizer(Optimizer):
    """Follow the regularized leader (McMahan et al., 2013)."""

    def __init__(
        self,
        learning_rate: Any,
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
        for what, value in (
            ("initial_accumulator_value", initial_accumulator_value),
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        ):
            if value < 0.0:
                raise ValueError(f"{what} {value} needs to be positive or zero")
        if learning_rate_power > 0.0:
            raise ValueError(
                f"learning_rate_power {learning_rate_power} needs to be negative or zero"
            )
        self._initial_accumulator_value = initial_accumulator_value
        self._accum_name = accum_name or name
        self._linear_name = linear_name or f"{name}_1"
        self._shrinks = l2_shrinkage_regularization_strength > 0.0
        self._ops = training_ops.ftrl_v2 if self._shrinks else training_ops.ftrl
        l2 = l2_regularization_strength
        if beta:
            l2 += beta / (2.0 * learning_rate)
        self._parameters = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2,
            "l2_shrinkage_regularization_strength": l2_shrinkage_regularization_strength,
            "learning_rate_power": learning_rate_power,
        }
        if not self._shrinks:
            del self._parameters["l2_shrinkage_regularization_strength"]
        self._tensors: list[Any] = []

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            value = convert_to_tensor(self._initial_accumulator_value, dtype=var.dtype.base_dtype)
            shape = array_ops.shape(var.initialized_value())
            if var.shape.is_fully_defined():
                shape = convert_to_tensor(var.shape.as_list(), dtype="int32")
            self._get_or_make_slot(var, array_ops.fill(shape, value), "accum", self._accum_name)
            self._zeros_slot(var, "linear", self._linear_name)

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(value), name=name)
            for name, value in self._parameters.items()
        ]

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        return [self.get_slot(var, "accum"), self.get_slot(var, "linear")], [], list(self._tensors)


class ProximalGradientDescentOptimizer(Optimizer):
    """Gradient descent with the proximal step of an L1 and L2 penalty (Duchi and Singer, 2009)."""

    _ops = training_ops.proximal_gradient_descent

    def __init__(
        self,
        learning_rate: Any,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalGradientDescent",
    ) -> None:
        super().__init__(use_locking, name)
        self._parameters = {
            "learning_rate": learning_rate,
            "l1_regularization_strength": l1_regularization_strength,
            "l2_regularization_strength": l2_regularization_strength,
        }
        self._tensors: list[Any] = []

    def _prepare(self) -> None:
        self._tensors = [
            convert_to_tensor(self._call_if_callable(value), name=name)
            for name, value in self._parameters.items()
        ]

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        return [], list(self._tensors), []


class ProximalAdagradOptimizer(ProximalGradientDescentOptimizer):
    """Adagrad with the proximal step of an L1 and L2 penalty."""

    _ops = training_ops.proximal_adagrad

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        l1_regularization_strength: float = 0.0,
        l2_regularization_strength: float = 0.0,
        use_locking: bool = False,
        name: str = "ProximalAdagrad",
    ) -> None:
        if initial_accumulator_value <= 0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(
            learning_rate,
            l1_regularization_strength,
            l2_regularization_strength,
            use_locking,
            name,
        )
        self._initial_accumulator_value = initial_accumulator_value

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            _constant_slot(self, var, "accumulator", self._initial_accumulator_value)

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        return [self.get_slot(var, "accumulator")], list(self._tensors), []
