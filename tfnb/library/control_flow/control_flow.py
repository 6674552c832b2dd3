"""``tf.group`` and ``tf.tuple``: operations and tensors that wait for one another."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from tfnb.framework.convert import convert_to_tensor, is_tensor
from tfnb.framework.default_graph import get_default_graph
from tfnb.framework.operation import Operation
from tfnb.framework.scopes import name_scope
from tfnb.framework.structures import nest
from tfnb.framework.tensor import Tensor
from tfnb.library.control_flow.with_dependencies import with_dependencies
from tfnb.ops.control.control_flow_ops import no_op

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.framework.tensor_types import Nested, TensorLike

EXPORTS = {"tf": ["group", "tuple:tuple_"]}


def group(*inputs: Any, **kwargs: Any) -> Operation:
    """Return an operation that has run when all of ``inputs`` have.

    Args:
      *inputs: operations and tensors, also in structures.
      **kwargs: ``name``, the name of the op.

    Raises:
      TypeError: an input is neither an operation nor a tensor.
      ValueError: an argument is unknown.
    """
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(kwargs))
    with name_scope(name, "group_deps", inputs) as name:
        if not inputs:
            return _no_op_after([], name=name)
        by_device: defaultdict[str | None, list[Any]] = defaultdict(list)
        for one in nest.flatten(inputs, expand_composites=True):
            if not hasattr(one, "device"):
                raise TypeError(
                    "'inputs' should be zero or more (nested) Tensors. Received "
                    f"'{one}' with type '{type(one)}'."
                )
            by_device[one.device].append(one)
        if len(by_device) == 1:
            ((device, ops),) = by_device.items()
            return _no_op_after(ops, device, name)
        # One operation for each device, so that devices signal each other once.
        return _no_op_after(
            [
                _no_op_after(by_device[device], device)
                for device in sorted(by_device, key=lambda device: device or "")
            ],
            name=name,
        )


def _no_op_after(
    ops: Sequence[Any], device: str | None = None, name: str | None = None
) -> Operation:
    graph = get_default_graph()
    with graph.control_dependencies(ops):
        if device is None:
            op: Operation = no_op(name=name)
        else:
            with graph.device(device):
                op = no_op(name=name)
        return op


def tuple_(
    tensors: Iterable[TensorLike],
    name: str | None = None,
    control_inputs: Iterable[TensorLike] | None = None,
) -> list[Nested]:
    """Return the same tensors, each available only after all of them have been computed.

    Args:
      tensors: tensors, IndexedSlices or operations; None stays None.
      name: a name scope for all new nodes.
      control_inputs: further operations to wait for.

    Raises:
      ValueError: all values are None.
      TypeError: ``control_inputs`` contains something other than operations and tensors.
    """
    tensors = list(tensors)
    with name_scope(name, "tuple", tensors):
        tensors = [
            one
            if one is None or isinstance(one, Operation) or is_tensor(one)
            else convert_to_tensor(one)
            for one in tensors
        ]
        present = [one for one in tensors if one is not None]
        gates = {one if isinstance(one, Operation) else one.op for one in present}
        for one in control_inputs or ():
            if not isinstance(one, (Tensor, Operation)):
                raise TypeError(
                    f"'control_inputs' must only contain Operation or Tensor. Received: {type(one)}"
                )
            gates.add(one.op if isinstance(one, Tensor) else one)
        if not gates:
            raise ValueError(f"'tensors' must have at least one Tensor. Received: {tensors}.")
        gate = group(*sorted(gates, key=lambda op: op._id))
        return [_after(gate, one) for one in tensors]


def _after(gate: Operation, value: TensorLike) -> Any:
    if value is None:
        return None
    if not isinstance(value, Operation):
        return with_dependencies([gate], value)
    with get_default_graph().control_dependencies([gate]):
        return group(value)
