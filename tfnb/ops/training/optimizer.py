"""``tf.train.Optimizer``: from a loss to the ops that update variables.

A subclass says which slots it keeps (``_create_slots``), how its hyperparameters become tensors
(``_prepare``) and how one gradient is applied (``_arguments`` with a family of apply ops).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import IndexedSlices
from tfnb.framework.scopes import (
    add_to_collection,
    colocate_with,
    control_dependencies,
    get_collection,
    name_scope,
)
from tfnb.framework.tensor import Tensor
from tfnb.ops import array_ops, math_ops, resource_variable_ops, state_ops
from tfnb.ops.control_flow import group, tuple_
from tfnb.ops.gradients import gradients
from tfnb.ops.resource_variable import is_resource_variable
from tfnb.ops.training.slot_creator import create_slot, create_zeros_slot
from tfnb.ops.unique_ops import unique
from tfnb.ops.variables import Variable, trainable_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.framework.operation import Operation
    from tfnb.ops.training_ops import ApplyOps

EXPORTS = {"train": ["Optimizer"]}

_TYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


class Optimizer:
    """Minimizes a loss by changing variables.

    Attributes:
      GATE_NONE: gradients are applied as soon as they are there.
      GATE_OP: an op's gradients are all computed before any is used.
      GATE_GRAPH: all gradients are computed before any is used.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        # slot name -> (graph, variable) -> slot
        self._slots: dict[str, dict[tuple[int, str], Any]] = {}
        self._non_slots: dict[tuple[str, int], Any] = {}

    def get_name(self) -> str:
        """The optimizer's name."""
        return self._name

    # -- from a loss to updates

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """An op that takes one step: gradients of ``loss``, applied to the variables.

        Raises:
          ValueError: no variable has a gradient.
        """
        pairs = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in pairs):
            names = [variable.op.name for _, variable in pairs]
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {names} and loss {loss}."
            )
        return self.apply_gradients(pairs, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Iterable[Any] | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """(gradient, variable) for every variable; a gradient may be None.

        Args:
          loss: a tensor, or a function without arguments that builds one.
          var_list: default: the trainable variables of the graph.
          gate_gradients: GATE_NONE, GATE_OP or GATE_GRAPH.
          aggregation_method: as for ``tf.gradients``.
          colocate_gradients_with_ops: whether gradients live with the ops they are of.
          grad_loss: the gradient that flows into ``loss``.

        Raises:
          TypeError: ``var_list`` holds something that is no variable.
          ValueError: there are no variables, or the loss or a variable has no float dtype.
        """
        if callable(loss) and not isinstance(loss, Tensor):
            loss = loss()
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._check_types([loss])
        if grad_loss is not None:
            self._check_types([grad_loss])
        if var_list is None:
            variables = [*trainable_variables()]
            variables += get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = list(var_list)
        variables += get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        for variable in variables:
            if not isinstance(variable, Variable):
                raise TypeError(f"Argument is not a variable: {variable!r}")
        if not variables:
            raise ValueError("No variables to optimize.")
        targets = [v.handle if is_resource_variable(v) else v._ref() for v in variables]
        grads = gradients(
            loss,
            targets,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = tuple_(grads)
        self._check_types([v for g, v in zip(grads, variables) if g is not None])
        return list(zip(grads, variables))

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: Any = None,
        name: str | None = None,
    ) -> Operation:
        """An op that applies gradients, and then adds one to ``global_step``.

        Raises:
          TypeError: a gradient or variable is of the wrong kind.
          ValueError: no variable has a gradient.
        """
        pairs = [(self._as_gradient(grad), var) for grad, var in grads_and_vars]
        if not pairs:
            raise ValueError("No variables provided.")
        used = [(grad, var) for grad, var in pairs if grad is not None]
        if not used:
            names = [var.op.name for _, var in pairs]
            raise ValueError(f"No gradients provided for any variable: {names}.")
        graph = get_default_graph()
        with control_dependencies(None):
            self._create_slots([var for _, var in used])
        updates = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for grad, var in used:
                with name_scope(f"update_{var.op.name}"), colocate_with(var.op):
                    updates.append(self._update(grad, var))
            if global_step is None:
                train = self._finish(updates, scope)
            else:
                with control_dependencies([self._finish(updates, "update")]):
                    with colocate_with(global_step.op):
                        train = _add_one(global_step, scope)
        operation: Operation = train.op if isinstance(train, Tensor) else train
        if operation not in graph.get_collection_ref(GraphKeys.TRAIN_OP):
            add_to_collection(GraphKeys.TRAIN_OP, operation)
        return operation

    @staticmethod
    def _as_gradient(grad: Any) -> Any:
        if grad is None or isinstance(grad, IndexedSlices):
            return grad
        return convert_to_tensor(grad)

    def _check_types(self, tensors: Sequence[Any]) -> None:
        for tensor in tensors:
            if tensor.dtype.base_dtype not in _TYPES:
                raise ValueError(
                    f"Invalid type {tensor.dtype.base_dtype!r} for {tensor.name}, expected: "
                    f"{[t.name for t in _TYPES]}."
                )

    def _update(self, grad: Any, var: Any) -> Any:
        """The op that applies one gradient."""
        is_resource = is_resource_variable(var)
        if not isinstance(grad, IndexedSlices):
            update = self._apply(grad, var, None)
        elif is_resource or self._sums_repeated_indices:
            # Most rules must see a row once, with the sum of its gradients.
            values, indices = _without_repetition(grad.values, grad.indices)
            update = self._apply(values, var, indices)
        else:
            update = self._apply(grad.values, var, grad.indices)
        if var.constraint is None:
            return update
        with control_dependencies([update]):
            # Read anew: what was read before the update is the value of before.
            return var.assign(var.constraint(var.read_value()), read_value=False)

    _sums_repeated_indices = True

    # -- what a subclass says

    _ops: ApplyOps

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Makes the slots of these variables."""

    def _prepare(self) -> None:
        """Turns hyperparameters into tensors."""

    def _arguments(self, var: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Slots; hyperparameters before the gradient; hyperparameters after it."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it applies gradients")

    def _attributes(self) -> dict[str, Any]:
        """Attributes of the apply op."""
        return {"use_locking": self._use_locking}

    def _apply(self, grad: Any, var: Any, indices: Any) -> Any:
        """The apply op for one variable; ``indices`` is None for a dense gradient."""
        slots, before, after = self._arguments(var)
        ops = self._ops
        if is_resource_variable(var):
            build = ops.resource if indices is None else ops.resource_sparse
            cells = [v.handle for v in (var, *slots)]
        else:
            build = ops.dense if indices is None else ops.sparse
            cells = [v._ref() for v in (var, *slots)]
        if build is None:
            raise NotImplementedError(
                f"{type(self).__name__} has no rule for sparse gradients of '{var.op.name}'."
            )
        dtype = var.dtype.base_dtype
        grads = [grad] if indices is None else [grad, indices]
        return build(
            *cells,
            *[math_ops.cast(value, dtype) for value in before],
            *grads,
            *[math_ops.cast(value, dtype) for value in after],
            **self._attributes(),
        )

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        """One op for all updates."""
        return group(*update_ops, name=name_scope)

    # -- slots

    def _slot_key(self, var: Any) -> tuple[int, str]:
        return id(var.graph), var.op.name

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        slots = self._slots.setdefault(slot_name, {})
        key = self._slot_key(var)
        if key not in slots:
            slots[key] = create_zeros_slot(var, op_name)
        return slots[key]

    def _get_or_make_slot(self, var: Any, value: Any, slot_name: str, op_name: str) -> Any:
        slots = self._slots.setdefault(slot_name, {})
        key = self._slot_key(var)
        if key not in slots:
            slots[key] = create_slot(var, value, op_name)
        return slots[key]

    def get_slot(self, var: Any, name: str) -> Any:
        """The slot of a variable by the slot's name, or None."""
        return self._slots.get(name, {}).get(self._slot_key(var))

    def get_slot_names(self) -> list[str]:
        """The names of the slots there are, sorted."""
        return sorted(self._slots)

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate: Any) -> Any:
        """A variable of the optimizer itself, beside a variable it optimizes."""
        key = (name, id(colocate.graph))
        if key not in self._non_slots:
            with colocate_with(colocate.op):
                self._non_slots[key] = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=is_resource_variable(colocate),
                )
        return self._non_slots[key]

    def _get_non_slot_variable(self, name: str, graph: Any) -> Any:
        return self._non_slots.get((name, id(graph)))

    def variables(self) -> list[Any]:
        """All variables that the optimizer made in the default graph, by name."""
        graph = get_default_graph()
        found = [v for v in self._non_slots.values() if v.graph is graph]
        for slots in self._slots.values():
            found += [v for v in slots.values() if v.graph is graph]
        return sorted(found, key=lambda variable: str(variable.name))

    def _call_if_callable(self, value: Any) -> Any:
        return value() if callable(value) else value


def _add_one(global_step: Any, scope: str) -> Any:
    if is_resource_variable(global_step):
        one = convert_to_tensor(1, dtype=global_step.dtype.base_dtype)
        return resource_variable_ops.assign_add_variable_op(global_step.handle, one, name=scope)
    return state_ops.assign_add(global_step._ref(), 1, name=scope)


def _without_repetition(values: Any, indices: Any) -> tuple[Any, Any]:
    """Sums the rows that share an index."""
    places, positions = unique(indices)
    summed = math_ops.unsorted_segment_sum(values, positions, array_ops.shape(places)[0])
    return summed, places
