"""Checks of the elements of lists, and their static shapes while a graph is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tfnb.core import errors
from tfnb.core.node_text import tensor_text, type_word
from tfnb.core.shape_inference import SCALAR_SHAPE, UNKNOWN_SHAPE
from tfnb.core.tensor_shape import TensorShape
from tfnb.ops.base.broadcasting import shape_text
from tfnb.ops.containers.tensor_list import TensorList, partial_text

if TYPE_CHECKING:
    from tfnb.core.dtypes import DType
    from tfnb.core.kernel_types import Array, Variant
    from tfnb.core.shape_inference import InferenceContext


def shape_from(value: Array) -> TensorShape:
    """Return the shape of an ``element_shape`` input; a scalar -1 is the unknown shape."""
    if value.ndim == 0:
        if int(value) != -1:
            raise errors.invalid_argument(
                f"The only valid scalar shape tensor is the fully unknown shape specified as -1, "
                f"got {int(value)}"
            )
        return UNKNOWN_SHAPE
    return TensorShape([None if size < 0 else size for size in value.tolist()])


def as_list(handle: Variant) -> TensorList:
    """Return a list.

    Raises:
      InvalidArgumentError: the variant is something else.
    """
    if not isinstance(handle, TensorList):
        raise errors.invalid_argument(f"Input handle is not a list. Saw: '{type(handle).__name__}'")
    return handle


def check_dtype(one: TensorList, dtype: DType) -> None:
    """Refuse what is no list, or a list whose elements have another dtype."""
    as_list(one)
    if one.dtype is not dtype:
        raise errors.invalid_argument(
            f"Invalid data types; op elements {type_word(dtype)} but list elements "
            f"{type_word(one.dtype)}"
        )


def shape_of_elements(
    c: InferenceContext, index: int = 0, attr: str = "element_dtype"
) -> TensorShape:
    """Return the static shape of the elements of the list at an input."""
    data = c.input_handle_data(index)
    if not data:
        return UNKNOWN_SHAPE
    dtype, shape = data[0]
    wanted = c.attr(attr)
    if dtype is not wanted:
        raise ValueError(
            f"Expected list with element dtype {type_word(wanted)} but got list with element "
            f"dtype {type_word(dtype)}"
        )
    return shape


def static_shape_input(c: InferenceContext, index: int) -> TensorShape:
    """Return the static shape in an ``element_shape`` input; a scalar is the unknown shape.

    Raises:
      ValueError: it has more than one dimension, or is a known scalar other than -1.
    """
    if c.inputs[index].ndims == 0:
        value = c.constant_value(index)
        if value is not None and value != -1:
            raise ValueError(
                "Received an invalid shape scalar with a static value that is not '-1': "
                + tensor_text(value)
            )
        return UNKNOWN_SHAPE
    c.with_rank_at_most(index, 1)
    return c.constant_value_as_shape(index)


def list_of(c: InferenceContext, shape: TensorShape) -> TensorShape:
    """Return the static type of a list whose elements have this shape."""
    c.set_output_handle_data(0, [(c.attr("element_dtype"), shape)])
    return SCALAR_SHAPE


def new_list_shape(c: InferenceContext) -> TensorShape:
    """Return the static type of a list whose elements have the shape in the first input."""
    return list_of(c, static_shape_input(c, 0))


def same_list_shape(c: InferenceContext) -> TensorShape:
    """Return the static type of a list like that of the first input."""
    data = c.input_handle_data(0)
    if data:
        c.set_output_handle_data(0, data)
    return SCALAR_SHAPE


def check_rows(tensor: Array, shape: TensorShape) -> None:
    """Refuse a tensor whose rows do not have the element shape."""
    if not shape.is_compatible_with(TensorShape(tensor.shape[1:])):
        raise errors.invalid_argument(
            f"Specified a list with shape {partial_text(shape)} from a tensor with shape "
            f"{shape_text(tensor.shape[1:])}"
        )


def check_vector(tensor: Array) -> None:
    """Refuse a scalar, which has no rows."""
    if tensor.ndim < 1:
        raise errors.invalid_argument(
            f"Tensor must be at least a vector, but saw shape: {shape_text(tensor.shape)}"
        )


def rows_of(tensor: Array) -> tuple[Array, ...]:
    """Return the rows of a tensor, each as a tensor."""
    if tensor.dtype == object and tensor.ndim == 1:
        return tuple([tensor[i : i + 1].reshape(()) for i in range(len(tensor))])
    return tuple(tensor)
