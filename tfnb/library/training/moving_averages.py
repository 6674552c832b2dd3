"""Running averages of variables and tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.scopes import (
    add_to_collection,
    device,
    get_name_scope,
    init_scope,
    name_scope,
)
from tfnb.library.control_flow import control_flow
from tfnb.library.training import slot_creator
from tfnb.library.variables.init_ops import zeros_initializer
from tfnb.library.variables.variable_scope import get_variable, get_variable_scope, variable_scope
from tfnb.library.variables.variables import (
    Variable,
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from tfnb.ops.math import math_ops
from tfnb.ops.state import state_ops

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import TensorLike, TensorResult, VariableLike

EXPORTS = {"train": ["ExponentialMovingAverage"]}

_AVERAGED = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)


def assign_moving_average(
    variable: VariableLike,
    value: TensorLike,
    decay: TensorLike,
    zero_debias: bool = True,
    name: str | None = None,
) -> VariableLike:
    """Compute variable -= (1 - decay) * (variable - value).

    With ``zero_debias`` the variable gets the average without the effect of its initial zero.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rest = convert_to_tensor(1.0 - decay, name="decay")
        if rest.dtype != variable.dtype.base_dtype:
            rest = math_ops.cast(rest, variable.dtype.base_dtype)
        if zero_debias:
            return _assign_debiased(variable, value, rest)
        return state_ops.assign_sub(variable, (variable - value) * rest, name=scope)


def _assign_debiased(unbiased: TensorLike, value: TensorLike, rest: TensorLike) -> TensorResult:
    with variable_scope(unbiased.name.removesuffix(":0"), values=[unbiased, value, rest]):
        with slot_creator.colocated_variables(unbiased):
            biased = get_variable(
                _unused_name("biased"),
                initializer=zeros_initializer(),
                shape=unbiased.get_shape(),
                dtype=unbiased.dtype,
                trainable=False,
            )
            local_step = get_variable(
                _unused_name("local_step"),
                shape=[],
                dtype=unbiased.dtype,
                initializer=zeros_initializer(),
                trainable=False,
            )
    updated = state_ops.assign_sub(biased, (biased - value) * rest)
    steps = local_step.assign_add(1)
    correction = 1 - math_ops.pow(1.0 - rest, steps)
    return state_ops.assign(unbiased, updated / correction, name=f"{get_name_scope()}/")


def _unused_name(name: str) -> str:
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {variable.op.name for variable in scope.global_variables()}
    found, count = name, 0
    while f"{scope.name}/{found}" in taken:
        count += 1
        found = f"{name}_{count}"
    return found


class ExponentialMovingAverage:
    """Running averages of variables: average = decay * average + (1 - decay) * variable."""

    def __init__(
        self,
        decay: TensorLike,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        """Make an object that keeps averages.

        Args:
          decay: the fraction of the average that is kept at each update.
          num_updates: the number of updates so far; while it is small the decay is smaller.
          zero_debias: whether averages of tensors are corrected for their initial zeros.
          name: added to the names of the averages.
        """
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The name added to those of the averages."""
        return self._name

    def apply(self, var_list: Sequence[VariableLike] | None = None) -> Operation:
        """Return an operation that updates the averages of variables; new averages are made.

        Raises:
          TypeError: one of them is not floating-point.
        """
        variables = trainable_variables() if var_list is None else var_list
        debiased = set()
        for variable in variables:
            if variable.dtype.base_dtype not in _AVERAGED:
                raise TypeError(f"The variables must be half, float, or double: {variable.name}")
            key = _key(variable)
            if key not in self._averages:
                with init_scope():
                    self._averages[key] = self._make_average(variable)
                if self._zero_debias and not isinstance(variable, Variable):
                    debiased.add(key)
        with name_scope(self._name) as scope:
            decay = convert_to_tensor(self._decay, dtype=dtypes.float32, name="decay")
            if self._num_updates is not None:
                updates = math_ops.cast(self._num_updates, dtypes.float32, name="num_updates")
                decay = math_ops.minimum(decay, (1.0 + updates) / (10.0 + updates))
            ops = [
                assign_moving_average(
                    self._averages[_key(variable)], variable, decay, _key(variable) in debiased
                )
                for variable in variables
            ]
            return control_flow.group(*ops, name=scope)

    def _make_average(self, variable: VariableLike) -> VariableLike:
        if not isinstance(variable, Variable):
            kinds = ("Variable", "VariableV2", "VarHandleOp")
            return slot_creator.create_zeros_slot(
                variable, self._name, colocate_with_primary=variable.op.type in kinds
            )
        with device(variable.device):
            value = slot_creator.initialized_value(variable)
        average = slot_creator.create_slot(variable, value, self._name)
        add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, variable)
        return average

    def average(self, var: VariableLike) -> VariableLike:
        """Return the variable that holds the average of ``var``, or None."""
        return self._averages.get(_key(var))

    def average_name(self, var: VariableLike) -> str:
        """Return the name of the average of ``var``, also before it is made."""
        average = self.average(var)
        if average is not None:
            return str(average.name).removesuffix(":0")
        wanted = f"{var.name.removesuffix(':0')}/{self._name}"
        return get_default_graph().unique_name(wanted, mark_as_used=False)

    def variables_to_restore(self, moving_avg_variables: Any = None) -> dict[str, Any]:
        """Return the ``var_list`` of a Saver that restores variables from their averages."""
        if moving_avg_variables is None:
            moving_avg_variables = [*trainable_variables(), *moving_average_variables()]
        averaged = {_key(variable): variable for variable in moving_avg_variables}
        names = {self.average_name(variable): variable for variable in averaged.values()}
        plain = {variable.name for variable in averaged.values()}
        for variable in global_variables():
            if variable.name not in plain and variable.op.name not in names:
                names[variable.op.name] = variable
        return names


def _key(variable: VariableLike) -> Any:
    return variable.op.graph, variable.name
