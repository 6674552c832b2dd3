"""Lists of tensors as values: TensorListReserve, TensorListSetItem and others.

A list is a variant, an immutable value. Each op returns a new list that shares the elements.  An
element that was reserved but never set is None and counts as zeros where its
shape is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.host_memory import check_fits
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE, InferenceContext, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.containers.list_elements import (
    as_list,
    check_dtype,
    check_rows,
    check_vector,
    list_of,
    new_list_shape,
    rows_of,
    same_list_shape,
    shape_from,
    shape_of_elements,
    static_shape_input,
)
from tfnb.ops.containers.tensor_list import (
    Places,
    Stack,
    TensorList,
    as_places,
    element_here,
    element_zeros,
    merged_shapes,
    partial_text,
)

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Outputs, Variant, Xp
    from tfnb.framework.operation import Operation
    from tfnb.framework.tensor import Tensor
    from tfnb.framework.tensor_types import Gradients, TensorLike


# ------------------------------------------------------------------------------------- making lists


@register_op(
    "EmptyTensorList",
    "element_shape: shape_type, max_num_elements: int32 -> handle: variant",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=new_list_shape,
    host_memory=("element_shape", "max_num_elements"),
    traits="rearranges",
)
def empty_tensor_list(
    xp: Xp, element_shape: Array, max_num_elements: Array, *, element_dtype: DType
) -> Variant:
    """Return a list without elements."""
    if max_num_elements.ndim:
        raise errors.invalid_argument(
            "max_num_elements expected to be a scalar but got shape: "
            f"{shape_text(max_num_elements.shape)}"
        )
    return TensorList(element_dtype, shape_from(element_shape), (), int(max_num_elements))


@register_op(
    "TensorListReserve",
    "element_shape: shape_type, num_elements: int32 -> handle: variant",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=new_list_shape,
    host_memory=("element_shape", "num_elements"),
    traits="rearranges",
)
def tensor_list_reserve(
    xp: Xp, element_shape: Array, num_elements: Array, *, element_dtype: DType
) -> Variant:
    """Return a list of elements that are not set."""
    if num_elements.ndim:
        raise errors.invalid_argument(
            f"The num_elements to reserve must be a tensor size 1, but got {num_elements.size}"
        )
    count = int(num_elements)
    if count < 0:
        raise errors.invalid_argument(
            f"The num_elements to reserve must be a non negative number, but got {count}"
        )
    check_fits(np, (count,), np.dtype(object))
    return TensorList(element_dtype, shape_from(element_shape), Places({}, count))


def _from_tensor_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    rest = UNKNOWN_SHAPE if dims is None else TensorShape(dims[1:])
    given = static_shape_input(c, 1)
    merge_shapes(rest, given)
    return list_of(c, given)


@register_op(
    "TensorListFromTensor",
    "tensor: element_dtype, element_shape: shape_type -> output_handle: variant",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=_from_tensor_shape,
    host_memory=("element_shape",),
    traits="rearranges",
)
def tensor_list_from_tensor(
    xp: Xp, tensor: Array, element_shape: Array, *, element_dtype: DType
) -> Variant:
    """Return a list of the rows of a tensor."""
    check_vector(tensor)
    shape = shape_from(element_shape)
    check_rows(tensor, shape)
    return TensorList(element_dtype, shape, rows_of(tensor))


@tensor_list_from_tensor.gradient
def _(op: Operation, grad: TensorLike) -> Gradients:
    from tfnb.ops.array import shape_ops, slice_ops
    from tfnb.ops.containers.whole_list_ops import tensor_list_stack

    source = op.inputs[0]
    dims = source.shape.dim_values
    count = dims[0] if dims else None
    if grad is None:
        shape = tensor_list_element_shape(op.outputs[0], shape_type=dtypes.int32)
        grad = empty_tensor_list(shape, -1, element_dtype=source.dtype)
    element = slice_ops.slice(shape_ops.shape(source), [1], [-1])
    found = tensor_list_stack(
        grad, element, element_dtype=source.dtype, num_elements=-1 if count is None else count
    )
    return found, None


# ------------------------------------------------------------------------------------ about a list


@register_op(
    "TensorListLength",
    "input_handle: variant -> length: int32",
    shape=lambda c: SCALAR_SHAPE,
    host_memory=("input_handle", "length"),
)
def tensor_list_length(xp: Xp, input_handle: Variant) -> Array:
    """Return the number of elements."""
    return np.int32(len(as_list(input_handle).elements))


tensor_list_length.not_differentiable()


def _element_shape_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    rank = data[0][1].ndims if data else None
    return UNKNOWN_SHAPE if rank is None else TensorShape([rank])


@register_op(
    "TensorListElementShape",
    "input_handle: variant -> element_shape: shape_type",
    "shape_type: {int32, int64}",
    shape=_element_shape_shape,
    host_memory=("input_handle", "element_shape"),
)
def tensor_list_element_shape(xp: Xp, input_handle: Variant, *, shape_type: DType) -> Array:
    """Return the static shape of the elements, with -1 for unknown sizes."""
    dims = as_list(input_handle).element_shape.dim_values
    if dims is None:
        return shape_type.as_numpy_dtype(-1)
    return np.array([-1 if n is None else n for n in dims], shape_type.numpy_dtype)


tensor_list_element_shape.not_differentiable()

# ---------------------------------------------------------------------------------- single elements


def _item_shape(c: InferenceContext) -> TensorShape:
    return merge_shapes(shape_of_elements(c), static_shape_input(c, 2))


def _filled(
    xp: Xp, one: TensorList, element: Array, given_shape: Array, what: str, *, infers: bool
) -> Array:
    """Return an element, or zeros for one that was never set.

    If ``infers``, the shape of the zeros may be derived from the other elements.
    """
    if element is not None and given_shape.ndim == 1:
        return element_here(xp, element)
    shape = shape_from(given_shape)
    if element is not None:
        return element_here(xp, element)
    shape = merged_shapes(one.element_shape, shape)
    if infers and not shape.is_fully_defined():
        for other in one.elements:
            if other is not None:
                shape = merged_shapes(shape, TensorShape(other.shape))
    if not shape.is_fully_defined():
        raise errors.invalid_argument(what.format(partial_text(shape)))
    return element_zeros(xp, shape.as_list(), one.dtype)


@register_op(
    "TensorListGetItem",
    "input_handle: variant, index: int32, element_shape: Tshape -> item: element_dtype",
    "element_dtype: type",
    "Tshape: {int32, int64} = DT_INT32",
    shape=_item_shape,
    host_memory=("index", "element_shape"),
    traits="rearranges",
)
def tensor_list_get_item(
    xp: Xp, input_handle: Variant, index: Array, element_shape: Array, *, element_dtype: DType
) -> Array:
    """Return one element."""
    one = as_list(input_handle)
    check_dtype(one, element_dtype)
    position = int(index)
    if not 0 <= position < len(one.elements):
        raise errors.invalid_argument(
            f"Trying to access element {position} in a list with {len(one.elements)} elements."
        )
    return _filled(
        xp,
        one,
        one.elements[position],
        element_shape,
        "Trying to read an uninitialized tensor but element_shape is not fully defined: {} and no "
        "list element is set.",
        infers=True,
    )


@tensor_list_get_item.gradient
def _(op: Operation, grad: TensorLike) -> Gradients:
    source, index, _ = op.inputs
    shape = tensor_list_element_shape(source, shape_type=dtypes.int32)
    empty = tensor_list_reserve(shape, tensor_list_length(source), element_dtype=grad.dtype)
    return tensor_list_set_item(empty, index, grad), None, None


def _set_item_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    if not data:
        return list_of(c, UNKNOWN_SHAPE)
    # A different dtype is an error only when the step runs.
    merge_shapes(c.inputs[2], data[0][1])
    c.set_output_handle_data(0, data)
    return SCALAR_SHAPE


@register_op(
    "TensorListSetItem",
    "input_handle: variant, index: int32, item: element_dtype -> output_handle: variant",
    "element_dtype: type",
    "resize_if_index_out_of_bounds: bool = false",
    shape=_set_item_shape,
    host_memory=("index",),
    traits="rearranges",
)
def tensor_list_set_item(
    xp: Xp,
    input_handle: Variant,
    index: Array,
    item: Array,
    *,
    element_dtype: DType,
    resize_if_index_out_of_bounds: bool,
) -> Variant:
    """Return the list with one element replaced."""
    one = as_list(input_handle)
    check_dtype(one, element_dtype)
    position, elements = int(index), one.elements
    if position >= len(elements) and resize_if_index_out_of_bounds:
        elements = [*elements, *[None] * (position + 1 - len(elements))]
    if not 0 <= position < len(elements):
        raise errors.invalid_argument(
            f"Trying to modify element {position} in a list with {len(elements)} elements."
        )
    if not one.takes(item.shape):
        raise errors.invalid_argument(
            "Tried to set a tensor with incompatible shape at a list index. Item element shape: "
            f"{shape_text(item.shape)} list shape: {partial_text(one.element_shape)}"
        )
    return one.with_elements(as_places(elements).replaced(position, item))


@tensor_list_set_item.gradient
def _(op: Operation, grad: TensorLike) -> Gradients:
    from tfnb.ops.array import constant_ops, shape_ops

    source, index, item = op.inputs
    rest = tensor_list_set_item(grad, index, constant_ops.zeros_like(item))
    if op.get_attr("resize_if_index_out_of_bounds"):
        rest = tensor_list_resize(rest, tensor_list_length(source))
    element = tensor_list_get_item(grad, index, shape_ops.shape(item), element_dtype=item.dtype)
    return rest, None, element


def _push_shape(c: InferenceContext) -> TensorShape:
    data = c.input_handle_data(0)
    if not data:
        return list_of(c, UNKNOWN_SHAPE)
    dtype, shape = data[0]
    if dtype is not c.attr("element_dtype"):
        raise ValueError(
            "Trying to push to list with wrong element dtype. List has type "
            f"{type_word(dtype)} but trying to push element with type "
            f"{type_word(c.attr('element_dtype'))}"
        )
    return list_of(c, shape)


@register_op(
    "TensorListPushBack",
    "input_handle: variant, tensor: element_dtype -> output_handle: variant",
    "element_dtype: type",
    shape=_push_shape,
    traits="rearranges",
)
def tensor_list_push_back(
    xp: Xp, input_handle: Variant, tensor: Array, *, element_dtype: DType
) -> Variant:
    """Return the list with one more element."""
    return _pushed(input_handle, tensor, element_dtype)


def _pushed(one: TensorList, tensor: Array, element_dtype: DType) -> TensorList:
    check_dtype(one, element_dtype)
    if not one.takes(tensor.shape):
        raise errors.invalid_argument(
            "Tried to append a tensor with incompatible shape to a list. Op element shape: "
            f"{shape_text(tensor.shape)} list shape: {partial_text(one.element_shape)}"
        )
    if 0 <= one.max_num_elements <= len(one.elements):
        raise errors.invalid_argument(
            f"Tried to push item into a full list list size: {len(one.elements)} "
            f"max_num_elements: {one.max_num_elements}"
        )
    elements = one.elements
    if not isinstance(elements, Stack):
        elements = Stack(list(elements), len(elements))
    return one.with_elements(elements.pushed(tensor))


@tensor_list_push_back.gradient
def _(op: Operation, grad: TensorLike) -> Gradients:
    from tfnb.ops.array import shape_ops

    element = op.inputs[1]
    return tensor_list_pop_back(
        grad, shape_ops.shape(element), element_dtype=op.get_attr("element_dtype")
    )


@register_op(
    "TensorListPushBackBatch",
    "input_handles: variant, tensor: element_dtype -> output_handles: variant",
    "element_dtype: type",
    shape=lambda c: c.inputs[0],
    devices=("CPU",),
)
def tensor_list_push_back_batch(
    xp: Xp, input_handles: Variant, tensor: Array, *, element_dtype: DType
) -> Variant:
    """Append one row of a tensor to each of several lists."""
    lists = np.asarray(input_handles, object)
    if lists.shape != tensor.shape[:1]:
        raise errors.invalid_argument(
            f"Expected tensor.shape[0] == input_handles.size, but saw {shape_text(tensor.shape)} "
            f"vs. {lists.size}"
        )
    out = np.empty(lists.shape, object)
    for i, (one, row) in enumerate(zip(lists.tolist(), rows_of(tensor))):
        out[i] = _pushed(one, row, element_dtype)
    return out


tensor_list_push_back_batch.not_differentiable()


def _pop_shape(c: InferenceContext) -> list[TensorShape]:
    shape = shape_of_elements(c)
    return [list_of(c, shape), shape]


@register_op(
    "TensorListPopBack",
    "input_handle: variant, element_shape: int32 -> output_handle: variant, tensor: element_dtype",
    "element_dtype: type",
    shape=_pop_shape,
    host_memory=("element_shape",),
    traits="rearranges",
)
def tensor_list_pop_back(
    xp: Xp, input_handle: Variant, element_shape: Array, *, element_dtype: DType
) -> Outputs:
    """Return the list without its last element, and that element."""
    one = as_list(input_handle)
    check_dtype(one, element_dtype)
    if not one.elements:
        raise errors.invalid_argument("Trying to pop from an empty list.")
    last = _filled(
        xp,
        one,
        one.elements[-1],
        element_shape,
        "Trying to read an uninitialized tensor but element_shape is not fully defined: {}",
        infers=False,
    )
    rest = one.elements.popped() if isinstance(one.elements, Stack) else one.elements[:-1]
    return one.with_elements(rest), last


@tensor_list_pop_back.gradient
def _(op: Operation, list_grad: Tensor | None, grad: TensorLike) -> Gradients:
    from tfnb.ops.array import constant_ops

    if list_grad is None:
        shape = tensor_list_element_shape(op.outputs[0], shape_type=dtypes.int32)
        list_grad = empty_tensor_list(shape, -1, element_dtype=grad.dtype)
    if grad is None:
        grad = constant_ops.zeros_like(op.outputs[1])
    return tensor_list_push_back(list_grad, grad), None


# ---------------------------------------------------------------------------------------- resizing


@register_op(
    "TensorListResize",
    "input_handle: variant, size: int32 -> output_handle: variant",
    shape=same_list_shape,
    host_memory=("size",),
)
def tensor_list_resize(xp: Xp, input_handle: Variant, size: Array) -> Variant:
    """Return the list shortened, or extended by elements that are not set."""
    one = as_list(input_handle)
    count = int(size)
    if count < 0:
        raise errors.invalid_argument(
            f"TensorListSlice expects size to be non-negative. Got: {count}"
        )
    missing = (None,) * (count - len(one.elements))
    return one.with_elements((*one.elements[:count], *missing))


@tensor_list_resize.gradient
def _(op: Operation, grad: TensorLike) -> Gradients:
    return tensor_list_resize(grad, tensor_list_length(op.inputs[0])), None
