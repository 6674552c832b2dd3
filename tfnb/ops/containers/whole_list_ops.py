"""Conversions between lists of tensors and whole tensors: stack, gather, scatter, concat, split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tfnb.core import dtypes, errors
from tfnb.core.node_text import type_word
from tfnb.core.op_registry import register_op
from tfnb.core.shape_inference import UNKNOWN_SHAPE, InferenceContext, merge_shapes
from tfnb.core.tensor_shape import TensorShape
from tfnb.framework.convert import convert_to_tensor
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.containers.list_elements import (
    as_list,
    check_dtype,
    check_rows,
    check_vector,
    list_of,
    rows_of,
    same_list_shape,
    shape_from,
    shape_of_elements,
    static_shape_input,
)
from tfnb.ops.containers.list_ops import (
    tensor_list_element_shape,
    tensor_list_from_tensor,
    tensor_list_length,
    tensor_list_reserve,
)
from tfnb.ops.containers.tensor_list import (
    TensorList,
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
    from tfnb.framework.tensor_types import Gradients, Nested


def _whole_shape(c: InferenceContext) -> TensorShape:
    shape = merge_shapes(shape_of_elements(c), static_shape_input(c, 1))
    count = c.attr("num_elements")
    return TensorShape([count if count >= 0 else None]).concatenate(shape)


@register_op(
    "TensorListStack",
    "input_handle: variant, element_shape: int32 -> tensor: element_dtype",
    "element_dtype: type",
    "num_elements: int = -1",
    shape=_whole_shape,
    host_memory=("element_shape",),
    traits="rearranges",
)
def tensor_list_stack(
    xp: Xp, input_handle: Variant, element_shape: Array, *, element_dtype: DType, num_elements: int
) -> Array:
    """Return all elements as the rows of one tensor."""
    one = as_list(input_handle)
    check_dtype(one, element_dtype)
    count = len(one.elements)
    if num_elements not in (-1, count):
        raise errors.invalid_argument(
            f"Operation expected a list with {num_elements} elements but got a list with {count} "
            "elements."
        )
    shape = merged_shapes(one.element_shape, shape_from(element_shape))
    if not count and not shape.is_fully_defined():
        raise errors.invalid_argument(
            "Tried to stack elements of an empty list with non-fully-defined element_shape: "
            f"{partial_text(shape)}"
        )
    return _stacked(
        xp,
        one,
        one.elements,
        shape,
        "Tried to stack list which only contains uninitialized tensors and has a "
        "non-fully-defined element_shape: {}",
    )


def _stacked(xp: Xp, one: TensorList, chosen: Array, shape: TensorShape, what: str) -> Array:
    for element in chosen:
        if element is not None and element.shape != shape.dim_values:
            shape = merged_shapes(shape, TensorShape(element.shape))
    if not shape.is_fully_defined():
        raise errors.invalid_argument(what.format(partial_text(shape)))
    sizes: Array = shape.as_list()
    if not chosen:
        return element_zeros(xp, [0, *sizes], one.dtype)
    zeros = None
    parts = []
    for element in chosen:
        if element is None:
            zeros = element_zeros(xp, sizes, one.dtype) if zeros is None else zeros
            element = zeros
        parts.append(element_here(xp, element))
    if one.dtype is dtypes.string:
        out = np.empty([len(parts), *sizes], object)
        for i, part in enumerate(parts):
            out[i] = part[()] if not sizes else part
        return out
    return xp.stack(parts)


@tensor_list_stack.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    dims = grad.shape.dim_values
    element: Nested = -1
    if dims is not None:
        element = [-1 if dim is None else dim for dim in dims[1:]]
        element = element or convert_to_tensor(element, dtypes.int32, name="Const")
    return tensor_list_from_tensor(grad, element), None


def _gather_shape(c: InferenceContext) -> TensorShape:
    shape = merge_shapes(shape_of_elements(c), static_shape_input(c, 2))
    return c.inputs[1].concatenate(shape)


@register_op(
    "TensorListGather",
    "input_handle: variant, indices: int32, element_shape: int32 -> values: element_dtype",
    "element_dtype: type",
    shape=_gather_shape,
    host_memory=("indices", "element_shape"),
)
def tensor_list_gather(
    xp: Xp, input_handle: Variant, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Array:
    """Return chosen elements as the rows of one tensor."""
    one = as_list(input_handle)
    check_dtype(one, element_dtype)
    shape = merged_shapes(one.element_shape, shape_from(element_shape))
    numbers = indices.reshape(-1).tolist()
    dims = shape.dim_values or ()
    # TensorFlow checks no element if the elements are empty.
    nothing = 0 in dims and None not in dims
    for number in () if nothing else numbers:
        if not 0 <= number < len(one.elements):
            raise errors.invalid_argument(
                f"Trying to gather element {number} in a list with {len(one.elements)} elements."
            )
    if not numbers and not shape.is_fully_defined():
        raise errors.invalid_argument(
            "Tried to gather 0-elements from a list with non-fully-defined shape: "
            f"{partial_text(shape)}"
        )
    if nothing:
        return xp.empty((len(numbers), *dims), element_dtype.as_numpy_dtype)
    return _stacked(
        xp,
        one,
        [one.elements[number] for number in numbers],
        shape,
        "Tried to gather uninitialized tensors from a list with non-fully-defined shape: {}",
    )


@tensor_list_gather.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    source, indices, _ = op.inputs
    shape = tensor_list_element_shape(source, shape_type=dtypes.int32)
    empty = tensor_list_reserve(shape, tensor_list_length(source), element_dtype=grad.dtype)
    return tensor_list_scatter_into_existing_list(empty, grad, indices), None, None


def _scattered(
    tensor: Array, indices: Array, elements: list[Array], count: int, shape: TensorShape
) -> tuple[Array, ...]:
    check_vector(tensor)
    check_rows(tensor, shape)
    numbers = indices.reshape(-1).tolist()
    if tensor.shape[0] != len(numbers):
        raise errors.invalid_argument(
            f"Invalid number of rows in input tensor. Expected: {len(numbers)} Actual: "
            f"{tensor.shape[0]}"
        )
    if any(number < 0 for number in numbers):
        raise errors.invalid_argument("Indices in TensorListScatter must all be non-negative.")
    highest = max(numbers, default=-1)
    if count == -1:
        elements += [None] * (highest + 1 - len(elements))
    elif highest >= count:
        raise errors.invalid_argument(
            f"TensorListScatter: Trying to scatter at index {highest} in list with size {count}"
        )
    for number, row in zip(numbers, rows_of(tensor)):
        elements[number] = row
    return tuple(elements)


def _scatter_shape(c: InferenceContext) -> TensorShape:
    return list_of(c, static_shape_input(c, 2))


@register_op(
    "TensorListScatter",
    "tensor: element_dtype, indices: int32, element_shape: shape_type -> output_handle: variant",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=_scatter_shape,
    host_memory=("indices", "element_shape"),
)
def tensor_list_scatter(
    xp: Xp, tensor: Array, indices: Array, element_shape: Array, *, element_dtype: DType
) -> Variant:
    """Return a list with the rows of a tensor at chosen places."""
    shape = shape_from(element_shape)
    return TensorList(element_dtype, shape, _scattered(tensor, indices, [], -1, shape))


@register_op(
    "TensorListScatterV2",
    "tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32 -> "
    "output_handle: variant",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=_scatter_shape,
    host_memory=("indices", "element_shape", "num_elements"),
)
def tensor_list_scatter_v2(
    xp: Xp,
    tensor: Array,
    indices: Array,
    element_shape: Array,
    num_elements: Array,
    *,
    element_dtype: DType,
) -> Variant:
    """Return a list of a given length with the rows of a tensor at chosen places."""
    shape, count = shape_from(element_shape), int(num_elements)
    if count < -1:
        raise errors.invalid_argument(
            f"TensorListScatter expects num_elements >= -1, found: {count}"
        )
    elements: list[Array] = [None] * max(count, 0)
    return TensorList(element_dtype, shape, _scattered(tensor, indices, elements, count, shape))


@register_op(
    "TensorListScatterIntoExistingList",
    "input_handle: variant, tensor: element_dtype, indices: int32 -> output_handle: variant",
    "element_dtype: type",
    shape=same_list_shape,
    host_memory=("indices",),
)
def tensor_list_scatter_into_existing_list(
    xp: Xp, input_handle: Variant, tensor: Array, indices: Array, *, element_dtype: DType
) -> Variant:
    """Return the list with the rows of a tensor at chosen places."""
    one = as_list(input_handle)
    check_dtype(one, element_dtype)
    elements = list(one.elements)
    # As in TensorFlow, the list's own element shape is not checked.
    return one.with_elements(_scattered(tensor, indices, elements, -1, UNKNOWN_SHAPE))


def _scatter_gradient(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import shape_ops, slice_ops

    tensor, indices = op.inputs[0], op.inputs[1]
    element = slice_ops.slice(shape_ops.shape(tensor), [1], [-1])
    found = tensor_list_gather(grad, indices, element, element_dtype=tensor.dtype)
    return [found, *[None] * (len(op.inputs) - 1)]


tensor_list_scatter.gradient(_scatter_gradient)
tensor_list_scatter_v2.gradient(_scatter_gradient)


@tensor_list_scatter_into_existing_list.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import constant_ops, shape_ops, slice_ops

    _, tensor, indices = op.inputs
    element = slice_ops.slice(shape_ops.shape(tensor), [1], [-1])
    found = tensor_list_gather(grad, indices, element, element_dtype=tensor.dtype)
    zeros = constant_ops.zeros_like(tensor)
    return tensor_list_scatter_into_existing_list(grad, zeros, indices), found, None


# --------------------------------------------------------------------- joining along the first axis


def _concat_shape(c: InferenceContext, given: TensorShape) -> list[TensorShape]:
    shape = merge_shapes(shape_of_elements(c), given).dim_values
    if shape is None:
        return [UNKNOWN_SHAPE, TensorShape([None])]
    if not shape:
        raise ValueError("Shape must be at least rank 1 but is rank 0")
    return [TensorShape([None, *shape[1:]]), TensorShape([None])]


def _joined(xp: Xp, one: TensorList, given: TensorShape, leading: list[int]) -> Outputs:
    shape = merged_shapes(one.element_shape, given)
    dims = shape.dim_values
    if dims is not None and not dims:
        raise errors.invalid_argument(
            "Concat requires elements to be at least vectors, found scalars instead."
        )
    rest = UNKNOWN_SHAPE if dims is None else TensorShape(dims[1:])
    for element in one.elements:
        if element is not None:
            if element.ndim < 1:
                raise errors.invalid_argument(
                    "Concat saw a scalar shape at index 0 but requires at least vectors."
                )
            rest = merged_shapes(rest, TensorShape(element.shape[1:]))
    if not rest.is_fully_defined():
        raise errors.invalid_argument(
            "All except the first dimension must be fully defined when concating an empty tensor "
            f"list. element_shape: {partial_text(shape)}"
        )
    sizes = {element.shape[0] for element in one.elements if element is not None}
    # Elements that were never set get the length of the others, if these agree.
    first = dims[0] if dims and dims[0] is not None else sizes.pop() if len(sizes) == 1 else None
    parts = []
    for index, element in enumerate(one.elements):
        if element is None:
            size = first
            if size is None:
                if index >= len(leading):
                    raise errors.invalid_argument(
                        f"List contains uninitialized tensor at index {index} but leading_dims has "
                        f"only {len(leading)} elements."
                    )
                size = leading[index]
            element = element_zeros(xp, [size, *rest.as_list()], one.dtype)
        parts.append(element_here(xp, element))
    lengths = np.array([part.shape[0] for part in parts], np.int64)
    if not parts:
        return element_zeros(xp, [0, *rest.as_list()], one.dtype), lengths
    return xp.concatenate(parts), lengths


@register_op(
    "TensorListConcat",
    "input_handle: variant -> tensor: element_dtype, lengths: int64",
    "element_dtype: type",
    "element_shape: shape = { unknown_rank: true }",
    shape=lambda c: _concat_shape(c, c.attr("element_shape")),
    host_memory=("lengths",),
    traits="unchecked_shape",
)
def tensor_list_concat(
    xp: Xp, input_handle: Variant, *, element_dtype: DType, element_shape: TensorShape
) -> Outputs:
    """Return all elements joined along their first dimension, and their lengths."""
    check_dtype(input_handle, element_dtype)
    return _joined(xp, input_handle, element_shape, [])


@register_op(
    "TensorListConcatV2",
    "input_handle: variant, element_shape: shape_type, leading_dims: int64 -> "
    "tensor: element_dtype, lengths: int64",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=lambda c: _concat_shape(c, static_shape_input(c, 1)),
    host_memory=("element_shape", "leading_dims", "lengths"),
)
def tensor_list_concat_v2(
    xp: Xp,
    input_handle: Variant,
    element_shape: Array,
    leading_dims: Array,
    *,
    element_dtype: DType,
) -> Outputs:
    """Return all elements joined along their first dimension, and their lengths."""
    check_dtype(input_handle, element_dtype)
    return _joined(xp, input_handle, shape_from(element_shape), leading_dims.tolist())


def _concat_gradient(op: Operation, grad: Tensor, _: Tensor) -> Gradients:
    shape = tensor_list_element_shape(op.inputs[0], shape_type=dtypes.int32)
    found = tensor_list_split(grad, shape, op.outputs[1])
    return [found, *[None] * (len(op.inputs) - 1)]


tensor_list_concat.gradient(_concat_gradient)
tensor_list_concat_v2.gradient(_concat_gradient)


def _split_shape(c: InferenceContext) -> TensorShape:
    dims = c.inputs[0].dim_values
    given = static_shape_input(c, 1)
    c.with_rank(2, 1)
    if dims is not None:
        c.with_rank_at_least(0, 1)
        merge_shapes(TensorShape([None, *dims[1:]]), given)
    return list_of(c, given)


@register_op(
    "TensorListSplit",
    "tensor: element_dtype, element_shape: shape_type, lengths: int64 -> output_handle: variant",
    "element_dtype: type",
    "shape_type: {int32, int64}",
    shape=_split_shape,
    host_memory=("element_shape", "lengths"),
)
def tensor_list_split(
    xp: Xp, tensor: Array, element_shape: Array, lengths: Array, *, element_dtype: DType
) -> Variant:
    """Return a list of pieces of a tensor, cut along its first dimension."""
    check_vector(tensor)
    if lengths.ndim != 1:
        raise errors.invalid_argument(
            f"Expected lengths to be a vector, received shape: {shape_text(lengths.shape)}"
        )
    shape = shape_from(element_shape)
    if not shape.is_compatible_with(TensorShape([None, *tensor.shape[1:]])):
        raise errors.invalid_argument(
            f"tensor shape {shape_text(tensor.shape)} is not compatible with element_shape "
            f"{partial_text(shape)}"
        )
    pieces, start, whole = [], 0, tensor.shape[0]
    for length in lengths.tolist():
        if length < 0:
            raise errors.invalid_argument(f"Invalid value in lengths: {length}")
        if start + length > whole:
            raise errors.invalid_argument(
                f"Attempting to slice [{start}, {start + length}] from tensor with length {whole}"
            )
        pieces.append(tensor[start : start + length])
        start += length
    if start != whole:
        raise errors.invalid_argument(
            f"Unused values in tensor. Length of tensor: {whole} Values used: {start}"
        )
    return TensorList(element_dtype, shape, tuple(pieces))


@tensor_list_split.gradient
def _(op: Operation, grad: Tensor) -> Gradients:
    from tfnb.ops.array import concat_ops, shape_ops, slice_ops

    tensor, _, lengths = op.inputs
    rest = slice_ops.slice(shape_ops.shape(tensor), [1], [-1])
    shape = concat_ops.concat([[-1], rest], axis=0)
    found = tensor_list_concat_v2(grad, shape, lengths, element_dtype=tensor.dtype)
    return found[0], None, None


def _concat_lists_shape(c: InferenceContext) -> TensorShape:
    first, second = c.inputs
    wanted, shapes = c.attr("element_dtype"), []
    for i, word in enumerate("ab"):
        for found, shape in (c.input_handle_data(i) or ())[:1]:
            if found is not wanted:
                raise ValueError(
                    f"input_{word}.type != element_dtype: {type_word(found)} vs. "
                    f"{type_word(wanted)}"
                )
            shapes.append(shape)
    if shapes:
        c.set_output_handle_data(0, [(wanted, merge_shapes(shapes[0], shapes[-1]))])
    return merge_shapes(first, second)


@register_op(
    "TensorListConcatLists",
    "input_a: variant, input_b: variant -> output: variant",
    "element_dtype: type",
    shape=_concat_lists_shape,
    devices=("CPU",),
)
def tensor_list_concat_lists(
    xp: Xp, input_a: Variant, input_b: Variant, *, element_dtype: DType
) -> Variant:
    """Return the concatenation of two lists, or of the pairs in two arrays of lists."""
    if not (isinstance(input_a, np.ndarray) and isinstance(input_b, np.ndarray)):
        return _after(as_list(input_a), as_list(input_b), element_dtype)
    out = np.empty(input_a.shape, object)
    flat, pairs = out.reshape(-1), zip(input_a.reshape(-1).tolist(), input_b.reshape(-1).tolist())
    for i, (a, b) in enumerate(pairs):
        flat[i] = _after(a, b, element_dtype)
    return out


def _after(a: TensorList, b: TensorList, element_dtype: DType) -> TensorList:
    for one in (a, b):
        check_dtype(one, element_dtype)
    shape = merged_shapes(a.element_shape, b.element_shape)
    return TensorList(element_dtype, shape, (*a.elements, *b.elements), a.max_num_elements)


tensor_list_concat_lists.not_differentiable()
