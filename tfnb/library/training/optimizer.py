"""``tf.train.Optimizer``: from a loss to an operation that changes variables.

``minimize`` is ``compute_gradients`` and then ``apply_gradients``. A user's optimizer is a subclass
that overrides some of ``_create_slots``, ``_prepare``, ``_apply_dense``,
``_resource_apply_dense``, ``_apply_sparse``, ``_resource_apply_sparse`` and ``_finish``. Where the
whole step is one op per variable, :class:`RuleOptimizer` needs only the op and the names of its
inputs.

A slot is a variable that an optimizer keeps for each trained variable, named after both
(``w/Momentum``). Corresponds to TensorFlow's training/optimizer.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from tfnb.core import dtypes
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.indexed_slices import (
    IndexedSlices,
    convert_to_tensor_or_indexed_slices,
)
from tfnb.framework.scopes import (
    colocate_with,
    control_dependencies,
    get_collection,
    get_collection_ref,
    init_scope,
    name_scope,
)
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow import control_flow
from tfnb.library.gradients.gradient_path import why_no_gradients
from tfnb.library.gradients.gradients import gradients
from tfnb.library.training import slot_creator
from tfnb.library.variables.resource_variable import is_resource_variable
from tfnb.library.variables.variable_scope import get_variable, variable_scope
from tfnb.library.variables.variables import Variable, trainable_variables
from tfnb.ops.array import array_ops
from tfnb.ops.array.unique_ops import unique
from tfnb.ops.math import math_ops, segment_ops
from tfnb.ops.state import state_ops
from tfnb.ops.state.resource_variable_ops import assign_add_variable_op

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.core.dtypes import DType, DTypeLike
    from tfnb.core.op_registry import OpDefinition
    from tfnb.framework.graph import Graph
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor_types import (
        Config,
        Initializer,
        Nested,
        TensorLike,
        TensorResult,
        VariableLike,
    )
    from tfnb.ops.state.training_ops import ApplyOps

EXPORTS = {"train": ["Optimizer"]}

_TRAINABLE_DTYPES = frozenset({dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64})


def _key(variable: VariableLike) -> Any:
    """Return the key of a variable's slots."""
    op = getattr(variable, "op", None)
    return variable._unique_id if op is None else (op.graph, op.name)


def _deduplicated(values: TensorLike, indices: TensorLike) -> tuple[Nested, Nested]:
    """Return rows and their indices, with rows of the same index summed."""
    unique_indices, positions = unique(indices)
    count = array_ops.shape(unique_indices)[0]
    return segment_ops.unsorted_segment_sum(values, positions, count), unique_indices


def _trainable_inputs(value: Tensor) -> list[Any]:
    """Return the trainable variables that a tensor is computed from, in the order of creation."""
    seen = {value.op}
    waiting = [value.op]
    while waiting:
        for tensor in waiting.pop().inputs:
            if tensor.op not in seen:
                seen.add(tensor.op)
                waiting.append(tensor.op)
    return [one for one in trainable_variables() if one.op in seen]


class _Trained:
    """A variable that an optimizer changes: by reference or by resource handle."""

    __slots__ = ("is_resource", "variable")

    def __init__(self, variable: VariableLike) -> None:
        if variable.op.type == "VarHandleOp":
            self.is_resource = True
        elif isinstance(variable, (Variable, Tensor)):
            self.is_resource = False
        else:
            raise NotImplementedError("Trying to optimize unsupported type ", variable)
        self.variable = variable

    def target(self) -> Any:
        """Return the tensor or handle that gradients are taken with respect to."""
        variable = self.variable
        if self.is_resource or isinstance(variable, Tensor):
            return variable
        return variable._ref()

    def update_op(self, optimizer: Optimizer, grad: TensorLike) -> TensorResult:
        """Return the operation that changes the variable."""
        variable = self.variable
        if isinstance(variable, Tensor):
            raise NotImplementedError("Trying to update a Tensor ", variable)
        constraint = variable.constraint
        if isinstance(grad, IndexedSlices):
            if constraint is not None:
                raise RuntimeError("Cannot use a constraint function on a sparse variable.")
            if self.is_resource:
                return optimizer._resource_apply_sparse_duplicate_indices(
                    grad.values, variable, grad.indices
                )
            return optimizer._apply_sparse_duplicate_indices(grad, variable)
        apply = optimizer._resource_apply_dense if self.is_resource else optimizer._apply_dense
        update = apply(grad, variable)
        if constraint is None:
            return update
        with control_dependencies([update]):
            # Read again: the value that a reference variable gave before the update is the old one.
            value = variable if self.is_resource else variable.read_value()
            return variable.assign(constraint(value))


class Optimizer:
    """The common part of all optimizers.

    Attributes:
      GATE_NONE: gradients are used as soon as they are computed.
      GATE_OP: all gradients of one op are computed before any of them is used.
      GATE_GRAPH: all gradients are computed before any is used.
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(
        self, use_locking: bool, name: str, use_own_namescope_for_non_slot_vars: bool = False
    ) -> None:
        """Make an optimizer.

        Args:
          use_locking: whether updates lock the variables.
          name: the name scope of its nodes, and the name of its slots.
          use_own_namescope_for_non_slot_vars: whether variables that belong to no other variable
            are named after the optimizer.

        Raises:
          ValueError: the name is empty.
        """
        if not name:
            raise ValueError("Must specify the optimizer name")
        self._use_locking = use_locking
        self._name = name
        self._use_own_namescope_for_non_slot_vars = use_own_namescope_for_non_slot_vars
        if use_own_namescope_for_non_slot_vars:
            with variable_scope(None, default_name=name) as scope:
                self._non_slot_variable_scope = scope
        # slot name -> key of the trained variable -> slot
        self._slots: dict[str, dict[Any, Any]] = {}
        # (name, graph) -> variable
        self._non_slot_dict: dict[tuple[str, Any], Any] = {}

    def get_name(self) -> str:
        """Return the optimizer's name."""
        return self._name

    # -- the public methods -----------------------------------------------------------------------

    def minimize(
        self,
        loss: TensorLike,
        global_step: VariableLike | None = None,
        var_list: VariableLike | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: TensorLike | None = None,
    ) -> Operation:
        """Return an operation that changes variables to reduce the loss.

        Args:
          loss: a tensor, or a function without arguments that returns one.
          global_step: a variable that each step increments.
          var_list: the variables to change; if not given, all trainable ones, or those that the
            function uses.
          gate_gradients: ``GATE_NONE``, ``GATE_OP`` or ``GATE_GRAPH``.
          aggregation_method: how gradients are summed.
          colocate_gradients_with_ops: whether gradients share the device of their op.
          name: the name of the operation.
          grad_loss: the initial gradient of the loss.

        Raises:
          ValueError: the loss depends on none of the variables.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in grads_and_vars]} and "
                f"loss {loss}.{why_no_gradients(loss, [v for _, v in grads_and_vars])}"
            )
        op: Operation = self.apply_gradients(grads_and_vars, global_step=global_step, name=name)
        return op

    def compute_gradients(
        self,
        loss: TensorLike,
        var_list: VariableLike | None = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: TensorLike | None = None,
    ) -> list[tuple[Any, Any]]:
        """Return pairs (gradient, variable), with None for a variable that the loss does not use.

        A loss that is a function is called once; its gradients wait for its value.

        Raises:
          ValueError: an argument is not allowed, or there is nothing to optimize.
        """
        if callable(loss):
            value = convert_to_tensor(loss())
            used = _trainable_inputs(value) if var_list is None else var_list
            if not nest.flatten(used):
                return []
            with control_dependencies([value]):
                return self.compute_gradients(
                    value, used, self.GATE_NONE, aggregation_method, colocate_gradients_with_ops,
                    grad_loss,
                )  # fmt: skip
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            variables = trainable_variables()
            variables += get_collection(GraphKeys.TRAINABLE_RESOURCE_VARIABLES)
        else:
            variables = nest.flatten(var_list)
        variables += get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        trained = [_Trained(variable) for variable in variables]
        if not variables:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            [one.target() for one in trained],
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = control_flow.tuple_(grads)
        pairs = list(zip(grads, variables, strict=True))
        self._assert_valid_dtypes(
            [v for g, v in pairs if g is not None and v.dtype != dtypes.resource]
        )
        return pairs

    def apply_gradients(
        self,
        grads_and_vars: Iterable[tuple[Any, Any]],
        global_step: VariableLike | None = None,
        name: str | None = None,
        skip_gradients_aggregation: bool = False,
    ) -> Any:
        """Return an operation that changes variables by their gradients.

        Args:
          grads_and_vars: pairs as from ``compute_gradients``; those without gradient are left out.
          global_step: a variable that each step increments.
          name: the name of the operation.
          skip_gradients_aggregation: for strategies on several machines; ignored.

        Raises:
          ValueError: there is no variable, or none has a gradient.
          TypeError: a gradient is no tensor.
        """
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        updates = [(_as_gradient(grad), _Trained(variable)) for grad, variable in pairs]
        variables = [one.variable for grad, one in updates if grad is not None]
        if not variables:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        with init_scope():
            self._create_slots(variables)
        update_ops = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for grad, one in updates:
                if grad is None:
                    continue
                with name_scope("update_" + one.variable.op.name), colocate_with(one.variable):
                    update_ops.append(one.update_op(self, grad))
            if global_step is None:
                applied = self._finish(update_ops, scope)
            else:
                with control_dependencies([self._finish(update_ops, "update")]):
                    with colocate_with(global_step):
                        applied = _add_one(global_step, scope)
            if isinstance(applied, Tensor):
                applied = applied.op
            train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
            if applied not in train_ops:
                train_ops.append(applied)
            return applied

    def get_slot(self, var: VariableLike, name: str) -> VariableLike:
        """Return the slot of that name for a variable, or None."""
        return self._slots.get(name, {}).get(_key(var))

    def get_slot_names(self) -> list[str]:
        """Return the names of the slots."""
        return sorted(self._slots)

    def variables(self) -> list[TensorResult]:
        """Return the optimizer's own variables in the default graph, by name."""
        graph = get_default_graph()
        own = list(self._non_slot_variables())
        for slots in self._slots.values():
            own += slots.values()
        return sorted((v for v in own if v.op.graph is graph), key=lambda v: str(v.name))

    # -- for subclasses to override --------------------------------------------------------------

    def _valid_dtypes(self) -> Iterable[DType]:
        """Return the types that loss, gradients and variables may have."""
        return _TRAINABLE_DTYPES

    def _create_slots(self, var_list: Sequence[VariableLike]) -> None:
        """Make the slots of all variables that will be changed."""

    def _prepare(self) -> None:
        """Make the tensors that updates need, once per ``apply_gradients``."""

    def _apply_dense(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        """Return the update of a reference variable by a dense gradient."""
        raise NotImplementedError

    def _resource_apply_dense(self, grad: TensorLike, handle: TensorLike) -> TensorResult:
        """Return the update of a resource variable by a dense gradient."""
        raise NotImplementedError

    def _apply_sparse(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        """Return the update of a reference variable by slices with different indices."""
        raise NotImplementedError

    def _resource_apply_sparse(
        self, grad: TensorLike, handle: TensorLike, indices: TensorLike
    ) -> TensorResult:
        """Return the update of a resource variable by rows with different indices."""
        raise NotImplementedError

    def _apply_sparse_duplicate_indices(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        """Return the update of a reference variable by slices whose indices may be the same."""
        values, indices = _deduplicated(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(values, indices, grad.dense_shape), var)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: TensorLike, handle: TensorLike, indices: TensorLike
    ) -> TensorResult:
        """Return the update of a resource variable by rows whose indices may be the same."""
        values, indices = _deduplicated(grad, indices)
        return self._resource_apply_sparse(values, handle, indices)

    def _finish(self, update_ops: list[TensorLike], name_scope: str) -> TensorResult:
        """Return one operation for all updates and for the work after them."""
        return control_flow.group(*update_ops, name=name_scope)

    # -- for subclasses to call ------------------------------------------------------------------

    def _assert_valid_dtypes(self, tensors: Iterable[TensorLike]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {list(valid)}."
                )

    def _call_if_callable(self, param: Any) -> Any:
        """Return a hyperparameter, which may be given as a function without arguments."""
        return param() if callable(param) else param

    def _slot_dict(self, slot_name: str) -> dict[VariableLike, VariableLike]:
        return self._slots.setdefault(slot_name, {})

    def _get_or_make_slot(
        self, var: VariableLike, val: TensorLike, slot_name: str, op_name: str
    ) -> VariableLike:
        """Return a slot with an initial value."""
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slots[_key(var)] = slot_creator.create_slot(var, val, op_name)
        return slots[_key(var)]

    def _get_or_make_slot_with_initializer(
        self,
        var: VariableLike,
        initializer: Initializer,
        shape: TensorLike,
        dtype: DTypeLike,
        slot_name: str,
        op_name: str,
    ) -> VariableLike:
        """Return a slot whose initial value an initializer makes."""
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slots[_key(var)] = slot_creator.create_slot_with_initializer(
                var, initializer, shape, dtype, op_name
            )
        return slots[_key(var)]

    def _zeros_slot(self, var: VariableLike, slot_name: str, op_name: str) -> VariableLike:
        """Return a slot with initial zeros."""
        slots = self._slot_dict(slot_name)
        if _key(var) not in slots:
            slots[_key(var)] = slot_creator.create_zeros_slot(var, op_name)
        return slots[_key(var)]

    def _create_non_slot_variable(
        self, initial_value: TensorLike, name: str, colocate_with: TensorLike
    ) -> VariableLike:
        """Return a variable of the optimizer that belongs to no trained variable."""
        key = (name, colocate_with.graph)
        found = self._non_slot_dict.get(key)
        if found is None:
            use_resource = is_resource_variable(colocate_with)
            with slot_creator.colocated_variables(colocate_with):
                if self._use_own_namescope_for_non_slot_vars:
                    with name_scope(""), variable_scope(self._non_slot_variable_scope):
                        found = get_variable(
                            initializer=initial_value,
                            name=name,
                            trainable=False,
                            use_resource=use_resource,
                        )
                else:
                    found = Variable(
                        initial_value, name=name, trainable=False, use_resource=use_resource
                    )
            self._non_slot_dict[key] = found
        return found

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> VariableLike:
        return self._non_slot_dict.get((name, graph))

    def _non_slot_variables(self) -> Iterable[VariableLike]:
        return self._non_slot_dict.values()


def _as_gradient(grad: TensorLike) -> TensorResult:
    """Return a gradient as a tensor or IndexedSlices; None stays None.

    Raises:
      TypeError: it cannot be converted.
    """
    if grad is None:
        return None
    try:
        converted = convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from None
    if not isinstance(converted, (Tensor, IndexedSlices)):
        raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {grad}")
    return converted


def _add_one(global_step: VariableLike, name: str) -> TensorResult:
    if is_resource_variable(global_step):
        one = convert_to_tensor(1, dtype=global_step.dtype)
        return assign_add_variable_op(global_step.handle, one, name=name)
    return state_ops.assign_add(global_step, 1, name=name)


class RuleOptimizer(Optimizer):
    """An optimizer whose whole step is one op for each variable.

    Attributes:
      rule: the op for reference and resource variables, dense and sparse gradients.
      slot_inputs: input of the op -> name of the slot.
      hyperparameters: input of the op -> attribute with the number or a function. Its tensor is
        stored in the attribute of this name plus ``_tensor``, and named like the attribute
        without its underscore.
    """

    rule: ClassVar[ApplyOps]
    slot_inputs: ClassVar[dict[str, str]] = {}
    hyperparameters: ClassVar[dict[str, str]] = {}

    def _prepare(self) -> None:
        for attribute in self.hyperparameters.values():
            value = self._call_if_callable(getattr(self, attribute))
            tensor = convert_to_tensor(value, name=attribute.removeprefix("_"))
            setattr(self, f"{attribute}_tensor", tensor)

    def _rule(self) -> ApplyOps:
        """Return the op; a subclass may choose one by its arguments."""
        return self.rule

    def _extra_inputs(self, var: VariableLike, dtype: DType) -> dict[str, Any]:
        """Return further inputs of the op by name."""
        return {}

    def _attrs(self) -> Config:
        """Return further attributes of the op."""
        return {}

    def _update(
        self,
        op: OpDefinition,
        var: VariableLike,
        grad: TensorLike,
        indices: TensorLike | None = None,
    ) -> TensorResult:
        is_resource = any(arg.type is dtypes.resource for arg in op.op_def.inputs)
        dtype = grad.dtype.base_dtype

        def holder(variable: VariableLike) -> Any:
            return variable.handle if is_resource else variable

        names = [arg.name for arg in op.op_def.inputs]
        inputs = {"var": holder(var), "grad": grad, "delta": grad, "indices": indices}
        for name, slot in self.slot_inputs.items():
            if name in names:
                inputs[name] = holder(self.get_slot(var, slot))
        for name, attribute in self.hyperparameters.items():
            inputs[name] = math_ops.cast(getattr(self, f"{attribute}_tensor"), dtype)
        inputs.update(self._extra_inputs(var, dtype))
        updated = op(
            *[inputs[name] for name in names], use_locking=self._use_locking, **self._attrs()
        )
        return updated.op if isinstance(updated, Tensor) else updated

    def _apply_dense(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        return self._update(self._rule().dense, var, grad)

    def _resource_apply_dense(self, grad: TensorLike, handle: TensorLike) -> TensorResult:
        return self._update(self._rule().resource, handle, grad)

    def _apply_sparse(self, grad: TensorLike, var: VariableLike) -> TensorResult:
        return self._update(self._rule().sparse, var, grad.values, grad.indices)

    def _resource_apply_sparse(
        self, grad: TensorLike, handle: TensorLike, indices: TensorLike
    ) -> TensorResult:
        return self._update(self._rule().resource_sparse, handle, grad, indices)
