"""Default gradients: which tensors have a gradient, and zeros where none is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import dtypes, op_registry
from tfnb.framework.default_graph import get_default_graph
from tfnb.library.control_flow import control_flow_queries as queries
from tfnb.library.control_flow.control_flow_values import switch
from tfnb.ops.array.constant_ops import zeros, zeros_like
from tfnb.ops.array.identity_ops import identity
from tfnb.ops.array.shape_ops import shape_internal

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import TensorLike

_TRAINABLE = frozenset(
    {
        dtypes.float16,
        dtypes.float32,
        dtypes.float64,
        dtypes.complex64,
        dtypes.complex128,
        dtypes.resource,
        dtypes.variant,
        dtypes.bfloat16,
    }
)


def is_trainable(tensor_or_dtype: TensorLike) -> bool:
    """Return whether a tensor or dtype is differentiable.

    >>> is_trainable(dtypes.float32), is_trainable(dtypes.int32)
    (True, False)
    """
    dtype = tensor_or_dtype
    if not isinstance(dtype, dtypes.DType):
        dtype = tensor_or_dtype.dtype.base_dtype
        data = getattr(tensor_or_dtype, "_handle_data", None)
        if dtype is dtypes.variant and data and len({one for one, _ in data}) == 1:
            dtype = data[0][0]
    return dtype.base_dtype in _TRAINABLE


def has_default_gradient(tensor: Tensor) -> bool:
    """Return whether zeros can be made for a tensor; a resource needs known handle data."""
    data = tensor._handle_data
    return tensor.dtype is not dtypes.resource or (data is not None and len(data) == 1)


def gradient_dtype(tensor: Tensor) -> DType:
    """Return the dtype of a tensor's gradient; for a resource, that of its value.

    Raises:
      ValueError: the tensor is a resource whose value dtype is unknown.
    """
    if tensor.dtype is not dtypes.resource:
        return tensor.dtype
    if not has_default_gradient(tensor):
        raise ValueError(
            "Internal error: Tried to take gradients (or similar) of a variable without handle "
            f"data:\n{tensor}"
        )
    assert tensor._handle_data is not None
    return tensor._handle_data[0][0]


def _variable_shape(handle: Tensor) -> Tensor:
    shape: Tensor = op_registry.get("VariableShape")(handle)
    return shape


def zeros_of(tensor: Tensor) -> Tensor:
    """Return zeros like a tensor, or like the variable of a handle."""
    dtype = gradient_dtype(tensor)
    if tensor.dtype is dtypes.resource:
        from tfnb.ops.state.resource_variable_ops import variable_shape

        return zeros(variable_shape(tensor), dtype=dtype)
    return zeros_like(tensor, dtype=dtype)


def zeros_like_output(op: Operation, index: int) -> Tensor:
    """Return zeros for an unused output; those for a cond's Switch are made in the other branch."""
    value = op.outputs[index]
    if not queries.is_switch(op) or op._control_flow_context is None:
        if value.dtype is dtypes.resource:
            return zeros(_variable_shape(value), dtype=gradient_dtype(value))
        return zeros_like(value, optimize=False)
    # The output is dead when its zeros are needed: build them in the other branch.
    context = op._control_flow_context
    alive = switch(op.inputs[0], context.pred)[1 - context.branch]
    pivot = identity(alive)
    if value.dtype is dtypes.resource:
        with get_default_graph().control_dependencies([pivot]):
            return zeros(_variable_shape(alive), dtype=gradient_dtype(value))
    shape = shape_internal(alive, optimize=False)
    with get_default_graph().control_dependencies([pivot]):
        return zeros(shape, dtype=value.dtype)
