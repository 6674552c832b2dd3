"""``tf.get_static_value``: the value of a tensor, if the graph alone determines it.

A tensor whose value was returned here can no longer be fed: the caller may have built on the value.
The ops that are evaluated are TensorFlow's list (framework/tensor_util.py); an op may register its
own function with ``@op.constant_value``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tfnb.core.tensor_shape import Dimension, TensorShape, unknown_shape
from tfnb.framework.convert import is_tensor
from tfnb.framework.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

EXPORTS = {"tf": ["get_static_value:constant_value"]}

_MAX_DEPTH = 200


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor as an array, or None if it is not known.

    Args:
      tensor: a tensor; any other value is returned unchanged.
      partial: whether elements may be None where only some are known.

    Returns:
      An array that must not be written to, or None.
    """
    if not isinstance(tensor, Tensor):
        return None if is_tensor(tensor) else tensor
    value = _constant_value(tensor, partial, 0)
    if value is not None:
        tensor.graph.prevent_feeding(tensor)
    return value


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Return a tensor's value read as a shape, as far as it is known; -1 is unknown.

    Raises:
      ValueError: the tensor is a scalar that is not known to be -1.
    """
    if tensor.get_shape().ndims == 0:
        value = constant_value(tensor)
        if value is None:
            raise ValueError(
                "Received a scalar with unknown value as shape; require a statically known scalar "
                "with value '-1' to describe an unknown shape."
            )
        if value != -1:
            raise ValueError(
                f"Received a scalar value '{value}' as shape; require a statically known scalar "
                "with value '-1' to describe an unknown shape."
            )
        return TensorShape(None)
    shape = tensor.get_shape().with_rank(1)
    if shape.dim_values == (0,):
        return TensorShape([])
    reader = _SHAPE_READERS.get(tensor.op.type)
    found = reader(tensor) if reader is not None else None
    if found is not None:
        return found
    value = constant_value(tensor)
    length = shape.dim_values[0] if shape.dim_values is not None else None
    if value is None:
        return unknown_shape(length)
    return unknown_shape(length).merge_with(
        TensorShape([None if size < 0 else int(size) for size in value])
    )


# ------------------------------------------------------------------------------------------- values


def _constant_value(tensor: Tensor, partial: bool, depth: int) -> Any:
    op = tensor.op
    own = op.op_definition.constant_value_function
    if own is not None:
        return own(tensor, partial)
    reader = _READERS.get(op.type)
    if reader is None or depth > _MAX_DEPTH:
        return None
    return reader(tensor, partial, depth + 1)


def _input(tensor: Tensor, index: int, depth: int, partial: bool = False) -> Any:
    source = tensor.op.inputs[index]
    value = _constant_value(source, partial, depth)
    if value is not None:
        source.graph.prevent_feeding(source)
    return value


def _inputs(tensor: Tensor, indices: range, depth: int) -> list[Any] | None:
    values = []
    for index in indices:
        value = _input(tensor, index, depth)
        if value is None:
            return None
        values.append(value)
    return values


def _const(tensor: Tensor, partial: bool, depth: int) -> Any:
    return tensor.op.attrs["value"].value()


def _shape(tensor: Tensor, partial: bool, depth: int) -> Any:
    dims = tensor.op.inputs[0]._shape.dim_values
    if dims is None or None in dims:
        return None
    return np.array(dims, tensor.dtype.as_numpy_dtype)


def _size(tensor: Tensor, partial: bool, depth: int) -> Any:
    size = tensor.op.inputs[0]._shape.num_elements()
    return None if size is None else np.int32(size)


def _rank(tensor: Tensor, partial: bool, depth: int) -> Any:
    rank = tensor.op.inputs[0]._shape.rank
    return None if rank is None else np.array(rank, np.int32)


def _range(tensor: Tensor, partial: bool, depth: int) -> Any:
    values = _inputs(tensor, range(3), depth)
    return None if values is None else np.arange(*values, dtype=tensor.dtype.as_numpy_dtype)


def _cast(tensor: Tensor, partial: bool, depth: int) -> Any:
    value = _input(tensor, 0, depth)
    return None if value is None else value.astype(tensor.dtype.as_numpy_dtype)


def _concat(tensor: Tensor, partial: bool, depth: int) -> Any:
    values = _inputs(tensor, range(len(tensor.op.inputs)), depth)
    if values is None:
        return None
    axis = values.pop(0) if tensor.op.type == "Concat" else values.pop()
    return np.concatenate(values, axis=int(axis))


def _pack(tensor: Tensor, partial: bool, depth: int) -> Any:
    op = tensor.op
    if not op.inputs or op.attrs["axis"] != 0:
        return None
    values = []
    for index in range(len(op.inputs)):
        value = _input(tensor, index, depth, partial)
        if value is None and not partial:
            return None
        values.append(value)
    try:
        return np.array(values)
    except ValueError:  # with None among them the elements have no common shape
        return np.array(values, dtype=object)


def _unpack(tensor: Tensor, partial: bool, depth: int) -> Any:
    if tensor.op.attrs["axis"] != 0:
        return None
    value = _input(tensor, 0, depth, partial)
    return None if value is None else value[tensor.value_index]


def _split(tensor: Tensor, partial: bool, depth: int) -> Any:
    axis, value = _input(tensor, 0, depth), _input(tensor, 1, depth, partial)
    if axis is None or value is None:
        return None
    return np.split(value, tensor.op.attrs["num_split"], int(axis))[tensor.value_index]


def _fill(tensor: Tensor, partial: bool, depth: int) -> Any:
    value = _input(tensor, 1, depth)
    dims = tensor._shape.dim_values
    if value is None or dims is None or None in dims:
        return None
    return np.full(dims, value, dtype=value.dtype)


def _equal(tensor: Tensor, partial: bool, depth: int) -> Any:
    values = _inputs(tensor, range(2), depth)
    return None if values is None else np.equal(*values)


def _not_equal(tensor: Tensor, partial: bool, depth: int) -> Any:
    values = _inputs(tensor, range(2), depth)
    return None if values is None else np.not_equal(*values)


def _same(tensor: Tensor, partial: bool, depth: int) -> Any:
    return _input(tensor, 0, depth, partial)


_READERS: dict[str, Callable[[Tensor, bool, int], Any]] = {
    "Const": _const,
    "Shape": _shape,
    "Size": _size,
    "Rank": _rank,
    "Range": _range,
    "Cast": _cast,
    "Concat": _concat,
    "ConcatV2": _concat,
    "Pack": _pack,
    "Unpack": _unpack,
    "Split": _split,
    "Fill": _fill,
    "Equal": _equal,
    "NotEqual": _not_equal,
    "StopGradient": _same,
    "Identity": _same,
    "CheckNumericsV2": _same,
    "DebugIdentityV2": _same,
}


# ------------------------------------------------------------------------------------------- shapes


def _shape_of_cast(tensor: Tensor) -> TensorShape | None:
    source = constant_value_as_shape(tensor.op.inputs[0])
    if source.dim_values is None or tensor.dtype.name in ("int32", "int64"):
        return source
    return unknown_shape(len(source.dim_values))


def _shape_of_shape(tensor: Tensor) -> TensorShape | None:
    return tensor.op.inputs[0]._shape


def _shape_of_pack(tensor: Tensor) -> TensorShape | None:
    dims = []
    for source in tensor.op.inputs:
        value = constant_value(source)
        dims.append(Dimension(None if value is None or value < 0 else int(value)))
    return TensorShape(dims)


def _shape_of_concat(tensor: Tensor) -> TensorShape | None:
    inputs = tensor.op.inputs
    whole = TensorShape([])
    for part in inputs[1:] if tensor.op.type == "Concat" else inputs[:-1]:
        whole = whole.concatenate(constant_value_as_shape(part))
    return whole


def _shape_of_strided_slice(tensor: Tensor) -> TensorShape | None:
    attrs = tensor.op.attrs
    if (
        attrs["ellipsis_mask"]
        or attrs["new_axis_mask"]
        or attrs["shrink_axis_mask"]
        or attrs["begin_mask"] not in (0, 1)
        or attrs["end_mask"] not in (0, 1)
    ):
        return None
    begin, end, strides = (constant_value(one) for one in tensor.op.inputs[1:4])
    if begin is None or end is None or strides is None:
        return None
    try:
        whole = constant_value_as_shape(tensor.op.inputs[0])
        start = None if attrs["begin_mask"] else int(begin[0])
        stop = None if attrs["end_mask"] else int(end[0])
        return TensorShape(whole[start : stop : int(strides[0])])
    except (TypeError, ValueError):
        return None


_SHAPE_READERS: dict[str, Callable[[Tensor], TensorShape | None]] = {
    "Cast": _shape_of_cast,
    "Shape": _shape_of_shape,
    "Pack": _shape_of_pack,
    "Concat": _shape_of_concat,
    "ConcatV2": _shape_of_concat,
    "StridedSlice": _shape_of_strided_slice,
}
