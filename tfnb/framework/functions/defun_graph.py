"""The graph of the body of a function that ``Defun`` makes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from tfnb.core import dtypes, op_registry
from tfnb.core.op_traits import Trait
from tfnb.framework.collections import GraphKeys
from tfnb.framework.convert import convert_to_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.exporter import node_def_of
from tfnb.framework.functions.function_graph import FunctionGraph, placeholder
from tfnb.framework.loaded_nodes import is_loaded, mark_derived

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor


class DefunGraph(FunctionGraph):
    """The graph of a function's body.

    ``tf.get_variable`` in the body makes variables in the outer graph, in its variable scope.

    Attributes:
      extra_inputs: the captured tensors.
      extra_args: the placeholders that stand for them.
      extra_vars: the variables that the body requested.
      capture_resource_var_by_value: whether a resource variable is read in the outer graph.
    """

    hoists_variables = True

    def __init__(
        self,
        name: str,
        capture_by_value: bool = False,
        allowlisted_stateful_ops: Iterable[Operation] = (),
        capture_resource_var_by_value: bool = True,
    ) -> None:
        super().__init__(name)
        self._capture_by_value = capture_by_value
        self._allowlisted = set(allowlisted_stateful_ops)
        self.capture_resource_var_by_value = capture_resource_var_by_value
        self.extra_inputs: list[Tensor] = []
        self.extra_args: list[Tensor] = []
        self.extra_vars: list[Any] = []

    def _capture_new(self, tensor: Tensor, name: str | None) -> Tensor:
        if self._capture_by_value:
            return self._copy(tensor.op).outputs[tensor.value_index]
        self.extra_inputs.append(tensor)
        inside = self._add_captured_input(tensor, name)
        self.extra_args.append(inside)
        if not _is_guaranteed_constant(tensor):
            return inside
        with self.control_dependencies(None):
            constant: Tensor = op_registry.get("GuaranteeConst")(inside)
        return constant

    def _copy(self, op: Operation) -> Operation:
        """Return a copy of an operation, made together with copies of all operations it needs.

        Raises:
          ValueError: one of them is stateful or a placeholder.
        """
        if op._is_stateful and op not in self._allowlisted:
            raise ValueError(
                f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value."
            )
        if Trait.MUST_BE_FED in op.op_definition.traits:
            raise ValueError(
                f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value."
            )
        for tensor in op.inputs:
            if tensor not in self.captured:
                self._copy(tensor.op)
        inputs = [self.captured[tensor] for tensor in op.inputs]
        attrs = dict(node_def_of(op).attr)
        copy = self._create_op_internal(op.type, inputs, name=op.name, attrs=attrs)
        self.captured.update(zip(op.outputs, copy.outputs, strict=True))
        if is_loaded(op):
            mark_derived(copy)
        return copy


def _is_guaranteed_constant(tensor: Tensor) -> bool:
    """Return whether a tensor comes from GuaranteeConst operations alone."""
    known: dict[Operation, bool] = {}
    stack = [tensor.op]
    while stack:
        op = stack[-1]
        if op in known:
            stack.pop()
        elif op.type == "GuaranteeConst" or not op.inputs:
            known[op] = op.type == "GuaranteeConst"
        else:
            missing = [one.op for one in op.inputs if one.op not in known]
            if missing and op.type not in ("NextIteration", "Merge"):
                stack += missing
            else:
                known[op] = all(known.get(one.op, False) for one in op.inputs)
    return known[tensor.op]


def defun_graph_of(
    func: Callable[..., Any],
    arg_names: Sequence[str],
    arg_types: Sequence[Any],
    *,
    name: str | None = None,
    capture_by_value: bool = False,
    device: Any = None,
    allowlisted_stateful_ops: Iterable[Operation] = (),
    capture_resource_var_by_value: bool = True,
) -> DefunGraph:
    """Call a Python function with placeholders, and return the graph that it builds.

    Raises:
      ValueError: it returns None among other results.
    """
    name = name or name_of(func)
    outer = get_default_graph()
    graph = DefunGraph(
        name, capture_by_value, allowlisted_stateful_ops, capture_resource_var_by_value
    )
    # Variables made in the body belong to the collections of the outer graph.
    for key in GraphKeys._VARIABLE_COLLECTIONS:
        graph._collections[key] = outer.get_collection_ref(key)
    with graph.as_default():
        if device is not None:
            graph.scopes().set_devices((device,))
        for arg_name, arg_type in zip(arg_names, arg_types, strict=True):
            graph.inputs.append(placeholder(dtypes.as_dtype(arg_type), None, arg_name))
        results = func(*graph.inputs)
        if results is None:
            results = []
        elif not isinstance(results, (list, tuple)):
            results = [results]
        if any(result is None for result in results):
            raise ValueError(f"Function {name} can not return None.")
        graph.outputs = [graph.capture(tensor) for tensor in map(convert_to_tensor, results)]
    return graph


def name_of(func: Callable[..., Any]) -> str:
    """Return the name that a Python function gives to its function in the graph."""
    if inspect.isfunction(func):
        return func.__name__
    if inspect.ismethod(func):
        return f"{type(func.__self__).__name__}.{func.__func__.__name__}"
    return str(type(func))
