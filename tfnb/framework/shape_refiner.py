"""The call of an op's shape function for a new operation.

Corresponds to TensorFlow's ShapeRefiner; inputs that are known constants are computed by
:mod:`tfnb.framework.static_evaluation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core.errors import InvalidArgumentError
from tfnb.core.process.later import later
from tfnb.core.shape_inference import (
    UNKNOWN_SHAPE,
    InferenceContext,
    check_sizes,
    shape_of_rank,
    unchanged_shape,
)
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework import functions_above as above
from tfnb.framework.exporter import node_inputs
from tfnb.framework.static_evaluation import constant_as_shape, evaluate_constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from tfnb.core import node_text
    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation
else:
    node_text = later("tfnb.core.node_text", in_step=True)


# Errors of a shape function. All but the first two mean that it got an unexpected input.
_ERRORS = (
    ValueError,
    InvalidArgumentError,
    TypeError,
    LookupError,
    ArithmeticError,
    AttributeError,
    MemoryError,
    RecursionError,
)
# Maximum number of elements of an input in the message about inputs that do not fit the op.
_MAX_VALUES = 256


class OperationInferenceContext(InferenceContext):
    """The view of an operation that its shape function gets; values are computed on request."""

    __slots__ = ("_asked_shapes", "_asked_values", "_operation")

    def __init__(self, op: Operation) -> None:
        inputs = op.inputs
        self._operation = op
        self.op_def = op.op_definition.op_def
        self.attrs = op.attrs
        self.inputs = [tensor._shape for tensor in inputs]
        self.input_types = [tensor.dtype.base_dtype for tensor in inputs]
        self.node_name = op.name
        self.graph_def_version = op.graph.def_versions.producer
        self.output_handle_data = {}
        # The values that the shape function read, for its error message.
        self._asked_values: dict[int, Any] = {}
        self._asked_shapes: dict[int, TensorShape] = {}

    @property
    def num_outputs(self) -> int:
        """The number of output tensors of the node."""
        return len(self._operation.outputs)

    def constant_value(self, index: int) -> np.ndarray | None:
        """Return the value of an input if it is known during graph building, else None."""
        value = evaluate_constant(self._operation.inputs[index])
        if value is not None:
            self._asked_values[index] = value
        return value

    def constant_value_as_shape(self, index: int) -> TensorShape:
        """Return an input's value read as a shape, as far as it is known.

        Raises:
          ValueError: the input does not have one dimension, or holds a size below -1.
        """
        self.with_rank(index, 1)
        shape = constant_as_shape(self._operation.inputs[index])
        self._asked_shapes[index] = shape
        return shape

    def input_handle_data(self, index: int) -> list[tuple[DType, TensorShape]] | None:
        """Return (dtype, shape) that a resource or variant input refers to, or None."""
        return self._operation.inputs[index]._handle_data


class FirstPassContext(OperationInferenceContext):
    """The view of an operation that its shape function gets before any input is computed.

    TensorFlow runs a shape function first without the values of inputs, and again with the values
    that it requested. Errors of the first pass contain no values.
    """

    __slots__ = ()

    def constant_value(self, index: int) -> np.ndarray | None:
        """Return None: no value is known."""
        return None

    def constant_value_as_shape(self, index: int) -> TensorShape:
        """Return a shape with unknown sizes; only their number may be known."""
        dims = self.with_rank(index, 1).dim_values
        if dims is None or dims[0] is None:
            return UNKNOWN_SHAPE
        return shape_of_rank(dims[0])


def infer_shapes(op: Operation) -> None:
    """Set the static shapes of an operation's outputs.

    Raises:
      ValueError: the inputs' shapes do not fit the op; the error names the node and the shapes.
    """
    function = op.op_definition.shape_function
    if function is unchanged_shape:
        op.outputs[0]._shape = op.inputs[0]._shape
        return
    if function is not None:
        _run(function, op)
    if op.graph._functions:
        above.infer_call_shapes(op)


def _run(function: Callable[[InferenceContext], Any], op: Operation) -> None:
    outputs = op.outputs
    context = OperationInferenceContext(op)
    try:
        shapes = _call(function, context)
    except _ERRORS as error:
        first_pass = FirstPassContext(op)
        try:
            _call(function, first_pass)
        except _ERRORS as first:
            raise ValueError(_text(first, op, first_pass)) from first
        raise ValueError(_text(error, op, context)) from error
    for tensor, shape in zip(outputs, shapes, strict=True):
        tensor._shape = shape
    if context.output_handle_data:
        for index, data in context.output_handle_data.items():
            outputs[index]._handle_data = data


def _call(
    function: Callable[[InferenceContext], Any], context: OperationInferenceContext
) -> Sequence[TensorShape]:
    shapes = function(context)
    if isinstance(shapes, TensorShape):
        shapes = (shapes,)
    check_sizes(shapes)
    found: Sequence[TensorShape] = shapes
    return found


def _text(error: Exception, op: Operation, context: OperationInferenceContext) -> str:
    if isinstance(error, InvalidArgumentError):
        message = error.message
    elif isinstance(error, ValueError):
        message = str(error)
    else:
        message = f"{type(error).__name__}: {error}"
    node = node_text.node_text(op.name, op.type, op.attrs, node_inputs(op), op.requested_device)
    shapes = ", ".join(map(node_text.shape_text, context.inputs))
    text = f"{message} for '{node}' with input shapes: {shapes}"
    if context._asked_values:
        values = ", ".join(
            f"input[{index}] = <{node_text.values_text(value, _MAX_VALUES)}>"
            for index, value in sorted(context._asked_values.items())
        )
        text += f" and with computed input tensors: {values}"
    if context._asked_shapes:
        partial = ", ".join(
            f"input[{index}] = {node_text.shape_text(shape)}"
            for index, shape in sorted(context._asked_shapes.items())
        )
        text += f" and with input tensors computed as partial shapes: {partial}"
    return text + "."
