"""Conversion of a graph to a FunctionDef message, a function that other graphs can call.

In a FunctionDef an input is written as ``arg``, ``node:output_arg:index`` or ``^node``.  Arguments
and results are named after the nodes that they come from, in lower case; names are given to results
first, then to arguments, then to nodes, with a number at the end if a name is taken.
Corresponds to TensorFlow's graph_to_functiondef.cc.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes, errors
from tfnb.core.effects import LOADED_ATTR
from tfnb.framework.exporter import node_def_of
from tfnb.framework.functions.function_def_hash import function_name_suffix
from tfnb.framework.loaded_nodes import is_stranger
from tfnb.proto import graph_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor


def graph_to_function_def(
    name: str,
    operations: Iterable[Operation],
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    *,
    output_names: Sequence[str] = (),
    control_outputs: Sequence[Operation] = (),
    description: str | None = None,
    append_hash: bool = False,
) -> graph_pb2.FunctionDef:
    """Return the message of a function.

    Args:
      name: its name, or the beginning of its name.
      operations: the body; those that produce ``inputs`` are left out.
      inputs: the tensors that stand for the arguments.
      outputs: the tensors that are the results.
      output_names: names for the results; by default they are derived from ``outputs``.
      control_outputs: operations that run even if no result needs them.
      description: documentation.
      append_hash: whether the name ends with a hash of the function.

    Raises:
      InvalidArgumentError: names of results are too few or equal, an input is listed twice, or the
        body needs an operation that is not in it.
    """
    if output_names and len(output_names) != len(outputs):
        raise errors.invalid_argument(
            f"Expected number of outputs {len(outputs)}, but got {len(output_names)} output names."
        )
    definition = graph_pb2.FunctionDef()
    signature = definition.signature
    if description:
        signature.description = description
    writer = _Writer(definition, name)
    for index, tensor in enumerate(outputs):
        result = signature.output_arg.add(type=tensor.dtype.base_dtype.as_datatype_enum)
        if output_names:
            result.name = writer.names.take_exactly(output_names[index])
        else:
            result.name = writer.names.take(_normalized(tensor.op.name))
    for tensor in inputs:
        writer.add_argument(tensor)
    givers = {tensor.op for tensor in inputs}
    body = [op for op in operations if op not in givers]
    writer.add_body(body)
    for result, tensor in zip(signature.output_arg, outputs, strict=True):
        definition.ret[result.name] = writer.spelling(tensor, f"the result '{result.name}'")
    for op in control_outputs:
        signature.control_output.append(op.name)
        definition.control_ret[op.name] = writer.node_names[op]
    # The hash does not include the name itself.
    signature.name = f"{name}_{function_name_suffix(definition)}" if append_hash else name
    return definition


class _Names:
    """The unique names of one function."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def take(self, name: str) -> str:
        """Return the name, with a number at its end if it is taken."""
        if name not in self._used:
            self._used[name] = 0
            return name
        while True:
            candidate = f"{name}_{self._used[name]}"
            self._used[name] += 1
            if candidate not in self._used:
                self._used[candidate] = 0
                return candidate

    def take_exactly(self, name: str) -> str:
        """Reserve the name and return it unchanged.

        Raises:
          InvalidArgumentError: the name is taken.
        """
        if name in self._used:
            raise errors.invalid_argument(
                f"Cannot have duplicate output names. Name '{name}' appears more than once in "
                "'output_names' array."
            )
        self._used[name] = 0
        return name


def _normalized(name: str) -> str:
    """Return a valid argument name: lower case, ``_`` for other characters, a letter first."""
    text = "".join(c.lower() if c.isascii() and c.isalnum() else "_" for c in name)
    start = next((index for index, c in enumerate(text) if c.isalpha()), None)
    return "unknown" if start is None else text[start:]


class _Writer:
    """A writer of one message.

    Attributes:
      names: the names in use.
      node_names: the name of each operation inside the function, arguments included.
    """

    def __init__(self, definition: graph_pb2.FunctionDef, name: str) -> None:
        self._definition = definition
        self._function_name = name
        self.names = _Names()
        self.node_names: dict[Operation, str] = {}
        self._arguments: dict[Tensor, str] = {}

    def add_argument(self, tensor: Tensor) -> None:
        """Make a tensor the next argument, with the shape and private attributes of its node."""
        if tensor in self._arguments:
            raise errors.invalid_argument(
                f"TF_Output {tensor.op.name}:{tensor.value_index} appears more than once in the "
                "input list"
            )
        dtype = tensor.dtype.base_dtype
        index = len(self._definition.signature.input_arg)
        argument = self._definition.signature.input_arg.add(type=dtype.as_datatype_enum)
        argument.name = self.names.take(_normalized(tensor.op.name))
        self._arguments[tensor] = argument.name
        self.node_names.setdefault(tensor.op, argument.name)
        node = node_def_of(tensor.op)
        for key, value in node.attr.items():
            if key[:1] == "_":
                self._definition.arg_attr[index].attr[key].CopyFrom(value)
            elif key == "shape" and dtype is not dtypes.resource:
                shapes = self._definition.arg_attr[index].attr["_output_shapes"].list.shape
                shapes.add().CopyFrom(value.shape)

    def add_body(self, operations: Sequence[Operation]) -> None:
        """Write the nodes; a stateful one makes the function stateful."""
        for op in operations:
            self.node_names[op] = self.names.take(op.name)
        for op in operations:
            original = node_def_of(op)
            node = self._definition.node_def.add()
            node.name, node.op, node.device = self.node_names[op], original.op, original.device
            user = f"node '{op.name}'"
            node.input.extend([self.spelling(tensor, user) for tensor in op.inputs])
            for other in sorted(op.control_ops, key=lambda one: one.name):
                if other not in self.node_names:
                    raise errors.invalid_argument(
                        f"The control input from '{other.name}' to {user} is not in the body of "
                        f"the function '{self._function_name}'."
                    )
                node.input.append(f"^{self.node_names[other]}")
            if op.graph.loaded_ranges and op.op_definition.effects and is_stranger(op):
                node.attr[LOADED_ATTR].b = True
            for key, value in original.attr.items():
                node.attr[key].CopyFrom(value)
            if op.op_definition.op_def.is_stateful:
                self._definition.signature.is_stateful = True

    def spelling(self, tensor: Tensor, user: str) -> str:
        """Return the name of a tensor as an input of a FunctionDef.

        Raises:
          InvalidArgumentError: it is neither an argument nor in the body.
        """
        argument = self._arguments.get(tensor)
        if argument is not None:
            return argument
        op = tensor.op
        if op not in self.node_names:
            raise errors.invalid_argument(
                f"The input '{tensor.name}' of {user} is neither an argument nor in the body of "
                f"the function '{self._function_name}'."
            )
        for name, positions in op.op_definition.op_def.output_ranges(op.attrs).items():
            if tensor.value_index in positions:
                return f"{self.node_names[op]}:{name}:{tensor.value_index - positions.start}"
        raise AssertionError(f"{op.type} has no output {tensor.value_index}")
