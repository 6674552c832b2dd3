"""Values of tensors that are known while the graph is built, for shape functions.

A tensor is known if it is computed from constants, and from known shapes, by pure ops; these are
computed with their own kernels.  The value is stored on the tensor.  This module does not prevent
feeding a tensor: the inferred shapes are hints, as in TensorFlow.  Corresponds to
eval_const_tensor.cc and shape_refiner.cc; the limits are ours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core import dtypes, host_memory
from tfnb.core.op_kernel import create_kernel
from tfnb.core.op_registry import ops_with
from tfnb.core.op_traits import Trait
from tfnb.core.shape_inference import shape_of_rank, shape_of_vector
from tfnb.core.tensor_shape import TensorShape

if TYPE_CHECKING:
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor

# A larger subgraph or intermediate value is not worth computing for a shape.
MAX_NODES = 1000
MAX_ELEMENTS = 100_000
_MAX_CONSTANT = 1 << 24
_MAX_BYTES = 16 * MAX_ELEMENTS
_MAX_DEPTH = 50

UNKNOWN_SHAPE = TensorShape(None)
SCALAR_SHAPE = TensorShape([])

_NOT_CONSTANT = ops_with(Trait.NOT_CONSTANT)


class _Host:
    """The device on which constants are computed."""

    name = ""
    device_type = "CPU"
    index = 0
    xp: Any = np
    resource_manager: Any = None


_HOST = _Host()


def evaluate_constant(tensor: Tensor) -> np.ndarray | None:
    """Return the value of a tensor if it is known, else None; it must not be written to."""
    value = _known(tensor)
    if value is not None or tensor.op.type in _NOT_CONSTANT:
        return value
    values: dict[Tensor, np.ndarray] = {}
    stack = [tensor]
    num_nodes = 0
    while stack:
        top = stack[-1]
        if top in values:
            stack.pop()
            continue
        value = _known(top)
        if value is not None:
            values[top] = value
            continue
        op = top.op
        missing = [one for one in op.inputs if one not in values]
        if missing:
            num_nodes += 1
            if num_nodes > MAX_NODES or not _is_pure(op):
                return None
            stack += missing
        elif not _compute(op, values):
            return None
    return values[tensor]


def _known(tensor: Tensor) -> np.ndarray | None:
    """Return the value of a tensor if it is known without computing others."""
    if tensor.known_value is not None:
        return tensor.known_value
    op = tensor.op
    kind = op.type
    if kind == "Const":
        # A message of few bytes may stand for a large tensor, which is not made for a shape.
        if (tensor._shape.num_elements() or 0) > _MAX_CONSTANT:
            return None
        value: np.ndarray = op.attrs["value"].value()
        return value
    if kind in ("Shape", "Size", "Rank"):
        found = _from_shape(kind, op.inputs[tensor.value_index]._shape, tensor)
    elif kind == "StridedSlice" and op.inputs[0].op.type == "Shape":
        found = _one_dimension(op)
    else:
        return None
    tensor.known_value = found
    return found


def _from_shape(kind: str, shape: TensorShape, tensor: Tensor) -> np.ndarray | None:
    dims = shape.dim_values
    numpy_type = tensor.dtype.as_numpy_dtype
    if dims is None:
        return None
    if kind == "Rank":
        return np.asarray(len(dims), numpy_type)
    if None in dims:
        return None
    if kind == "Size":
        return np.asarray(shape.num_elements(), numpy_type)
    return np.asarray(dims, numpy_type)


def _one_dimension(op: Operation) -> np.ndarray | None:
    """Return ``tf.shape(x)[i]`` if that dimension of x is known, even if others are not."""
    attrs = op.attrs
    if attrs["shrink_axis_mask"] != 1 or attrs["begin_mask"] or attrs["new_axis_mask"]:
        return None
    if op.inputs[1].op.type != "Const":  # TensorFlow does not compute the index
        return None
    begin = _known(op.inputs[1])
    dims = op.inputs[0].op.inputs[0]._shape.dim_values
    if begin is None or begin.size != 1 or dims is None:
        return None
    index = int(begin[0])
    if not -len(dims) <= index < len(dims) or dims[index] is None:
        return None
    return np.asarray(dims[index], op.outputs[0].dtype.as_numpy_dtype)


def _is_pure(op: Operation) -> bool:
    definition = op.op_definition
    return (
        not definition.is_stateful
        and not definition.effects
        and op.type not in _NOT_CONSTANT
        and definition.has_kernel("CPU")
        and not any(arg.is_ref for arg in definition.op_def.inputs)
    )


def _compute(op: Operation, values: dict[Tensor, np.ndarray]) -> bool:
    """Run a kernel on known inputs and add its outputs to ``values``; False if it cannot."""
    if not _is_pure(op):
        return False
    for tensor in op.outputs:
        size = tensor._shape.num_elements()
        if size is not None and size > MAX_ELEMENTS:
            return False
    try:
        kernel = create_kernel(op.op_definition, op.name, op.attrs, _HOST)
        if kernel.kind != "pure":
            return False
        with np.errstate(all="ignore"), host_memory.at_most(_MAX_BYTES):
            outputs = kernel.compute(*[values[tensor] for tensor in op.inputs])
    except Exception:  # the op itself raises the error when it runs
        return False
    if not isinstance(outputs, tuple):
        outputs = (outputs,)
    if len(outputs) != len(op.outputs):
        return False
    for tensor, output in zip(op.outputs, outputs):
        value = np.asarray(output)
        if value.size > MAX_ELEMENTS:
            return False
        values[tensor] = tensor.known_value = value
    return True


# --------------------------------------------------------------------------------- values as shapes


def constant_as_shape(tensor: Tensor, depth: int = 0) -> TensorShape:
    """Return a tensor's value read as a shape, as far as it is known: -1 is an unknown dimension.

    Raises:
      ValueError: the tensor is a scalar that is known and not -1.
    """
    dims = tensor._shape.dim_values
    if dims == ():
        return _scalar_as_shape(tensor)
    if dims == (0,):
        return SCALAR_SHAPE
    reader = _SHAPE_READERS.get(tensor.op.type)
    if reader is not None and depth < _MAX_DEPTH:
        found = reader(tensor, depth)
        if found is not None:
            return found
    value = evaluate_constant(tensor)
    if value is not None and value.ndim == 1:
        return shape_of_vector(value)
    if dims is not None and len(dims) == 1 and dims[0] is not None:
        return shape_of_rank(dims[0])
    return UNKNOWN_SHAPE


def _scalar_as_shape(tensor: Tensor) -> TensorShape:
    value = evaluate_constant(tensor)
    if value is not None and int(value) != -1:
        raise ValueError(
            f"Received a scalar value '{int(value)}' as shape; require a statically known scalar "
            "with value '-1' to describe an unknown shape."
        )
    return UNKNOWN_SHAPE


def _read_cast(tensor: Tensor, depth: int) -> TensorShape | None:
    if tensor.dtype not in (dtypes.int32, dtypes.int64):
        return None
    return constant_as_shape(tensor.op.inputs[0], depth + 1)


def _read_shape(tensor: Tensor, depth: int) -> TensorShape | None:
    return tensor.op.inputs[tensor.value_index]._shape


def _read_variable_shape(tensor: Tensor, depth: int) -> TensorShape | None:
    data = tensor.op.inputs[0]._handle_data
    return data[0][1] if data else None


def _read_pack(tensor: Tensor, depth: int) -> TensorShape | None:
    if tensor.op.attrs["axis"] not in (0, -1):
        return None
    dims: list[int | None] = []
    for one in tensor.op.inputs:
        value = evaluate_constant(one)
        if value is not None and value.ndim:
            return None
        dims.append(None if value is None or value < 0 else int(value))
    return TensorShape(dims)


def _read_concat(tensor: Tensor, depth: int) -> TensorShape | None:
    inputs = tensor.op.inputs
    parts = inputs[1:] if tensor.op.type == "Concat" else inputs[:-1]
    whole = SCALAR_SHAPE
    for part in parts:
        whole = whole.concatenate(constant_as_shape(part, depth + 1))
    return whole


def _read_strided_slice(tensor: Tensor, depth: int) -> TensorShape | None:
    attrs = tensor.op.attrs
    if attrs["ellipsis_mask"] or attrs["new_axis_mask"] or attrs["shrink_axis_mask"]:
        return None
    begin, end, strides = (evaluate_constant(one) for one in tensor.op.inputs[1:4])
    if begin is None or end is None or strides is None or begin.size != 1 or not strides[0]:
        return None
    whole = constant_as_shape(tensor.op.inputs[0], depth + 1).dim_values
    if whole is None:
        return None
    start = None if attrs["begin_mask"] & 1 else int(begin[0])
    stop = None if attrs["end_mask"] & 1 else int(end[0])
    return TensorShape(whole[start : stop : int(strides[0])])


_SHAPE_READERS = {
    "Cast": _read_cast,
    "Shape": _read_shape,
    "ShapeN": _read_shape,
    "VariableShape": _read_variable_shape,
    "Pack": _read_pack,
    "Concat": _read_concat,
    "ConcatV2": _read_concat,
    "StridedSlice": _read_strided_slice,
}
